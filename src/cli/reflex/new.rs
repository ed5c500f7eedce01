//! `loopgate loop new`: what is inferred is shown, changed as wished, and nothing of it counts before it is confirmed.

use std::io::{BufRead, Write};

use chrono::Utc;
use clap::{
    Args, FromArgMatches as _,
    builder::{PossibleValuesParser, TypedValueParser},
};
use minijinja::context;

use super::{
    local_workspace::{self, LocalWorkspace, settings_of},
    report,
    session::{Session, listed},
};
use crate::cli::{
    CliError, CommandResult,
    output::{self, Format},
    working_tree,
};
use loopgate_core::{
    CheckName, Score, Timestamp,
    concerns::verdict::evaluate,
    observed::{ChangedFiles, CodeType},
    policy::{CheckSource, Fixer, Policy, Rule},
    reflex::{self, Alias, Major, Settings, Turn},
    state::Task,
};
use loopgate_render as render;
use loopgate_runner::Interrupt;

#[derive(Debug, Args)]
pub struct NewLoopArguments {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What the loop is called [default: made of the task]
    #[arg(long, value_name = "ALIAS")]
    alias: Option<Alias>,
    /// What kind of change it is
    #[arg(long = "type", ignore_case = true, value_parser = words(CodeType::ALL, CodeType::as_str, CodeType::of_word), value_name = "TYPE")]
    task_type: Option<CodeType>,
    /// What it looks like when it is done
    #[arg(long, value_name = "TEXT")]
    ideal: Option<String>,
    /// A check to run instead of the configured ones, which must pass; may be given several times
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
    /// Which failed rules count as major issues: those of severity fail, or those of severity warn too
    #[arg(long, ignore_case = true, value_parser = words(Major::ALL, Major::as_str, Major::of_word), value_name = "WHICH")]
    major: Option<Major>,
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

/// Takes the words of an enumeration, and names them in the help.
fn words<T: Clone + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    word: fn(T) -> &'static str,
    of_word: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(word))
        .try_map(move |word| of_word(&word.to_lowercase()).ok_or("no such word"))
}

fn check(text: &str) -> Result<(CheckName, String), String> {
    let (name, run) = text.split_once('=').ok_or("write it as NAME=COMMAND")?;
    let name = name
        .trim()
        .parse()
        .map_err(|error: loopgate_core::Malformed| error.to_string())?;
    if run.trim().is_empty() {
        Err("the command is empty".to_owned())
    } else {
        Ok((name, run.trim().to_owned()))
    }
}

fn score(text: &str) -> Result<Score, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Score::try_from(number).map_err(|error| error.to_string())
}

/// What is to be confirmed.
#[derive(Debug)]
struct Proposal {
    task: Task,
    settings: Settings,
    /// The command line or the task gives the type of change.
    is_type_known: bool,
    /// The checks of the configuration, or found by looking at the project.
    known: Vec<CheckName>,
    /// The command that fixes between iterations.
    fixer: Option<String>,
}

pub async fn run(workspace: &LocalWorkspace, mut arguments: NewLoopArguments) -> CommandResult {
    let policy = workspace.policy(arguments.config.as_deref())?;
    if !arguments.yes {
        let mut terminal = Terminal {
            input: &mut std::io::stdin().lock(),
            output: &mut std::io::stderr(),
        };
        confirm(&mut arguments, &policy, &mut terminal)?;
    }
    let proposal = propose(&arguments, &policy);
    if proposal.known.is_empty() && proposal.settings.checks.is_empty() {
        return Err(CliError::bad_data(format!(
            "there is no check to evaluate by: there is none in {}, and none is known for a project like this. Give \
             one, for example --check unit='python3 -m unittest'",
            working_tree::CONFIGURATION
        )));
    }
    let Proposal {
        settings, known, ..
    } = &proposal;
    let given: Vec<&CheckName> = settings.checks.iter().map(|(name, _)| name).collect();
    let is_there = |name| {
        if given.is_empty() {
            known.contains(name)
        } else {
            given.contains(&name)
        }
    };
    if let Some(unknown) = settings.mandatory.iter().find(|name| !is_there(name)) {
        return Err(CliError::bad_data(format!(
            "there is no check `{unknown}` that could be mandatory"
        )));
    }
    if let Some(document) = settings
        .document
        .as_ref()
        .filter(|path| !working_tree::leads_inside(path))
    {
        return Err(CliError::bad_data(format!(
            "the document `{document}` must be a path inside the repository"
        )));
    }
    let alias = free_alias(workspace, arguments.alias.as_ref(), &proposal.task.prompt).await?;
    let now = Utc::now();
    let _locks = workspace.lock(&alias)?;
    if arguments.yes && output::format() == Format::Human {
        output::line(format_args!("{}\n", criteria(&proposal, &policy).trim()));
    }
    let state = begun(workspace, &policy, &alias, proposal, now)?;
    let never = Interrupt::new();
    let mut session = Session::open(workspace, &alias, Some(state), never).await?;
    let turn = Turn::on(&session.state, now).begun();
    session.save(turn).await?;
    workspace
        .repository
        .enter_task(&local_workspace::task_ref(&alias))
        .await?;
    output::show(&report::document(&session.state), || {
        let limit = session.state.run.max_iterations;
        format!("{alias} is set up: at most {limit} iterations.\nRun it: loopgate loop run")
    })
}

/// Where questions go and answers come from.
struct Terminal<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl Terminal<'_> {
    fn print(&mut self, text: &str) {
        // If this cannot be written, there is no answer either, and that is reported below.
        let _ = writeln!(self.output, "{text}");
    }

    /// An answer, trimmed; empty for the default.
    fn ask(&mut self, question: &str) -> Result<String, CliError> {
        let _ = write!(self.output, "{question} ");
        let _ = self.output.flush();
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(0) | Err(_) => {
                self.print("");
                Err(CliError::usage(
                    "the criteria and the limit were not confirmed, so nothing was begun; answer the questions, or \
                     pass --yes",
                ))
            }
            Ok(_) => Ok(answer.trim().to_owned()),
        }
    }
}

/// The set-up questions: what each sets is an option of the command line, or the task.
const QUESTIONS: [(&str, &str); 9] = [
    ("What is to be done?", ""),
    (
        "Task type: new_function, bug_fix, refactor, api_endpoint or integration?",
        "--type",
    ),
    ("What does the ideal result look like?", "--ideal"),
    (
        "Which command checks it? As name=command, for example unit=make test",
        "--check",
    ),
    ("Mandatory checks, whatever their kind?", "--mandatory"),
    ("Threshold of phase A, 0 to 1?", "--threshold-a"),
    ("Threshold of phase B, 0 to 1?", "--threshold-b"),
    ("Iterations at most, 1 to 10?", "--max-iterations"),
    (
        "Which failed rules are major: fail, or warn too?",
        "--major",
    ),
];

/// Shows the criteria and the limit and asks for each, for both again after any change.
fn confirm(
    arguments: &mut NewLoopArguments,
    policy: &Policy,
    terminal: &mut Terminal<'_>,
) -> Result<(), CliError> {
    let proposal = propose(arguments, policy);
    let has_checks = !proposal.known.is_empty() || !proposal.settings.checks.is_empty();
    if proposal.task.prompt.trim().is_empty() || !proposal.is_type_known || !has_checks {
        terminal
            .print("There is not enough to go by. A few questions first; an empty answer keeps what is in brackets.");
        set_up(arguments, policy, terminal)?;
    }
    loop {
        let proposal = propose(arguments, policy);
        terminal.print(&criteria(&proposal, policy));
        if !output::is_yes(&terminal.ask("Are these criteria right? [yes/no]")?) {
            set_up(arguments, policy, terminal)?;
            continue;
        }
        let limit = proposal.settings.limit;
        let question = format!(
            "At most {limit} iterations. Is this limit right? [yes, or a number from 1 to 10]"
        );
        loop {
            let answer = terminal.ask(&question)?;
            if output::is_yes(&answer) || answer == limit.to_string() {
                return Ok(());
            }
            if arguments.answered("--max-iterations", &answer) {
                break;
            }
            terminal.print("Please say yes, or a number from 1 to 10.");
        }
    }
}

/// Asks what is not known for certain; an empty answer keeps what is known.
fn set_up(
    arguments: &mut NewLoopArguments,
    policy: &Policy,
    terminal: &mut Terminal<'_>,
) -> Result<(), CliError> {
    for (question, option) in QUESTIONS {
        let Proposal {
            task,
            settings,
            known,
            ..
        } = propose(arguments, policy);
        let known = match option {
            "" if !task.prompt.trim().is_empty() => continue,
            "--check" if !known.is_empty() || !settings.checks.is_empty() => continue,
            "" | "--check" => String::new(),
            "--type" => settings.task_type.to_string(),
            "--ideal" => task
                .ideal_result
                .unwrap_or_else(|| "every check passes".to_owned()),
            "--mandatory" => listed(&settings.mandatory),
            "--threshold-a" => settings.threshold_a.to_string(),
            "--threshold-b" => settings.threshold_b.to_string(),
            "--max-iterations" => settings.limit.to_string(),
            _ => settings.major.to_string(),
        };
        let has_default = !matches!(option, "" | "--check");
        let question = if has_default {
            format!("{question} [{known}]")
        } else {
            question.to_owned()
        };
        loop {
            let answer = terminal.ask(&question)?;
            let answer = if option == "--mandatory" {
                answer.replace(' ', "")
            } else {
                answer
            };
            if answer.is_empty() || arguments.answered(option, &answer) {
                break;
            }
            terminal.print("That could not be read.");
        }
    }
    Ok(())
}

impl NewLoopArguments {
    /// Takes an answer as the value of an option, or as the task; false where it is none.
    fn answered(&mut self, option: &str, answer: &str) -> bool {
        let words = match option {
            "" => vec!["--".to_owned(), answer.to_owned()],
            option => vec![format!("{option}={answer}")],
        };
        let command = Self::augment_args_for_update(clap::Command::new("new").no_binary_name(true));
        let matches = command.try_get_matches_from(words);
        matches
            .and_then(|matches| self.update_from_arg_matches(&matches))
            .is_ok()
    }
}

/// What the loop will be measured by, and who fixes.
fn criteria(proposal: &Proposal, policy: &Policy) -> String {
    let settings = &proposal.settings;
    let rules = evaluate::rules(
        &reflex::govern(policy, settings, settings.limit),
        settings.task_type,
    );
    let rules: Vec<String> = rules
        .iter()
        .map(
            |rule @ Rule {
                 id,
                 description,
                 severity,
                 phase,
                 ..
             }| {
                let (severity, weight) = (format!("{severity:?}").to_lowercase(), rule.weight());
                format!("{id}: {description} ({severity}, weight {weight}, phase {phase:?})")
            },
        )
        .collect();
    let list = |names: &[CheckName]| {
        if names.is_empty() {
            "none".to_owned()
        } else {
            listed(names)
        }
    };
    let given: Vec<String> = settings
        .checks
        .iter()
        .map(|(name, command)| format!("{name} ({command})"))
        .collect();
    let model = context! {
        task => &proposal.task.prompt,
        kind => settings.task_type.as_str(),
        ideal => proposal.task.ideal_result.as_deref(),
        checks => if given.is_empty() { list(&proposal.known) } else { given.join(", ") },
        mandatory => list(&settings.mandatory),
        rules,
        a => settings.threshold_a.to_string(),
        b => settings.threshold_b.to_string(),
        major => match settings.major {
            Major::Fail => "failed rules of severity fail",
            Major::Warn => "failed rules of severity fail or warn",
        },
        fixer => proposal.fixer.as_deref(),
    };
    render::text("loop_criteria.txt", model)
}

/// What the task, the configuration and the command line amount to.
fn propose(arguments: &NewLoopArguments, policy: &Policy) -> Proposal {
    let prompt = arguments.task.clone().unwrap_or_default();
    let defaults = settings_of(policy);
    let task_type = arguments.task_type.or_else(|| reflex::infer_type(&prompt));
    let settings = Settings {
        task_type: task_type.unwrap_or(defaults.task_type),
        mandatory: arguments.mandatory.clone(),
        threshold_a: arguments.threshold_a.unwrap_or(defaults.threshold_a),
        threshold_b: arguments.threshold_b.unwrap_or(defaults.threshold_b),
        major: arguments.major.unwrap_or(defaults.major),
        limit: arguments
            .max_iterations
            .or_else(|| reflex::infer_limit(&prompt))
            .unwrap_or(defaults.limit),
        checks: arguments.checks.clone(),
        produce: arguments.produce.clone(),
        document: arguments.document.clone(),
        fix_command: arguments.fix_command.clone(),
        config: arguments.config.clone(),
        base: arguments.base.clone(),
    };
    let runnable = policy
        .verify
        .checks
        .iter()
        .filter(|(_, check)| matches!(check.source, CheckSource::Command(_)));
    let known = runnable.map(|(name, _)| name.clone()).collect();
    let configured = match &policy.fixer.fixer {
        Fixer::Command(fixer) => Some(fixer.run.clone()),
        _ => None,
    };
    let fixer = settings.fix_command.clone().or(configured);
    let task = Task {
        prompt,
        ideal_result: arguments.ideal.clone(),
    };
    Proposal {
        task,
        settings,
        is_type_known: task_type.is_some(),
        known,
        fixer,
    }
}

fn begun(
    workspace: &LocalWorkspace,
    policy: &Policy,
    alias: &Alias,
    proposal: Proposal,
    now: Timestamp,
) -> Result<loopgate_core::state::LoopState, CliError> {
    let Proposal {
        task, mut settings, ..
    } = proposal;
    let head = workspace.worktree.head()?;
    // On the base branch itself, what the loop changes is measured from where it begins.
    let (named, changes) =
        working_tree::changes(workspace.worktree.git(), settings.base.as_deref())?;
    let base = changes.map_or(head.commit, |changes| changes.merge_base);
    settings.base = named;
    let title = reflex::title(settings.task_type, &task.prompt);
    let nothing = ChangedFiles::Complete(Vec::new());
    let snapshot = workspace.snapshot(head, base, &title, settings.base.as_deref(), nothing, None);
    let governed = reflex::govern(policy, &settings, settings.limit);
    Ok(reflex::begin(
        &snapshot, &governed, alias, task, settings, now,
    ))
}

/// The alias asked for, if no loop that goes on has it; else one made of the task that is free.
async fn free_alias(
    workspace: &LocalWorkspace,
    asked: Option<&Alias>,
    task: &str,
) -> Result<Alias, CliError> {
    if let Some(alias) = asked {
        if workspace.aliases().await?.contains(alias) {
            let state = workspace.state(alias).await?;
            if !state.run.has_ended() {
                return Err(CliError::bad_data(format!(
                    "the loop `{alias}` is not over: go on with `loopgate loop resume {alias}`, or end it with \
                     `loopgate loop stop --alias {alias}`"
                )));
            }
        }
        return Ok(alias.clone());
    }
    let first = Alias::of_task(task);
    let taken = workspace.aliases().await?;
    let more = (2..).map(|number| first.numbered(number));
    let mut names = std::iter::once(first.clone()).chain(more);
    names
        .find(|alias| !taken.contains(alias))
        .ok_or_else(|| CliError::bad_data("every alias is taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(checks: &str) -> Policy {
        crate::config::parse(
            "test",
            &format!("version: 1\nverify: {{ checks: {{ {checks} }} }}\n"),
        )
        .unwrap()
    }

    /// What is shown and asked of a task, and what is confirmed in the end.
    fn conversation(task: &str, checks: &str, answers: &str) -> (Result<Proposal, String>, String) {
        let command = NewLoopArguments::augment_args(clap::Command::new("new"));
        let mut arguments =
            NewLoopArguments::from_arg_matches(&command.get_matches_from(["new", task])).unwrap();
        let (policy, mut shown) = (policy(checks), Vec::new());
        let mut terminal = Terminal {
            input: &mut answers.as_bytes(),
            output: &mut shown,
        };
        let confirmed = confirm(&mut arguments, &policy, &mut terminal);
        let confirmed = confirmed
            .map(|()| propose(&arguments, &policy))
            .map_err(|stop| stop.message);
        (confirmed, String::from_utf8(shown).unwrap())
    }

    const CHECKS: &str = "build: { kind: build, run: 'true' }, unit: { kind: test, run: 'true' }";

    #[test]
    fn criteria_and_limit_are_confirmed_separately() {
        let (confirmed, shown) = conversation("fix the sum", CHECKS, "yes\ny\n");
        assert_eq!(confirmed.unwrap().settings.limit, 4);
        insta::assert_snapshot!(shown.trim_end(), @r"
        Task        fix the sum
        Type        bug_fix
        Ideal       every check passes
        Checks      build, unit
        Mandatory   none
        Rules       build: build passes (fail, weight 2, phase A)
                    unit: unit passes (fail, weight 2, phase A)
                    tests_added: changed code comes with changed tests (fail, weight 2, phase B)
                    coverage: at least 100 % of the changed lines are covered (warn, weight 1, phase B)
        Thresholds  0.80 in phase A, 0.90 in phase B
        Major       failed rules of severity fail
        Fixer       none: you edit between iterations

        Are these criteria right? [yes/no] At most 4 iterations. Is this limit right? [yes, or a number from 1 to 10]
        ");
    }

    #[test]
    fn after_a_change_it_is_asked_again() {
        let (confirmed, shown) = conversation(
            "fix the sum",
            CHECKS,
            "no\nbug_fix\n\n\n0.5\n\n\nwarn\nyes\n3\nyes\nyes\n",
        );
        let confirmed = confirmed.unwrap().settings;
        assert_eq!(
            (confirmed.task_type, confirmed.limit, confirmed.major),
            (CodeType::BugFix, 3, Major::Warn)
        );
        assert_eq!(confirmed.threshold_a.to_string(), "0.50");
        assert_eq!(
            shown.matches("Are these criteria right?").count(),
            3,
            "once more with the limit"
        );
        assert_eq!(shown.matches("Is this limit right?").count(), 2);
    }

    #[test]
    fn without_context_the_set_up_questions_come_first() {
        let answers = "repair the sum\n\nit adds\nnonsense\nunit=sh test.sh\n\n\n\n\n\nyes\nyes\n";
        let (confirmed, shown) = conversation("", "", answers);
        let confirmed = confirmed.unwrap();
        assert_eq!(confirmed.task.prompt, "repair the sum");
        assert_eq!(
            confirmed.settings.task_type,
            CodeType::BugFix,
            "inferred, and kept by an empty answer"
        );
        assert_eq!(
            confirmed.settings.checks,
            [("unit".parse().unwrap(), "sh test.sh".to_owned())]
        );
        assert!(shown.contains("That could not be read."), "{shown}");
    }

    #[test]
    fn a_task_of_no_known_type_is_asked_about() {
        let (confirmed, shown) =
            conversation("make it better", CHECKS, "refactor\n\n\n\n\n\n\nyes\nyes\n");
        assert_eq!(confirmed.unwrap().settings.task_type, CodeType::Refactor);
        assert!(
            shown.starts_with("There is not enough to go by."),
            "{shown}"
        );
        assert!(shown.contains("existing_tests_pass: "), "{shown}");
    }

    #[test]
    fn without_an_answer_nothing_is_begun() {
        for answers in ["", "yes\n", "no\n"] {
            let (confirmed, _) = conversation("fix the sum", CHECKS, answers);
            assert!(
                confirmed.unwrap_err().contains("not confirmed"),
                "{answers:?}"
            );
        }
    }
}
