//! Writing what recovery knows: failed deliveries, and what was seen of open pull requests.

use chrono::TimeDelta;

use super::{write::Batch, *};
use loopgate_core::PrNumber;

/// The pause after a second failed attempt of a delivery. Each further one is twice as long: some ten attempts within
/// the days that GitHub keeps a delivery.
const REDELIVERY_PAUSE: TimeDelta = TimeDelta::minutes(5);

/// A pull request is reconciled again this long after its last success, whatever a list shows. Lists are read every six
/// hours, so this makes one a day.
const LOOK_ANYWAY_AFTER: TimeDelta = TimeDelta::hours(18);

/// So long after a look was asked for it is asked for again, if none has ended well.
const ASK_AGAIN_AFTER: TimeDelta = TimeDelta::hours(5);

/// The first failure is answered at once. What is known of an attempt already is not counted twice.
const FAILED: &str =
    "INSERT INTO failed_delivery AS known (guid, attempt, failures, failed_at, due_at) VALUES ($1, $2, 1, $3, $3)
     ON CONFLICT (guid) DO UPDATE SET attempt = excluded.attempt, failures = known.failures + 1,
         failed_at = excluded.failed_at,
         due_at = excluded.failed_at + $4 * (CAST(1 AS BIGINT) <<
             CAST(CASE WHEN known.failures > 16 THEN 16 ELSE known.failures - 1 END AS INTEGER))
     WHERE known.attempt <> excluded.attempt AND known.failed_at <= excluded.failed_at";
const KNOWN: &str = "INSERT INTO progress (what, at) VALUES ($1, $2) ON CONFLICT (what) DO UPDATE SET at = excluded.at";
const LOOKED: &str = "INSERT INTO open_pull AS known
         (installation, repository, what, updated_at, head, is_final, listed_at, looked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
     ON CONFLICT (installation, repository, what) DO UPDATE SET updated_at = excluded.updated_at,
         head = excluded.head, is_final = excluded.is_final, listed_at = excluded.listed_at,
         looked_at = excluded.looked_at, asked_at = NULL
     WHERE known.updated_at <= excluded.updated_at";
const LISTED: &str =
    "INSERT INTO open_pull AS known (installation, repository, what, updated_at, head, listed_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (installation, repository, what) DO UPDATE SET
         looked_at = CASE WHEN known.updated_at = excluded.updated_at AND known.head = excluded.head
             AND known.is_final = 1 AND known.looked_at >= $7 THEN known.looked_at END,
         updated_at = excluded.updated_at, head = excluded.head, listed_at = excluded.listed_at
     WHERE known.listed_at <= excluded.listed_at";
const NOT_LISTED: &str = "UPDATE open_pull SET looked_at = NULL WHERE installation = $1 AND repository = $2 AND listed_at < $3";
const WANTED: &str = "UPDATE open_pull SET asked_at = $2 WHERE (installation, repository, what) IN
         (SELECT installation, repository, what FROM open_pull AS pull
          WHERE installation = $1 AND looked_at IS NULL AND coalesce(asked_at, 0) < $3
              AND NOT EXISTS (SELECT 1 FROM work WHERE work.installation = pull.installation
                  AND work.repository = pull.repository AND work.what = pull.what AND dead_at IS NOT NULL)
          ORDER BY updated_at DESC LIMIT $4)
     RETURNING installation, repository, what, updated_at";

impl Batch<'_> {
    pub(super) async fn log(
        &mut self,
        attempts: &[DeliveryAttempt],
        until: Timestamp,
    ) -> Result<ChangeOutcome> {
        for attempt in attempts {
            let guid = attempt.guid.as_str();
            if attempt.is_accepted() {
                self.run(Query::new("DELETE FROM failed_delivery WHERE guid = $1").bind(guid))
                    .await?;
            } else {
                let failed = Query::new(FAILED)
                    .bind(guid)
                    .bind(attempt.id.cast_signed())
                    .bind(attempt.delivered_at);
                self.run(failed.bind(REDELIVERY_PAUSE.num_milliseconds()))
                    .await?;
            }
        }
        self.run(Query::new(KNOWN).bind(LOG).bind(until)).await
    }

    pub(super) async fn redelivery(
        &mut self,
        attempt: u64,
        due_at: Option<Timestamp>,
    ) -> Result<ChangeOutcome> {
        let sql = "UPDATE failed_delivery SET due_at = $2 WHERE attempt = $1";
        self.run(Query::new(sql).bind(attempt.cast_signed()).bind(due_at))
            .await
    }

    /// Stores what a look saw. A newer entry of a list stays.
    pub(super) async fn looked(
        &mut self,
        key: &Key,
        seen: ObservedPull,
        now: Timestamp,
    ) -> Result<ChangeOutcome> {
        let query = match seen {
            ObservedPull::Open {
                updated_at,
                head,
                is_final,
            } => {
                let looked = Query::by_key(LOOKED, key)
                    .bind(updated_at)
                    .bind(head.to_string());
                looked.bind(i64::from(is_final)).bind(now)
            }
            // Nothing can be compared, and no check is waited for: the entry of the list is all there is.
            ObservedPull::Unobserved => {
                let sql = "UPDATE open_pull SET is_final = 1, looked_at = $4, asked_at = NULL WHERE {key}";
                Query::by_key(sql, key).bind(now)
            }
            ObservedPull::Ended => Query::by_key("DELETE FROM open_pull WHERE {key}", key),
        };
        self.run(query).await
    }

    /// Compares a list with what is known, and notes of which pull requests a look is wanted.
    pub(super) async fn listed(&mut self, list: &PullList) -> Result<ChangeOutcome> {
        let &PullList {
            installation,
            ref repository,
            ref pulls,
            is_complete,
            now,
        } = list;
        let key = |number: PrNumber| Key {
            installation,
            target: Target::PullRequest {
                repository: repository.clone(),
                number,
            },
        };
        for pull in pulls {
            let listed = Query::by_key(LISTED, &key(pull.number))
                .bind(pull.updated_at)
                .bind(pull.head.sha.to_string());
            self.run(listed.bind(now).bind(now - LOOK_ANYWAY_AFTER))
                .await?;
        }
        if is_complete {
            // A pull request that the list lacks has ended, and no event came.
            let ended = Query::new(NOT_LISTED)
                .bind(installation)
                .bind(repository.to_string());
            self.run(ended.bind(now)).await?;
        }
        Ok(ChangeOutcome::Rows(0))
    }

    /// What was given up stays so: it would only fail again.
    pub async fn resync(
        &mut self,
        installation: InstallationId,
        most: usize,
        now: Timestamp,
    ) -> Result<ChangeOutcome> {
        let wanted = Query::new(WANTED)
            .bind(installation)
            .bind(now)
            .bind(now - ASK_AGAIN_AFTER)
            .bind(most);
        let mut wanted: Vec<(i64, String, String, i64)> = wanted.fetch(self.on()).await?;
        wanted.sort_by_key(|(.., updated_at)| std::cmp::Reverse(*updated_at));
        let keys = wanted
            .into_iter()
            .filter_map(|(installation, repository, what, _)| {
                key((installation, repository, what))
            });
        self.ask(keys, "resync", WorkClass::Spread, now).await
    }
}
