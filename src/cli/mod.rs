//! The command line: one file per subcommand, each a thin layer that reads its input, calls a room below and prints.
//!
//! Results go to standard output, progress and errors to standard error, both through [`output`]. Exit codes are in
//! [`exit`].

mod actions;
mod agent_stop;
mod check_config;
mod decide;
#[cfg(feature = "demo")]
mod demo;
mod dispute;
mod doctor;
pub mod exit;
mod explain;
mod export;
mod feedback;
mod help;
mod init;
mod inspect;
mod kept_evidence;
mod kept_results;
mod man;
mod mcp;
mod memory;
mod metrics;
mod online;
mod operate;
mod output;
mod progress;
mod reconcile;
mod reflex;
mod serve;
mod setup;
mod try_history;
mod verify;
mod verify_merge;
mod what_if;
mod working_tree;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{
    CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};
use clap_complete::Shell;

use loopgate_core::RepoName;
use output::{Format, GlobalOptions};

/// `1.0.0 (commit 0123456789ab, x86_64-unknown-linux-gnu)`; see `build.rs`.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("LOOPGATE_BUILT_FROM"),
    ", ",
    env!("LOOPGATE_TARGET"),
    ")"
);

/// Closes the loop on pull requests: proceed, retry with feedback, or escalate to a human.
#[derive(Debug, Parser)]
#[command(name = "loopgate", version = VERSION, arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    options: GlobalOptions,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the configured checks here, evaluate them, and write the evidence
    Verify(verify::VerifyArguments),
    /// Work on a task here until it passes: run the checks, call the fixer, again
    #[command(subcommand)]
    Loop(reflex::LoopCommand),
    /// Decide one iteration: YAML in, YAML out
    Decide {
        /// The document to decide; - reads standard input
        #[arg(default_value = "-", value_name = "FILE")]
        file: PathBuf,
    },
    /// Register Loopgate as a GitHub App, with the help of your browser
    Setup(setup::SetupArguments),
    /// Find out what keeps Loopgate from working, on GitHub and here, and what to do about it
    Doctor {
        /// A repository to examine too
        #[arg(value_name = "OWNER/REPO")]
        repository: Option<RepoName>,
    },
    /// Receive webhooks and look after the pull requests of every installation
    Serve(serve::ServeArguments),
    /// Look after the pull requests that a workflow's event concerns, without a server
    Reconcile(reconcile::ReconcileArguments),
    /// Ask a running server whether it is alive; for container health checks
    Health {
        /// The server's webhook address; an unspecified host is asked on the loopback
        #[arg(
            long,
            env = "LOOPGATE_LISTEN",
            default_value = "127.0.0.1:8080",
            value_name = "ADDRESS"
        )]
        listen: SocketAddr,
    },
    /// What a running server has given up, and trying it again
    DeadLetters(operate::DeadLetterArguments),
    /// Ask a running server to reconcile pull requests whose webhooks were lost
    Resync(operate::ResyncArguments),
    /// Write a configuration for the project here, and the workflows that run it
    Init(init::InitArguments),
    /// Check a configuration file and say where it is wrong
    CheckConfig(check_config::CheckConfigArguments),
    /// What keeps a pull request, or the working tree, from being ready; for its fixer
    Feedback(feedback::FeedbackArguments),
    /// Answer the stop hook of a coding agent: may it end its turn?
    AgentStop {
        /// The agent whose hook it is
        #[arg(long = "for", value_enum, value_name = "AGENT")]
        agent: agent_stop::Agent,
    },
    /// Say that a failure is not yours to fix, for a person to settle
    Dispute(dispute::DisputeArguments),
    /// Settle a dispute on a pull request: the test is right, the code is, or neither
    Settle(dispute::SettleArguments),
    /// Answer programs that speak the Model Context Protocol, on standard input and output
    Mcp,
    /// Check offline, by its signed statement, whether a merge rests on what was tested and approved
    VerifyMerge(verify_merge::VerifyMergeArguments),
    /// Why is a pull request where it is, and who can open its gates?
    Explain(explain::ExplainArguments),
    /// What runs come to: attempts, escalations, coverage, time, against the targets
    Metrics(metrics::MetricsArguments),
    /// Show what Loopgate would have done on a repository's last pull requests; nothing is written there
    Try(try_history::TryArguments),
    /// What would have differed under another configuration?
    WhatIf(what_if::WhatIfArguments),
    /// Write a recorded run in the shape of another tool's documents
    Export(export::ExportArguments),
    /// What failed before in a repository, and what fixed it
    Memory(memory::MemoryArguments),
    /// What does Loopgate understand by this?
    #[command(subcommand)]
    Inspect(inspect::InspectCommand),
    /// Watch a pull request's whole life on a simulated GitHub, without an account
    #[cfg(feature = "demo")]
    Demo(demo::DemoArguments),
    /// Print a page of the manual, or write them all
    Man(man::ManArguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete in
        shell: Shell,
    },
}

/// Why a subcommand ends early: the message on standard error, and the exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    code: u8,
    message: String,
}

impl CliError {
    fn bad_data(message: impl ToString) -> Self {
        Self {
            code: exit::BAD_DATA,
            message: message.to_string(),
        }
    }

    fn usage(message: impl ToString) -> Self {
        Self {
            code: exit::USAGE,
            message: message.to_string(),
        }
    }

    /// What was waited for has not come.
    fn waiting(message: impl ToString) -> Self {
        Self {
            code: exit::WAITING,
            message: message.to_string(),
        }
    }

    fn unavailable(message: impl ToString) -> Self {
        Self {
            code: exit::UNAVAILABLE,
            message: message.to_string(),
        }
    }
}

/// A fault of a room below ends a subcommand with [`exit::UNAVAILABLE`], and names what to do about GitHub's; what is
/// wrong with its input has a code of its own.
impl<E: std::error::Error + 'static> From<E> for CliError {
    fn from(error: E) -> Self {
        let any: &dyn std::error::Error = &error;
        match any.downcast_ref() {
            Some(of_github) => Self::unavailable(online::with_remedy(of_github)),
            None => Self::unavailable(error),
        }
    }
}

/// What every subcommand returns: its exit code, or why it could not go on.
type CommandResult = Result<u8, CliError>;

/// Parses the command line, runs the subcommand, and returns the exit code.
pub fn main() -> ExitCode {
    let mut command = help::with_texts(Cli::command(), "");
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_tip(error);
            // Printing only fails when the output is not read.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() {
                exit::USAGE
            } else {
                exit::OK
            });
        }
    };
    let annotates = cli.options.format == Format::Github || actions::is_here();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| CliError::unavailable(format!("no threads to run on: {error}")));
    let ended = runtime.and_then(|runtime| {
        let ended = runtime.block_on(run(cli));
        // A read of standard input may be under way, which nothing can end.
        runtime.shutdown_background();
        ended
    });
    match ended.and_then(|code| output::all_written().map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        Err(stop) => {
            // It may quote a file of the repository.
            output::error_line(loopgate_render::defused(&format!(
                "error: {}",
                stop.message
            )));
            if annotates {
                output::error_line(loopgate_render::error_command(&stop.message));
            }
            ExitCode::from(stop.code)
        }
    }
}

/// The error with a tip that fits: words where a subcommand is expected are a task, and resemble none.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(words)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if words.contains(char::is_whitespace) {
        let tip = format!("a task is set up with: loopgate loop new \"{words}\"");
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

/// Keeps what this process was started with from all others of this user: on Linux none of them reads its environment
/// or memory. A check, its own or one that runs beside it, would find the tokens there that are withheld from it, and in
/// a workflow the files by which a step passes values to the steps after it. Other systems know no such thing.
fn hide_from_other_processes() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        output::note_line(format_args!(
            "the environment of this program can be read by its checks: {error}"
        ));
    }
}

async fn run(cli: Cli) -> CommandResult {
    // What writes a protocol to standard output prints nothing for people there.
    let format = if matches!(cli.command, Command::Mcp) {
        Format::Json
    } else {
        cli.options.format
    };
    let _ = output::OPTIONS.set(GlobalOptions {
        format,
        ..cli.options.clone()
    });
    if format == Format::Github
        && !matches!(cli.command, Command::Verify(_) | Command::CheckConfig(_))
    {
        return Err(CliError::usage(
            "`--format github` is known to verify and check-config alone",
        ));
    }
    hide_from_other_processes();
    if let Some(directory) = &cli.options.directory {
        let refused = |error| {
            CliError::usage(format!(
                "{} cannot be worked in: {error}",
                directory.display()
            ))
        };
        std::env::set_current_dir(directory).map_err(refused)?;
    }
    match cli.command {
        Command::Verify(arguments) => verify::run(&arguments).await,
        Command::CheckConfig(arguments) => check_config::run(&arguments).await,
        Command::Loop(command) => reflex::run(command).await,
        Command::Decide { file } => decide::run(&file),
        Command::Setup(arguments) => setup::run(&arguments).await,
        Command::Doctor { repository } => doctor::run(repository.as_ref()).await,
        Command::Serve(arguments) => serve::run(arguments).await,
        Command::Reconcile(arguments) => reconcile::run(&arguments).await,
        Command::Health { listen } => operate::health(listen),
        Command::DeadLetters(arguments) => operate::dead_letters(&arguments),
        Command::Resync(arguments) => operate::resync(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Feedback(arguments) => feedback::run(&arguments).await,
        Command::AgentStop { agent } => agent_stop::run(agent).await,
        Command::Dispute(arguments) => dispute::run(&arguments).await,
        Command::Settle(arguments) => dispute::settle(&arguments).await,
        Command::Mcp => mcp::run().await,
        Command::VerifyMerge(arguments) => verify_merge::run(&arguments).await,
        Command::Explain(arguments) => explain::run(&arguments).await,
        Command::Metrics(arguments) => metrics::run(&arguments).await,
        Command::Try(arguments) => try_history::run(&arguments).await,
        Command::WhatIf(arguments) => what_if::run(&arguments).await,
        Command::Export(arguments) => export::run(&arguments).await,
        Command::Memory(arguments) => memory::run(&arguments).await,
        Command::Inspect(command) => inspect::run(&command).await,
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::run(&arguments).await,
        Command::Man(arguments) => man::run(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "loopgate", &mut script);
            output::text(String::from_utf8_lossy(&script));
            Ok(exit::OK)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_the_place_of_a_subcommand_are_a_task() {
        let tip = |words: &[&str]| {
            let refused = Cli::command().try_get_matches_from(words).unwrap_err();
            with_tip(refused).to_string()
        };
        let said = tip(&["loopgate", "loop", "fix it"]);
        assert!(said.contains("loopgate loop new \"fix it\""), "{said}");
        assert!(!said.contains("'init'"), "{said}");
        let mistyped = tip(&["loopgate", "loop", "nex"]);
        assert!(mistyped.contains("'next'"), "{mistyped}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Calls of ours in a document: lines of a shell's block, and text between backticks.
    fn calls(document: &str) -> Vec<Vec<&str>> {
        let (mut calls, mut block) = (Vec::new(), None);
        for line in document.lines() {
            match (line.trim_start().strip_prefix("```"), block) {
                (Some(language), None) => block = Some(language),
                (Some(_), Some(_)) => block = None,
                (None, Some("sh")) => calls.push(line.split(" #").next().unwrap_or_default()),
                (None, Some(_)) => {}
                (None, None) => calls.extend(line.split('`').skip(1).step_by(2)),
            }
        }
        let words = calls.into_iter().map(words_of_call);
        words.filter(|words| is_call(words)).collect()
    }

    /// The words of a line, without a program before ours that starts it: `docker exec NAME /usr/local/bin/loopgate …`.
    fn words_of_call(line: &str) -> Vec<&str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let begin = words
            .iter()
            .rposition(|word| word.ends_with("bin/loopgate"));
        words[begin.unwrap_or(0)..].to_vec()
    }

    /// Whether words call us: `loopgate / verify` is a check run, and `loopgate …` means any call.
    fn is_call(words: &[&str]) -> bool {
        words.len() > 1
            && words[0].ends_with("loopgate")
            && !words[0].contains('@')
            && !["/", "…"].contains(&words[1])
    }

    const COMMANDS: &str = include_str!("../../docs/commands.md");
    /// The texts of README.md, action/README.md and every page below docs/.
    fn documents() -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let pages = walkdir::WalkDir::new(root.join("docs"))
            .sort_by_file_name()
            .into_iter()
            .map(|entry| entry.expect("an entry").into_path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let readmes = ["README.md", "action/README.md"].map(|name| root.join(name));
        readmes
            .into_iter()
            .chain(pages)
            .map(|path| std::fs::read_to_string(path).expect("a document"))
            .collect()
    }

    /// A command that has no row in docs/commands.md gets one, with what its help says first.
    #[test]
    fn a_row_names_each_command() {
        let mut written = COMMANDS.to_owned();
        let is_named = |call: &str| {
            let row = format!("\n| `{call}");
            let mut rows = COMMANDS.split(&row).skip(1);
            rows.any(|rest| rest.starts_with([' ', '`']))
        };
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let call = format!("loopgate {}", command.get_name());
            if !is_named(&call) {
                let about = command
                    .get_about()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                written = written.replacen(
                    "\n\n## Reports",
                    &format!("\n| `{call}` | {about} |\n\n## Reports"),
                    1,
                );
            }
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md");
        loopgate_written::assert_written(file, &written);
    }

    #[test]
    fn the_documents_call_what_is_there() {
        let documents = documents();
        let calls: Vec<_> = documents.iter().flat_map(|text| calls(text)).collect();
        assert!(calls.len() > 100, "{calls:?}");
        for call in calls {
            let shown = call.join(" ");
            let mut command = Cli::command();
            let mut words = call[1..]
                .iter()
                .map(|word| word.trim_matches(['"', '\'', '(', ')', ',']));
            let mut options: Vec<&str> = Vec::new();
            for word in &mut words {
                match command.find_subcommand(word) {
                    Some(found) => command = found.clone(),
                    None => options.extend(word.strip_prefix("--")),
                }
            }
            assert_ne!(command.get_name(), "loopgate", "{shown}: no such command");
            for option in options.iter().filter_map(|option| option.split('=').next()) {
                let is_there = command
                    .get_arguments()
                    .any(|argument| argument.get_long() == Some(option));
                assert!(
                    is_there,
                    "{shown}: no such option of {}",
                    command.get_name()
                );
            }
        }
    }
}
