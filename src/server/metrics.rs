//! Counters, and their Prometheus text.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::Serialize;
use tokio::sync::watch;

use super::{Counts, Overview};
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

loopgate_core::words! {
    /// The outcome of a delivery; the label `result`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub(super) enum DeliveryResult {
        Accepted = "accepted",
        Duplicate = "duplicate",
        Irrelevant = "irrelevant",
        Ping = "ping",
        BadSignature = "bad_signature",
        BadRequest = "bad_request",
        TooLarge = "too_large",
        WrongType = "wrong_type",
        Timeout = "timeout",
        Unavailable = "unavailable",
    }
}

/// Everything that is counted. Gauges that the storage knows are asked for when the text is written.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    deliveries: [Count; DeliveryResult::ALL.len()],
    pub unknown_events: Count,
    pub inbox_commits: Count,
    /// Raised after each of them.
    pub written: watch::Sender<()>,
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

/// Counters over the runs that ended in this process.
const OF_RUNS: [(&str, &str); 7] = [
    ("loopgate_runs_ended_total", "Runs that ended."),
    (
        "loopgate_runs_with_attempt_total",
        "Of these, runs with an attempt.",
    ),
    (
        "loopgate_runs_first_passed_total",
        "Of these, runs whose first attempt passed.",
    ),
    (
        "loopgate_runs_escalated_total",
        "Runs that ended and called a human.",
    ),
    (
        "loopgate_run_attempts_total",
        "Attempts of runs that ended.",
    ),
    (
        "loopgate_run_retries_total",
        "Attempts after one that failed.",
    ),
    (
        "loopgate_run_retries_told_total",
        "Of these, with what fixed the error before.",
    ),
];

/// What the runs that ended in this process came to.
#[derive(Debug, Default)]
pub(super) struct Runs {
    counts: [Count; OF_RUNS.len()],
    /// By [`GREEN_WITHIN`], then all.
    green: [Count; GREEN_WITHIN.len() + 1],
    seconds_to_green: Count,
}

impl Runs {
    pub fn add(&self, line: &RunLine) {
        let first_passed = line.first_result == Some(VerificationResult::Pass);
        let with_fix = line.memory.as_ref().map_or(0, |memory| memory.carried);
        let ended = [
            1,
            line.first_result.is_some().into(),
            first_passed.into(),
            line.escalated().into(),
        ];
        let attempts = [line.attempts, line.retries, with_fix].map(u64::from);
        self.counts
            .iter()
            .zip(ended.into_iter().chain(attempts))
            .for_each(|(count, more)| count.add(more));
        let Some(seconds) = line.seconds_to_green else {
            return;
        };
        self.seconds_to_green.add(seconds);
        let within = GREEN_WITHIN
            .iter()
            .map(|within| u64::from(seconds <= *within))
            .chain([1]);
        self.green
            .iter()
            .zip(within)
            .for_each(|(count, more)| count.add(more));
    }
}

impl Metrics {
    pub fn received(&self, what: DeliveryResult) -> &Count {
        &self.deliveries[what as usize]
    }

    /// The text format of Prometheus, version 0.0.4.
    ///
    /// Without a `github` its metrics are left out.
    pub fn text(
        &self,
        counts: Counts,
        overview: &Overview,
        github: Option<&Github>,
        now: Timestamp,
    ) -> String {
        let Counts {
            waiting: backlog,
            dead: dead_letters,
            oldest: by_class,
        } = counts;
        let age = |since: Option<Timestamp>| {
            since.map_or(0, |since| (now - since).num_seconds().max(0).unsigned_abs())
        };
        let oldest = age(by_class.into_iter().flatten().min());
        let mut text = String::with_capacity(2048);
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, u64)>| {
            // Writing to a `String` cannot fail.
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
            for (labels, value) in samples {
                writeln!(text, "{name}{labels} {value}").ok();
            }
        };
        let classes = WorkClass::ALL.map(WorkClass::as_str);
        let deliveries = DeliveryResult::ALL
            .into_iter()
            .map(DeliveryResult::as_str)
            .zip(self.deliveries.iter().map(Count::get));
        let commits = [
            ("done", self.inbox_commits.get()),
            ("failed", self.inbox_failures.get()),
        ];
        let ages = labelled("class", classes.into_iter().zip(by_class.map(age)));
        let reconciles = [
            ("done", self.reconciles_done.get()),
            ("failed", self.reconciles_failed.get()),
            ("waiting", self.reconciles_waiting.get()),
        ];
        let deliveries = labelled("result", deliveries);
        family(
            "loopgate_deliveries_total",
            "counter",
            "Webhook deliveries by outcome.",
            deliveries,
        );
        family(
            "loopgate_inbox_commits_total",
            "counter",
            "Transactions of the inbox.",
            labelled("result", commits),
        );
        family(
            "loopgate_class_oldest_seconds",
            "gauge",
            "Age of the oldest target not yet done, by class.",
            ages,
        );
        let reconciles = labelled("result", reconciles);
        family(
            "loopgate_reconciles_total",
            "counter",
            "Reconciles of pull requests.",
            reconciles,
        );
        let (unknown, dormant) = (self.unknown_events.get(), overview.dormant.len() as u64);
        let absent = "Repositories whose configuration is not found.";
        for (name, kind, help, value) in [
            (
                "loopgate_unknown_events_total",
                "counter",
                "Deliveries of events not handled.",
                unknown,
            ),
            (
                "loopgate_backlog",
                "gauge",
                "Targets not yet done, in memory or on disk.",
                backlog,
            ),
            (
                "loopgate_oldest_seconds",
                "gauge",
                "Age of the oldest target not yet done.",
                oldest,
            ),
            (
                "loopgate_queue_depth",
                "gauge",
                "Targets in memory waiting for their turn.",
                self.queued.get(),
            ),
            (
                "loopgate_running",
                "gauge",
                "Jobs running now.",
                self.running.get(),
            ),
            (
                "loopgate_resolved_total",
                "counter",
                "Targets resolved to pull requests.",
                self.resolved.get(),
            ),
            (
                "loopgate_redeliveries_total",
                "counter",
                "Failed deliveries asked for again.",
                self.redelivered.get(),
            ),
            (
                "loopgate_resyncs_total",
                "counter",
                "Times that all lists were read.",
                self.resyncs.get(),
            ),
            (
                "loopgate_resynced_total",
                "counter",
                "Looks that a resync asked for.",
                self.resynced.get(),
            ),
            (
                "loopgate_given_up_total",
                "counter",
                "Targets given up after ten failures.",
                self.dead.get(),
            ),
            (
                "loopgate_repositories_without_configuration",
                "gauge",
                absent,
                dormant,
            ),
            (
                "loopgate_dead_letters",
                "gauge",
                "Dead letters now.",
                dead_letters,
            ),
        ] {
            family(name, kind, help, vec![(String::new(), value)]);
        }
        for ((name, help), count) in OF_RUNS.iter().zip(&self.runs.counts) {
            family(name, "counter", help, vec![(String::new(), count.get())]);
        }
        let green = self.runs.green.each_ref().map(Count::get);
        let within = GREEN_WITHIN
            .iter()
            .map(ToString::to_string)
            .chain(["+Inf".to_owned()]);
        let within = within.map(|within| format!("_bucket{{le=\"{within}\"}}"));
        let sums = [
            ("_sum", self.runs.seconds_to_green.get()),
            ("_count", green[GREEN_WITHIN.len()]),
        ];
        let sums = sums.map(|(name, value)| (name.to_owned(), value));
        let green = within.zip(green).chain(sums).collect();
        family(
            "loopgate_run_green_seconds",
            "histogram",
            "From the beginning of a run until it passed.",
            green,
        );
        let waiting = labelled(
            "kind",
            overview
                .effects_waiting
                .iter()
                .map(|(kind, count)| (*kind, *count)),
        );
        family(
            "loopgate_effects_waiting",
            "gauge",
            "Effects that wait for their turn to be created.",
            waiting,
        );
        let answers = github
            .into_iter()
            .flat_map(|github| github.counts().answers);
        let answers = labelled("status", STATUSES.into_iter().zip(answers));
        family(
            "loopgate_github_answers_total",
            "counter",
            "GitHub's answers by status.",
            answers,
        );
        let Some(github) = github else { return text };
        let sent = github.counts();
        let [spent, deferred] =
            [sent.spent, sent.deferred].map(|of| labelled("class", classes.into_iter().zip(of)));
        family(
            "loopgate_github_spent_total",
            "counter",
            "Requests that cost of the quota, by class.",
            spent,
        );
        family(
            "loopgate_github_deferred_total",
            "counter",
            "Requests put off for more urgent ones.",
            deferred,
        );
        let quotas = github
            .quotas()
            .into_iter()
            .map(|(id, quota)| (id, u64::from(quota.remaining)));
        let quotas = labelled("installation", quotas);
        family(
            "loopgate_github_quota_remaining",
            "gauge",
            "Requests left until the hour's quota resets.",
            quotas,
        );
        text
    }
}

/// Samples with this label.
fn labelled<N: std::fmt::Display>(
    label: &str,
    samples: impl IntoIterator<Item = (N, u64)>,
) -> Vec<(String, u64)> {
    samples
        .into_iter()
        .map(|(name, value)| (format!("{{{label}=\"{name}\"}}"), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_its_own_counter() {
        let metrics = Metrics::default();
        for (n, what) in DeliveryResult::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, n);
            metrics.received(what).add(n as u64 + 1);
        }
        let oldest = Timestamp::from_timestamp(1_800_000_000, 0);
        let text = metrics.text(
            Counts {
                waiting: 5,
                dead: 2,
                oldest: [None, oldest, None, None],
            },
            &Overview {
                effects_waiting: [("comment", 3)].into(),
                ..Overview::default()
            },
            None,
            Timestamp::from_timestamp(1_800_000_007, 0).unwrap(),
        );
        assert!(
            text.contains("loopgate_class_oldest_seconds{class=\"author\"} 7\n"),
            "{text}"
        );
        assert!(text.contains("loopgate_oldest_seconds 7\n"), "{text}");
        assert!(
            text.contains("loopgate_effects_waiting{kind=\"comment\"} 3\n"),
            "{text}"
        );
        assert!(
            text.contains("loopgate_deliveries_total{result=\"accepted\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("loopgate_deliveries_total{result=\"unavailable\"} 10\n"),
            "{text}"
        );
        assert!(
            text.contains("loopgate_backlog 5\n") && text.contains("loopgate_dead_letters 2\n"),
            "{text}"
        );
    }

    #[test]
    fn runs_that_end_are_counted() {
        let metrics = Metrics::default();
        let line = |seconds: u64, passes: &str| {
            let line = serde_json::json!({
                "schema": "", "run_id": "", "author": "person", "started_at": "2026-11-21T10:00:00Z", "attempts": 2,
                "retries": 1, "first_result": passes, "seconds_to_green": seconds,
                "memory": { "carried": 1 }, "calls": { "same_error": 1 },
            });
            serde_json::from_value::<RunLine>(line).unwrap()
        };
        metrics.runs.add(&line(900, "pass"));
        metrics.runs.add(&line(100_000, "fail"));
        let text = metrics.text(
            Counts::default(),
            &Overview::default(),
            None,
            Timestamp::UNIX_EPOCH,
        );
        let runs: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("loopgate_run_") || line.starts_with("loopgate_runs_"))
            .collect();
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
