//! A recorded run as the executable feedback schema has it (`https://aiwg.io/schemas/executable-feedback/v1`):
//! snake_case, its required names, its words. What has no equal there is mapped, and each mapping is noted in `notes`.

use serde::Serialize;
use serde_json::{Map, Value, json};

use loopgate_core::{
    evidence::{CheckKind, Outcome},
    state::{LoopState, MEMORY_REF, ReflexState, RunStatus},
};

/// Seconds that the schema allows for an execution of the tests.
const TIMEOUT: std::ops::RangeInclusive<u64> = 5..=600;

/// The document of a run, from its state and the documents of its attempts (`attempts/NNN.json`), oldest first.
pub fn executable_feedback(state: &LoopState, attempts: &[Value]) -> Value {
    let mut notes = Vec::new();
    let has_ended = !matches!(
        state.run.status,
        RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated
    );
    let mut document = json!({
        "workflow_id": state.run.workflow_id(),
        "agent": agent(state, &mut notes),
        "code_artifact": code_artifact(state, &mut notes),
        "execution_config": execution_config(state, attempts, &mut notes),
        "retry_policy": fields_of_state(&state.shown.retry_policy, "max_attempts backoff escalation_on_max abort_on_regression"),
        "loop_state": loop_state(state, attempts, &mut notes),
        "debug_memory_ref": format!(".aiwg/ralph/debug-memory/{}.json", state.run.id),
        "timestamps": {
            "started_at": state.run.created_at,
            "completed_at": has_ended.then_some(state.run.updated_at),
            "last_attempt_at": state.attempts.counted.last().map(|attempt| attempt.at),
        },
    });
    notes.push(format!(
        "debug_memory_ref: the memory is in {} of the repository",
        MEMORY_REF
    ));
    document["notes"] = json!(notes);
    without_nulls(document)
}

fn agent(state: &LoopState, notes: &mut Vec<String>) -> Value {
    match &state.run.agent {
        Some(agent) => json!(agent),
        None if state
            .run
            .reflex
            .as_ref()
            .is_some_and(ReflexState::has_fixer) =>
        {
            notes.push("agent: the fixer of the loop, which has no name".to_owned());
            json!({ "name": "fixer", "type": "software_implementer" })
        }
        None => {
            notes.push("agent: a person wrote the change; the schema knows agents only".to_owned());
            json!({ "name": "person", "type": "software_implementer" })
        }
    }
}

fn code_artifact(state: &LoopState, notes: &mut Vec<String>) -> Value {
    let mut artifact = snake_case(&state.head.artifact);
    if artifact["path"].is_null() {
        notes.push("code_artifact.path: no file is known yet".to_owned());
        artifact["path"] = json!(".");
    }
    artifact
}

fn execution_config(state: &LoopState, attempts: &[Value], notes: &mut Vec<String>) -> Value {
    let mut config = snake_case(&state.shown.execution_config);
    let configured = config["timeout_seconds"].as_u64().unwrap_or_default();
    let timeout = configured.clamp(*TIMEOUT.start(), *TIMEOUT.end());
    if timeout != configured {
        notes.push(format!(
            "execution_config.timeout_seconds: {configured} in the configuration"
        ));
    }
    config["timeout_seconds"] = json!(timeout);
    if config["test_command"].is_null() {
        notes.push("execution_config.test_command: the tests are not run by a command of the configuration".to_owned());
        config["test_command"] = json!("");
    }
    let mut environment = attempts
        .last()
        .and_then(|attempt| attempt["environment"].as_object().cloned());
    environment
        .get_or_insert_default()
        .retain(|_, value| value.is_string());
    config["environment"] = json!(environment);
    config
}

/// What a state writes in camelCase, by the schema's names.
fn snake_case(of: &impl Serialize) -> Value {
    let Value::Object(fields) = json!(of) else {
        return Value::Null;
    };
    let letter = |letter: char| {
        if letter.is_uppercase() {
            format!("_{}", letter.to_lowercase())
        } else {
            letter.into()
        }
    };
    let renamed =
        |(name, value): (String, Value)| (name.chars().map(letter).collect::<String>(), value);
    fields
        .into_iter()
        .map(renamed)
        .collect::<Map<_, _>>()
        .into()
}

fn loop_state(state: &LoopState, attempts: &[Value], notes: &mut Vec<String>) -> Value {
    let status = match state.run.status {
        RunStatus::Completed => "passed",
        RunStatus::Stopped => "aborted",
        RunStatus::InProgress
        | RunStatus::Passed
        | RunStatus::Failed
        | RunStatus::Escalated
        | RunStatus::Aborted => state.run.status.as_str(),
    };
    if status != state.run.status.as_str() {
        notes.push(format!(
            "loop_state.status: {} here",
            state.run.status.as_str()
        ));
    }
    let phase = match state.run.status {
        RunStatus::Passed | RunStatus::Completed => "complete",
        RunStatus::Escalated => "escalated",
        RunStatus::Aborted | RunStatus::Stopped | RunStatus::Failed => "aborted",
        RunStatus::InProgress if state.attempts.failures.count > 0 => "apply_fix",
        RunStatus::InProgress => "execute_tests",
    };
    let executions: Vec<Value> = attempts.iter().map(execution).collect();
    if attempts.len() < state.attempts.counted.len() {
        notes.push(format!(
            "loop_state.attempts: {} of {} are kept",
            attempts.len(),
            state.attempts.counted.len()
        ));
    }
    json!({
        "phase": phase,
        "attempt_number": state.attempts.counted.last().map_or(1, |attempt| attempt.number.max(1)),
        "status": status,
        "test_results": executions.last().map(|execution| &execution["test_results"]),
        "attempts": executions,
    })
}

/// One attempt; the schema has one analysis for each, so it is that of the first failure.
fn execution(attempt: &Value) -> Value {
    let checks = attempt["checks"].as_array().into_iter().flatten();
    let failures = checks.flat_map(|check| {
        let listed = check["failures"].as_array().into_iter().flatten();
        listed.map(|failure| {
            let names = "test_name test_file error_type error_message stack_trace line_number";
            let mut failure = picked(failure, names);
            if failure["test_name"].is_null() {
                failure["test_name"] = check["name"].clone();
            }
            failure
        })
    });
    let analysis = &attempt["analysis"][0];
    let fix = &attempt["fix_applied"];
    json!({
        "attempt_number": attempt["attempt"],
        "timestamp": attempt["at"],
        "phase": attempt["phase"],
        "code_hash": attempt["tree_hash"],
        "test_results": test_results(attempt),
        "failures": failures.collect::<Vec<_>>(),
        "analysis": analysis.is_object().then(|| picked(analysis, "root_cause fix_strategy confidence")),
        "fix_applied": fix.is_object().then(|| picked(fix, "description diff_summary files_modified")),
    })
}

/// These fields of what a state holds, by their names in documents for programs, with blanks between them.
pub fn fields_of_state(of: &impl Serialize, names: &str) -> Value {
    picked(&snake_case(of), names)
}

/// These fields of a document.
fn picked(from: &Value, names: &str) -> Value {
    names
        .split_whitespace()
        .map(|name| (name.to_owned(), from[name].clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// The results of all tests of an attempt together. A test check that failed without counting tests is one error.
fn test_results(attempt: &Value) -> Value {
    let counted = [
        "total",
        "passed",
        "failed",
        "errors",
        "skipped",
        "duration_ms",
    ];
    let mut sums = counted.map(|_| 0);
    let tests = attempt["checks"].as_array().into_iter().flatten();
    let kinds = [CheckKind::Test, CheckKind::Integration].map(|kind| json!(kind));
    for check in tests.filter(|check| kinds.contains(&check["kind"])) {
        let results = &check["results"];
        let one = counted.map(|name| results[name].as_u64().unwrap_or(0));
        sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
        if one[0] == 0 && check["outcome"] == json!(Outcome::Failed) {
            sums[0] += 1;
            sums[3] += 1;
        }
    }
    let mut results: Map<String, Value> = counted
        .iter()
        .zip(sums)
        .map(|(&name, sum)| (name.into(), sum.into()))
        .collect();
    let lines = |name| attempt["coverage"][name].as_f64();
    if let (Some(covered), Some(total)) = (lines("lines_covered"), lines("lines_total"))
        && total > 0.0
    {
        results.insert(
            "coverage_percent".to_owned(),
            json!((covered / total * 1_000.0).round() / 10.0),
        );
    }
    results.into()
}

/// The document without empty fields: the schema knows no null.
fn without_nulls(document: Value) -> Value {
    match document {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key, without_nulls(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
