//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod contents;
mod hint;
mod makers;
mod own_check;
mod patch;
mod queue;
mod review_threads;
mod snapshot;

pub use self::{
    contents::{Content, Contents, FileAt, FileEntry, FilesToRead, merge_lines, merge_whole},
    hint::{Actor, AnnouncedPush, Hint},
    makers::{Assigner, Assignment, Assignments, Makers, Push, PushContent},
    own_check::{CheckScope, Layer, OwnCheck, Stack},
    patch::{DiffHunk, DiffLine, LineChange, Patch},
    queue::{
        GroupFailure, GroupResult, QueueGroup, QueueRemoval, QueueStanding, RemovalReason, Unfinished, UnfinishedCheck,
    },
    review_threads::{MOST_OF_A_FINDING, MOST_OF_AN_ANSWER, Resolution, ReviewThread},
    snapshot::{
        Account, AccountKind, Annotation, AnnotationLevel, AppIdentity, Authority, Base, BaseEvidence, ChangedFile,
        ChangedFiles, CheckProgress, CodeType, Comment, Commit, Completeness, Conclusion, ExternalCheck, FileStatus,
        ForgedCheck, Head, JobOutput, Lifecycle, Listing, NamedAccount, ObservationProblem, Permission, PullRequest,
        Readiness, ReceivedEvidence, Review, ReviewVerdict, Snapshot, Standing, TeamStanding, Visibility, WorkflowJob,
        WorkflowRun,
    },
};
