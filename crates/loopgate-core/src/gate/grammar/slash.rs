//! Commands about gates, one per line:
//!
//! ```text
//! /approve gate {gate} [sha40]      /reject gate [reason]
//! /revoke gate                      /dismiss gate @user reason
//! ```

use super::{
    Intent,
    phrase::{Vocabulary, words},
    visible::Line,
};
use crate::{
    commands::{CommandProblem, command},
    gate::report::PhraseProblem,
    ids::{GateName, Login, Sha},
    text,
};

/// Reasons are kept in the state and shown: at most so many characters of them.
const LONGEST_REASON: usize = 2_000;

/// A command and how much of its line must be plain: the free text after it may hold code or links.
struct Form {
    intents: Vec<Intent>,
    plain: Plain,
}

#[derive(Clone, Copy)]
enum Plain {
    /// The whole line.
    All,
    /// So many words from its beginning.
    Words(usize),
}

/// Reads a line that begins with a slash.
///
/// Free text at the end of a command is taken as it was written, with its code and links. `Ok(None)`: it is none of our
/// commands, or not in plain words. An error: it is one, but for one thing.
pub(super) fn read(line: &Line, vocabulary: Vocabulary<'_>) -> Result<Option<Vec<Intent>>, PhraseProblem> {
    let text = line.text.trim();
    let name = words(text).next().unwrap_or_default().to_ascii_lowercase();
    let form = match name.as_str() {
        "/approve" => approve(text, vocabulary)?,
        "/reject" => reject(text, vocabulary)?,
        "/revoke" => revoke(text, vocabulary)?,
        "/dismiss" => dismiss(text, vocabulary)?,
        "/loop" => in_the_loop(line)?,
        _ => return misspelt(&name, text),
    };
    Ok(is_plain(line, form.plain).then_some(form.intents))
}

fn is_plain(line: &Line, wanted: Plain) -> bool {
    let Some((at, _)) = line.alien else { return true };
    let plain = &line.text[..at];
    let unfinished = usize::from(!plain.ends_with([' ', '\t', '\u{a0}']));
    match wanted {
        Plain::All => false,
        Plain::Words(count) => words(plain).count() >= count + unfinished,
    }
}

fn approve(text: &str, vocabulary: Vocabulary<'_>) -> Result<Form, PhraseProblem> {
    let mut named: Vec<&str> = words(text).skip(1).take(vocabulary.gates.len() + 2).collect();
    let commit: Option<Sha> = named.last().and_then(|last| last.parse().ok());
    if commit.is_some() {
        named.pop();
    } else if named.len() > 1 && named.last().is_some_and(|last| is_short_commit(last, vocabulary)) {
        return Err(PhraseProblem::ShortSha);
    }
    if named.is_empty() {
        return Err(PhraseProblem::NoGate);
    }
    let gate = |word: &&str| vocabulary.gate(word).cloned().ok_or_else(|| vocabulary.unknown(word));
    let gates: Vec<GateName> = named.iter().map(gate).collect::<Result<_, _>>()?;
    let intents = gates.into_iter().map(|gate| Intent::Approve { gate, commit }).collect();
    Ok(Form { intents, plain: Plain::All })
}

fn is_short_commit(word: &str, vocabulary: Vocabulary<'_>) -> bool {
    (7..40).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit()) && vocabulary.gate(word).is_none()
}

fn reject(text: &str, vocabulary: Vocabulary<'_>) -> Result<Form, PhraseProblem> {
    let (gate, rest) = gate_and_rest(text, vocabulary)?;
    let reason = (!rest.is_empty()).then(|| text::start(rest, LONGEST_REASON));
    Ok(Form { intents: vec![Intent::Reject { gate, reason }], plain: Plain::Words(2) })
}

fn revoke(text: &str, vocabulary: Vocabulary<'_>) -> Result<Form, PhraseProblem> {
    let (gate, rest) = gate_and_rest(text, vocabulary)?;
    if !rest.is_empty() {
        return Err(usage("/revoke <gate>"));
    }
    Ok(Form { intents: vec![Intent::Revoke { gate }], plain: Plain::All })
}

const DISMISS: &str = "/dismiss <gate> @user <reason>";

fn dismiss(text: &str, vocabulary: Vocabulary<'_>) -> Result<Form, PhraseProblem> {
    let (gate, rest) = gate_and_rest(text, vocabulary)?;
    let (of, reason) = split_word(rest);
    let of: Option<Login> = of.strip_prefix('@').and_then(|login| login.parse().ok());
    match of {
        Some(of) if !reason.is_empty() => {
            let intents = vec![Intent::Dismiss { gate, of, reason: text::start(reason, LONGEST_REASON) }];
            Ok(Form { intents, plain: Plain::Words(3) })
        }
        _ => Err(usage(DISMISS)),
    }
}

/// A command of the loop. What is quoted, or explained to others in code, is meant for nobody here; where only a part of it
/// is not plain, it is answered.
fn in_the_loop(line: &Line) -> Result<Form, PhraseProblem> {
    const END_IN_FREE_TEXT: [&str; 5] = ["stop", "memory", "skip", "dispute", "settle"];
    let (text, written) = (line.text.trim(), line.written.trim());
    let verb = words(text).nth(1).unwrap_or_default().to_ascii_lowercase();
    let has_free_text = END_IN_FREE_TEXT.contains(&verb.as_str()) && written.starts_with('/');
    let (_, rest) = split_word(if has_free_text { written } else { text });
    let command = command::read(rest).map_err(|problem| match problem {
        CommandProblem::Unknown { typed, nearest } => PhraseProblem::UnknownCommand {
            typed: format!("/loop {typed}"),
            nearest: nearest.map(|verb| verb.usage().to_owned()),
        },
        CommandProblem::Usage(verb) => usage(verb.usage()),
    })?;
    let plain = if has_free_text { Plain::Words(2) } else { Plain::All };
    if line.wholly_inside().is_none() && !is_plain(line, plain) {
        return Err(usage(command.verb().usage()));
    }
    Ok(Form { intents: vec![Intent::Command(command)], plain })
}

/// Slash commands of other bots are left alone; misspelt ones of ours are answered.
fn misspelt(name: &str, text: &str) -> Result<Option<Vec<Intent>>, PhraseProblem> {
    const SLIPS: [(&str, &str); 14] = [
        ("/aprove", "/approve"),
        ("/approved", "/approve"),
        ("/approves", "/approve"),
        ("/approv", "/approve"),
        ("/appove", "/approve"),
        ("/apporve", "/approve"),
        ("/rejected", "/reject"),
        ("/rejct", "/reject"),
        ("/revoked", "/revoke"),
        ("/dismis", "/dismiss"),
        ("/dismissed", "/dismiss"),
        ("/lop", "/loop"),
        ("/looop", "/loop"),
        ("/loopgate", "/loop"),
    ];
    let Some((_, meant)) = SLIPS.iter().find(|(slip, _)| *slip == name) else { return Ok(None) };
    let (_, rest) = split_word(text);
    let nearest = format!("{meant} {rest}").trim_end().chars().take(80).collect();
    Err(PhraseProblem::UnknownCommand { typed: name.to_owned(), nearest: Some(nearest) })
}

fn gate_and_rest<'a>(text: &'a str, vocabulary: Vocabulary<'_>) -> Result<(GateName, &'a str), PhraseProblem> {
    let (_, rest) = split_word(text);
    let (named, rest) = split_word(rest);
    if named.is_empty() {
        return Err(PhraseProblem::NoGate);
    }
    let gate = vocabulary.gate(named).ok_or_else(|| vocabulary.unknown(named))?;
    Ok((gate.clone(), rest))
}

/// The first word and the trimmed rest.
fn split_word(text: &str) -> (&str, &str) {
    let blank = [' ', '\t', '\u{a0}'];
    let text = text.trim();
    text.split_once(blank).map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn usage(form: &str) -> PhraseProblem {
    PhraseProblem::Usage { usage: form.to_owned() }
}
