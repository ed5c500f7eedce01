//! `loopgate demo`: a pull request's whole life on a simulated GitHub, without an account.
//!
//! Only GitHub, the people and their CI are simulated. The server is the real one: it receives events as signed
//! webhooks over HTTP, and everything it says and does goes through its API client to the simulated GitHub.

mod ci;
mod demo_world;
mod facts;
mod narrator;
#[cfg(test)]
mod picture_tests;
mod playing;
mod story;

use std::{io::IsTerminal, time::Instant};

use clap::Args;

use super::{CliError, CommandResult, exit, output, output::Format, setup};
use narrator::{Narrator, Pace};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Play it without pauses [default: where the output is no terminal]
    #[arg(long)]
    fast: bool,

    /// Print only the final facts, as JSON
    #[arg(long, conflicts_with = "serve")]
    json: bool,

    /// Afterwards let people play on in a browser, until Ctrl-C
    #[arg(long)]
    serve: bool,
}

/// Plays the story. The exit code is 0 only if it ended as planned.
pub async fn run(arguments: &Arguments, format: Format) -> CommandResult {
    let json = arguments.json || format == Format::Json;
    if json && arguments.serve {
        return Err(CliError::usage("--serve is for people: it has no JSON"));
    }
    let is_watched = std::io::stdout().is_terminal() && !arguments.fast;
    let pace = if is_watched { Pace::Reader } else { Pace::AtOnce };
    let narrator = Narrator::new(Some(pace).filter(|_| !json));
    let started = Instant::now();
    let pages = if arguments.serve { Some(setup::bind("127.0.0.1:0").await?) } else { None };
    let url = pages.as_ref().map(|(_, address)| format!("http://{address}"));
    let demo_world = demo_world::DemoWorld::open(url).await?;
    let ending = story::play(&demo_world, narrator).await;
    let facts = match &ending {
        Ok(played) => Some(facts::gather(&demo_world, played, started.elapsed())?),
        Err(_) => None,
    };
    if let (Some(pages), Ok(_)) = (pages, &ending) {
        playing::until_stopped(&demo_world, pages).await?;
    }
    demo_world.close().await;
    let played = ending?;
    if let Some(facts) = facts.filter(|_| json) {
        output::json(&facts)?;
    }
    for surprise in &played.surprises {
        output::note_line(format_args!("the story went another way: {surprise}"));
    }
    Ok(if played.surprises.is_empty() { exit::OK } else { exit::RETRY })
}
