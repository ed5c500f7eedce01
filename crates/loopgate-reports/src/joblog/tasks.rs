//! Which tasks failed, as what runs several of them says (`data/tasks.toml`), and what each of them printed.

use std::sync::LazyLock;

use loopgate_core::expressions::Pattern;
use serde::Deserialize;

use crate::speakers::Speakers;

/// Tasks that are remembered.
const MOST: usize = 200;
const PROOF: &str = "the file is part of the program, and a test reads it";

/// A program that runs tasks; the file shows what its fields mean.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Runner {
    begins: Option<Pattern>,
    failed: Vec<Pattern>,
    list: Option<Pattern>,
    item: Option<Pattern>,
    own: Option<Pattern>,
    ends: Option<Pattern>,
    below: bool,
}

#[derive(Deserialize)]
struct Runners {
    ended: Vec<Pattern>,
    runner: Vec<Runner>,
}

static RUNNERS: LazyLock<Runners> =
    LazyLock::new(|| toml::from_str(include_str!("../../data/tasks.toml")).expect(PROOF));

/// A task that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedTask<'t> {
    pub name: &'t str,
    pub status: Option<&'t str>,
    /// What it printed; none where that cannot be told from what others did.
    pub lines: Option<Vec<&'t str>>,
}

/// The tasks that failed, each once, as the first runner says that names one.
pub(super) fn failed_tasks<'t>(lines: &[&'t str]) -> Vec<FailedTask<'t>> {
    let of_runner = |runner: &Runner| Some(runner.names(lines)).filter(|tasks| !tasks.is_empty());
    let found = RUNNERS
        .runner
        .iter()
        .find_map(|runner| Some((runner, of_runner(runner)?)));
    let Some((runner, mut tasks)) = found else {
        return Vec::new();
    };
    let mut speakers = Speakers::default();
    speakers.learn(lines.iter().copied());
    let spoken: Vec<(usize, usize)> = speakers
        .names()
        .filter_map(|(name, number)| {
            let task = tasks.iter().position(|task| is_of(name, task.name))?;
            Some((number, task))
        })
        .collect();
    let mut current = None;
    for line in lines {
        let place = |name: &str| tasks.iter().position(|task| task.name == name);
        let (speaker, body) = speakers.route(line);
        if let Some(task) = runner.begun(line) {
            current = place(task);
            if let Some(task) = current {
                tasks[task].lines.get_or_insert_default();
            }
        } else if runner.says(line) {
            let task = runner.failed_in(line).next();
            current = task
                .filter(|_| runner.below)
                .and_then(|(name, _)| place(name));
        } else {
            let task = match speaker {
                0 => current,
                _ => spoken.iter().find(|it| it.0 == speaker).map(|it| it.1),
            };
            let status = ended(body);
            match task.map(|task| &mut tasks[task]) {
                Some(task) if status.is_some() => task.status = task.status.or(status),
                Some(task) if !runner.own.as_ref().is_some_and(|own| own.is_match(body)) => {
                    task.lines.get_or_insert_default().push(body);
                }
                _ => {}
            }
        }
    }
    tasks
}

/// The status of which a line tells, and of nothing else.
fn ended(line: &str) -> Option<&str> {
    let found = RUNNERS.ended.iter().find_map(|it| it.captures(line))?;
    Some(found.name("status")?.as_str())
}

impl Runner {
    fn names<'t>(&self, lines: &[&'t str]) -> Vec<FailedTask<'t>> {
        let mut tasks: Vec<FailedTask<'t>> = Vec::new();
        let mut is_list = false;
        for line in lines {
            let item = self.item.as_ref().filter(|_| is_list);
            let listed = item.and_then(|item| item.captures(line)?.name("task"));
            is_list = match &self.list {
                Some(list) if list.is_match(line) => true,
                _ => is_list && (listed.is_some() || line.trim().is_empty()),
            };
            let listed = listed.map(|task| (task.as_str(), None));
            for (name, status) in self.failed_in(line).chain(listed) {
                let known = tasks.iter().position(|task| task.name == name);
                match known {
                    Some(at) => tasks[at].status = tasks[at].status.or(status),
                    None if tasks.len() < MOST => tasks.push(FailedTask {
                        name,
                        status,
                        lines: None,
                    }),
                    None => {}
                }
            }
        }
        tasks
    }

    /// The tasks that a line says failed, and the status of each.
    fn failed_in<'t>(&self, line: &'t str) -> impl Iterator<Item = (&'t str, Option<&'t str>)> {
        let found = self.failed.iter().find_map(|it| it.captures(line));
        let group = |name| Some(found.as_ref()?.name(name)?.as_str());
        let status = group("status");
        let names = group("task").or_else(|| group("tasks")).unwrap_or_default();
        names
            .split(", ")
            .map(|name| name.trim_matches('\''))
            .filter(|name| !name.is_empty())
            .map(move |name| (name, status))
    }

    /// The task whose output begins below the line.
    fn begun<'t>(&self, line: &'t str) -> Option<&'t str> {
        let found = self.begins.as_ref()?.captures(line)?;
        Some(found.name("task").or_else(|| found.name("of"))?.as_str())
    }

    /// Whether the runner itself speaks.
    fn says(&self, line: &str) -> bool {
        self.failed
            .iter()
            .chain(&self.list)
            .chain(&self.ends)
            .any(|it| it.is_match(line))
    }
}

/// Whether a label in front of lines is of that task: `a:test`, `a test` and `a` of `a#test`.
fn is_of(label: &str, task: &str) -> bool {
    let parts = |name: &str| name.replace(['#', ' '], ":");
    let (label, task) = (parts(label), parts(task));
    task.strip_prefix(&label)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name, status and output of each.
    fn read(text: &str) -> Vec<(&str, &str, String)> {
        let lines: Vec<&str> = text.lines().collect();
        failed_tasks(&lines)
            .into_iter()
            .map(|it| {
                (
                    it.name,
                    it.status.unwrap_or_default(),
                    it.lines.unwrap_or_default().join("|"),
                )
            })
            .collect()
    }

    #[test]
    fn every_runner_names_the_tasks_that_failed_and_what_they_printed() {
        let turbo = "a:test: one\na:test: two\na:test: three\nb:test: four\nb:test: five\nb:test: six\n\
                     a#test:  ERROR  command (/s/a) npm run test exited (3)\n\nFailed:    a#test, b#test\n";
        let nx = "> nx run a:test\n\none\n\n> nx run c:test\n\nfine\n\n NX   Running target test for 3 projects failed\n\n\
                  Failed tasks:\n\n- a:test\n- b:test\n\n- no task\n";
        let lage = "[a test] ERROR DETECTED\none\n[b test] ERROR DETECTED\ntwo\n";
        let wireit =
            "❌ [wb] exited with exit code 4.\n❌ [wa] exited with exit code 3. Output:\none\n";
        let moon = "▮▮▮▮ a:bad (1c3496a1)\none\n  × Task a:bad failed to run.\n  ╰─▶ Process exit failed: exit code 3\n";
        let task = "task: [b] exit 4\ntask: Failed to run task \"both\": task: Failed to run task \"b\": exit status 4\n";
        let nox = "nox > Running session a\none\nnox > Session a failed.\nnox > Running session c\nfine\nnox > * a: failed\n\
                   nox > * c: success\n";
        let tox = "a: commands[0]> sh x\none\nc: commands[0]> sh y\nfine\n  a: FAIL code 3 (0.36=setup[0.35]+cmd[0.02] \
                   seconds)\n  c: OK (0.15 seconds)\n";
        let doit =
            ".  a\none\nTaskFailed - taskid:a\nCommand failed: 'exit 3' returned 3\n.  c\nfine\n";
        let poe = "Error: Subtasks 'a', 'b' returned non-zero exit status\n";
        let npm =
            "> a@1.0.0 test\n> exit 3\n\nnpm error workspace a@1.0.0\n\n> c@1.0.0 test\n> exit 0\n";
        let none = |name| (name, "", String::new());
        let one = |name, status, text: &str| (name, status, text.to_owned());
        for (text, tasks) in [
            (
                turbo,
                vec![
                    one("a#test", "3", "one|two|three"),
                    one("b#test", "", "four|five|six"),
                ],
            ),
            (nx, vec![one("a:test", "", "|one|"), none("b:test")]),
            (
                lage,
                vec![one("a test", "", "one"), one("b test", "", "two")],
            ),
            (wireit, vec![one("wb", "4", ""), one("wa", "3", "one")]),
            (moon, vec![one("a:bad", "3", "one")]),
            (task, vec![one("b", "4", "")]),
            (nox, vec![one("a", "", "one")]),
            (tox, vec![one("a", "3", "one")]),
            (doit, vec![one("a", "3", "one")]),
            (poe, vec![none("a"), none("b")]),
            (npm, vec![one("a@1.0.0", "", "> exit 3|")]),
        ] {
            assert_eq!(read(text), tasks);
        }
        // npm speaks inside of what turbo runs, which names its tasks.
        let both = format!("{turbo}{npm}");
        assert_eq!(read(&both).len(), 2);
        assert!(read("Failed tasks:\nnone\n- a:test\n").is_empty());
    }
}
