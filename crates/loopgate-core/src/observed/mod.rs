//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod assignment;
mod code_type;
mod contents;
mod hint;
mod own_check;
mod snapshot;
mod stack;

pub(crate) use self::snapshot::hunk_start;
pub use self::{
    assignment::{Assigner, Assignment, Assignments},
    code_type::CodeType,
    contents::{Content, Contents, FileAt},
    hint::{Actor, Hint},
    own_check::{CheckScope, OwnCheck},
    snapshot::{
        Account, AccountKind, Annotation, AnnotationLevel, AppIdentity, Authority, Base, BaseEvidence, ChangedFile,
        ChangedFiles, CheckProgress, Comment, Commit, Completeness, Conclusion, ExternalCheck, FileStatus, ForgedCheck,
        Head, Lifecycle, Listing, NamedAccount, ObservationProblem, Permission, PullRequest, Readiness,
        ReceivedEvidence, Review, ReviewVerdict, Snapshot, Standing, TeamStanding, Visibility, WorkflowJob,
        WorkflowRun,
    },
    stack::{Layer, Stack},
};
