//! `loopgate loop new`: what is inferred is shown, and nothing of it counts before it is confirmed.

use std::io::{BufRead, Write};

use chrono::Utc;
use clap::Args;

use super::{
    drive::Session,
    ground::{self, Ground},
    report,
    voice::Voice,
};
use crate::{
    cli::{
        Outcome, Stop, exit,
        local::{self, Shown},
        output::Format,
    },
    core::{
        CheckName, Score,
        policy::{CheckSource, CodeType, Policy},
        reflex::{self, Alias, Major, Settings, Standing, Turn},
        snapshot::ChangedFiles,
        state::Task,
    },
    runner::{Changes, Interrupter},
};

#[derive(Debug, Args)]
#[command(after_help = "\
What is inferred from the task and the configuration is shown: first the criteria, then the limit. Each has to be
confirmed, and again after any change. --yes confirms both, for machines.

Examples:
  loopgate loop new \"fix: the sum of an empty list\"
  loopgate loop new \"add a --json flag\" --max-iterations 3 --yes && loopgate loop run
  loopgate loop new \"write the guide\" --produce ./write-guide --document docs/guide.md --check docs=./check-docs
  loopgate loop new \"fix the parser\" --fix-command 'my-agent --stdin' --yes")]
pub struct Arguments {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What the loop is called [default: made of the task]
    #[arg(long, value_name = "ALIAS")]
    alias: Option<Alias>,
    /// What kind of change it is
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    task_type: Option<TaskType>,
    /// What it looks like when it is done
    #[arg(long, value_name = "TEXT")]
    ideal: Option<String>,
    /// A check to run instead of the configured ones; may be given several times
    #[arg(long = "check", value_parser = check, value_name = "NAME=COMMAND")]
    checks: Vec<(CheckName, String)>,
    /// Checks that must pass whatever their kind
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    mandatory: Vec<CheckName>,
    /// The score phase A asks for, 0 to 1 [default: as configured, else 0.8]
    #[arg(long, value_parser = score, value_name = "SCORE")]
    threshold_a: Option<Score>,
    /// The score phase B asks for, 0 to 1 [default: as configured, else 0.9]
    #[arg(long, value_parser = score, value_name = "SCORE")]
    threshold_b: Option<Score>,
    /// How many iterations at most [default: as configured, else 4]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10), value_name = "N")]
    max_iterations: Option<u32>,
    /// Which failed rules count as major issues
    #[arg(long, value_enum, value_name = "WHICH")]
    major: Option<MajorWord>,
    /// The task command: run once, before the first evaluation; its edits become a commit
    #[arg(long, value_name = "COMMAND")]
    produce: Option<String>,
    /// The one document the task produces, relative to the top of the repository
    #[arg(long, value_name = "FILE")]
    document: Option<String>,
    /// The fixer to call between iterations, instead of the configured one
    #[arg(long, value_name = "COMMAND")]
    fix_command: Option<String>,
    /// The configuration to use [default: .github/loopgate.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// The branch the change is measured against [default: the remote's default branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Confirm criteria and limit without asking
    #[arg(long, short)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum TaskType {
    NewFunction,
    BugFix,
    Refactor,
    ApiEndpoint,
    Integration,
}

impl From<TaskType> for CodeType {
    fn from(word: TaskType) -> Self {
        match word {
            TaskType::NewFunction => Self::NewFunction,
            TaskType::BugFix => Self::BugFix,
            TaskType::Refactor => Self::Refactor,
            TaskType::ApiEndpoint => Self::ApiEndpoint,
            TaskType::Integration => Self::Integration,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum MajorWord {
    /// Those of severity fail
    Fail,
    /// Those of severity warn too
    Warn,
}

impl From<MajorWord> for Major {
    fn from(word: MajorWord) -> Self {
        match word {
            MajorWord::Fail => Self::Fail,
            MajorWord::Warn => Self::Warn,
        }
    }
}

fn check(text: &str) -> Result<(CheckName, String), String> {
    let (name, run) = text.split_once('=').ok_or("write it as NAME=COMMAND")?;
    let name = name.trim().parse().map_err(|error: crate::core::Malformed| error.to_string())?;
    if run.trim().is_empty() { Err("the command is empty".to_owned()) } else { Ok((name, run.trim().to_owned())) }
}

fn score(text: &str) -> Result<Score, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Score::try_from(number).map_err(|error| error.to_string())
}

/// What a policy alone says.
pub(super) fn settings_of(policy: &Policy) -> Settings {
    Settings {
        task_type: CodeType::NewFunction,
        mandatory: Vec::new(),
        threshold_a: policy.evaluate.thresholds.a,
        threshold_b: policy.evaluate.thresholds.b,
        major: Major::Fail,
        limit: policy.retry.max_iterations,
        checks: Vec::new(),
        produce: None,
        document: None,
        fix_command: None,
        config: None,
        base: None,
    }
}

/// What is to be confirmed.
#[derive(Clone, Debug, PartialEq)]
struct Proposal {
    task: Task,
    settings: Settings,
    /// The checks of the configuration, or found by looking at the project.
    known: Vec<CheckName>,
}

pub async fn run(arguments: &Arguments, format: Format) -> Outcome {
    let ground = Ground::open().await?;
    let policy = ground.policy(arguments.config.as_deref())?;
    let mut proposal = propose(arguments, &policy);
    if !arguments.yes {
        let mut terminal = Terminal { input: std::io::stdin().lock(), output: std::io::stderr() };
        confirm(&mut proposal, &mut terminal)?;
    }
    if proposal.known.is_empty() && proposal.settings.checks.is_empty() {
        return Err(Stop::bad_data(format!(
            "there is no check to evaluate by: {} configures none, and none is known for a project like this. Give \
             one, for example --check unit='python3 -m unittest'",
            local::CONFIGURATION
        )));
    }
    if let Some(unknown) = unknown_check(&proposal) {
        return Err(Stop::bad_data(format!("there is no check `{unknown}` that could be mandatory")));
    }
    if let Some(document) = &proposal.settings.document {
        let plain =
            std::path::Path::new(document).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !plain {
            return Err(Stop::bad_data(format!("the document `{document}` must be a path inside the repository")));
        }
    }
    let alias = free_alias(&ground, arguments.alias.as_ref(), &proposal.task.prompt).await?;
    let now = Utc::now();
    let _locks = ground.lock(&alias, now)?;
    let state = begun(&ground, &policy, &alias, proposal)?;
    let voice = Voice::new(format);
    let (_keep, interrupt) = Interrupter::new();
    let mut session = Session::open(&ground, &alias, Some(state), &voice, interrupt).await?;
    let turn = Turn::begun(session.state.clone(), now);
    session.save(turn, None).await?;
    ground.repository.enter_task(&ground::task_ref(&alias)).await.map_err(Stop::unavailable)?;
    report::began(&session.state, format)?;
    Ok(exit::OK)
}

/// What the task, the configuration and the command line amount to.
fn propose(arguments: &Arguments, policy: &Policy) -> Proposal {
    let prompt = arguments.task.clone().unwrap_or_default();
    let defaults = settings_of(policy);
    let inferred = reflex::infer_type(&prompt).unwrap_or(defaults.task_type);
    let settings = Settings {
        task_type: arguments.task_type.map_or(inferred, CodeType::from),
        mandatory: arguments.mandatory.clone(),
        threshold_a: arguments.threshold_a.unwrap_or(defaults.threshold_a),
        threshold_b: arguments.threshold_b.unwrap_or(defaults.threshold_b),
        major: arguments.major.map_or(defaults.major, Major::from),
        limit: arguments.max_iterations.or_else(|| reflex::infer_limit(&prompt)).unwrap_or(defaults.limit),
        checks: arguments.checks.clone(),
        produce: arguments.produce.clone(),
        document: arguments.document.clone(),
        fix_command: arguments.fix_command.clone(),
        config: arguments.config.clone(),
        base: arguments.base.clone(),
    };
    let runnable = policy.verify.checks.iter().filter(|(_, check)| matches!(check.source, CheckSource::Command(_)));
    let known = runnable.map(|(name, _)| name.clone()).collect();
    Proposal { task: Task { prompt, ideal_result: arguments.ideal.clone() }, settings, known }
}

fn unknown_check(proposal: &Proposal) -> Option<&CheckName> {
    let given: Vec<&CheckName> = proposal.settings.checks.iter().map(|(name, _)| name).collect();
    let known = |name: &CheckName| if given.is_empty() { proposal.known.contains(name) } else { given.contains(&name) };
    proposal.settings.mandatory.iter().find(|name| !known(name))
}

fn begun(
    ground: &Ground,
    policy: &Policy,
    alias: &Alias,
    proposal: Proposal,
) -> Result<crate::core::state::LoopState, Stop> {
    let Proposal { task, settings, .. } = proposal;
    let head = ground.worktree.head().map_err(Stop::unavailable)?;
    // On the base branch itself, what the loop changes is measured from where it begins.
    let base =
        Changes::against(ground.root(), settings.base.as_deref()).map_or(head.commit, |changes| changes.merge_base);
    let title = reflex::title(settings.task_type, &task.prompt);
    let shown = Shown { head: head.commit, tree: head.tree, base };
    let nothing = ChangedFiles::Complete(Vec::new());
    let snapshot = ground.snapshot(shown, &title, settings.base.as_deref(), nothing, None);
    let governed = reflex::govern(policy, &settings, settings.limit);
    Ok(reflex::begin(&snapshot, &governed, alias, task, settings, Utc::now()))
}

/// The alias asked for, if no loop that goes on has it; else one made of the task that is free.
async fn free_alias(ground: &Ground, asked: Option<&Alias>, task: &str) -> Result<Alias, Stop> {
    if let Some(alias) = asked {
        if ground::exists(ground, alias).await? {
            let state = ground.state(alias).await?;
            if reflex::standing(&state) != Standing::Ended {
                return Err(Stop::bad_data(format!(
                    "the loop `{alias}` is not over: go on with `loopgate loop resume {alias}`, or end it with \
                     `loopgate loop stop --alias {alias}`"
                )));
            }
        }
        return Ok(alias.clone());
    }
    let first = Alias::of_task(task);
    let taken = ground.aliases().await?;
    let more = (2..).map(|number| first.numbered(number));
    let mut names = std::iter::once(first.clone()).chain(more);
    names.find(|alias| !taken.contains(alias)).ok_or_else(|| Stop::bad_data("every alias is taken"))
}

/// Where questions go and answers come from.
struct Terminal<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Terminal<R, W> {
    fn say(&mut self, text: &str) {
        // Without somebody to read it there is nobody to answer either, and that is told below.
        let _ = writeln!(self.output, "{text}");
    }

    /// An answer, trimmed; empty for the default.
    fn ask(&mut self, question: &str) -> Result<String, Stop> {
        let _ = write!(self.output, "{question} ");
        let _ = self.output.flush();
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(0) | Err(_) => Err(Stop::usage(
                "the criteria and the limit were not confirmed, so nothing was begun; answer the questions, or pass --yes",
            )),
            Ok(_) => Ok(answer.trim().to_owned()),
        }
    }
}

/// Shows the criteria and the limit and asks for each, again after any change.
fn confirm<R: BufRead, W: Write>(proposal: &mut Proposal, terminal: &mut Terminal<R, W>) -> Result<(), Stop> {
    let has_context =
        !proposal.task.prompt.trim().is_empty() && (!proposal.known.is_empty() || !proposal.settings.checks.is_empty());
    if !has_context {
        terminal.say("There is not enough to go by. A few questions first; an empty answer keeps what is in brackets.");
        set_up(proposal, terminal)?;
    }
    loop {
        terminal.say(&criteria(proposal));
        match terminal.ask("Are these criteria right? [yes/no]")?.to_lowercase().as_str() {
            "y" | "yes" => break,
            _ => set_up(proposal, terminal)?,
        }
    }
    loop {
        let limit = proposal.settings.limit;
        let answer = terminal
            .ask(&format!("At most {limit} iterations. Is this limit right? [yes, or a number from 1 to 10]"))?;
        match answer.to_lowercase().as_str() {
            "y" | "yes" => return Ok(()),
            other => match other.parse() {
                Ok(number @ 1..=10) => proposal.settings.limit = number,
                _ => terminal.say("Please say yes, or a number from 1 to 10."),
            },
        }
    }
}

fn criteria(proposal: &Proposal) -> String {
    let settings = &proposal.settings;
    let list = |names: &[CheckName]| {
        if names.is_empty() { "none".to_owned() } else { super::drive::listed(names) }
    };
    let given: Vec<CheckName> = settings.checks.iter().map(|(name, _)| name.clone()).collect();
    let major = match settings.major {
        Major::Fail => "failed rules of severity fail",
        Major::Warn => "failed rules of severity fail or warn",
    };
    format!(
        "\nTask        {}\nType        {}\nIdeal       {}\nChecks      {}\nMandatory   {}\nThresholds  {} in phase A, {} in phase B\nMajor       {major}\n",
        crate::render::plain_line(&proposal.task.prompt),
        word(settings.task_type),
        proposal
            .task
            .ideal_result
            .as_deref()
            .map_or_else(|| "every check passes".to_owned(), crate::render::plain_line),
        list(if given.is_empty() { &proposal.known } else { &given }),
        list(&settings.mandatory),
        settings.threshold_a,
        settings.threshold_b,
    )
}

const fn word(code_type: CodeType) -> &'static str {
    match code_type {
        CodeType::NewFunction => "new_function",
        CodeType::BugFix => "bug_fix",
        CodeType::Refactor => "refactor",
        CodeType::ApiEndpoint => "api_endpoint",
        CodeType::Integration => "integration",
    }
}

/// The set-up questions (loop.md, Reflex loop).
fn set_up<R: BufRead, W: Write>(proposal: &mut Proposal, terminal: &mut Terminal<R, W>) -> Result<(), Stop> {
    if proposal.task.prompt.trim().is_empty() {
        proposal.task.prompt = terminal.ask("What is to be done?")?;
        if let Some(inferred) = reflex::infer_type(&proposal.task.prompt) {
            proposal.settings.task_type = inferred;
        }
    }
    let kinds = "new_function, bug_fix, refactor, api_endpoint or integration";
    let settings = &mut proposal.settings;
    let known = word(settings.task_type);
    settings.task_type = again(terminal, &format!("Task type: {kinds}? [{known}]"), settings.task_type, |answer| {
        <TaskType as clap::ValueEnum>::from_str(answer, true).ok().map(CodeType::from)
    })?;
    let ideal = terminal.ask("What does the ideal result look like? [every check passes]")?;
    if !ideal.is_empty() {
        proposal.task.ideal_result = Some(ideal);
    }
    if proposal.known.is_empty() && settings.checks.is_empty() {
        let checks =
            again(terminal, "Which command checks it? As name=command, for example unit=make test", None, |answer| {
                check(answer).ok().map(Some)
            })?;
        settings.checks.extend(checks);
    }
    let known = super::drive::listed(&settings.mandatory);
    let mandatory = settings.mandatory.clone();
    settings.mandatory =
        again(terminal, &format!("Mandatory checks, whatever their kind? [{known}]"), mandatory, |answer| {
            answer.split(',').map(|name| name.trim().parse().ok()).collect()
        })?;
    for (phase, threshold) in [("A", &mut settings.threshold_a), ("B", &mut settings.threshold_b)] {
        *threshold =
            again(terminal, &format!("Threshold of phase {phase}, 0 to 1? [{threshold}]"), *threshold, |answer| {
                score(answer).ok()
            })?;
    }
    settings.limit =
        again(terminal, &format!("Iterations at most, 1 to 10? [{}]", settings.limit), settings.limit, |answer| {
            answer.parse().ok().filter(|limit| (1..=10).contains(limit))
        })?;
    let known = if settings.major == Major::Fail { "fail" } else { "warn" };
    settings.major = again(
        terminal,
        &format!("Which failed rules are major: fail, or warn too? [{known}]"),
        settings.major,
        |answer| <MajorWord as clap::ValueEnum>::from_str(answer, true).ok().map(Major::from),
    )?;
    Ok(())
}

/// Asks until the answer can be read; an empty one keeps what is known.
fn again<R: BufRead, W: Write, T>(
    terminal: &mut Terminal<R, W>,
    question: &str,
    known: T,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, Stop> {
    loop {
        let answer = terminal.ask(question)?;
        if answer.is_empty() {
            return Ok(known);
        }
        match read(&answer) {
            Some(value) => return Ok(value),
            None => terminal.say("That could not be read."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(task: &str) -> Proposal {
        let policy = crate::config::presets();
        let settings = settings_of(&policy);
        let task = Task { prompt: task.to_owned(), ideal_result: None };
        Proposal { task, settings, known: vec!["build".parse().unwrap(), "unit".parse().unwrap()] }
    }

    /// What is shown and asked, and what is confirmed in the end.
    fn conversation(mut proposal: Proposal, answers: &str) -> (Result<Proposal, String>, String) {
        let mut terminal = Terminal { input: answers.as_bytes(), output: Vec::new() };
        let confirmed = confirm(&mut proposal, &mut terminal).map(|()| proposal).map_err(|stop| stop.message);
        (confirmed, String::from_utf8(terminal.output).unwrap())
    }

    #[test]
    fn criteria_and_limit_are_confirmed_separately() {
        let (confirmed, shown) = conversation(proposal("fix the sum"), "yes\ny\n");
        assert_eq!(confirmed.unwrap(), proposal("fix the sum"));
        insta::assert_snapshot!(shown.trim_end(), @r"
        Task        fix the sum
        Type        new_function
        Ideal       every check passes
        Checks      build, unit
        Mandatory   none
        Thresholds  0.80 in phase A, 0.90 in phase B
        Major       failed rules of severity fail

        Are these criteria right? [yes/no] At most 4 iterations. Is this limit right? [yes, or a number from 1 to 10]
        ");
    }

    #[test]
    fn after_a_change_it_is_asked_again() {
        let (confirmed, shown) = conversation(proposal("fix the sum"), "no\nbug_fix\n\n\n0.5\n\n\nwarn\nyes\n3\nyes\n");
        let confirmed = confirmed.unwrap().settings;
        assert_eq!((confirmed.task_type, confirmed.limit, confirmed.major), (CodeType::BugFix, 3, Major::Warn));
        assert_eq!(confirmed.threshold_a.to_string(), "0.50");
        assert_eq!(shown.matches("Are these criteria right?").count(), 2);
        assert_eq!(shown.matches("Is this limit right?").count(), 2);
    }

    #[test]
    fn without_context_the_set_up_questions_come_first() {
        let empty = Proposal { known: Vec::new(), ..proposal("") };
        let answers = "repair the sum\n\nit adds\nnonsense\nunit=sh test.sh\n\n\n\n\n\nyes\nyes\n";
        let (confirmed, shown) = conversation(empty, answers);
        let confirmed = confirmed.unwrap();
        assert_eq!(confirmed.task.prompt, "repair the sum");
        assert_eq!(confirmed.settings.task_type, CodeType::BugFix, "inferred, and kept by an empty answer");
        assert_eq!(confirmed.settings.checks, [("unit".parse().unwrap(), "sh test.sh".to_owned())]);
        assert!(shown.contains("That could not be read."), "{shown}");
    }

    #[test]
    fn without_an_answer_nothing_is_begun() {
        for answers in ["", "yes\n", "no\n"] {
            let (confirmed, _) = conversation(proposal("fix the sum"), answers);
            assert!(confirmed.unwrap_err().contains("not confirmed"), "{answers:?}");
        }
    }
}
