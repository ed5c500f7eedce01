//! One gate as the status comment, the check run and the job summary show it.

use std::collections::BTreeSet;

use minijinja::{Value, context};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Brevity, Links, Markdown, Shown, Subject, address, linked,
    messages::{self, entry},
    refusal, short_text, word, words,
};
use loopgate_core::{
    Login, Timestamp,
    concerns::gates::{
        Approval, Considered, GateReport, MatchReason, Refusal, RuleEvidence, TriggerMatch,
        WordOutcome,
    },
    observed::Lifecycle,
    policy::{ApproveBy, RuleTier},
    stage::Stage,
    state::GateStatus,
};

/// Places and words shown of one gate where it is explained.
const MOST_PLACES: usize = 20;
const MOST_WORDS: usize = 30;

/// A gate as every surface shows it: in short in comments and check runs, with all that is known of it in
/// `loopgate explain` and on the page of a loop.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct GateCard {
    pub name: String,
    #[schemars(with = "String")]
    pub status: GateStatus,
    /// The stage that it holds.
    pub holds: Stage,
    /// It stands in the way.
    pub closed: bool,
    pub advisory: bool,
    pub icon: &'static str,
    /// How it stands, after its name.
    pub state: Markdown,
    /// Why it applies.
    #[schemars(with = "Vec<Markdown>")]
    pub why: Shown<Markdown>,
    /// Who can open it.
    pub who: String,
    /// The members of the teams, if the reader has the right to know them.
    pub members: Vec<String>,
    /// What they do to open it; `None` if nothing is to be done.
    pub how: Option<Markdown>,
    pub approvals: Vec<String>,
    pub approvals_needed: u32,
    /// Comments and reviews that do not count, and why.
    #[schemars(with = "Vec<Markdown>")]
    pub refused: Shown<Markdown>,
    /// Every comment and review that was considered, the newest first; only where the gate is explained.
    #[schemars(with = "Vec<GateWord>")]
    pub words: Shown<GateWord>,
    #[schemars(with = "Vec<Markdown>")]
    pub notes: Shown<Markdown>,
}

/// What a person wrote about a gate, and whether it counts.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct GateWord {
    pub by: String,
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
    pub url: Option<String>,
    pub word: String,
    /// `counted`, `superseded` or `refused`.
    pub outcome: &'static str,
    #[serde(rename = "said")]
    pub sentence: Markdown,
}

impl GateCard {
    pub fn new(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        let pull = &subject.snapshot.pull_request;
        let by = subject.approve_by(&report.name);
        let merged = matches!(pull.lifecycle, Lifecycle::Merged { .. });
        let (icon, state) = if merged && report.is_closed() {
            ("⚠️", Markdown::ours("was closed when this was merged."))
        } else {
            standing(report, links)
        };
        let undecided = report.is_waiting();
        Self {
            name: report.name.to_string(),
            status: report.status,
            holds: report.holds,
            closed: report.is_closed(),
            advisory: report.is_advisory,
            icon,
            state,
            who: words::approvers(report),
            how: if merged { None } else { how(report, by) },
            why: if undecided {
                why(report, links, 4)
            } else {
                Shown::default()
            },
            refused: if merged {
                Shown::default()
            } else {
                refusal::lines(&report.considered, report, subject)
            },
            notes: if undecided {
                notes(report, links, false)
            } else {
                Shown::default()
            },
            approvals: report
                .approvals
                .iter()
                .map(|approval| approval.by.to_string())
                .collect(),
            approvals_needed: report.needed,
            ..Self::default()
        }
    }

    /// With all that is known of it, but for the members of teams.
    pub fn explained(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        let word = |word: &Considered| GateWord {
            by: word.by.to_string(),
            at: Some(word.at),
            url: address(&word.url),
            word: messages::variant_name(&word.word),
            outcome: match word.outcome {
                WordOutcome::Counted => "counted",
                WordOutcome::Superseded => "superseded",
                WordOutcome::Refused(_) => "refused",
            },
            sentence: refusal::considered(word, report, subject),
        };
        Self {
            why: why(report, links, MOST_PLACES),
            notes: notes(report, links, true),
            words: Shown::first(MOST_WORDS, report.considered.iter().rev(), word),
            ..Self::new(report, subject, links)
        }
    }

    /// With what is missing in the set-up.
    pub fn with_set_up(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        Self {
            notes: notes(report, links, true),
            ..Self::new(report, subject, links)
        }
    }

    /// With fewer places and words.
    pub fn shortened(self, brevity: Brevity) -> Self {
        let why = self.why.keep(brevity.of(MOST_PLACES, 0).max(4));
        let words = self.words.keep(brevity.of(MOST_WORDS, 0).max(3));
        Self { why, words, ..self }
    }

    /// Whether the card has content. A gate that does not apply, without a refused word about it, has none.
    pub fn is_worth_showing(report: &GateReport) -> bool {
        let refused = report
            .considered
            .iter()
            .any(|word| word.refusal().is_some());
        refused || report.status != GateStatus::NotApplicable
    }
}

fn standing(report: &GateReport, links: &Links) -> (&'static str, Markdown) {
    let advisory = report.is_advisory;
    let (icon, variant, beside) = match (report.status, report.rejection()) {
        (GateStatus::NotApplicable, _) => ("➖", entry::GateStanding::NotApplicable, context! {}),
        (GateStatus::Approved, _) => {
            let approved = |one: &Approval| {
                let person = linked(words::person(&one.by), address(&one.url));
                Markdown::ours(format!("{person} on {}", links.commit(one.head)))
            };
            let approvers: Vec<Markdown> = report.approvals.iter().map(approved).collect();
            ("✅", entry::GateStanding::Approved, context! { approvers })
        }
        (_, Some(objection)) => {
            let person = linked(words::person(&objection.by), address(&objection.url));
            (
                "❌",
                entry::GateStanding::Rejected,
                context! { person, quoted => short_text(&objection.words, 300) },
            )
        }
        (_, None) => (
            if advisory { "ℹ️" } else { "🔒" },
            entry::GateStanding::Open,
            context! { advisory },
        ),
    };
    (icon, messages::markdown(variant, beside))
}

/// "bob or carol (team acme/security) comments `security approved`."
fn how(report: &GateReport, by: ApproveBy) -> Option<Markdown> {
    let (name, eligible) = (report.name.as_str(), &report.eligible);
    let (variant, beside) = match (report.status, report.rejection()) {
        (GateStatus::NotApplicable | GateStatus::Approved, _) => return None,
        (_, Some(objection)) => (
            entry::GateHow::Rejected,
            context! { name, by => objection.by.as_str() },
        ),
        _ if eligible.only_hope => (entry::GateHow::OnlyAuthor, context! { name }),
        _ if eligible.people.is_empty()
            && eligible.teams.is_empty()
            && eligible.permission.is_none() =>
        {
            (entry::GateHow::Nobody, context! { name })
        }
        _ => {
            let have: Vec<String> = report
                .approvals
                .iter()
                .map(|approval| approval.by.to_string())
                .collect();
            let approves = messages::markdown(entry::Approves(&by), context! { name });
            (
                entry::GateHow::Open,
                context! { approvers => words::approvers(report), approves, needed => report.needed, have },
            )
        }
    };
    Some(messages::markdown(variant, beside))
}

/// Why a gate applies, with the places to look at: lines before whole files, and of a line that several rules name what
/// the first has.
pub fn why(report: &GateReport, links: &Links, most: usize) -> Shown<Markdown> {
    let mut lines = BTreeSet::new();
    let mut matches: Vec<&TriggerMatch> = report.matches.iter().collect();
    matches.retain(|found| found.line.is_none() || lines.insert((&found.file, found.line)));
    let is_suspect = |found: &TriggerMatch| {
        matches!(
            found.reason,
            MatchReason::Rule {
                tier: RuleTier::Suspects,
                ..
            }
        )
    };
    matches.sort_by_key(|found| (is_suspect(found), found.line.is_none()));
    let mut shown = Shown::first(most, &matches, |found| reason(found, links));
    shown.omitted += report.matches_not_kept;
    shown
}

/// The place that a trigger matched, and what matched there.
pub fn reason(found: &TriggerMatch, links: &Links) -> Markdown {
    let what = messages::markdown(entry::Match(&found.reason), context! {});
    let is_gone = matches!(
        found.reason,
        MatchReason::RemovedLine { .. }
            | MatchReason::Rule {
                evidence: RuleEvidence::RemovedLine(_),
                ..
            }
    );
    let blank = if matches!(found.reason, MatchReason::Rule { .. }) {
        ""
    } else {
        " "
    };
    match &found.file {
        Some(file) => Markdown::ours(format!(
            "{}{blank}{what}",
            links.in_diff(file, found.line, is_gone)
        )),
        None => what,
    }
}

/// Gates that do not apply, each with the suspect that alone does not open it.
pub fn quiet(gates: &[&GateReport], links: &Links) -> Markdown {
    let named = |report: &&GateReport| match report.suspects.first() {
        Some(suspect) => format!("{} (one suspect: {})", report.name, reason(suspect, links)),
        None => report.name.to_string(),
    };
    Markdown::ours(words::few(gates.iter().map(named), 20))
}

/// By what somebody who may approve is none of the approvers.
#[derive(Clone, Copy, Serialize)]
pub enum FellOut {
    Author,
    Contributor,
    CoAuthor,
    Pusher,
    Requester,
}

impl FellOut {
    /// `None` for what is no part in the change.
    const fn of(refusal: &Refusal) -> Option<Self> {
        Some(match refusal {
            Refusal::IsAuthor { .. } => Self::Author,
            Refusal::IsContributor => Self::Contributor,
            Refusal::IsCoAuthor => Self::CoAuthor,
            Refusal::IsPusher => Self::Pusher,
            Refusal::IsRequester => Self::Requester,
            _ => return None,
        })
    }
}

/// What stands in the way beside a missing word: owners who are yet to approve, names that cannot, authors GitHub does
/// not know, and where the set-up is looked at, a team that is not there.
pub fn notes(report: &GateReport, links: &Links, of_set_up: bool) -> Shown<Markdown> {
    let eligible = &report.eligible;
    let note = |variant: entry::GateNote, beside: Value| messages::markdown(variant, beside);
    let owners = (!report.awaiting_owners.is_empty()).then(|| {
        let files = report
            .awaiting_owners
            .iter()
            .map(|file| links.in_diff(file, None, false));
        note(
            entry::GateNote::Owners,
            context! { files => files.collect::<Vec<_>>() },
        )
    });
    let absent = eligible.absent_preset_team.as_ref().filter(|_| of_set_up);
    let absent = absent.map(|absent| {
        let why = messages::markdown(entry::Absence(&absent.why), context! { team => absent.name.as_str() });
        note(entry::GateNote::Absent, context! { why, instead => eligible.permission.map_or("other people", words::permission) })
    });
    let unusable = eligible.unusable.iter().map(|unusable| {
        let why = messages::plain(entry::Unusable(&unusable.why), context! {});
        note(
            entry::GateNote::Unusable,
            context! { name => unusable.name.as_str(), why },
        )
    });
    let unknown = (!eligible.unattributed.is_empty()).then(|| {
        let commits = eligible.unattributed.iter().map(|sha| links.commit(*sha));
        let (commits, must_name_head) = (commits.collect::<Vec<_>>(), eligible.must_name_head);
        note(
            entry::GateNote::Unknown,
            context! { commits, must_name_head, name => report.name.as_str() },
        )
    });
    // Who wrote here is answered.
    let is_answered = |login: &Login| report.considered.iter().any(|word| word.by == *login);
    let fell_out = eligible
        .fell_out
        .iter()
        .filter(|(login, _)| !is_answered(login) && !eligible.only_hope);
    let fell_out = fell_out.filter_map(|(login, refusal)| {
        let part = FellOut::of(refusal)?;
        let did = word(entry::FellOut(&part));
        let switch = word(entry::FellOutKey(&part));
        let beside = context! { who => login.as_str(), did, switch };
        Some(note(entry::GateNote::FellOut, beside))
    });
    let all = owners
        .into_iter()
        .chain(absent)
        .chain(unusable)
        .chain(unknown)
        .chain(fell_out);
    Shown::first(6, all, |note| note)
}
