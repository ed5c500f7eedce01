//! Decisions → what people read: the status comment, check runs, gate requests, escalations, job summary, terminal.
//!
//! Everything here is pure: a decision, its snapshot and policy go in, text comes out. Longer texts live in
//! `templates/`, single sentences in one named function each. Whatever came from outside passes through
//! [`sanitize`] on its way, and every text obeys GitHub's size limit by saying less, not by being cut ([`texts`]).

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

mod agent_stop;
mod amounts;
mod annotations;
mod answers;
mod causes;
mod check_run;
mod check_table;
mod dashboard;
#[cfg(test)]
mod decided_tests;
mod escalation;
mod excerpts;
mod explain;
mod export;
mod failure_card;
#[cfg(test)]
mod fixtures;
mod gate_card;
#[cfg(test)]
mod hostile_tests;
mod items;
mod iteration;
mod links;
mod memory;
mod messages;
mod metrics;
mod model;
mod plain;
mod planted;
#[cfg(test)]
mod post_tests;
mod posts;
mod reflex;
mod refusal;
mod sanitize;
mod status;
mod steps;
mod subject;
mod summary;
mod templates;
mod terminal;
#[cfg(test)]
mod tests;
mod texts;
mod tried;
mod verdict;
mod warning;
mod words;

use std::collections::BTreeMap;

use loopgate_core::{
    CommentId,
    deciding::{Decision, Post},
    observed::Snapshot,
    policy::Policy,
};

// What the files of this room write with.
use self::{
    gate_card::GateCard,
    links::{Links, linked, place},
    messages::{markdown, variant_name, word, word_named},
    sanitize::{
        Markdown, address, block, clip, clip_lines, code, fence, line, short_line, short_text,
    },
    summary::attempt_row,
    texts::{Brevity, Shown},
};
pub use agent_stop::{held_by_edits, held_by_tree, held_by_verdict, held_unverified};
pub use amounts::plural;
pub use annotations::{
    CheckAnnotation, annotation_commands, configuration_commands, defused, error_command, silenced,
    warning_command,
};
pub use answers::refused_command;
pub use causes::{DisputeAnswer, Disputed, dispute_to_say, history_lines};
pub use check_run::{
    CheckAction, CheckRunText, GroupMember, add_shared, given_up, merge_group, superseded,
    switched_off,
};
pub use check_table::all_skipped;
pub use dashboard::{
    Budget, ConfigurationRow, DeadLetterRow, Diagnosis, DoctorLine, DoctorOutcome, DormantRow,
    Filter, Frame, LIVE_SCRIPT, ListedLoop, LoopPage, MemoryPage, MetricsPage, Mine, Notice,
    OpenLoop, Operations, Overview, Page, Queue, RecordedLoop, Refused, Repositories, STYLE,
    SavedState, TokenRow, TokensPage, Verdict as CheckVerdict, age, home_page, setup_page,
    shortened, work_class,
};
pub use explain::{Explanation, document as explanation, gate_rules, page as explain};
pub use export::{executable_feedback, fields_of_state};
pub use failure_card::feedback;
pub use iteration::iteration_answer;
pub use memory::{
    MemoryFound, memory_cards, memory_found, memory_lines, memory_recurring, memory_stats,
    memory_stats_document,
};
pub use messages::text;
pub use metrics::{metrics, metrics_csv, metrics_svg};
pub use model::{
    CAUTION, Currency, Ended, Feedback, FeedbackAnswer, Marked, ReadFrom, Reading, Traces, Until,
    feedback_text, json_text, marked, waiting_text,
};
pub use plain::{folded, plain, wrapped};
pub use planted::{PlantedSettings, planted_lines};
pub use posts::{Announcement, Dispatch, with_run};
pub use reflex::{
    loop_breach, loop_call, loop_call_of, loop_critique, loop_dispute, loop_edit_refusal,
    loop_exhausted, loop_fix_message, loop_iteration, loop_list, loop_missing_test, loop_plan,
    loop_report, loop_status, loop_verdict,
};
pub use sanitize::{block as plain_block, line as plain_line, percent_encoded};
pub use status::{STATUS_MARKER, job_summary};
pub use subject::Subject;
pub use summary::Iteration;
pub use terminal::report as terminal_report;
pub use texts::LIMIT;
pub use tried::{JudgedBy, Tried, trial, trial_page, trial_text, tried, what_if};
pub use warning::{not_repeated, notes};
pub use words::{few, label_description, moment};

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
    /// What channels beside the pull request say of posts, by the keys of those.
    pub announcements: BTreeMap<String, Announcement>,
    /// The workflow that is started beside the comment that asks a fixer.
    pub dispatch: Option<Dispatch>,
    /// `artifact.md` of the state ref: the report of the last evaluation.
    pub artifact: String,
}

/// Renders everything, with a repository's own report for a call for a human if it has one: the text of
/// `.github/loopgate/escalation.md` on the base branch.
pub fn pull_request(
    decision: &Decision,
    snapshot: &Snapshot,
    policy: &Policy,
    own: Option<&str>,
) -> Rendered {
    let subject = Subject::new(decision, snapshot, policy);
    let posts = decision
        .surface
        .posts
        .iter()
        .map(|post| (post.clone(), posts::text_of(&subject, post, own)))
        .collect();
    Rendered {
        verify: check_run::verify(&subject),
        gates: check_run::gates(&subject),
        posts,
        restored: posts::restored(&subject, own),
        artifact: status::artifact(&subject),
        announcements: posts::announcements(&subject),
        dispatch: decision
            .surface
            .fix
            .and_then(|fix| posts::dispatch(&subject, fix)),
        status_comment: status::comment(&subject),
    }
}

/// The hidden first line of a post, by which it is found again so that it is never posted twice.
pub fn marker(post: &Post) -> String {
    format!("<!-- loopgate:{} -->", post.key())
}
