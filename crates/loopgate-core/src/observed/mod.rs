//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod authority;
mod changed_files;
mod checks;
mod contents;
mod conversation;
mod hint;
mod makers;
mod own_check;
mod patch;
mod pull_request;
mod queue;
mod review_threads;
mod snapshot;

pub use self::{
    authority::{Authority, NamedAccount, Permission, Standing, TeamStanding},
    changed_files::{ChangedFile, ChangedFiles, Commit, FileStatus},
    checks::{
        Annotation, AnnotationLevel, BaseEvidence, CheckProgress, Conclusion, ExternalCheck, ForgedCheck, JobOutput,
        ReceivedEvidence, WorkflowJob, WorkflowRun,
    },
    contents::{Content, Contents, FileAt, FileEntry, FilesToRead, merge_lines, merge_whole},
    conversation::{Comment, Review, ReviewVerdict, Visibility},
    hint::{Actor, AnnouncedPush, Hint},
    makers::{Assigner, Assignment, Assignments, Makers, Push, PushContent},
    own_check::{CheckScope, Layer, OwnCheck, Stack},
    patch::{DiffHunk, DiffLine, LineChange, Patch},
    pull_request::{Account, AccountKind, Base, CodeType, Head, Lifecycle, PullRequest, Readiness},
    queue::{
        GroupFailure, GroupResult, QueueGroup, QueueRemoval, QueueStanding, RemovalReason, Unfinished, UnfinishedCheck,
    },
    review_threads::{MOST_OF_A_FINDING, MOST_OF_AN_ANSWER, Resolution, ReviewThread},
    snapshot::{AppIdentity, Completeness, Listing, ObservationProblem, Snapshot},
};
