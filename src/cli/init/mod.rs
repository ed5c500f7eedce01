//! `loopgate init`: writes down the usual checks of a project, and the workflows that run them.
//!
//! Nothing is overwritten unless asked for, and nothing is written that Loopgate itself would refuse.

mod agents;
mod configuration;
mod hooks;
mod workflows;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, IsTerminal as _},
    path::Path,
};

use clap::Args;
use minijinja::{Value, context};
use regex::Regex;
use serde_json::json;

use super::{CliError, CommandResult, output};
use crate::config;
use loopgate_core::{RepoName, evidence::CheckKind};
use loopgate_render as render;
use loopgate_runner::{self as runner, Ci, CiJob, Detected, Purpose, WhyLeftOut};

/// The Action as it is published: the tag of the major version moves with its releases.
const PUBLISHED: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/action@v",
    env!("CARGO_PKG_VERSION_MAJOR")
);

/// Where the files go, relative to the top of the repository.
const CONFIGURATION: &str = ".github/loopgate.yml";
const VERIFY: &str = ".github/workflows/loopgate-verify.yml";
const RECONCILE: &str = ".github/workflows/loopgate.yml";
const RELAY: &str = ".github/workflows/loopgate-relay.yml";
const FIX: &str = ".github/workflows/loopgate-fix.yml";

#[derive(Debug, Args)]
pub struct InitArguments {
    /// Write what runs Loopgate in GitHub Actions alone, without the App
    #[arg(long)]
    action_only: bool,
    /// Run the usual checks in a workflow of Loopgate's, though others run on pull requests already
    #[arg(long)]
    own_workflow: bool,
    /// Write instructions for coding agents into `AGENTS.md` and where they do not read that, and install it for them
    #[arg(long)]
    agents: bool,
    /// Write the stop hooks of Claude Code, Codex, Cursor and Gemini CLI, or take them away [default: ask on a terminal]
    #[arg(long, requires = "agents", value_enum, value_name = "WHAT")]
    stop_hooks: Option<StopHooks>,
    /// Write the workflow in which a fixer works on a pull request, and a second job pushes what it committed
    #[arg(long = "loop")]
    fixes: bool,
    /// Take over the settings that a workflow gives another tool
    #[arg(long, value_name = "TOOL", value_parser = ["agent-approval-check"], conflicts_with_all = ["agents", "fixes"])]
    from: Option<String>,
    /// The Action to use, as OWNER/REPO/action@REF; a commit as REF cannot be exchanged under you
    #[arg(long, value_name = "ACTION", value_parser = action_reference)]
    action: Option<String>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum StopHooks {
    Write,
    Remove,
}

/// `OWNER/REPO/path@REF`, as a step names it; read from an address on GitHub too.
fn action_reference(text: &str) -> Result<String, String> {
    let text = text.strip_prefix("https://github.com/").unwrap_or(text);
    let form = Regex::new("^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+@[A-Za-z0-9._/-]+$");
    let is_one = form.is_ok_and(|form| form.is_match(text));
    is_one
        .then(|| text.to_owned())
        .ok_or_else(|| "is not of the form OWNER/REPO/action@REF".to_owned())
}

/// A file to write.
struct NewFile {
    path: &'static str,
    text: String,
}

/// What is to be done to a file, by what is there: our block may not be in it as it should be.
fn deed(file: &NewFile, root: &Path) -> &'static str {
    match std::fs::read(root.join(file.path)) {
        Ok(there) if there == file.text.as_bytes() => "unchanged",
        Ok(_) if file.text.contains(agents::BEGIN) || file.path == agents::GEMINI_SETTINGS => {
            "update"
        }
        Ok(_) => "replace",
        Err(_) => "create",
    }
}

pub fn run(arguments: &InitArguments) -> CommandResult {
    let here = std::env::current_dir()?;
    let (root, repository) = match runner::Checkout::around(&here) {
        Ok(checkout) => (checkout.root, checkout.repository),
        Err(runner::CheckoutError::NoCommit) => (here, None),
        Err(error) => return Err(CliError::bad_data(format!("{error}. Nothing was written."))),
    };
    let detected = runner::detect(&root, Purpose::WriteDown);
    let files = files(arguments, &root, repository.as_ref(), &detected)?;
    let deeds: Vec<_> = files.iter().map(|file| deed(file, &root)).collect();
    let files: Vec<(NewFile, &str)> = files.into_iter().zip(deeds).collect();
    let in_the_way = files
        .iter()
        .filter(|(_, deed)| *deed == "replace")
        .map(|(file, _)| file.path);
    let in_the_way: Vec<&str> = in_the_way.collect();
    if !in_the_way.is_empty() && !arguments.force && !arguments.dry_run {
        return Err(CliError::bad_data(format!(
            "{} {} there already, with other contents. `loopgate init --dry-run` shows what would be written, --force \
             replaces. Nothing was written.",
            in_the_way.join(" and "),
            if in_the_way.len() == 1 { "is" } else { "are" }
        )));
    }
    if !arguments.dry_run {
        for (file, _) in &files {
            write(&root, file)?;
        }
        if arguments.agents {
            write_stop_hooks(&root, arguments.stop_hooks)?;
        }
    }
    let next = next_steps(arguments, &root, &detected, &files);
    report(arguments, notes(arguments, &detected.ci), next, &files)
}

/// The jobs of the CI that is there which are followed: all, unless a workflow of Loopgate's is to run the checks.
fn followed<'d>(arguments: &InitArguments, detected: &'d Detected) -> &'d [CiJob] {
    if arguments.own_workflow {
        &[]
    } else {
        &detected.ci.jobs
    }
}

/// What of the CI that is there is not followed, and why.
fn notes(arguments: &InitArguments, ci: &Ci) -> Vec<String> {
    if arguments.agents || arguments.fixes {
        return Vec::new();
    }
    let mut left_out: BTreeMap<WhyLeftOut, Vec<String>> = BTreeMap::new();
    for left in &ci.left_out {
        let named = match &left.job {
            Some(job) => format!("{job} in {}", left.workflow),
            None => left.workflow.clone(),
        };
        left_out.entry(left.why).or_default().push(named);
    }
    let files: BTreeSet<String> = ci.jobs.iter().map(|job| job.file().to_owned()).collect();
    let model = context! {
        left_out => Vec::from_iter(left_out.iter().map(|(why, named)| context! { why => format!("{why:?}"), named })),
        unsaid => if arguments.own_workflow { Vec::new() } else { configuration::unsaid(&ci.jobs) },
        unopened => if arguments.own_workflow { Vec::new() } else { ci.unopened.clone() },
        doubled => arguments.own_workflow.then_some(files),
    };
    paragraphs("init/notes.txt", model)
}

impl InitArguments {
    /// The Action to name in a workflow.
    fn action(&self) -> Option<String> {
        let published = || {
            action_reference(PUBLISHED)
                .ok()
                .filter(|_| !crate::published().starts_with("OWNER/"))
        };
        self.action.clone().or_else(published)
    }

    fn needed_action(&self) -> Result<String, CliError> {
        self.action().ok_or_else(|| {
            CliError::usage(
                "a workflow has to name Loopgate's Action, and it is not published yet: give the one of your fork, as \
                 --action OWNER/REPO/action@COMMIT. Nothing was written.",
            )
        })
    }
}

fn files(
    arguments: &InitArguments,
    root: &Path,
    repository: Option<&RepoName>,
    detected: &Detected,
) -> Result<Vec<NewFile>, CliError> {
    if arguments.agents || arguments.fixes {
        let mut files = Vec::new();
        if arguments.agents {
            files.extend(agents::files(
                root,
                repository,
                arguments.action().as_deref(),
            )?);
        }
        if arguments.fixes {
            files.push(NewFile {
                path: FIX,
                text: workflows::fix(root, detected, &arguments.needed_action()?),
            });
        }
        return Ok(files);
    }
    let from = arguments.from.as_ref();
    let agents = from.map(|_| configuration::agents_gate(root)).transpose()?;
    let jobs = followed(arguments, detected);
    let text = match jobs {
        [] => configuration::text(detected, VERIFY, agents),
        jobs => configuration::following(jobs, agents),
    };
    // What is written is read again as it will be.
    config::parse(CONFIGURATION, &text).map_err(|errors| {
        CliError::bad_data(format!(
            "the configuration made for this project is not valid: {errors}"
        ))
    })?;
    let mut files = vec![NewFile {
        path: CONFIGURATION,
        text,
    }];
    let mut titles: Vec<&str> = jobs.iter().map(|job| job.title.as_str()).collect();
    titles.dedup();
    // The configuration alone still decides what `verify` runs. Beside a CI that is there a second one is asked for.
    let is_first = arguments.action().is_some();
    let wants_workflow = arguments.own_workflow || arguments.action_only || is_first;
    // Without checks it would have nothing to run; a configuration that is there may have some.
    let has_checks = !detected.checks.is_empty() || root.join(CONFIGURATION).is_file();
    if jobs.is_empty() && wants_workflow && has_checks {
        titles.push("Loopgate verify");
        files.push(NewFile {
            path: VERIFY,
            text: workflows::verify(root, detected, &arguments.needed_action()?),
        });
    }
    if arguments.action_only {
        titles.push("Loopgate relay");
        let text = workflows::reconcile(&arguments.needed_action()?, &titles);
        files.push(NewFile {
            path: RECONCILE,
            text,
        });
        files.push(NewFile {
            path: RELAY,
            text: workflows::documented(RELAY, ""),
        });
    }
    Ok(files)
}

fn write(root: &Path, file: &NewFile) -> Result<(), CliError> {
    let path = root.join(file.path);
    // A repository of others may have a link in our way.
    if let (Ok(real), Ok(top)) = (path.canonicalize(), root.canonicalize())
        && !real.starts_with(top)
    {
        return Err(CliError::bad_data(format!(
            "{} is a link out of the repository: nothing was written",
            file.path
        )));
    }
    let folder = path.parent().unwrap_or(&path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, &file.text))
        .map_err(|error| {
            CliError::unavailable(format!("{} cannot be written: {error}", path.display()))
        })
}

/// Writes or removes the stop hooks where somebody wants it: by the option, or asked on a terminal.
fn write_stop_hooks(root: &Path, wish: Option<StopHooks>) -> Result<(), CliError> {
    if wish.is_none() && !io::stdin().is_terminal() {
        return Ok(());
    }
    let is_wanted = wish != Some(StopHooks::Remove);
    let files = hooks::files(root, is_wanted)?;
    let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
    let question = format!(
        "Shall agents stop only with a green verdict? This changes {} [yes/no]",
        paths.join(", ")
    );
    if wish.is_none() && !files.is_empty() && !output::agrees(&question) {
        return Ok(());
    }
    for hooks::HookFile { path, text } in files {
        match text {
            Some(text) => write(root, &NewFile { path, text })?,
            None => std::fs::remove_file(root.join(path))?,
        }
        output::note_line(format!(
            "{path}: stop hook {}",
            if is_wanted { "written" } else { "removed" }
        ));
    }
    Ok(())
}

fn report(
    arguments: &InitArguments,
    notes: Vec<String>,
    next: Vec<String>,
    files: &[(NewFile, &str)],
) -> CommandResult {
    let limits = if arguments.action_only {
        paragraphs("init/limits.txt", context! {})
    } else {
        Vec::new()
    };
    let document = json!({
        "schema": "loopgate.init/v1",
        "written": !arguments.dry_run,
        "files": Vec::from_iter(files.iter().map(|(file, deed)| json!({ "path": file.path, "deed": deed, "text": file.text }))),
        "not_followed": notes,
        "limits": limits,
        "next": next,
    });
    let shown = |(file, deed): &(NewFile, &str)| {
        let text = file.text.lines().filter(|_| arguments.dry_run);
        let lines = text
            .map(|line| format!("  | {line}").trim_end().to_owned())
            .collect::<Vec<_>>();
        context! { deed => format!("{deed:9}"), path => file.path, lines }
    };
    let files: Vec<Value> = files.iter().map(shown).collect();
    output::show(&document, || {
        render::text("init/report.txt", context! { files, notes, limits, next })
    })
}

/// The paragraphs of a text, each for itself.
fn paragraphs(template: &str, model: Value) -> Vec<String> {
    let text = render::text(template, model);
    text.split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What is left for people to do.
fn next_steps(
    arguments: &InitArguments,
    root: &Path,
    detected: &Detected,
    files: &[(NewFile, &str)],
) -> Vec<String> {
    let action = arguments.action();
    let is_named = |action: &&String| files.iter().any(|(file, _)| file.text.contains(*action));
    // A commit never changes. The owner of a tag or a branch can move it.
    let moves = |action: &&String| {
        let reference = action.rsplit('@').next().unwrap_or_default();
        reference.len() != 40 || !reference.chars().all(|c| c.is_ascii_hexdigit())
    };
    let tests = |kind: CheckKind| kind.is_of_tests() || kind == CheckKind::Coverage;
    let jobs = followed(arguments, detected);
    let is_tested = jobs.iter().any(|job| tests(job.kind));
    let model = context! {
        tag => action.as_ref().filter(is_named).filter(moves),
        agents => arguments.agents,
        install => agents::install(action.as_deref()),
        copilot => agents::COPILOT,
        told_gemini => agents::gemini_is_told(root),
        hooks_codex => hooks::is_written(root, "codex"),
        hooks_claude => hooks::is_written(root, "claude-code"),
        sets_up_copilot => action.is_some() && agents::sets_up_copilot(root),
        fixes => arguments.fixes,
        by_hand => files.iter().any(|(file, _)| [VERIFY, FIX].contains(&file.path))
            .then(|| workflows::brought_by_hand(detected)),
        is_configured => root.join(CONFIGURATION).is_file(),
        follows => !jobs.is_empty(),
        is_tested,
        tests_elsewhere => !is_tested && detected.checks.values().any(|check| tests(check.kind)),
        wants_workflow => arguments.own_workflow || arguments.action_only,
        has_checks => !detected.checks.is_empty(),
        is_alone => files.len() == 1,
        action_only => arguments.action_only,
    };
    paragraphs("init/next.txt", model)
}

#[cfg(test)]
mod tests;
