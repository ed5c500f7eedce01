use serde::Serialize;

words! {
    /// The kind of an [`Item`](super::Item): what it is about, and how that stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    pub enum ItemId {
        ConfigurationRead = "configuration.read",
        /// The newest older file governs.
        ConfigurationLastGood = "configuration.last-good",
        /// No file can be read: the presets govern.
        ConfigurationUnreadable = "configuration.unreadable",
        CheckPassed = "check.passed",
        CheckFailed = "check.failed",
        CheckTimedOut = "check.timed-out",
        CheckNoTests = "check.no-tests",
        CheckResultsLost = "check.results-lost",
        CheckCancelled = "check.cancelled",
        /// A check that it needs failed.
        CheckNotRun = "check.not-run",
        CheckMissing = "check.missing",
        CheckRunning = "check.running",
        CheckAwaitsApproval = "check.awaits-approval",
        CheckNeverReported = "check.never-reported",
        /// By the author's own doing.
        CheckCannotStart = "check.cannot-start",
        CheckAwaitsRelease = "check.awaits-release",
        CheckNotApplicable = "check.not-applicable",
        CheckReviewerAbsent = "check.reviewer-absent",
        CheckSkipped = "check.skipped",
        CheckEvidenceRefused = "check.evidence-refused",
        CheckLost = "check.lost",
        CheckNotStarted = "check.not-started",
        ScoreReached = "score.reached",
        ScoreShort = "score.short",
        ScoreUnknown = "score.unknown",
        RuleMet = "rule.met",
        RuleUnmet = "rule.unmet",
        RuleUnknown = "rule.unknown",
        GateNotNeeded = "gate.not-needed",
        GateApproved = "gate.approved",
        GateWaits = "gate.waits",
        GateRejected = "gate.rejected",
        CapabilityOpen = "capability.open",
        CapabilityDone = "capability.done",
        DraftReady = "draft.ready",
        DraftNotReady = "draft.not-ready",
        ReviewNotRequired = "review.not-required",
        ReviewApproved = "review.approved",
        ReviewMissing = "review.missing",
        ReviewChangesRequested = "review.changes-requested",
        StackBeneath = "stack.beneath",
        MergeOpen = "merge.open",
        MergeDone = "merge.done",
        CallOpen = "call.open",
        CallFlagged = "call.flagged",
        TamperingFound = "tampering.found",
        /// It decides nothing and must be known.
        Note = "note",
    }
}
