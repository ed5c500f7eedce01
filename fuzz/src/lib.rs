//! Where hostile bytes enter Loopgate, one function each: they must return, whatever the bytes are.
//!
//! The fuzz targets in `fuzz_targets/` call them, and so does `tests/fuzz_entries.rs`, which throws damaged fixtures.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use loopgate::{
    config::{self, Source},
    github::{self, Secret},
    server::Signatures,
};
use loopgate_core::{
    AppId, GateName, Login,
    concerns::gates,
    evidence::{Evidence, ReportFormat},
    failure,
    state::{LoopState, history::HistoryLine},
};
use loopgate_refs as refs;
use loopgate_reports::{ReadOptions, read};
use loopgate_webhook::{OwnApp, route};

/// Events with different payloads.
const EVENTS: [&str; 10] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "check_run",
    "check_suite",
    "workflow_run",
    "push",
    "status",
    "installation",
    "merge_group",
];

/// A report of any format, recognised by its content.
pub fn report(bytes: &[u8]) {
    let options = ReadOptions {
        keep: 20,
        test_outcomes: true,
        ..ReadOptions::default()
    };
    let report = read("report", bytes, &options);
    assert!(report.failures.len() <= 20 && report.findings.len() <= 20);
}

/// A report read as the format that its first byte chooses.
pub fn report_as(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    // That one needs an expression.
    let mut formats = ReportFormat::ALL.to_vec();
    formats.retain(|format| *format != ReportFormat::Regex);
    let format = formats[usize::from(*first) % formats.len()];
    let options = ReadOptions {
        format: Some(format),
        keep: 20,
        ..ReadOptions::default()
    };
    let report = read("report", rest, &options);
    assert!(report.failures.len() <= 20 && report.findings.len() <= 20);
}

/// A repository's configuration. What is wrong has a place in the text.
pub fn configuration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(errors) = config::load(None, Some(Source::new("loopgate.yml", &text))) {
        // A carriage return alone ends a line in YAML.
        let lines = 1 + text.matches(['\n', '\r']).count();
        assert!(errors.as_slice().iter().all(|error| error.line <= lines));
    }
}

/// A comment: approvals, commands and near misses.
pub fn comment(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let gates: BTreeSet<GateName> = ["security", "database"]
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    let Ok(bot) = "loopgate".parse::<Login>() else {
        return;
    };
    let inspection = gates::inspect(&text, &bot, &gates);
    let _ = serde_json::to_string(&inspection);
}

/// The body of a delivery, for the event that its first byte chooses.
pub fn webhook(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let event = EVENTS[usize::from(*first) % EVENTS.len()];
    let own = OwnApp {
        app_id: AppId::new(1),
        bot: "loopgate[bot]".parse().ok(),
    };
    let at = chrono::DateTime::UNIX_EPOCH;
    let _ = route(event, rest, &own, at);
}

/// The header that signs a delivery; nobody guesses one.
pub fn signature(bytes: &[u8]) {
    let secret = Secret::new("a secret that no fuzzer finds");
    let at = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (header, body) = bytes.split_at(at);
    assert!(!Signatures::new([&secret]).check(header, body));
}

/// An evidence document as an artifact brings it.
pub fn evidence(bytes: &[u8]) {
    if let Ok(evidence) = serde_json::from_slice::<Evidence>(bytes) {
        let changes = failure::Changes::default();
        for failure in evidence
            .checks
            .iter()
            .flat_map(|check| &check.failures)
            .take(20)
        {
            let _ = failure::analyse_all(std::slice::from_ref(failure), &changes);
        }
        let _ = serde_json::to_string(&evidence);
    }
}

/// The documents of a state ref, and a state that is packed into a status comment.
pub fn state(bytes: &[u8]) {
    if let Ok(state) = serde_json::from_slice::<LoopState>(bytes) {
        // What was read is written without loss.
        let written = serde_json::to_vec(&state).unwrap_or_default();
        assert!(serde_json::from_slice::<LoopState>(&written).is_ok_and(|again| again == state));
    }
    for line in bytes.split(|byte| *byte == b'\n').take(50) {
        let _ = serde_json::from_slice::<HistoryLine>(line);
    }
    let text = String::from_utf8_lossy(bytes);
    let packed = github::state_apart(&text).1.unwrap_or(&text);
    if let Some(document) = refs::packed_state(packed) {
        let _ = serde_json::from_str::<LoopState>(&document);
    }
}

/// The text of a failure, as it is pasted or read from a log.
pub fn failure(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let inspection = || failure::inspect_failure(failure::read_failure(&text));
    assert_eq!(inspection()["fingerprint"], inspection()["fingerprint"]);
}
