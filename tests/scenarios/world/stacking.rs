//! What people do to native stacks. On the emulator the proxy before it knows which there are, and the rest is what
//! anybody could do by hand: retarget, push, protect.

use loopgate_simulator::Pr;
use serde_json::{Value, json};

use super::{GitHub, Person};
use crate::{emulator_driver::Emulator, stacked_emulator::Stack};

impl Person<'_> {
    /// Makes a stack of pull requests that stand on each other's branches, the bottom first.
    pub async fn stacks(&self, layers: &[&Pr]) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).stack(layers).expect("a stack"),
            GitHub::Emulated(github) => stacked(github, self.login, layers),
        }
        self.world.settle().await;
    }

    /// Dissolves the stack, of which GitHub describes no event.
    pub async fn unstacks(&self, layer: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).unstack(layer).expect("a stack"),
            GitHub::Emulated(github) => github
                .proxy
                .dissolve_stack(&layer.repo.to_string(), layer.number.get()),
        }
    }

    /// Presses *Rebase stack*.
    pub async fn rebases_the_stack_of(&self, layer: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github
                .user(self.login)
                .rebase_stack(layer)
                .expect("a rebase"),
            GitHub::Emulated(github) => rebased(github, self.login, layer),
        }
        self.world.settle().await;
    }
}

fn pull(github: &Emulator, repo: &str, number: u64) -> Value {
    github.call("pr", json!({ "repo": repo, "number": number }))
}

fn stacked(github: &Emulator, by: &str, layers: &[&Pr]) {
    let [bottom, ..] = layers else {
        panic!("a stack has layers")
    };
    let repo = bottom.repo.to_string();
    let base = pull(github, &repo, bottom.number.get())["base"]["ref"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let numbers: Vec<u64> = layers.iter().map(|layer| layer.number.get()).collect();
    github.proxy.make_stack(Stack {
        repo: repo.clone(),
        base,
        layers: numbers.clone(),
    });
    for number in numbers {
        let payload = json!({ "number": number, "pull_request": pull(github, &repo, number) });
        let args = json!({ "event": "pull_request", "action": "stacked", "payload": payload, "repo": repo, "as_": by });
        github.call("emit", args);
    }
}

/// Merges it, if the rules of its base and of its stack's base let it; what is above it in a stack is put onto that.
pub fn merged(github: &Emulator, by: &str, pr: &Pr, method: &str) -> Result<(), String> {
    let (repo, number) = (pr.repo.to_string(), pr.number.get());
    let target = pull(github, &repo, number)["base"]["ref"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let rules = |method: &str, branch: &str| {
        github.call("call", json!({ "method": method, "path": format!("/repos/{repo}/branches/{branch}/protection") }))
    };
    let order = json!({ "repo": repo, "number": number, "as_": by, "merge_method": method });
    match github
        .proxy
        .stack_of(&repo, number)
        .map(|(_, stack)| stack.base)
        .filter(|base| *base != target)
    {
        // "The current pull request meets all branch protection requirements for the stack base" (docs.github.com,
        // Merging stacked pull requests): the emulator is asked what it says to these.
        Some(base) => {
            let required = rules("GET", &base)["required_status_checks"]["contexts"].take();
            github.call(
                "protect",
                json!({ "repo": repo, "branch": target, "contexts": required }),
            );
            let said = github.tries("merge_pr", order);
            rules("DELETE", &target);
            said?
        }
        None => github.tries("merge_pr", order)?,
    };
    rebased(github, by, pr);
    Ok(())
}

/// Every open layer stands on the one beneath again, the lowest on the stack's base, which it targets from now on: each
/// as one commit of what it changed.
fn rebased(github: &Emulator, by: &str, layer: &Pr) {
    let repo = layer.repo.to_string();
    let Some((_, stack)) = github.proxy.stack_of(&repo, layer.number.get()) else {
        return;
    };
    let get = |path: String| {
        github.call(
            "call",
            json!({ "method": "GET", "path": format!("/repos/{repo}/{path}") }),
        )
    };
    let compare = |from: &Value, to: &Value| {
        get(format!(
            "compare/{}...{}",
            from.as_str().unwrap_or_default(),
            to.as_str().unwrap_or_default()
        ))
    };
    let open = stack
        .layers
        .iter()
        .map(|number| pull(github, &repo, *number))
        .filter(|pull| pull["state"] == "open");
    // What each changed is known before any of them moves.
    let own = open.map(|pull| {
        let files = compare(&pull["base"]["ref"], &pull["head"]["sha"])["files"].take();
        let content = |file: &Value| {
            let path = file["filename"].as_str().expect("a path").to_owned();
            let args = json!({ "repo": repo, "path": path, "ref": pull["head"]["sha"] });
            (
                path,
                if file["status"] == "removed" {
                    Value::Null
                } else {
                    github.call("read_file", args)
                },
            )
        };
        let files: Value = files
            .as_array()
            .into_iter()
            .flatten()
            .map(content)
            .collect();
        (pull, files)
    });
    let mut onto = Value::from(stack.base.clone());
    for (pull, files) in own.collect::<Vec<_>>() {
        if pull["base"]["ref"] != onto {
            let args = json!({ "repo": repo, "number": pull["number"], "base": onto, "as_": by });
            github.call("edit_pr", args);
        }
        if compare(&onto, &pull["head"]["sha"])["behind_by"] != 0 {
            let tip = github.call("branch_sha", json!({ "repo": repo, "branch": onto }));
            let args = json!({ "repo": repo, "parents": [tip], "files": files, "message": pull["title"], "as_": by });
            let moved = github.call("make_commit", args);
            let path = format!(
                "/repos/{repo}/git/refs/heads/{}",
                pull["head"]["ref"].as_str().expect("a branch")
            );
            let to = json!({ "sha": moved, "force": true });
            github.call(
                "call",
                json!({ "method": "PATCH", "path": path, "as_": by, "json": to }),
            );
        }
        onto = pull["head"]["ref"].clone();
    }
}
