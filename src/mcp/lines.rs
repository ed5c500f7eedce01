//! Requests of a client on standard input, as lines. One that is no JSON gets an answer, so that its sender does not wait
//! for one (<https://www.jsonrpc.org/specification>, error object): the protocol's library is silent there, and over HTTP
//! it answers with a text.

use std::{future::pending, io};

use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
        AsyncWriteExt as _, BufReader, DuplexStream, duplex,
    },
    sync::mpsc,
};

/// Bytes of a line at most. The longest honest request is a sentence.
const MOST: usize = 1 << 20;
/// Bytes between the two ends of a pipe.
const PIPE: usize = 64 << 10;
/// Answers that wait until they can be written.
const WAITING: usize = 16;

/// JSON-RPC's codes for what is no JSON, and for JSON that is no message.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

const NO_JSON: &str = "a message is JSON, nested less than 128 deep";
/// Protocols since 2025-06-18 have no batches.
const NO_MESSAGE: &str = "one message of JSON-RPC 2.0 is expected, no list of them";

/// The transport for the protocol's library, and what moves its lines until the library has ended.
pub fn transport(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
) -> (
    (DuplexStream, DuplexStream),
    impl Future<Output = io::Result<()>>,
) {
    let (requests, received) = duplex(PIPE);
    let (sent, answers) = duplex(PIPE);
    let (refuse, refused) = mpsc::channel(WAITING);
    let passing = async {
        // An input that cannot be read has ended, too.
        let _ = pass(BufReader::new(from), requests, refuse).await;
        pending().await
    };
    let moving = async {
        tokio::select! {
            written = write(BufReader::new(answers), refused, to) => written,
            never = passing => never,
        }
    };
    ((received, sent), moving)
}

/// Passes on the lines that are JSON.
async fn pass(
    mut from: impl AsyncBufRead + Unpin,
    mut to: DuplexStream,
    refuse: mpsc::Sender<&'static str>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let why = match next(&mut from, &mut line).await? {
            Line::None => return Ok(()),
            Line::TooLong => "a line has at most 1 MiB",
            Line::Whole if line.trim_ascii().is_empty() => continue,
            Line::Whole if is_json(&line) => {
                to.write_all(&line).await?;
                continue;
            }
            Line::Whole => NO_JSON,
        };
        // Whoever writes has ended, so nobody reads either.
        if refuse.send(why).await.is_err() {
            return Ok(());
        }
    }
}

enum Line {
    Whole,
    /// It is left out up to its end.
    TooLong,
    /// There are no more.
    None,
}

/// Reads the next line. Of one that is too long no more is kept than a line may have.
async fn next(from: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<Line> {
    let mut is_too_long = false;
    loop {
        line.clear();
        let read = from.take(MOST as u64).read_until(b'\n', line).await?;
        match (line.ends_with(b"\n"), is_too_long) {
            (true, true) => return Ok(Line::TooLong),
            (true, false) => return Ok(Line::Whole),
            // The input ended within a line.
            (false, _) if read < MOST => return Ok(Line::None),
            (false, _) => is_too_long = true,
        }
    }
}

/// Whether the protocol's library can read it: its parser has the same limits.
fn is_json(line: &[u8]) -> bool {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    serde_json::from_slice::<Value>(line).is_ok()
}

/// Writes the lines of the library, and an answer for each line that was refused, one after the other.
async fn write(
    answers: BufReader<DuplexStream>,
    mut refused: mpsc::Receiver<&'static str>,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut answers = answers.split(b'\n');
    loop {
        let mut line = tokio::select! {
            answer = answers.next_segment() => match answer? {
                Some(answer) => answer,
                None => return Ok(()),
            },
            Some(why) = refused.recv() => error(PARSE_ERROR, &format!("Parse error: {why}"))
                .to_string()
                .into_bytes(),
        };
        line.push(b'\n');
        to.write_all(&line).await?;
        to.flush().await?;
    }
}

/// What is answered over HTTP before the protocol's library gets a message: a `ping`, which it refuses in the newest
/// version (as [`Session`](super::Session) has it).
///
/// # Errors
/// The answer to what is no message that the library could read.
pub fn at_once(message: &[u8]) -> Result<Option<Value>, Value> {
    if !is_json(message) {
        return Err(error(PARSE_ERROR, &format!("Parse error: {NO_JSON}")));
    }
    match serde_json::from_slice(message) {
        Ok(ClientJsonRpcMessage::Request(asked)) => {
            let is_ping = matches!(asked.request, ClientRequest::PingRequest(_));
            Ok(is_ping.then(|| json!({ "jsonrpc": "2.0", "id": asked.id, "result": {} })))
        }
        Ok(_) => Ok(None),
        Err(_) => Err(error(
            INVALID_REQUEST,
            &format!("Invalid Request: {NO_MESSAGE}"),
        )),
    }
}

/// An error for a sender whose request has no id that can be read.
fn error(code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } })
}
