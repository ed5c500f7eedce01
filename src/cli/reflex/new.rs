//! `loopgate loop new`: what is inferred is shown, and nothing of it counts before it is confirmed.

use chrono::Utc;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    confirm::{self, Terminal, confirm},
    drive::Session,
    local_workspace::{self, LocalWorkspace},
    report,
};
use crate::{
    cli::{
        CliError, CommandResult,
        output::{self, Format},
        working_tree::{self, Shown},
    },
    runner::Interrupt,
};
use loopgate_core::{
    CheckName, Score, Timestamp,
    observed::{ChangedFiles, CodeType},
    policy::{CheckSource, Fixer, Policy},
    reflex::{self, Alias, Major, Settings, Turn},
    state::Task,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// What is to be done
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What the loop is called [default: made of the task]
    #[arg(long, value_name = "ALIAS")]
    alias: Option<Alias>,
    /// What kind of change it is
    #[arg(long = "type", value_parser = words(CodeType::ALL, CodeType::as_str, CodeType::of_word), value_name = "TYPE")]
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
    #[arg(long, value_parser = words(Major::ALL, Major::as_str, Major::of_word), value_name = "WHICH")]
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
    PossibleValuesParser::new(all.map(word)).try_map(move |word| of_word(&word).ok_or("no such word"))
}

pub(super) fn check(text: &str) -> Result<(CheckName, String), String> {
    let (name, run) = text.split_once('=').ok_or("write it as NAME=COMMAND")?;
    let name = name.trim().parse().map_err(|error: loopgate_core::Malformed| error.to_string())?;
    if run.trim().is_empty() { Err("the command is empty".to_owned()) } else { Ok((name, run.trim().to_owned())) }
}

pub(super) fn score(text: &str) -> Result<Score, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    Score::try_from(number).map_err(|error| error.to_string())
}

/// What a policy alone says.
pub(super) fn settings_of(policy: &Policy) -> Settings {
    Settings {
        task_type: CodeType::NewFunction,
        threshold_a: policy.evaluate.thresholds.a,
        threshold_b: policy.evaluate.thresholds.b,
        limit: policy.retry.max_iterations,
        ..Settings::default()
    }
}

/// What is to be confirmed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proposal {
    pub task: Task,
    pub settings: Settings,
    /// The type of change, if the command line or the task gives it.
    pub told_type: Option<CodeType>,
    /// The checks of the configuration, or found by looking at the project.
    pub known: Vec<CheckName>,
    /// The command that fixes between iterations.
    pub fixer: Option<String>,
}

pub async fn run(workspace: &LocalWorkspace, arguments: &Arguments, format: Format) -> CommandResult {
    let policy = workspace.policy(arguments.config.as_deref())?;
    let mut proposal = propose(arguments, &policy);
    if !arguments.yes {
        let mut terminal = Terminal { input: &mut std::io::stdin().lock(), output: &mut std::io::stderr() };
        confirm(&mut proposal, &policy, &mut terminal)?;
    }
    if proposal.known.is_empty() && proposal.settings.checks.is_empty() {
        return Err(CliError::bad_data(format!(
            "there is no check to evaluate by: there is none in {}, and none is known for a project like this. Give \
             one, for example --check unit='python3 -m unittest'",
            working_tree::CONFIGURATION
        )));
    }
    if let Some(unknown) = unknown_check(&proposal) {
        return Err(CliError::bad_data(format!("there is no check `{unknown}` that could be mandatory")));
    }
    if let Some(document) = proposal.settings.document.as_ref().filter(|path| !working_tree::leads_inside(path)) {
        return Err(CliError::bad_data(format!("the document `{document}` must be a path inside the repository")));
    }
    let alias = free_alias(workspace, arguments.alias.as_ref(), &proposal.task.prompt).await?;
    let now = Utc::now();
    let _locks = workspace.lock(&alias, now)?;
    if arguments.yes && format == Format::Human {
        output::line(format_args!("{}\n", confirm::criteria(&proposal, &policy).trim()));
    }
    let state = begun(workspace, &policy, &alias, proposal, now)?;
    let never = Interrupt::new();
    let mut session = Session::open(workspace, &alias, Some(state), format, never).await?;
    let turn = Turn::on(&session.state, now).begun();
    session.save(turn, None).await?;
    workspace.repository.enter_task(&local_workspace::task_ref(&alias)).await?;
    report::began(&session.state, format)
}

/// What the task, the configuration and the command line amount to.
fn propose(arguments: &Arguments, policy: &Policy) -> Proposal {
    let prompt = arguments.task.clone().unwrap_or_default();
    let defaults = settings_of(policy);
    let told_type = arguments.task_type.or_else(|| reflex::infer_type(&prompt));
    let settings = Settings {
        task_type: told_type.unwrap_or(defaults.task_type),
        mandatory: arguments.mandatory.clone(),
        threshold_a: arguments.threshold_a.unwrap_or(defaults.threshold_a),
        threshold_b: arguments.threshold_b.unwrap_or(defaults.threshold_b),
        major: arguments.major.unwrap_or(defaults.major),
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
    let configured = match &policy.fixer.fixer {
        Fixer::Command(fixer) => Some(fixer.run.clone()),
        _ => None,
    };
    let fixer = settings.fix_command.clone().or(configured);
    Proposal { task: Task { prompt, ideal_result: arguments.ideal.clone() }, settings, told_type, known, fixer }
}

fn unknown_check(proposal: &Proposal) -> Option<&CheckName> {
    let given: Vec<&CheckName> = proposal.settings.checks.iter().map(|(name, _)| name).collect();
    let known = |name: &CheckName| if given.is_empty() { proposal.known.contains(name) } else { given.contains(&name) };
    proposal.settings.mandatory.iter().find(|name| !known(name))
}

fn begun(
    workspace: &LocalWorkspace,
    policy: &Policy,
    alias: &Alias,
    proposal: Proposal,
    now: Timestamp,
) -> Result<loopgate_core::state::LoopState, CliError> {
    let Proposal { task, mut settings, .. } = proposal;
    let head = workspace.worktree.head()?;
    // On the base branch itself, what the loop changes is measured from where it begins.
    let (named, changes) = working_tree::changes(workspace.root(), settings.base.as_deref())?;
    let base = changes.map_or(head.commit, |changes| changes.merge_base);
    settings.base = named;
    let title = reflex::title(settings.task_type, &task.prompt);
    let shown = Shown { head: head.commit, tree: head.tree, base };
    let nothing = ChangedFiles::Complete(Vec::new());
    let snapshot = workspace.snapshot(shown, &title, settings.base.as_deref(), nothing, None);
    let governed = reflex::govern(policy, &settings, settings.limit);
    Ok(reflex::begin(&snapshot, &governed, alias, task, settings, now))
}

/// The alias asked for, if no loop that goes on has it; else one made of the task that is free.
async fn free_alias(workspace: &LocalWorkspace, asked: Option<&Alias>, task: &str) -> Result<Alias, CliError> {
    if let Some(alias) = asked {
        if workspace.aliases().await?.contains(alias) {
            let state = workspace.state(alias).await?;
            if !state.has_ended() {
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
    names.find(|alias| !taken.contains(alias)).ok_or_else(|| CliError::bad_data("every alias is taken"))
}
