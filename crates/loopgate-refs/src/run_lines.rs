//! The lines of ended runs, in `refs/loopgate/metrics`: a file for each day, only ever appended to.
//!
//! Two writers make the same file of the same tip; one of them moves the ref, and the other appends to what is there
//! then. So no line is lost, and a line that is there is not written again.

use super::{ListObjects, NewCommit, RefName, RefsError, Result, Retry};
use loopgate_core::{
    Sha, Timestamp,
    metrics::{RunLine, Window},
};

/// Bytes of one day at most: some thousands of runs.
const DAY_LIMIT: usize = 4 << 20;
/// Days of a window that are read at most.
const MOST_DAYS: usize = 400;
/// How often a line is appended anew because somebody else was faster.
const MOST_TRIES: usize = 5;

/// Where lines are kept.
#[derive(Debug)]
pub struct RunLines<'g, G> {
    pub objects: &'g G,
    /// [`RefName::metrics`] for a repository's pull requests. Local loops have a ref of their own,
    /// [`RefName::local_metrics`]: what is fetched must not meet what was written here.
    pub name: RefName,
}

impl<G: ListObjects> RunLines<'_, G> {
    /// Whether the line of a run that ended then is there.
    ///
    /// # Errors
    /// When the git database does not answer.
    pub async fn holds(&self, run_id: &str, ended_at: Timestamp) -> Result<bool> {
        let Some(tip) = self.objects.read_ref(&self.name).await? else {
            return Ok(false);
        };
        let day = self.day(tip, &path(ended_at)).await?;
        Ok(day.is_some_and(|day| is_in(&day, run_id, ended_at)))
    }

    /// Appends a line, unless it is there.
    ///
    /// # Errors
    /// [`RefsError::RefMoved`] when others keep writing first; as [`holds`](Self::holds) else. An open run has no line.
    pub async fn append(&self, line: &RunLine) -> Result<()> {
        let Some(ended_at) = line.ended_at else {
            return Ok(());
        };
        let path = path(ended_at);
        for _ in 0..MOST_TRIES {
            let tip = self.objects.read_ref(&self.name).await?;
            let day = match tip {
                Some(tip) => self.day(tip, &path).await?.unwrap_or_default(),
                None => String::new(),
            };
            if is_in(&day, &line.run_id, ended_at) {
                return Ok(());
            }
            let text = serde_json::to_string(line).map_err(|error| RefsError::Fault {
                message: error.to_string(),
                retry: Retry::Later,
            })?;
            let files = [(path.clone(), format!("{day}{text}\n"))];
            let subject = format!("{} ended", line.run_id);
            let commit = NewCommit {
                parent: tip,
                files: &files,
                subject: &subject,
                ..NewCommit::default()
            };
            match self.objects.commit(&self.name, commit).await {
                Err(RefsError::RefMoved { .. }) => {}
                ended => return ended.map(drop),
            }
        }
        Err(RefsError::RefMoved {
            name: self.name.clone(),
        })
    }

    /// Every line of the days of a window; those that cannot be read are left out. A run has one for each of its ends.
    ///
    /// # Errors
    /// When the git database does not answer, or a day is larger than 4 MiB.
    pub async fn read(&self, window: Window) -> Result<Vec<RunLine>> {
        let Some(tip) = self.objects.read_ref(&self.name).await? else {
            return Ok(Vec::new());
        };
        let (first, last) = (path(window.from), path(window.to));
        let mut days = self.objects.list_folder(tip, "").await?;
        days.retain(|day| (&first..=&last).contains(&day));
        days.sort();
        let mut lines = Vec::new();
        for day in days.iter().rev().take(MOST_DAYS) {
            let text = self
                .objects
                .read_file(tip, day, DAY_LIMIT)
                .await?
                .unwrap_or_default();
            lines.extend(readable(&text));
        }
        Ok(lines)
    }

    /// One day's lines as they stand. A day that is not listed is not asked for: that something is absent is asked
    /// twice of GitHub.
    async fn day(&self, tip: Sha, path: &str) -> Result<Option<String>> {
        if !self
            .objects
            .list_folder(tip, "")
            .await?
            .iter()
            .any(|file| file == path)
        {
            return Ok(None);
        }
        let bytes = self
            .objects
            .read_file(tip, path, DAY_LIMIT)
            .await?
            .unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(Some(text))
    }
}

/// `2026-11-21.jsonl`, in UTC.
fn path(at: Timestamp) -> String {
    format!("{}.jsonl", at.format("%Y-%m-%d"))
}

fn readable(bytes: &[u8]) -> impl Iterator<Item = RunLine> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
}

fn is_in(day: &str, run_id: &str, ended_at: Timestamp) -> bool {
    readable(day.as_bytes()).any(|line| line.run_id == run_id && line.ended_at == Some(ended_at))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        GitObjects as _,
        fixtures::{FakeObjects, sample_state},
    };

    fn line(run: &str, ended_at: Timestamp) -> RunLine {
        RunLine {
            run_id: run.to_owned(),
            ..RunLine::of(&sample_state(), &[], &[], Some(ended_at))
        }
    }

    fn noon() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    async fn runs(lines: &RunLines<'_, FakeObjects>, days: i64) -> Vec<String> {
        let window = Window::back(noon() + TimeDelta::days(1), TimeDelta::days(days));
        let mut runs: Vec<String> = lines
            .read(window)
            .await
            .unwrap()
            .into_iter()
            .map(|line| line.run_id)
            .collect();
        runs.sort();
        runs
    }

    #[tokio::test]
    async fn a_line_is_written_once_and_a_day_is_a_file() {
        let objects = FakeObjects::default();
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        };
        assert!(!lines.holds("pr-1", noon()).await.unwrap());
        for line in [
            line("pr-1", noon()),
            line("pr-2", noon()),
            line("pr-1", noon()),
        ] {
            lines.append(&line).await.unwrap();
        }
        lines
            .append(&line("pr-3", noon() - TimeDelta::days(3)))
            .await
            .unwrap();
        assert!(
            lines.holds("pr-1", noon()).await.unwrap()
                && !lines.holds("pr-4", noon()).await.unwrap()
        );
        let file = |day: &str| objects.file(&RefName::metrics(), day).unwrap();
        assert_eq!(file("2026-11-21.jsonl").lines().count(), 2);
        assert_eq!(file("2026-11-18.jsonl").lines().count(), 1);
        assert_eq!(
            (runs(&lines, 2).await, runs(&lines, 9).await.len()),
            (vec!["pr-1".into(), "pr-2".into()], 3)
        );
        assert_eq!(objects.log(&RefName::metrics()).len(), 3);
        lines
            .append(&RunLine {
                ended_at: None,
                ..line("pr-5", noon())
            })
            .await
            .unwrap();
        assert_eq!(runs(&lines, 9).await.len(), 3, "an open run has no line");
    }

    #[tokio::test]
    async fn a_run_that_ends_again_has_another_line_which_supersedes_it() {
        let objects = FakeObjects::default();
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        };
        let again = noon() + TimeDelta::hours(4);
        lines.append(&line("pr-1", noon())).await.unwrap();
        lines
            .append(&RunLine {
                attempts: 7,
                ..line("pr-1", again)
            })
            .await
            .unwrap();
        let read = lines
            .read(Window::back(again, TimeDelta::days(1)))
            .await
            .unwrap();
        assert_eq!(read.len(), 2);
        let newest = loopgate_core::metrics::newest(read);
        assert_eq!(
            newest.iter().map(|line| line.attempts).collect::<Vec<_>>(),
            [7]
        );
    }

    #[tokio::test]
    async fn writers_that_race_lose_no_line() {
        let objects = FakeObjects::default();
        objects.move_before_swaps(
            3,
            "2026-11-21.jsonl",
            &serde_json::to_string(&line("rival", noon())).unwrap(),
        );
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        };
        lines.append(&line("pr-1", noon())).await.unwrap();
        assert_eq!(runs(&lines, 2).await, ["pr-1", "rival", "rival", "rival"]);
        objects.move_before_swaps(9, "2026-11-21.jsonl", "");
        let refused = lines.append(&line("pr-2", noon())).await;
        assert_eq!(
            refused,
            Err(RefsError::RefMoved {
                name: RefName::metrics()
            })
        );
    }

    #[tokio::test]
    async fn what_cannot_be_read_stays_and_is_left_out() {
        let objects = FakeObjects::default();
        let files = [(
            "2026-11-21.jsonl".to_owned(),
            "{\"schema\":\"loopgate.run/v9\"}\nhalf a li".to_owned(),
        )];
        let commit = objects
            .write_commit(NewCommit {
                parent: None,
                files: &files,
                subject: "x",
                ..NewCommit::default()
            })
            .await
            .unwrap();
        objects
            .compare_and_swap(&RefName::metrics(), None, commit)
            .await
            .unwrap();
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        };
        lines.append(&line("pr-1", noon())).await.unwrap();
        let text = objects
            .file(&RefName::metrics(), "2026-11-21.jsonl")
            .unwrap();
        assert!(
            text.starts_with("{\"schema\":\"loopgate.run/v9\"}\nhalf a li\n{"),
            "{text}"
        );
        assert_eq!(runs(&lines, 2).await, ["pr-1"]);
    }
}
