//! One gate as the status comment, the check run and the job summary show it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    fit::Shown,
    links::Links,
    refusal,
    sanitize::{Markdown, address, code, short_text, text},
    verdict::Subject,
    words,
};
use loopgate_core::{
    GateName, Login, PatternName,
    gate::{
        Absence, Approval, GateReport, GateStanding, Holding, MatchReason, Refusal, RuleEvidence, TriggerMatch,
        Unusable,
    },
    observed::Lifecycle,
    policy::{ApproveBy, Policy, RuleTier},
};

/// What `parts/gate.md` shows.
#[derive(Clone, Debug, Serialize)]
pub struct GateCard {
    pub icon: &'static str,
    pub name: String,
    /// After the name: "holds VALIDATE → DOCUMENT."
    pub state: Markdown,
    /// Who does what to open it; none when nothing is to be done.
    pub how: Option<Markdown>,
    /// Why it applies.
    pub why: Shown<Markdown>,
    /// Words that do not count.
    pub refused: Shown<Markdown>,
    pub notes: Shown<Markdown>,
}

/// How approvals of a gate are given, by the policy in force.
pub fn approve_by(policy: &Policy, gate: &GateName) -> ApproveBy {
    policy.gates.get(gate).map_or(ApproveBy::Comment, |gate| gate.approve_by)
}

impl GateCard {
    pub fn new(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        let pull = &subject.snapshot.pull_request;
        let by = approve_by(subject.policy, &report.name);
        let gate = refusal::Gate { report, approve_by: by, head: pull.head.sha, links };
        let merged = matches!(pull.lifecycle, Lifecycle::Merged { .. });
        let (icon, state) = if merged && report.is_closed() {
            ("⚠️", Markdown::ours("was closed when this was merged."))
        } else {
            standing(report, links)
        };
        let undecided = matches!(report.standing, GateStanding::Open);
        Self {
            icon,
            name: report.name.to_string(),
            state,
            how: if merged { None } else { how(report, by) },
            why: if undecided { why(report, links, 4) } else { Shown::default() },
            refused: if merged { Shown::default() } else { refusal::lines(&report.considered, &gate) },
            notes: if undecided { notes(report, links) } else { Shown::default() },
        }
    }

    /// Whether it says anything: a gate that does not apply and about which nobody spoke does not.
    pub fn is_worth_showing(report: &GateReport) -> bool {
        let refused = report.considered.iter().any(|word| word.refusal().is_some());
        refused || !matches!(report.standing, GateStanding::NotApplicable)
    }
}

fn standing(report: &GateReport, links: &Links) -> (&'static str, Markdown) {
    let (icon, state) = match (&report.standing, report.holding) {
        (GateStanding::NotApplicable, _) => ("➖", "does not apply here.".to_owned()),
        (GateStanding::Open, Holding::Holds) => {
            ("🔒", "is not approved yet. Merging is blocked until then.".to_owned())
        }
        (GateStanding::Open, Holding::Advisory) => ("ℹ️", "applies, and holds nothing in this mode.".to_owned()),
        (GateStanding::Approved { by }, _) => {
            let who: Vec<String> = by.iter().map(|approval| approved(approval, links)).collect();
            ("✅", format!("approved by {}.", words::and(&who)))
        }
        (GateStanding::Rejected { by, words, url, .. }, _) => ("❌", rejected(by, words, url)),
    };
    (icon, Markdown::ours(state))
}

fn approved(approval: &Approval, links: &Links) -> String {
    format!("{} on {}", linked(&approval.by, &approval.url), links.commit(approval.head))
}

fn rejected(by: &Login, words: &str, url: &str) -> String {
    let quoted = short_text(words, 300);
    let colon = if quoted.is_empty() { ".".to_owned() } else { format!(": “{quoted}”") };
    format!("rejected by {}{colon}", linked(by, url))
}

fn linked(who: &Login, url: &str) -> String {
    let name = words::person(who);
    address(url).map_or_else(|| name.to_string(), |url| format!("[{name}]({url})"))
}

/// "bob or carol (team acme/security) comments `security approved`."
fn how(report: &GateReport, by: ApproveBy) -> Option<Markdown> {
    let name = &report.name;
    match &report.standing {
        GateStanding::NotApplicable | GateStanding::Approved { .. } => None,
        GateStanding::Rejected { by, .. } => Some(Markdown::ours(format!(
            "{who} comments {} or {}; or a maintainer comments {}.",
            refusal::phrase(name),
            code(&format!("{name} approval revoked")),
            code(&format!("/dismiss {name} @{by} reason")),
            who = words::person(by)
        ))),
        GateStanding::Open => {
            let eligible = &report.eligible;
            if eligible.people.is_empty() && eligible.teams.is_empty() && eligible.permission.is_none() {
                return Some(Markdown::ours(format!(
                    "nobody could be found who may. Whoever maintains the configuration names approvers in {}, on the \
                     base branch.",
                    code(&format!("gates.{name}.approvers"))
                )));
            }
            let approvers = text(&words::approvers(report));
            let approves = refusal::approves(name, by);
            let have: Vec<String> =
                report.approvals.iter().map(|approval| words::person(&approval.by).into_string()).collect();
            let still = match (report.needed, have.as_slice()) {
                (..=1, _) => String::new(),
                (needed, []) => format!(" {needed} approvals are needed."),
                (needed, have) => {
                    format!(" {needed} approvals are needed; {} so far: {}.", have.len(), words::and(have))
                }
            };
            Some(Markdown::ours(format!("{approvers} {approves}.{still}")))
        }
    }
}

/// Why a gate applies, with the places to look at: lines before whole files, and of a line that several rules name what
/// the first says.
pub fn why(report: &GateReport, links: &Links, most: usize) -> Shown<Markdown> {
    let mut lines = BTreeSet::new();
    let mut matches: Vec<&TriggerMatch> = report.matches.iter().collect();
    matches.retain(|found| found.line.is_none() || lines.insert((&found.file, found.line)));
    matches.sort_by_key(|found| (is_suspect(found), found.line.is_none()));
    let mut shown = Shown::first(most, &matches, |found| reason(found, links));
    shown.omitted += report.matches_not_kept;
    shown
}

const fn is_suspect(found: &TriggerMatch) -> bool {
    matches!(found.reason, MatchReason::Rule { tier: RuleTier::Suspects, .. })
}

pub fn reason(found: &TriggerMatch, links: &Links) -> Markdown {
    let what = match &found.reason {
        MatchReason::Always => "the whole pull request: every one needs this gate".to_owned(),
        MatchReason::Path { name: Some(name), .. } => format!("matches “{}”", name.as_str().replace('_', " ")),
        MatchReason::Path { name: None, glob: Some(glob) } => format!("matches {}", code(glob)),
        MatchReason::Path { name: None, glob: None } => "has a word in its path that the gate looks for".to_owned(),
        MatchReason::AddedLine { name, excerpt } => format!("adds {}{}", code(excerpt), pattern(name.as_ref())),
        MatchReason::RemovedLine { name, excerpt } => format!("removes {}{}", code(excerpt), pattern(name.as_ref())),
        MatchReason::Rule { id, says, evidence, .. } => ruled(id, says, evidence),
        MatchReason::Unreadable => "GitHub shows no readable diff of it, so it counts as matching".to_owned(),
        MatchReason::Dependency { name } => format!("adds the dependency {}", code(name)),
        MatchReason::NewTopLevelFolder { folder } => format!("the top-level folder {} is new", code(folder)),
        MatchReason::Label { label } => format!("the label {} is set", code(label)),
        MatchReason::LabelRemoved { label } => {
            format!("the label {} asked for it, and taking it away does not take that back", code(label))
        }
        MatchReason::NotExcluded => "nothing here is on the list of what it leaves out".to_owned(),
        MatchReason::BaseBranch { branch } => format!("the base branch is {}", code(branch)),
        MatchReason::Author { login } => format!("{} wrote it", words::person(login)),
        MatchReason::Agent { name } => format!("the coding agent {} had a hand in it", code(name)),
        MatchReason::Size { lines, files } => {
            format!("it changes {} in {}", words::count(*lines, "line"), words::count(*files, "file"))
        }
        MatchReason::Draft => "it is a draft".to_owned(),
        MatchReason::Finding { rule } => format!("the finding {}", code(rule)),
        MatchReason::TooLarge => "the whole pull request: it is too large to read".to_owned(),
        MatchReason::Mode => "the whole pull request: in supervised mode every gate holds".to_owned(),
    };
    let is_gone = matches!(
        found.reason,
        MatchReason::RemovedLine { .. } | MatchReason::Rule { evidence: RuleEvidence::RemovedLine(_), .. }
    );
    let place = found.file.as_ref().map(|file| match is_gone {
        true => links.removed_in_diff(file, found.line),
        false => links.in_diff(file, found.line),
    });
    let blank = if matches!(found.reason, MatchReason::Rule { .. }) { "" } else { " " };
    Markdown::ours(match place {
        Some(place) => format!("{place}{blank}{what}"),
        None => what,
    })
}

/// What a rule says of a place, behind the place, and the rule's name: ": a check of rights is removed or changed:
/// `@login_required` is removed (rule `auth-check-removed`)".
fn ruled(id: &PatternName, says: &str, evidence: &RuleEvidence) -> String {
    let shown = match evidence {
        RuleEvidence::Path => String::new(),
        RuleEvidence::AddedLine(text) | RuleEvidence::Named(text) | RuleEvidence::NewFolder(text) => {
            format!(": {}", code(text))
        }
        RuleEvidence::RemovedLine(text) => format!(": {} is removed", code(text)),
    };
    format!(": {says}{shown} (rule {})", code(id.as_str()))
}

/// Gates that do not apply, each with the suspect that alone does not open it.
pub fn quiet(gates: &[&GateReport], links: &Links) -> Markdown {
    let named = |report: &&GateReport| match report.suspects.first() {
        Some(suspect) => format!("{} (one suspect: {})", report.name, reason(suspect, links)),
        None => report.name.to_string(),
    };
    Markdown::ours(words::few(&gates.iter().map(named).collect::<Vec<_>>(), 20))
}

/// The name of the pattern that a line matches, behind the line. One without a name goes unsaid: an expression tells
/// people little.
fn pattern(name: Option<&PatternName>) -> String {
    name.map(|name| format!(" ({})", code(name.as_str()))).unwrap_or_default()
}

/// What stands in the way beside a missing word: owners who are yet to approve, names that cannot, a team that is not
/// there, authors GitHub does not know.
pub fn notes(report: &GateReport, links: &Links) -> Shown<Markdown> {
    let eligible = &report.eligible;
    let owners = (!report.awaiting_owners.is_empty()).then(|| {
        let files: Vec<String> =
            report.awaiting_owners.iter().map(|file| links.in_diff(file, None).into_string()).collect();
        format!("Their owners have not approved yet: {}.", words::few(&files, 5))
    });
    let absent = eligible.absent_preset_team.as_ref().map(|absent| {
        let instead = eligible.permission.map_or("other people", words::permission);
        let team = code(&absent.team.to_string());
        let why = match &absent.absence {
            Absence::Missing => format!("There is no team {team} that Loopgate could ask"),
            Absence::NoAccess => format!("The team {team} cannot read this repository"),
            Absence::Unreadable(reason) => {
                format!("Loopgate may not read who is in the team {team} ({})", short_text(reason, 160))
            }
        };
        format!("{why}, so people with {instead} stand in for it.")
    });
    let unusable = eligible
        .unusable
        .iter()
        .map(|name| format!("{} cannot approve: {}.", code(&name.name), short_text(unusable_because(&name.why), 160)));
    let unknown = (!eligible.unattributed.is_empty()).then(|| {
        let commits: Vec<String> = eligible.unattributed.iter().map(|sha| links.commit(*sha).into_string()).collect();
        let counts = match eligible.must_name_head {
            false => "It counts as its pusher’s.".to_owned(),
            true => format!(
                "Nor who pushed it: approvals name the commit, {}.",
                code(&format!("{} approved <sha>", report.name))
            ),
        };
        format!("GitHub does not know who wrote {}. {counts}", words::few(&commits, 3))
    });
    // Who wrote here is answered.
    let is_answered = |login: &Login| report.considered.iter().any(|word| word.by == *login);
    let fell_out = eligible.fell_out.iter().filter(|(login, _)| !is_answered(login));
    let fell_out = fell_out.filter_map(|(login, refusal)| {
        let (did, switch) = match refusal {
            Refusal::IsAuthor { .. } => ("wrote this pull request", "allow_author"),
            Refusal::IsContributor => ("wrote or committed a part of it", "allow_contributors"),
            Refusal::IsCoAuthor => ("is named as co-author of a commit", "allow_coauthors"),
            Refusal::IsPusher => ("pushed to its branch", "allow_pusher"),
            Refusal::IsRequester => ("asked the coding agent for it", "allow_requester"),
            _ => return None,
        };
        let who = words::person(login);
        Some(format!("{who} cannot approve: {who} {did} ({}).", code(switch)))
    });
    let all = owners.into_iter().chain(absent).chain(unusable).chain(unknown).chain(fell_out);
    Shown::first(6, all, Markdown::ours)
}

fn unusable_because(why: &Unusable) -> &str {
    match why {
        Unusable::NoCodeowners => "the base branch has no CODEOWNERS file",
        Unusable::OwnsNothing => "none of the files that trigger the gate has an owner",
        Unusable::Email => "an e-mail address in CODEOWNERS names no account",
        Unusable::NoAccount => "there is no such account",
        Unusable::NoTeam => "there is no such team, or it is secret",
        Unusable::NoAccess => "the team cannot read this repository",
        Unusable::Unknown(reason) => reason,
    }
}
