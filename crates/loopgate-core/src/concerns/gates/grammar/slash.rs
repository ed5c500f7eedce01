//! Commands about gates, one per line:
//!
//! ```text
//! /approve gate {gate} [sha40]      /reject gate [reason]
//! /revoke gate                      /dismiss gate @user reason
//! ```

use super::{
    Intent,
    phrase::{Vocabulary, words},
    visible::VisibleLine,
};
use crate::{
    commands::{CommandProblem, Verb, command},
    concerns::gates::report::PhraseProblem,
    ids::{GateName, Sha},
    text,
};

/// Reasons are kept in the state and shown: at most so many characters of them.
const LONGEST_REASON: usize = 2_000;

/// A command, and how many words of its line must be plain: the free text behind them may hold code or links. None:
/// all.
type GateCommand = (Vec<Intent>, Option<usize>);

/// Reads a line that begins with a slash.
///
/// Free text at the end of a command is taken as it was written, with its code and links. Nothing is returned if it is
/// none of our commands, or not in plain words. An error: it is one, but for one thing.
pub(super) fn read(
    line: &VisibleLine,
    vocabulary: Vocabulary<'_>,
) -> Result<Vec<Intent>, PhraseProblem> {
    let text = line.text.trim();
    let name = words(text).next().unwrap_or_default().to_ascii_lowercase();
    let (intents, plain) = match name.as_str() {
        "/approve" => (approve(text, vocabulary)?, None),
        "/reject" | "/revoke" | "/dismiss" => against_approval(&name, text, vocabulary)?,
        "/loop" => in_the_loop(line)?,
        _ => return misspelt(&name, text),
    };
    Ok(if is_plain(line, plain) {
        intents
    } else {
        Vec::new()
    })
}

fn is_plain(line: &VisibleLine, wanted: Option<usize>) -> bool {
    let Some((at, _)) = line.alien else {
        return true;
    };
    let plain = &line.text[..at];
    let unfinished = usize::from(!plain.ends_with([' ', '\t', '\u{a0}']));
    wanted.is_some_and(|count| words(plain).count() >= count + unfinished)
}

fn approve(text: &str, vocabulary: Vocabulary<'_>) -> Result<Vec<Intent>, PhraseProblem> {
    let mut named: Vec<&str> = words(text)
        .skip(1)
        .take(vocabulary.gates.len() + 2)
        .collect();
    let is_short_commit = |word: &&str| {
        (7..40).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_hexdigit())
            && vocabulary.gate(word).is_none()
    };
    let commit: Option<Sha> = named.last().and_then(|last| last.parse().ok());
    if commit.is_some() {
        named.pop();
    } else if named.len() > 1 && named.last().is_some_and(is_short_commit) {
        return Err(PhraseProblem::ShortSha);
    }
    if named.is_empty() {
        return Err(PhraseProblem::NoGate);
    }
    let gate = |word: &&str| {
        vocabulary
            .gate(word)
            .cloned()
            .ok_or_else(|| vocabulary.unknown(word))
    };
    let gates: Vec<GateName> = named.iter().map(gate).collect::<Result<_, _>>()?;
    Ok(gates
        .into_iter()
        .map(|gate| Intent::Approve { gate, commit })
        .collect())
}

/// A command that withdraws an approval or ends somebody's objection. One that nearly names a gate is answered
/// with its form.
fn against_approval(
    name: &str,
    text: &str,
    vocabulary: Vocabulary<'_>,
) -> Result<GateCommand, PhraseProblem> {
    let form = match name {
        "/reject" => "/reject <gate> <reason>",
        "/revoke" => "/revoke <gate>",
        _ => "/dismiss <gate> @user <reason>",
    };
    let (named, rest) = split_word(split_word(text).1);
    let gate = match (vocabulary.gate(named), vocabulary.nearest(named)) {
        (Some(gate), _) => gate.clone(),
        _ if named.is_empty() => return Err(usage(form)),
        (None, Some(nearest)) => return Err(usage(&form.replace("<gate>", nearest.as_str()))),
        (None, None) => return Err(vocabulary.unknown(named)),
    };
    let (person, reason) = split_word(rest);
    match (
        name,
        person
            .strip_prefix('@')
            .and_then(|login| login.parse().ok()),
    ) {
        ("/reject", _) => {
            let reason = (!rest.is_empty()).then(|| text::start(rest, LONGEST_REASON));
            Ok((vec![Intent::Reject { gate, reason }], Some(2)))
        }
        ("/revoke", _) if rest.is_empty() => Ok((vec![Intent::Revoke { gate }], None)),
        ("/dismiss", Some(of)) if !reason.is_empty() => Ok((
            vec![Intent::Dismiss {
                gate,
                of,
                reason: text::start(reason, LONGEST_REASON),
            }],
            Some(3),
        )),
        _ => Err(usage(form)),
    }
}

/// A command of the loop. A command that is wholly quoted or inside code asks for nothing; if only a part of it is not
/// plain, the answer is a usage error.
fn in_the_loop(line: &VisibleLine) -> Result<GateCommand, PhraseProblem> {
    let (text, written) = (line.text.trim(), line.written.trim());
    let verb = words(text).nth(1).and_then(Verb::typed);
    let has_free_text = verb.is_some_and(Verb::ends_in_free_text) && written.starts_with('/');
    let (_, rest) = split_word(if has_free_text { written } else { text });
    let command = command::read(rest).map_err(|problem| match problem {
        CommandProblem::Unknown { typed, nearest } => PhraseProblem::UnknownCommand {
            typed: format!("/loop {typed}"),
            nearest: nearest.map(|verb| verb.usage().to_owned()),
        },
        CommandProblem::Usage(verb) => usage(verb.usage()),
    })?;
    let plain = has_free_text.then_some(2);
    if line.wholly_inside().is_none() && !is_plain(line, plain) {
        return Err(usage(command.verb().usage()));
    }
    Ok((vec![Intent::Command(command)], plain))
}

/// Slash commands of other bots are left alone; misspelt ones of ours are answered.
fn misspelt(name: &str, text: &str) -> Result<Vec<Intent>, PhraseProblem> {
    let is_meant = |known: &&str| {
        // `/approved`, `/loopgate`
        let longer = name
            .strip_prefix(known)
            .is_some_and(|rest| rest.len() <= 4 && rest.chars().all(char::is_alphabetic));
        longer || strsim::osa_distance(name, known) == 1
    };
    let known = ["/approve", "/reject", "/revoke", "/dismiss", "/loop"];
    let Some(meant) = known
        .into_iter()
        .find(|known| name.len() < 20 && is_meant(known))
    else {
        return Ok(Vec::new());
    };
    let (_, rest) = split_word(text);
    let nearest = format!("{meant} {rest}")
        .trim_end()
        .chars()
        .take(80)
        .collect();
    Err(PhraseProblem::UnknownCommand {
        typed: name.to_owned(),
        nearest: Some(nearest),
    })
}

/// The first word and the trimmed rest.
fn split_word(text: &str) -> (&str, &str) {
    let blank = [' ', '\t', '\u{a0}'];
    let text = text.trim();
    text.split_once(blank)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

fn usage(form: &str) -> PhraseProblem {
    PhraseProblem::Usage {
        usage: form.to_owned(),
    }
}
