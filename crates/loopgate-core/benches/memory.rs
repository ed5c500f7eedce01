//! What a repository with a million remembered failures costs: `cargo bench -p loopgate-core --bench memory`.
//!
//! The budgets: reading what a server reads (the cards and what recurs) below 3 s, a look-up below 1 ms, 500 MB.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench measures time and memory"
)]

use std::{
    collections::BTreeSet,
    hint::black_box,
    time::{Duration, Instant},
};

use loopgate_core::{
    Sha, Timestamp,
    evidence::{CheckResults, Failure},
    memory::{AppliedFix, Card, LineStatus, MEMORY_SCHEMA, Memory, MemoryLine, Recurring, Rights},
    observed::{ChangedFile, FileStatus},
    policy::MemoryPolicy,
};

const RUNS: u32 = 100_000;
const FAILURES: u32 = 10;

/// Spread over all bits: cards are known by the first of them.
fn fingerprint(number: u32) -> loopgate_core::Fingerprint {
    let spread = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    loopgate_core::Fingerprint::from_bytes(spread.to_be_bytes())
}

fn failure(number: u32) -> Failure {
    Failure {
        test_name: Some(format!("suite_{}::case_{number}", number % 300)),
        error_message: format!(
            "value of field_{} is not what was written",
            "x".repeat((number % 40) as usize)
        ),
        fingerprint: Some(fingerprint(number % 60_000)),
        ..Failure::default()
    }
}

/// A run that fails with ten failures and is mended.
fn run(number: u32, begun: Timestamp) -> [MemoryLine; 2] {
    let file = ChangedFile {
        path: format!("src/file_{}.rs", number % 500),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some(format!(
            "@@ -1,3 +1,3 @@\n fn a_{number}() {{\n-    before_{number}();\n+    after_{number}();\n }}"
        )),
    };
    let fix = AppliedFix::of(
        Sha::from_bytes([9; 20]),
        "mend it",
        &[file],
        &BTreeSet::new(),
    );
    let failures: Vec<Failure> = (0..FAILURES)
        .map(|nth| failure(number * FAILURES + nth))
        .collect();
    let fixed: BTreeSet<String> = failures
        .iter()
        .filter_map(|failure| failure.test_name.clone())
        .collect();
    let line = |attempt: u32, failures: Vec<Failure>| MemoryLine {
        schema: MEMORY_SCHEMA.to_owned(),
        session_id: format!("pr-{number}-20261120-101500"),
        pull_request: None,
        file_path: None,
        attempt,
        timestamp: begun + chrono::TimeDelta::seconds(i64::from(number * 2 + attempt)),
        code_hash: format!("{attempt:064}"),
        head_sha: Sha::from_bytes([1; 20]),
        environment: None,
        test_results: CheckResults::default(),
        status: if failures.is_empty() {
            LineStatus::Passed
        } else {
            LineStatus::Failed
        },
        failures,
        analysis: None,
        fix_applied: (attempt > 1).then(|| fix.clone()),
        weakened: false,
        fixed: fixed.clone(),
        flaky: BTreeSet::new(),
        memory_matches: Vec::new(),
        settled: Vec::new(),
        rights: Rights::Write,
    };
    [line(1, failures), line(2, Vec::new())]
}

fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kib| kib / 1024)
}

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("run it with `cargo bench -p loopgate-core --bench memory`");
        return;
    }
    let begun: Timestamp = "2026-11-16T10:00:00Z".parse().expect("a time");
    let start = Instant::now();
    let mut memory = Memory::default();
    for number in 0..RUNS {
        memory.take_in(&run(number, begun), |_| true);
    }
    println!(
        "{} failures in {RUNS} runs taken in one by one: {:.1} s; {} cards, {} recurring",
        RUNS * FAILURES,
        start.elapsed().as_secs_f64(),
        memory.cards.len(),
        memory.recurring.len()
    );
    let cards = serde_json::to_string(&memory.cards.values().collect::<Vec<_>>()).expect("JSON");
    let recurring =
        serde_json::to_string(&memory.recurring.values().collect::<Vec<_>>()).expect("JSON");
    let start = Instant::now();
    let cards_read: Vec<Card> = serde_json::from_str(&cards).expect("cards");
    let seen: Vec<Recurring> = serde_json::from_str(&recurring).expect("what recurs");
    let loaded = Memory {
        cards: cards_read.into_iter().map(|card| (card.id, card)).collect(),
        recurring: seen.into_iter().map(|seen| (seen.key(), seen)).collect(),
        ..Memory::default()
    };
    println!(
        "read: {:.1} ms ({} KiB of cards, {} KiB of what recurs)",
        start.elapsed().as_secs_f64() * 1e3,
        cards.len() / 1024,
        recurring.len() / 1024
    );
    let policy = MemoryPolicy::default();
    let sought: Vec<Failure> = (0..1_000).map(|number| failure(number * 977)).collect();
    let mut slowest = Duration::ZERO;
    let start = Instant::now();
    for failure in &sought {
        let one = Instant::now();
        black_box(loaded.look_up("pr-1", failure, &policy));
        slowest = slowest.max(one.elapsed());
    }
    let mean = start.elapsed() / 1_000;
    println!(
        "a look-up: {:.1} µs, the slowest {:.1} µs",
        mean.as_secs_f64() * 1e6,
        slowest.as_secs_f64() * 1e6
    );
    println!(
        "peak memory of all of it: {} MiB",
        peak_mib().map_or_else(|| "?".to_owned(), |mib| mib.to_string())
    );
}
