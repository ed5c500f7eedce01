//! Counters, and their Prometheus text.

use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering},
};

use super::storage::Counts;
use crate::github::{Github, STATUSES, WorkClass};
use loopgate_core::{Timestamp, metrics::RunLine, state::VerificationResult};

/// A number that only grows, or a gauge that is set.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn set(&self, n: usize) {
        self.0.store(n as u64, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What came of a delivery; the label `result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    Accepted,
    Duplicate,
    Irrelevant,
    Ping,
    BadSignature,
    BadRequest,
    TooLarge,
    WrongType,
    Timeout,
    Unavailable,
}

impl Received {
    const ALL: [Self; 10] = [
        Self::Accepted,
        Self::Duplicate,
        Self::Irrelevant,
        Self::Ping,
        Self::BadSignature,
        Self::BadRequest,
        Self::TooLarge,
        Self::WrongType,
        Self::Timeout,
        Self::Unavailable,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Irrelevant => "irrelevant",
            Self::Ping => "ping",
            Self::BadSignature => "bad_signature",
            Self::BadRequest => "bad_request",
            Self::TooLarge => "too_large",
            Self::WrongType => "wrong_type",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Everything that is counted. Gauges that the storage knows are asked for when the text is written.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    deliveries: [Count; Received::ALL.len()],
    pub unknown_events: Count,
    pub inbox_commits: Count,
    pub inbox_failures: Count,
    pub queued: Count,
    pub running: Count,
    pub reconciles_done: Count,
    pub reconciles_failed: Count,
    /// Put off because GitHub or our own pacing asked to wait.
    pub reconciles_waiting: Count,
    pub resolved: Count,
    pub dead: Count,
    pub redelivered: Count,
    pub resyncs: Count,
    /// Looks that a resync asked for.
    pub resynced: Count,
    pub runs: Runs,
}

/// Seconds until a run passed, of the histogram's buckets.
const GREEN_WITHIN: [u64; 5] = [300, 900, 3_600, 14_400, 86_400];

/// What the runs that ended in this process came to.
#[derive(Debug, Default)]
pub(super) struct Runs {
    ended: Count,
    with_attempt: Count,
    first_passed: Count,
    attempts: Count,
    retries: Count,
    told: Count,
    escalated: Count,
    green: [Count; GREEN_WITHIN.len()],
    all_green: Count,
    seconds_to_green: Count,
}

impl Runs {
    pub fn add(&self, line: &RunLine) {
        self.ended.add(1);
        self.with_attempt.add(line.first_result.is_some().into());
        self.first_passed.add((line.first_result == Some(VerificationResult::Pass)).into());
        self.attempts.add(line.attempts.into());
        self.retries.add(line.retries.into());
        self.told.add(line.memory.as_ref().map_or(0, |memory| memory.carried.into()));
        self.escalated.add(line.escalated().into());
        let Some(seconds) = line.seconds_to_green else { return };
        self.all_green.add(1);
        self.seconds_to_green.add(seconds);
        GREEN_WITHIN.iter().zip(&self.green).for_each(|(within, count)| count.add((seconds <= *within).into()));
    }
}

impl Metrics {
    pub fn received(&self, what: Received) -> &Count {
        &self.deliveries[what as usize]
    }

    /// The text format of Prometheus, version 0.0.4.
    ///
    /// Without a `github` nothing is said of it.
    pub fn text(&self, counts: Counts, github: Option<&Github>, now: Timestamp) -> String {
        let Counts { waiting: backlog, dead: dead_letters, oldest: by_class } = counts;
        let age = |since: Option<Timestamp>| since.map_or(0, |since| (now - since).num_seconds().max(0).unsigned_abs());
        let oldest = age(by_class.into_iter().flatten().min());
        let mut text = String::with_capacity(2048);
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(&str, u64)]| {
            // Writing to a `String` cannot fail.
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
            for (labels, value) in samples {
                writeln!(text, "{name}{labels} {value}").ok();
            }
        };
        let labels = Received::ALL.map(|it| format!("{{result=\"{}\"}}", it.as_str()));
        let samples: Vec<_> =
            labels.iter().zip(&self.deliveries).map(|(label, count)| (label.as_str(), count.get())).collect();
        family("loopgate_deliveries_total", "counter", "Webhook deliveries by what came of them.", &samples);
        let unknown = self.unknown_events.get();
        family("loopgate_unknown_events_total", "counter", "Deliveries of events not handled.", &[("", unknown)]);
        let commits =
            [("{result=\"done\"}", self.inbox_commits.get()), ("{result=\"failed\"}", self.inbox_failures.get())];
        family("loopgate_inbox_commits_total", "counter", "Transactions of the inbox.", &commits);
        family("loopgate_backlog", "gauge", "Targets not yet done, in memory or on disk.", &[("", backlog)]);
        family("loopgate_oldest_seconds", "gauge", "Age of the oldest target not yet done.", &[("", oldest)]);
        let classes = WorkClass::ALL.map(|class| format!("{{class=\"{}\"}}", class.as_str()));
        let of_classes = |values: [u64; WorkClass::ALL.len()]| -> Vec<_> {
            classes.iter().map(String::as_str).zip(values).collect()
        };
        let ages = of_classes(by_class.map(age));
        family("loopgate_class_oldest_seconds", "gauge", "Age of the oldest target not yet done, by class.", &ages);
        family(
            "loopgate_queue_depth",
            "gauge",
            "Targets in memory waiting for their turn.",
            &[("", self.queued.get())],
        );
        family("loopgate_running", "gauge", "Jobs running now.", &[("", self.running.get())]);
        let reconciles = [
            ("{result=\"done\"}", self.reconciles_done.get()),
            ("{result=\"failed\"}", self.reconciles_failed.get()),
            ("{result=\"waiting\"}", self.reconciles_waiting.get()),
        ];
        family("loopgate_reconciles_total", "counter", "Reconciles of pull requests.", &reconciles);
        family(
            "loopgate_resolved_total",
            "counter",
            "Targets resolved to pull requests.",
            &[("", self.resolved.get())],
        );
        let redelivered = self.redelivered.get();
        family("loopgate_redeliveries_total", "counter", "Failed deliveries asked for again.", &[("", redelivered)]);
        family("loopgate_resyncs_total", "counter", "Times that all lists were read.", &[("", self.resyncs.get())]);
        let resynced = self.resynced.get();
        family("loopgate_resynced_total", "counter", "Looks that a resync asked for.", &[("", resynced)]);
        family("loopgate_given_up_total", "counter", "Targets given up after ten failures.", &[("", self.dead.get())]);
        family("loopgate_dead_letters", "gauge", "Dead letters now.", &[("", dead_letters)]);
        let runs = &self.runs;
        for (name, help, count) in [
            ("loopgate_runs_ended_total", "Runs that ended.", &runs.ended),
            ("loopgate_runs_with_attempt_total", "Of these, runs with an attempt.", &runs.with_attempt),
            ("loopgate_runs_first_passed_total", "Of these, runs whose first attempt passed.", &runs.first_passed),
            ("loopgate_runs_escalated_total", "Runs that ended and called a human.", &runs.escalated),
            ("loopgate_run_attempts_total", "Attempts of runs that ended.", &runs.attempts),
            ("loopgate_run_retries_total", "Attempts after one that failed.", &runs.retries),
            ("loopgate_run_retries_told_total", "Of these, told what mended the error before.", &runs.told),
        ] {
            family(name, "counter", help, &[("", count.get())]);
        }
        let within = GREEN_WITHIN.map(|within| format!("_bucket{{le=\"{within}\"}}"));
        let mut green: Vec<_> =
            within.iter().zip(&runs.green).map(|(label, count)| (label.as_str(), count.get())).collect();
        let (all, seconds) = (runs.all_green.get(), runs.seconds_to_green.get());
        green.extend([("_bucket{le=\"+Inf\"}", all), ("_sum", seconds), ("_count", all)]);
        family("loopgate_run_green_seconds", "histogram", "From the beginning of a run until it passed.", &green);
        let labels = STATUSES.map(|status| format!("{{status=\"{status}\"}}"));
        let answers: Vec<_> =
            labels.iter().map(String::as_str).zip(github.into_iter().flat_map(Github::answers)).collect();
        family("loopgate_github_answers_total", "counter", "GitHub's answers by status.", &answers);
        let Some(github) = github else { return text };
        let spending = github.spending();
        let spent = of_classes(spending.spent);
        family("loopgate_github_spent_total", "counter", "Requests that cost of the quota, by class.", &spent);
        let deferred = of_classes(spending.deferred);
        family("loopgate_github_deferred_total", "counter", "Requests put off for more urgent ones.", &deferred);
        let quotas: Vec<_> = github
            .quotas()
            .into_iter()
            .map(|(id, quota)| (format!("{{installation=\"{id}\"}}"), u64::from(quota.remaining)))
            .collect();
        let quotas: Vec<_> = quotas.iter().map(|(label, remaining)| (label.as_str(), *remaining)).collect();
        family("loopgate_github_quota_remaining", "gauge", "Requests left until the hour's quota resets.", &quotas);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_its_own_counter() {
        let metrics = Metrics::default();
        for (n, what) in Received::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, n);
            metrics.received(what).add(n as u64 + 1);
        }
        let oldest = Timestamp::from_timestamp(1_800_000_000, 0);
        let text = metrics.text(
            Counts { waiting: 5, dead: 2, oldest: [None, oldest, None, None] },
            None,
            Timestamp::from_timestamp(1_800_000_007, 0).unwrap(),
        );
        assert!(text.contains("loopgate_class_oldest_seconds{class=\"author\"} 7\n"), "{text}");
        assert!(text.contains("loopgate_oldest_seconds 7\n"), "{text}");
        assert!(text.contains("loopgate_deliveries_total{result=\"accepted\"} 1\n"), "{text}");
        assert!(text.contains("loopgate_deliveries_total{result=\"unavailable\"} 10\n"), "{text}");
        assert!(text.contains("loopgate_backlog 5\n") && text.contains("loopgate_dead_letters 2\n"), "{text}");
    }

    #[test]
    fn runs_that_end_are_counted() {
        let metrics = Metrics::default();
        let line = |seconds: u64, passes: &str| {
            let line = serde_json::json!({
                "schema": "", "run_id": "", "author": "person", "started_at": "2026-11-21T10:00:00Z", "attempts": 2,
                "retries": 1, "first_result": passes, "seconds_to_green": seconds,
                "memory": { "carried": 1, "withheld": 0 }, "calls": { "same_error": 1 },
            });
            serde_json::from_value::<RunLine>(line).unwrap()
        };
        metrics.runs.add(&line(900, "pass"));
        metrics.runs.add(&line(100_000, "fail"));
        let text = metrics.text(Counts::default(), None, Timestamp::UNIX_EPOCH);
        let runs: Vec<&str> = text.lines().filter(|line| line.starts_with("loopgate_run_") || line.starts_with("loopgate_runs_")).collect();
        insta::assert_snapshot!(runs.join("\n"), @r#"
        loopgate_runs_ended_total 2
        loopgate_runs_with_attempt_total 2
        loopgate_runs_first_passed_total 1
        loopgate_runs_escalated_total 2
        loopgate_run_attempts_total 4
        loopgate_run_retries_total 2
        loopgate_run_retries_told_total 2
        loopgate_run_green_seconds_bucket{le="300"} 0
        loopgate_run_green_seconds_bucket{le="900"} 1
        loopgate_run_green_seconds_bucket{le="3600"} 1
        loopgate_run_green_seconds_bucket{le="14400"} 1
        loopgate_run_green_seconds_bucket{le="86400"} 1
        loopgate_run_green_seconds_bucket{le="+Inf"} 2
        loopgate_run_green_seconds_sum 100900
        loopgate_run_green_seconds_count 2
        "#);
    }
}
