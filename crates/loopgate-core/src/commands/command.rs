//! Commands in comments: the `/loop` grammar, and what each verb takes and asks for.
//!
//! A line holds one command, and a comment may hold several. Which lines count is decided where approvals are read, in
//! [`gates::read`](crate::concerns::gates::read).

use serde::Serialize;

use crate::{
    ids::{CheckName, FailureId, GateName},
    state::{DisputeKind, Settlement},
    text,
};

/// Most characters of a reason, or of words that are searched for: they are kept in the state for good.
const LONGEST_TEXT: usize = 500;

/// A command as understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Asks that something be shown, and changes nothing: what commands there are, where the run stands, what happened
    /// so far, why it stands there, whether the configuration is valid.
    Ask(Verb),
    /// Reconciles now. `next` and `run` ask again for missing evidence, `retry` also for what fails.
    Rerun(Verb),
    /// Ends a block; `accept` names a cause that the person takes responsibility for.
    Resume { accept: Option<Acceptable> },
    /// The run stands still until it is resumed.
    Stop { reason: Option<String> },
    /// A check is left out.
    Skip { check: CheckName, reason: String },
    /// A failure is not theirs to mend.
    Dispute {
        failure: FailureId,
        kind: DisputeKind,
        reason: String,
    },
    /// Who is right; `failure` may be left out where one is disputed.
    Settle {
        failure: Option<FailureId>,
        outcome: Settlement,
    },
    /// The debug memory is searched.
    Memory { words: String },
    /// The lines quoted of jobs' output are taken back, on this head.
    Forget,
}

words! {
    /// What `/loop resume --accept …` can release.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Acceptable {
        Tampering = "tampering",
        /// A test check that has no results by test any more.
        ResultsLost = "results_lost",
        /// Jobs that were skipped on this head.
        Skipped = "skipped",
    }
}

/// Who may use a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// Everybody who can comment (rate-limited per person).
    Anyone,
    /// The pull request's author, or permission write.
    AuthorOrWrite,
    /// A person who wrote a part of the change, or permission write.
    ContributorOrWrite,
    /// Permission write.
    Write,
    /// A person who may decide one of these gates, or permission maintain; never a contributor.
    GateApprovers(Vec<GateName>),
}

/// What a command ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nothing, or words that are read one by one.
    Words,
    /// A text of the person's own, taken as it was written, with its code and links.
    FreeText,
}

/// Makes the verbs and all that is known of each from one table: a command is one row, and what it carries out.
macro_rules! verbs {
    ($($verb:ident $typed:literal $usage:literal $right:ident $end:ident $read:expr;)*) => {
        words! {
            /// The verbs, as they are typed after `/loop`.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
            pub enum Verb {
                $($verb = $typed,)*
            }
        }

        impl Verb {
            /// The whole form of the command.
            pub const fn usage(self) -> &'static str {
                match self {
                    $(Self::$verb => $usage,)*
                }
            }

            /// Who may use it. Going on from a cause that belongs to gates (`gates`) is for those who may decide them.
            pub fn right(self, gates: &[GateName]) -> Right {
                match self {
                    Self::Resume if !gates.is_empty() => Right::GateApprovers(gates.to_vec()),
                    $(Self::$verb => Right::$right,)*
                }
            }

            /// Whether it ends in a text of the person's own, which may hold code and links.
            pub const fn ends_in_free_text(self) -> bool {
                let end = match self {
                    $(Self::$verb => End::$end,)*
                };
                matches!(end, End::FreeText)
            }

            /// The command with what follows the verb on its line; none if that is not what it takes.
            fn with_arguments(self, rest: &str) -> Option<Command> {
                let read: fn(Self, &str) -> Option<Command> = match self {
                    $(Self::$verb => $read,)*
                };
                read(self, rest)
            }
        }
    };
}

verbs! {
    Help       "help"        "/loop help"                           Anyone             Words    |verb, _| Some(Command::Ask(verb));
    Status     "status"      "/loop status"                         Anyone             Words    ask;
    Next       "next"        "/loop next"                           Write              Words    rerun;
    Run        "run"         "/loop run"                            Write              Words    rerun;
    Retry      "retry"       "/loop retry"                          AuthorOrWrite      Words    rerun;
    Resume     "resume"      "/loop resume [--accept tampering | results_lost | skipped]" Write Words |_, rest| resume(rest);
    Stop       "stop"        "/loop stop [reason]"                  Write              FreeText |_, rest| Some(Command::Stop { reason: free_text(rest) });
    History    "history"     "/loop history"                        Anyone             Words    ask;
    Explain    "explain"     "/loop explain"                        Anyone             Words    ask;
    Skip       "skip"        "/loop skip <check> --reason \"…\""    Write              FreeText |_, rest| skip(rest);
    Dispute    "dispute"     "/loop dispute <failure> <reason>"     ContributorOrWrite FreeText |_, rest| dispute(rest);
    Settle     "settle"      "/loop settle [failure] test|code|neither <text>" Write FreeText |_, rest| settle(rest);
    Memory     "memory"      "/loop memory <words>"                 Anyone             FreeText |_, rest| Some(Command::Memory { words: free_text(rest)? });
    LintConfig "lint-config" "/loop lint-config"                    Anyone             Words    ask;
    Forget     "forget"      "/loop forget excerpt"                 Write              Words    |_, rest| rest.eq_ignore_ascii_case("excerpt").then_some(Command::Forget);
}

impl Verb {
    /// The verb that somebody typed, in capitals or not.
    pub fn typed(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|verb| verb.as_str().eq_ignore_ascii_case(word))
    }
}

impl Command {
    /// The verb it begins with.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Ask(verb) | Self::Rerun(verb) => *verb,
            Self::Resume { .. } => Verb::Resume,
            Self::Stop { .. } => Verb::Stop,
            Self::Skip { .. } => Verb::Skip,
            Self::Dispute { .. } => Verb::Dispute,
            Self::Settle { .. } => Verb::Settle,
            Self::Memory { .. } => Verb::Memory,
            Self::Forget => Verb::Forget,
        }
    }

    /// What was given with the verb.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Self::Resume { accept: Some(what) } => {
                vec!["--accept".to_owned(), what.as_str().to_owned()]
            }
            Self::Stop { reason: Some(text) } | Self::Memory { words: text } => vec![text.clone()],
            Self::Skip { check, reason } => vec![check.to_string(), reason.clone()],
            Self::Dispute {
                failure,
                kind,
                reason,
            } => {
                vec![
                    failure.to_string(),
                    kind.as_str().to_owned(),
                    reason.clone(),
                ]
            }
            Self::Settle { failure, outcome } => {
                let text = match outcome {
                    Settlement::Neither(text) => Some(text.clone()),
                    Settlement::Test | Settlement::Code => None,
                };
                failure
                    .iter()
                    .map(ToString::to_string)
                    .chain([outcome.as_str().to_owned()])
                    .chain(text)
                    .collect()
            }
            Self::Ask(_)
            | Self::Rerun(_)
            | Self::Resume { accept: None }
            | Self::Stop { reason: None }
            | Self::Forget => Vec::new(),
        }
    }
}

/// Why a line that begins with `/loop` is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandProblem {
    /// There is no such command.
    Unknown {
        typed: String,
        nearest: Option<Verb>,
    },
    /// Its arguments are not what it takes.
    Usage(Verb),
}

/// Reads what follows `/loop` on its line. Nothing at all asks for help.
///
/// # Errors
/// When the verb is unknown, or its arguments are not what it takes.
pub fn read(rest: &str) -> Result<Command, CommandProblem> {
    let rest = rest.trim();
    let (typed, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let rest = rest.trim();
    if typed.is_empty() {
        return Ok(Command::Ask(Verb::Help));
    }
    let verb = Verb::typed(typed).ok_or_else(|| CommandProblem::Unknown {
        typed: text::start(typed, 40),
        nearest: nearest(typed),
    })?;
    verb.with_arguments(rest).ok_or(CommandProblem::Usage(verb))
}

fn ask(verb: Verb, rest: &str) -> Option<Command> {
    rest.is_empty().then_some(Command::Ask(verb))
}

fn rerun(verb: Verb, rest: &str) -> Option<Command> {
    rest.is_empty().then_some(Command::Rerun(verb))
}

fn free_text(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| text::start(rest, LONGEST_TEXT))
}

fn resume(rest: &str) -> Option<Command> {
    if rest.is_empty() {
        return Some(Command::Resume { accept: None });
    }
    let what = option(rest, "accept")?;
    let what = what.to_ascii_lowercase().replace('-', "_");
    Acceptable::of_word(&what).map(|accept| Command::Resume {
        accept: Some(accept),
    })
}

fn skip(rest: &str) -> Option<Command> {
    let (check, rest) = rest.split_once(char::is_whitespace)?;
    let reason = unquoted(option(rest.trim(), "reason")?);
    let check = plain(check).parse().ok()?;
    Some(Command::Skip {
        check,
        reason: free_text(reason)?,
    })
}

/// `<failure> [kind] <reason>`, as after `/loop dispute` and in the trailer of a commit.
pub fn dispute(rest: &str) -> Option<Command> {
    let (failure, rest) = rest.split_once(char::is_whitespace)?;
    let failure = plain(failure).parse().ok()?;
    let rest = rest.trim();
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let named = word
        .trim_end_matches(':')
        .to_ascii_lowercase()
        .replace('-', "_");
    let (kind, reason) = match DisputeKind::of_word(&named) {
        Some(kind) => (kind, after),
        None => (DisputeKind::default(), rest),
    };
    let reason = unquoted(option(reason.trim(), "reason").unwrap_or(reason.trim()));
    Some(Command::Dispute {
        failure,
        kind,
        reason: free_text(reason)?,
    })
}

fn settle(rest: &str) -> Option<Command> {
    let first = rest.split_whitespace().next()?;
    let failure = plain(first).parse().ok();
    let rest = if failure.is_some() {
        rest[first.len()..].trim()
    } else {
        rest
    };
    let (word, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let outcome = match word.to_ascii_lowercase().as_str() {
        "test" => Settlement::Test,
        "code" => Settlement::Code,
        "neither" => Settlement::Neither(free_text(unquoted(text.trim()))?),
        _ => return None,
    };
    Some(Command::Settle { failure, outcome })
}

/// An id as people copy it, with the marks of code around it.
fn plain(id: &str) -> String {
    id.trim_matches(['`', '#', ':']).to_ascii_lowercase()
}

/// The value of `--name value` or `--name=value`. Phones turn two hyphens into a dash.
fn option<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let text = text
        .strip_prefix("--")
        .or_else(|| text.strip_prefix(['—', '–']))?;
    let (head, value) = text.split_at_checked(name.len())?;
    let value = value.strip_prefix(|c: char| c == '=' || c.is_whitespace())?;
    head.eq_ignore_ascii_case(name).then(|| value.trim())
}

/// Without the quotation marks around it, straight or curly.
///
/// A code span's marks are no quotation: they stay, as in all free text.
fn unquoted(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»')] {
        if let Some(inner) = text
            .strip_prefix(open)
            .and_then(|text| text.strip_suffix(close))
        {
            return inner.trim();
        }
    }
    text.trim_matches(['"', '“', '”']).trim()
}

/// The verb written most like what was typed, if one is written much like it.
fn nearest(typed: &str) -> Option<Verb> {
    let typed = text::start(typed, 40).to_ascii_lowercase();
    let distance = |verb: &Verb| strsim::osa_distance(verb.as_str(), &typed);
    let best = Verb::ALL.into_iter().min_by_key(distance)?;
    (distance(&best) <= (best.as_str().len() / 2).min(3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_reads_as_itself_and_keeps_free_text_where_the_table_says_so() {
        for verb in Verb::ALL {
            let line = match verb {
                Verb::Skip => "skip lint --reason \"flaky today\"".to_owned(),
                Verb::Memory => "memory null check".to_owned(),
                Verb::Dispute => "dispute 3fa9c01b the rounding is meant".to_owned(),
                Verb::Settle => "settle neither round up".to_owned(),
                Verb::Forget => "forget excerpt".to_owned(),
                other => other.as_str().to_uppercase(),
            };
            assert_eq!(read(&line).unwrap().verb(), verb);
            let longer = read(&format!("{line} and so on"));
            let keeps_it = longer.is_ok_and(|command| {
                let last = command.arguments().pop();
                last.is_some_and(|last| last.ends_with("and so on"))
            });
            assert_eq!(keeps_it, verb.ends_in_free_text(), "{verb}");
        }
    }

    #[test]
    fn arguments_are_read() {
        let lint = |reason: &str| Command::Skip {
            check: "lint".parse().unwrap(),
            reason: reason.to_owned(),
        };
        let id = "3fa9c01b".parse().unwrap();
        let dispute = |kind, reason: &str| Command::Dispute {
            failure: id,
            kind,
            reason: reason.to_owned(),
        };
        let settle = |failure, outcome| Command::Settle { failure, outcome };
        for (text, command) in [
            ("", Command::Ask(Verb::Help)),
            ("help me", Command::Ask(Verb::Help)),
            ("resume", Command::Resume { accept: None }),
            (
                "resume --accept tampering",
                Command::Resume {
                    accept: Some(Acceptable::Tampering),
                },
            ),
            (
                "resume --accept=Tampering",
                Command::Resume {
                    accept: Some(Acceptable::Tampering),
                },
            ),
            ("stop", Command::Stop { reason: None }),
            (
                "stop  going elsewhere ",
                Command::Stop {
                    reason: Some("going elsewhere".into()),
                },
            ),
            (
                "skip lint --reason \"rule 7 is wrong\"",
                lint("rule 7 is wrong"),
            ),
            ("skip lint --reason=rule 7", lint("rule 7")),
            ("skip Lint —reason “rule 7”", lint("rule 7")),
            (
                "dispute 3fa9c01b it rounds down",
                dispute(DisputeKind::TestWrong, "it rounds down"),
            ),
            (
                "dispute `3FA9C01B` not-mine: main fails too",
                dispute(DisputeKind::NotMine, "main fails too"),
            ),
            (
                "dispute 3fa9c01b environment --reason \"no disk\"",
                dispute(DisputeKind::Environment, "no disk"),
            ),
            ("settle test", settle(None, Settlement::Test)),
            ("settle 3fa9c01b Code", settle(Some(id), Settlement::Code)),
            (
                "settle neither round up",
                settle(None, Settlement::Neither("round up".into())),
            ),
        ] {
            assert_eq!(read(text), Ok(command), "{text}");
        }
    }

    #[test]
    fn wrong_commands_say_what_was_meant() {
        let unknown = |typed: &str, nearest| CommandProblem::Unknown {
            typed: typed.into(),
            nearest,
        };
        for (text, problem) in [
            ("resmue", unknown("resmue", Some(Verb::Resume))),
            ("lintconfig", unknown("lintconfig", Some(Verb::LintConfig))),
            ("stat", unknown("stat", Some(Verb::Status))),
            ("frobnicate", unknown("frobnicate", None)),
            ("skip lint", CommandProblem::Usage(Verb::Skip)),
            ("skip lint --reason", CommandProblem::Usage(Verb::Skip)),
            ("skip lint --reason \"\"", CommandProblem::Usage(Verb::Skip)),
            ("skip --reason x", CommandProblem::Usage(Verb::Skip)),
            (
                "resume --accept everything",
                CommandProblem::Usage(Verb::Resume),
            ),
            ("memory", CommandProblem::Usage(Verb::Memory)),
            ("dispute", CommandProblem::Usage(Verb::Dispute)),
            ("dispute 3fa9c01b", CommandProblem::Usage(Verb::Dispute)),
            (
                "dispute unit it is wrong",
                CommandProblem::Usage(Verb::Dispute),
            ),
            ("settle", CommandProblem::Usage(Verb::Settle)),
            ("settle 3fa9c01b", CommandProblem::Usage(Verb::Settle)),
            ("settle neither", CommandProblem::Usage(Verb::Settle)),
            ("retry now", CommandProblem::Usage(Verb::Retry)),
        ] {
            assert_eq!(read(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn a_cause_that_belongs_to_a_gate_is_its_approvers_to_release() {
        let gates = ["security".parse().unwrap()];
        assert_eq!(Verb::Resume.right(&[]), Right::Write);
        assert_eq!(
            Verb::Resume.right(&gates),
            Right::GateApprovers(gates.to_vec())
        );
        assert_eq!(
            Verb::Stop.right(&gates),
            Right::Write,
            "stopping releases nothing"
        );
        assert_eq!(Verb::Retry.right(&gates), Right::AuthorOrWrite);
        assert_eq!(Verb::Status.right(&gates), Right::Anyone);
    }
}
