//! The one grammar for what people say about gates and to the loop: a comment's or review's body in, intents and near
//! misses out.

mod html;
mod inspection;
mod near_miss;
mod phrase;
mod reply;
mod slash;
mod visible;

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde::Serialize;

pub use self::inspection::inspect;

use self::{
    near_miss::Miss,
    phrase::Vocabulary,
    visible::{LONGEST_BODY, VisibleLine},
};
use super::report::{Inside, PhraseProblem, Word};
use crate::{
    commands::Command,
    expressions::compile,
    ids::{GateName, Login, Sha},
    letters::skeleton,
    text,
};

/// Near misses kept of one comment; more are the same slip again.
const NEAR_MISSES_KEPT: usize = 10;
/// Characters of a line that are quoted back.
const QUOTED: usize = 200;

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// `commit` is the head the approval is for, when the line names one.
    Approve { gate: GateName, commit: Option<Sha> },
    /// Speaks against the gate.
    Reject {
        gate: GateName,
        reason: Option<String>,
    },
    /// Takes back one's own word.
    Revoke { gate: GateName },
    /// Ends somebody else's rejection.
    Dismiss {
        gate: GateName,
        of: Login,
        reason: String,
    },
    /// Asks the loop for something.
    Command(Command),
}

impl Intent {
    /// The gate it is about, if it is about one.
    pub fn gate(&self) -> Option<&GateName> {
        self.about().map(|(gate, _)| gate)
    }

    /// The gate it is about, and what it says about that gate.
    const fn about(&self) -> Option<(&GateName, Word)> {
        match self {
            Self::Approve { gate, .. } => Some((gate, Word::Approve)),
            Self::Reject { gate, .. } => Some((gate, Word::Reject)),
            Self::Revoke { gate } => Some((gate, Word::Revoke)),
            Self::Dismiss { gate, .. } => Some((gate, Word::Dismiss)),
            Self::Command(_) => None,
        }
    }
}

/// An intent and the line that states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedIntent {
    pub intent: Intent,
    /// Line of the body, from 1.
    pub line: u32,
}

/// A line that nearly states an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearMiss {
    /// The line as a reader sees it, shortened.
    pub text: String,
    #[serde(flatten)]
    pub problem: PhraseProblem,
    /// The gate that the line names, if any.
    pub gate: Option<GateName>,
    /// What its writer means: advice on how to approve a gate does not go to a writer who objects to it.
    pub meant: Word,
    /// Line of the body, from 1.
    pub line: u32,
}

impl NearMiss {
    /// What to write instead.
    pub fn instead(&self) -> Option<String> {
        let gate = self.gate.as_ref().map_or("<gate>", GateName::as_str);
        let form = match self.meant {
            Word::Dismiss => format!("/dismiss {gate} @user <reason>"),
            Word::Reject => format!("{gate} rejected"),
            Word::Revoke => format!("{gate} approval revoked"),
            Word::Approve | Word::NearMiss => format!("{gate} approved"),
        };
        match &self.problem {
            PhraseProblem::Usage { usage } => Some(usage.clone()),
            PhraseProblem::UnknownCommand { nearest, .. } => {
                Some(nearest.clone().unwrap_or_else(|| "/loop help".to_owned()))
            }
            PhraseProblem::ShortSha => self
                .gate
                .is_some()
                .then(|| format!("{form} <all 40 digits of the commit id>")),
            _ => (self.gate.is_some() || self.meant != Word::Approve).then_some(form),
        }
    }
}

/// All that a body says to Loopgate, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub intents: Vec<ParsedIntent>,
    /// The first ten.
    pub near_misses: Vec<NearMiss>,
}

impl Reading {
    pub const fn is_empty(&self) -> bool {
        self.intents.is_empty() && self.near_misses.is_empty()
    }

    /// The commands to the loop, in order.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.intents
            .iter()
            .filter_map(|parsed| match &parsed.intent {
                Intent::Command(command) => Some(command),
                _ => None,
            })
    }
}

/// Reads the body of a comment or review. Linear in its length.
///
/// `bot` is the login Loopgate acts under, which a phrase may address; `gates` are the gates there are.
pub fn read(body: &str, bot: &Login, gates: &BTreeSet<GateName>) -> Reading {
    if may_speak(body) {
        read_lines(body, Vocabulary { bot, gates })
    } else {
        Reading::default()
    }
}

fn read_lines(body: &str, vocabulary: Vocabulary<'_>) -> Reading {
    let mut reading = Reading::default();
    if body.len() > LONGEST_BODY {
        let (text, problem) = (text::start(body, QUOTED), PhraseProblem::TooLong);
        reading.near_misses.push(NearMiss {
            text,
            problem,
            gate: None,
            meant: Word::Approve,
            line: 1,
        });
        return reading;
    }
    let mut lines = visible::lines(body);
    reply::mark(&mut lines);
    for line in lines {
        let number = line.number;
        match judge(&line, vocabulary) {
            Ok(intents) => {
                reading
                    .intents
                    .extend(intents.into_iter().map(|intent| ParsedIntent {
                        intent,
                        line: number,
                    }));
            }
            Err(missed) => {
                let text = text::start(line.text.trim(), QUOTED);
                let left = NEAR_MISSES_KEPT.saturating_sub(reading.near_misses.len());
                reading
                    .near_misses
                    .extend(missed.into_iter().take(left).map(
                        |Miss {
                             problem,
                             gate,
                             meant,
                         }| {
                            NearMiss {
                                text: text.clone(),
                                problem,
                                gate,
                                meant,
                                line: number,
                            }
                        },
                    ));
            }
        }
    }
    reading
}

/// Whether a body could hold a command or a word about a gate, whatever the gates are called: the cheap question asked
/// of every comment before anything else is. Never false for a body that states an intent.
pub fn may_speak(body: &str) -> bool {
    // Entities spell letters in another way, and any word may be written with them.
    if memchr::memchr(b'&', body.as_bytes()).is_some_and(|at| body[at..].contains(';')) {
        return true;
    }
    static STEMS: LazyLock<Regex> = LazyLock::new(|| {
        let others = "changesrequested requestchanges requestedchanges /dismis /loop /lop /looop";
        let [approves, rejects, revokes] = near_miss::VERDICTS.map(|(starts, _)| starts);
        let stems = [approves, rejects, revokes, others]
            .join(" ")
            .replace(' ', "|");
        compile(&stems)
    });
    let mut letters = String::with_capacity(body.len());
    letters.extend(
        skeleton(body)
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '/'),
    );
    letters.make_ascii_lowercase();
    STEMS.is_match(&letters) || body.lines().any(near_miss::may_agree)
}

/// What the line states.
///
/// # Errors
/// What it nearly states.
fn judge(line: &VisibleLine, vocabulary: Vocabulary<'_>) -> Result<Vec<Intent>, Vec<Miss>> {
    match stated(line, vocabulary) {
        Ok(intents) if !intents.is_empty() => return Ok(intents),
        // What is wrong with words in a quote is that they are in a quote.
        Err(problem) if line.wholly_inside().is_none() => {
            let meant = near_miss::meant(&line.text);
            let mut gates: Vec<Option<GateName>> = match &problem {
                PhraseProblem::UnknownGate {
                    nearest: Some(nearest),
                    ..
                } => vec![Some(nearest.clone())],
                _ => Vec::new(),
            };
            for beside in near_miss::problems(&line.text, vocabulary) {
                if !gates.contains(&beside.gate) {
                    gates.push(beside.gate);
                }
            }
            // A command is answered as a whole.
            if problem.is_of_command() || gates.is_empty() {
                gates = vec![gates.into_iter().next().flatten()];
            }
            return Err(gates
                .into_iter()
                .map(|gate| Miss {
                    problem: problem.clone(),
                    gate,
                    meant,
                })
                .collect());
        }
        Ok(_) | Err(_) => {}
    }
    let text = skeleton(&line.text).into_owned();
    let looks = VisibleLine {
        written: text.clone(),
        text,
        number: line.number,
        alien: None,
    };
    let missed = |intent: &Intent| {
        let (gate, meant) = intent.about()?;
        let problem = line.alien.map_or(PhraseProblem::Lookalike, |(_, inside)| {
            PhraseProblem::NotPlainText { inside }
        });
        Some(Miss {
            problem,
            gate: Some(gate.clone()),
            meant,
        })
    };
    let mut missed: Vec<_> = stated(&looks, vocabulary)
        .unwrap_or_default()
        .iter()
        .filter_map(missed)
        .collect();
    if missed.is_empty() && matches!(line.wholly_inside(), None | Some(Inside::TaskItem)) {
        missed = near_miss::problems(&looks.text, vocabulary);
    }
    if missed.is_empty() {
        Ok(Vec::new())
    } else {
        Err(missed)
    }
}

/// What the line states by the letter of the grammar.
fn stated(line: &VisibleLine, vocabulary: Vocabulary<'_>) -> Result<Vec<Intent>, PhraseProblem> {
    if line.text.trim_start().starts_with('/') {
        return slash::read(line, vocabulary);
    }
    match line.alien {
        None => Ok(phrase::read(&line.text, vocabulary)?.into_iter().collect()),
        Some(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
