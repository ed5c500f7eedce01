//! What a workflow file does with Loopgate's Action: read as YAML, job by job.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_yaml::Value;

use loopgate_core::concerns::gates::online_facts::ActionUse;

/// Commands with which the Action writes: `loop` hands over to `push`.
const WRITING: [&str; 2] = ["reconcile", "push"];

#[derive(Deserialize)]
struct WorkflowFile {
    #[serde(default)]
    on: Value,
    permissions: Option<IgnoredAny>,
    #[serde(default)]
    jobs: BTreeMap<String, WorkflowJob>,
}

#[derive(Deserialize)]
struct WorkflowJob {
    permissions: Option<IgnoredAny>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    uses: Option<String>,
    #[serde(default)]
    with: BTreeMap<String, Value>,
}

/// The jobs of a workflow file that use Loopgate's Action. Empty if the file cannot be read: GitHub shows that.
pub(super) fn uses(path: &str, text: &[u8]) -> Vec<ActionUse> {
    let Ok(file) = serde_yaml::from_slice::<WorkflowFile>(text) else {
        return Vec::new();
    };
    let is_target_only = match &file.on {
        Value::String(event) => event == "pull_request_target",
        Value::Sequence(events) => {
            events.iter().all(|event| event == "pull_request_target") && !events.is_empty()
        }
        Value::Mapping(events) => {
            events.keys().all(|event| event == "pull_request_target") && !events.is_empty()
        }
        _ => false,
    };
    // Named by a whole commit, or of the repository itself.
    let is_pinned = |uses: &str| {
        let commit = uses.rsplit_once('@').map(|(_, version)| version);
        uses.starts_with("./")
            || commit.is_some_and(|commit| {
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    };
    let of_job = |(job, found): (&String, &WorkflowJob)| {
        let ours = |step: &&Step| {
            step.uses
                .as_ref()
                .is_some_and(|uses| uses.contains("/loopgate/action@"))
        };
        let writes = |step: &Step| {
            let command = step.with.get("command").and_then(Value::as_str);
            command.is_some_and(|command| WRITING.contains(&command))
                && !step.with.contains_key("github-token")
        };
        let mut own = found.steps.iter().filter(ours).peekable();
        own.peek()?;
        let declared = found.permissions.is_some() || file.permissions.is_some();
        Some(ActionUse {
            file: path.to_owned(),
            job: job.clone(),
            by_default_token: own.any(writes) && !declared,
            unpinned: found
                .steps
                .iter()
                .filter_map(|step| step.uses.clone())
                .filter(|uses| !is_pinned(uses))
                .collect(),
            is_target_only,
        })
    };
    file.jobs.iter().filter_map(of_job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_those_of_the_job() {
        let undeclared = |text: &str| -> Vec<String> {
            let found = uses("ci.yml", text.as_bytes())
                .into_iter()
                .filter(|found| found.by_default_token);
            found.map(|found| found.job).collect()
        };
        let job = |name: &str, more: &str, with: &str| {
            format!(
                "  {name}:\n{more}    steps:\n      - uses: acme/loopgate/action@v1\n        with: {{ {with} }}\n"
            )
        };
        let reconcile = "command: reconcile";
        let permissions = "    permissions: { checks: write }\n";
        let two = format!(
            "on: push\njobs:\n{}{}",
            job("a", permissions, reconcile),
            job("b", "", reconcile)
        );
        assert_eq!(undeclared(&two), ["b"], "another job's do not count");
        assert_eq!(
            undeclared(&format!("permissions: write-all\n{two}")),
            [""; 0]
        );
        assert_eq!(
            undeclared(&format!(
                "on: push\njobs:\n{}",
                job("a", "", "command: verify")
            )),
            [""; 0]
        );
        assert_eq!(
            undeclared(&format!(
                "on: push\njobs:\n{}",
                job("a", "", "command: loop")
            )),
            [""; 0]
        );
        assert_eq!(
            undeclared(&format!(
                "on: push\njobs:\n{}",
                job("a", "", "command: push")
            )),
            ["a"]
        );
        let own_token = "command: push, github-token: \"${{ steps.app.outputs.token }}\"";
        assert_eq!(
            undeclared(&format!("on: push\njobs:\n{}", job("a", "", own_token))),
            [""; 0]
        );
        let comment = format!(
            "on: push\njobs:\n{}# permissions: {{}}\n",
            job("a", "", reconcile)
        );
        assert_eq!(undeclared(&comment), ["a"], "a comment declares nothing");
        assert_eq!(undeclared("jobs: ["), [""; 0]);
    }

    #[test]
    fn what_stands_in_the_way_of_policies_is_seen() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let text = |on: &str| {
            format!(
                "on: {on}\njobs:\n  other: {{ steps: [{{ uses: a/b@v1 }}] }}\n  verify:\n    steps:\n      - uses: \
                 actions/checkout@{sha}\n      - uses: ./action\n      - uses: acme/loopgate/action@v1\n"
            )
        };
        let [found] = uses("ci.yml", text("[pull_request_target]").as_bytes())
            .try_into()
            .unwrap();
        assert_eq!(
            (found.unpinned, found.is_target_only),
            (vec!["acme/loopgate/action@v1".to_owned()], true)
        );
        for on in [
            "pull_request_target",
            "{ pull_request_target: { types: [opened] } }",
        ] {
            assert!(
                uses("ci.yml", text(on).as_bytes())[0].is_target_only,
                "{on}"
            );
        }
        for on in [
            "push",
            "[push, pull_request_target]",
            "{ workflow_run: , pull_request_target: }",
        ] {
            assert!(
                !uses("ci.yml", text(on).as_bytes())[0].is_target_only,
                "{on}"
            );
        }
    }
}
