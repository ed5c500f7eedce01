//! Decisions → what people read: the status comment, check runs, gate requests, escalations, job summary, terminal.
//!
//! Everything here is pure: a decision, its snapshot and policy go in, text comes out. Longer texts live in
//! `config/templates/`, single sentences in one named function each. Whatever came from outside passes through
//! [`sanitize`] on its way, and every text obeys GitHub's size limit by saying less, not by being cut ([`fit`]).

mod amounts;
mod annotations;
mod announcement;
mod answers;
mod base_tests;
mod causes;
mod changes;
mod check_run;
mod check_table;
mod configuration;
mod dashboard;
#[cfg(test)]
mod decided_tests;
mod disputes;
mod escalation;
mod excerpts;
mod explain;
mod export;
mod failure_card;
mod feedback;
mod feedback_text;
mod fit;
mod fix_request;
#[cfg(test)]
mod fixtures;
mod gate_card;
mod gate_request;
mod gate_rules;
mod handoff;
#[cfg(test)]
mod hostile_tests;
mod iteration;
mod links;
mod memory;
mod merge_group;
mod messages;
mod metrics;
mod metrics_chart;
mod model;
mod plain;
#[cfg(test)]
mod post_tests;
mod posts;
mod reflex;
mod refusal;
mod reply;
mod sanitize;
mod status;
mod steps;
mod summary;
mod templates;
mod terminal;
#[cfg(test)]
mod tests;
mod traces;
mod tried;
mod verdict;
mod warning;
mod what_if;
mod words;
mod workflow;

use loopgate_core::{
    CommentId, Timestamp,
    deciding::{Decision, Post},
    observed::Snapshot,
    policy::Policy,
};

pub use annotations::CheckAnnotation;
pub use announcement::Announcement;
pub use causes::history_lines;
pub use check_run::{CheckAction, CheckRunText, SharedVerdict, add_shared, given_up, superseded, switched_off};
pub use dashboard::{
    Budget, ConfigurationRow, DeadLetterRow, Diagnosis, DoctorLine, DoctorOutcome, DormantRow, Filter, Frame,
    LIVE_SCRIPT, ListedLoop, LoopPage, MemoryPage, MetricsPage, Notice, OpenLoop, Operations, Overview, Page, Queue,
    RecordedLoop, Repositories, STYLE, SavedState, TokenRow, TokensPage, Verdict as CheckVerdict, age, shortened,
    work_class,
};
pub use disputes::dispute_to_say;
pub use export::executable_feedback;
pub use feedback::feedback;
pub use feedback_text::{feedback_text, held_up_text, waiting_text};
pub use fit::LIMIT;
pub use fix_request::Dispatch;
pub use gate_rules::GateRules;
pub use iteration::{IterationAnswer, iteration_answer};
pub use memory::{memory_cards, memory_found, memory_lines, memory_recurring, memory_stats};
pub use merge_group::{GroupMember, VerifiedBy, merge_group};
pub use messages::text;
pub use metrics::{metrics, metrics_csv};
pub use metrics_chart::metrics_svg;
pub use model::{Currency, Ended, Feedback, FixTask, ReadFrom, Reading, Until, json_text};
pub use plain::{folded, plain};
pub use reflex::{
    FixMessage, loop_breach, loop_call, loop_call_of, loop_critique, loop_dispute, loop_exhausted, loop_fewer_tests,
    loop_fix_message, loop_history, loop_iteration, loop_list, loop_plan, loop_refusal, loop_report, loop_status,
    loop_verdict, status_word as loop_status_word,
};
pub use reply::refused_command;
pub use sanitize::{block as plain_block, line as plain_line, percent_encoded};
pub use status::{STATUS_MARKER, job_summary};
pub use summary::Iteration;
pub use terminal::{Colour, Detail, notes, report as terminal_report};
pub use traces::Traces;
pub use tried::{Trial, Tried, trial, trial_page, tried};
pub use warning::not_repeated;
pub use what_if::what_if;
pub use words::{label_description, moment};
pub use workflow::{annotation_commands, configuration_commands, defused, error_command, silenced};

/// Every text of one pull request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    pub status_comment: String,
    /// `loopgate / verify`.
    pub verify: CheckRunText,
    /// `loopgate / gates`.
    pub gates: CheckRunText,
    /// One text per [`Post`] of the surface, each beginning with its [`marker`].
    pub posts: Vec<(Post, String)>,
    /// Comments of ours that are put back, and with what.
    pub restored: Vec<(CommentId, String)>,
    /// The call for a human in short, for channels beside the pull request.
    pub announcement: Option<Announcement>,
    /// The workflow that is started beside the comment that asks a fixer.
    pub dispatch: Option<Dispatch>,
    /// `artifact.md` of the state ref: the report of the last evaluation.
    pub artifact: String,
}

impl Rendered {
    /// Where nothing but the two check runs is written.
    pub fn of_check_runs(verify: CheckRunText, gates: CheckRunText) -> Self {
        let (status_comment, artifact) = (String::new(), String::new());
        Self { status_comment, verify, gates, artifact, ..Self::default() }
    }
}

/// Texts a repository may replace with its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTemplates<'a> {
    /// The text of `.github/loopgate/escalation.md` on the base branch.
    pub escalation: Option<&'a str>,
}

/// Renders everything with the built-in templates.
pub fn pull_request(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> Rendered {
    pull_request_with(decision, snapshot, policy, OwnTemplates::default())
}

/// Renders everything, with a repository's own templates where it has some.
pub fn pull_request_with(decision: &Decision, snapshot: &Snapshot, policy: &Policy, own: OwnTemplates<'_>) -> Rendered {
    let subject = verdict::Subject { decision, snapshot, policy };
    let model = status::StatusModel::of(&subject);
    let posts = decision.surface.posts.iter().map(|post| (post.clone(), posts::text_of(&subject, post, own))).collect();
    Rendered {
        verify: check_run::verify(&subject, model.clone()),
        gates: check_run::gates(&subject),
        posts,
        restored: posts::restored(&subject, own),
        artifact: status::artifact(&subject, model.clone()),
        announcement: announcement::announcement(&subject),
        dispatch: decision.surface.fix.and_then(|fix| fix_request::dispatch(&subject, fix)),
        status_comment: status::comment(&subject, model),
    }
}

/// Why a pull request is where it is, and who can open its gates: a page of Markdown.
pub fn explain(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
    explain::page(&verdict::Subject { decision, snapshot, policy })
}

/// [`explain`] as a document for programs.
pub fn explanation(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> serde_json::Value {
    explain::document(&verdict::Subject { decision, snapshot, policy })
}

/// What the rules of one gate found; `None` if there is no such gate.
pub fn gate_rules(decision: &Decision, snapshot: &Snapshot, gate: &loopgate_core::GateName) -> Option<GateRules> {
    let report = decision.view.gates.iter().find(|report| report.name == *gate)?;
    Some(GateRules::new(report, &links::Links::of(snapshot)))
}

/// How it stands in lists of open loops.
pub fn open_loop(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> OpenLoop {
    OpenLoop::of(&verdict::Subject { decision, snapshot, policy })
}

/// The page of a loop as it stands now, with what is recorded of it.
pub fn loop_page(
    (decision, snapshot, policy): (&Decision, &Snapshot, &Policy),
    recorded: Option<&RecordedLoop>,
    now: Timestamp,
) -> LoopPage {
    LoopPage::now(&verdict::Subject { decision, snapshot, policy }, recorded, now)
}

/// What stands between a head and ready, for the one who fixes it: `loopgate.feedback/v1`.
pub fn feedback_document(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> Feedback {
    Feedback::of_document(&model::Document::of(&verdict::Subject { decision, snapshot, policy }))
}

/// What a local loop's fixer gets on its standard input: `loopgate.feedback/v1` with the task beside it, as JSON.
pub fn fixer_feedback(decision: &Decision, snapshot: &Snapshot, policy: &Policy, task: &FixTask<'_>) -> String {
    model::Document::for_fixer(&verdict::Subject { decision, snapshot, policy }, task)
}

/// The hidden first line of a post, by which it is found again so that it is never posted twice.
pub fn marker(post: &Post) -> String {
    format!("<!-- loopgate:{} -->", post.key())
}
