//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod assignment;
mod code_type;
mod contents;
mod hint;
mod makers;
mod merge;
mod own_check;
mod patch;
mod snapshot;
mod stack;

pub use self::{
    assignment::{Assigner, Assignment, Assignments},
    code_type::CodeType,
    contents::{Content, Contents, FileAt, FileEntry, FilesToRead},
    hint::{Actor, AnnouncedPush, Hint},
    makers::{Makers, Push, PushContent},
    merge::{merge_lines, merge_whole},
    own_check::{CheckScope, OwnCheck},
    patch::{DiffHunk, DiffLine, LineChange, Patch},
    snapshot::{
        Account, AccountKind, Annotation, AnnotationLevel, AppIdentity, Authority, Base, BaseEvidence, ChangedFile,
        ChangedFiles, CheckProgress, Comment, Commit, Completeness, Conclusion, ExternalCheck, FileStatus, ForgedCheck,
        Head, JobOutput, Lifecycle, Listing, NamedAccount, ObservationProblem, Permission, PullRequest, Readiness,
        ReceivedEvidence, Review, ReviewVerdict, Snapshot, Standing, TeamStanding, Visibility, WorkflowJob,
        WorkflowRun,
    },
    stack::{Layer, Stack},
};
