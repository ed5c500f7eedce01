//! `loopgate dead-letters`, `resync` and `health`: what operators ask a running server for, over its own listeners.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

use clap::{Args, Subcommand};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{CliError, CommandResult, exit, online::PullRequest, output};
use crate::server::{GUARD, Replay, ResyncOf};
use loopgate_core::Timestamp;
use loopgate_render::defused;

/// A thousand dead letters fit.
const ANSWER_BYTES: u64 = 4 << 20;

#[derive(Debug, Args)]
pub struct AdminArguments {
    /// The server's admin address; an unspecified host is asked on the loopback
    #[arg(
        long,
        env = "LOOPGATE_ADMIN_LISTEN",
        default_value = "127.0.0.1:9090",
        value_name = "ADDRESS",
        global = true
    )]
    admin_listen: SocketAddr,
}

#[derive(Debug, Args)]
pub struct DeadLetterArguments {
    #[command(flatten)]
    server: AdminArguments,
    #[command(subcommand)]
    command: Option<DeadLetterCommand>,
}

#[derive(Debug, Subcommand)]
enum DeadLetterCommand {
    /// The newest thousand, with reason and time; what is done without a subcommand
    List,
    /// Try them again, with ten attempts as if they were new
    Replay(ReplayArguments),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ReplayArguments {
    /// One, by its id as `list` shows it
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// All whose reason contains this
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// All
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub struct ResyncArguments {
    #[command(flatten)]
    server: AdminArguments,
    /// Look at these, whatever is known of them
    #[arg(value_name = "OWNER/REPO[#N]", value_parser = place)]
    what: Option<ResyncOf>,
}

/// `owner/name` or `owner/name#12`.
fn place(text: &str) -> Result<ResyncOf, String> {
    if text.contains('#') {
        let PullRequest { repository, number } = text.parse()?;
        return Ok(ResyncOf {
            repository: Some(repository),
            pull_request: Some(number),
        });
    }
    let malformed = "write it as OWNER/REPO or OWNER/REPO#N, such as acme/widgets#12";
    Ok(ResyncOf {
        repository: Some(text.parse().map_err(|_| malformed)?),
        pull_request: None,
    })
}

/// One of `GET /dead-letters`.
#[derive(Deserialize)]
struct ListedDeadLetter {
    id: String,
    failures: u32,
    reason: String,
    died_at: Timestamp,
}

pub fn dead_letters(arguments: &DeadLetterArguments) -> CommandResult {
    let address = arguments.server.admin_listen;
    match &arguments.command {
        None | Some(DeadLetterCommand::List) => {
            let answer = ask(address, "GET", "/dead-letters", "")?;
            show(
                &answer,
                "dead_letters",
                |letters: Vec<ListedDeadLetter>| match letters.as_slice() {
                    [] => vec!["No dead letters.".to_owned()],
                    letters => Vec::from_iter(letters.iter().map(
                        |ListedDeadLetter {
                             id,
                             failures,
                             reason,
                             died_at,
                         }| {
                            let died = died_at.format("%Y-%m-%d %H:%M UTC");
                            format!("{id}  given up {died} after {failures} failures: {reason}")
                        },
                    )),
                },
            )
        }
        Some(DeadLetterCommand::Replay(ReplayArguments { id, reason, .. })) => {
            let which = match (id, reason) {
                (Some(id), _) => Replay::Id(id.clone()),
                (None, Some(reason)) => Replay::Reason(reason.clone()),
                (None, None) => Replay::All,
            };
            let answer = ask(
                address,
                "POST",
                "/dead-letters/replay",
                &json!(which).to_string(),
            )?;
            show(&answer, "replayed", |replayed: usize| match replayed {
                0 => vec!["No dead letter is meant by that.".to_owned()],
                1 => vec!["1 dead letter is tried again.".to_owned()],
                many => vec![format!("{many} dead letters are tried again.")],
            })
        }
    }
}

pub fn resync(arguments: &ResyncArguments) -> CommandResult {
    let what = arguments.what.clone().unwrap_or_default();
    let answer = ask(
        arguments.server.admin_listen,
        "POST",
        "/resync",
        &json!(what).to_string(),
    )?;
    show(&answer, "", |_: Value| {
        vec![match (what.repository, what.pull_request) {
            (Some(repository), Some(number)) => {
                format!("The server looks at {repository}#{number}.")
            }
            (Some(repository), None) => {
                format!("The server looks at every open pull request of {repository}.")
            }
            (None, _) => {
                "The server compares all open pull requests with what it knows of them.".to_owned()
            }
        }]
    })
}

/// One plain HTTP request, so that an image without a shell or curl can check itself.
pub fn health(address: SocketAddr) -> CommandResult {
    let (status, _) = exchange(address, "GET", "/healthz", "", Duration::from_secs(2))
        .map_err(|error| {
            CliError::unavailable(format!(
                "no answer from {address}: {error}. Is `loopgate serve` running there? --listen or LOOPGATE_LISTEN says \
                 where it listens"
            ))
        })?;
    match status.as_str() {
        "200" => Ok(exit::OK),
        status => Err(CliError::unavailable(format!("{address} answers {status}"))),
    }
}

/// The server's document for programs; for people the lines on one field of it. It may quote outside text.
fn show<T: DeserializeOwned>(
    answer: &str,
    field: &str,
    lines: impl FnOnce(T) -> Vec<String>,
) -> CommandResult {
    let unreadable = |error| CliError::unavailable(format!("the answer cannot be read: {error}"));
    let document: Value = serde_json::from_str(answer).map_err(unreadable)?;
    let lines = lines(T::deserialize(&document[field]).map_err(unreadable)?);
    output::show(&document, || {
        lines
            .iter()
            .map(|line| defused(line) + "\n")
            .collect::<String>()
    })
}

/// The body of a good answer of the admin listener.
fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<String, CliError> {
    let (status, answer) = exchange(address, method, path, body, Duration::from_secs(30)).map_err(|error| {
        CliError::unavailable(format!(
            "no answer from {address}: {error}. Is `loopgate serve` running there? --admin-listen or \
             LOOPGATE_ADMIN_LISTEN says where its admin pages are"
        ))
    })?;
    let document = serde_json::from_str::<Value>(&answer).unwrap_or_default();
    let unknown = || {
        format!(
            "{address} answers {status} to {path}: is it the admin address of this version's server?"
        )
    };
    let reason = || {
        document["error"]
            .as_str()
            .map_or_else(unknown, str::to_owned)
    };
    match status.as_str() {
        "200" | "202" => Ok(answer),
        "400" | "404" => Err(CliError::bad_data(reason())),
        _ => Err(CliError::unavailable(reason())),
    }
}

/// The status and body of one answer.
fn exchange(
    mut address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
    wait: Duration,
) -> io::Result<(String, String)> {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    let mut stream = TcpStream::connect_timeout(&address, wait.min(Duration::from_secs(5)))?;
    stream.set_read_timeout(Some(wait))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{GUARD}: 1\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or("nothing");
    Ok((status.to_owned(), body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::PrNumber;

    #[test]
    fn a_repository_or_one_pull_request_is_meant() {
        let number = |text| place(text).unwrap().pull_request.map(PrNumber::get);
        assert_eq!(
            (number("acme/widgets"), number("acme/widgets#12")),
            (None, Some(12))
        );
        for text in [
            "",
            "acme",
            "acme/widgets#",
            "acme/widgets#x",
            "#12",
            "acme/widgets#12#13",
        ] {
            assert!(
                place(text).unwrap_err().contains("acme/widgets#12"),
                "{text}"
            );
        }
    }
}
