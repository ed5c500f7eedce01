//! What the processes of this App take of the limits that GitHub sets each installation, one row each time, and the turns of
//! those who wait to create something.
//!
//! Races: of several processes one reads and writes at a time, by a lock that all of them take before any row.

use super::{write::Batch, *};
use crate::github::{COUNTS_FOR, CreationEnd, LATE, Ledger, MOST_PROMISED, Need, PointsClaim, Promise, Want};
use loopgate_core::Sha;

/// How long what was taken counts at most.
pub(super) const LONGEST: TimeDelta = COUNTS_FOR;

/// Of a clock that was set back, rows further ahead are of no use.
const AHEAD: TimeDelta = TimeDelta::minutes(1);

const CREATION: i64 = 0;
const POINTS: i64 = 1;

impl Batch<'_> {
    pub(super) async fn take_points(&mut self, claim: &PointsClaim) -> Result<Applied, StoreError> {
        let PointsClaim { installation, points, most, now, takes } = claim;
        self.lock_budget().await?;
        let rows = Query::new(
            "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM taken WHERE installation = $1 AND kind = $2 AND at > $3 AND at <= $4",
        );
        let rows = rows.bind(*installation).bind(POINTS);
        let rows = rows.bind(*now - TimeDelta::minutes(1)).bind(*now + AHEAD);
        let used: i64 = rows.fetch(self.on()).await?.first().map_or(0, |(used,)| *used);
        let is_granted = used + i64::from(*points) <= i64::from(*most);
        if is_granted {
            self.insert_taken(*installation, POINTS, *now + *takes, *points).await?;
        }
        Ok(Applied::Points(is_granted))
    }

    pub(super) async fn create(&mut self, claim: &CreationClaim) -> Result<Applied, StoreError> {
        let CreationClaim { installation, want, now, takes } = claim;
        self.lock_budget().await?;
        let ledger = self.ledger(*installation, *now).await?;
        let asked = want.map_or(Ok(()), |want| ledger.ask(&want, *now));
        if let Some(Want { head, .. }) = want {
            let row = Query::new("DELETE FROM turn WHERE installation = $1 AND head = $2");
            self.run(row.bind(*installation).bind(head.to_string())).await?;
        }
        Ok(Applied::Created(match (asked, want) {
            (Err(promise), Some(want)) => {
                if ledger.promised.len() < MOST_PROMISED {
                    let row = Query::new("INSERT INTO turn (installation, head, need, at) VALUES ($1, $2, $3, $4)");
                    let row = row.bind(*installation).bind(want.head.to_string()).bind(promise.need as i64);
                    self.run(row.bind(promise.at)).await?;
                }
                Err(promise.at)
            }
            _ => {
                // No two end at the same time, so that each can be named by its end.
                let latest = ledger.created.iter().max().map_or(*now, |at| *at + TimeDelta::milliseconds(1));
                let until = latest.max(*now + *takes);
                self.insert_taken(*installation, CREATION, until, 1).await?;
                Ok(until)
            }
        }))
    }

    pub(super) async fn creation_ended(&mut self, end: &CreationEnd) -> Result<Applied, StoreError> {
        let row = Query::new("UPDATE taken SET at = $1 WHERE installation = $2 AND kind = 0 AND at = $3");
        self.run(row.bind(end.answered_at).bind(end.installation).bind(end.booked_until)).await
    }

    async fn lock_budget(&mut self) -> Result<(), StoreError> {
        if self.is_shared {
            // Any number: nothing else of this database takes such a lock.
            Query::new("SELECT pg_advisory_xact_lock(1)").execute(self.on()).await?;
        }
        Ok(())
    }

    /// What was created within the last hour, and the turns that are kept.
    async fn ledger(&mut self, installation: InstallationId, now: Timestamp) -> Result<Ledger, StoreError> {
        let rows = Query::new("SELECT at FROM taken WHERE installation = $1 AND kind = $2 AND at > $3 AND at <= $4");
        let rows = rows.bind(installation).bind(CREATION).bind(now - LONGEST).bind(now + AHEAD);
        let created: Vec<(i64,)> = rows.fetch(self.on()).await?;
        let rows = Query::new("SELECT at, head, need FROM turn WHERE installation = $1 AND at > $2");
        let promised: Vec<(i64, String, i64)> = rows.bind(installation).bind(now - LATE).fetch(self.on()).await?;
        let promise = |(at, head, need): (i64, String, i64)| {
            let need = *Need::ALL.get(usize::try_from(need).ok()?)?;
            Some((head.parse::<Sha>().ok()?, Promise { at: time(at), need }))
        };
        Ok(Ledger {
            created: created.into_iter().map(|(at,)| time(at)).collect(),
            promised: promised.into_iter().filter_map(promise).collect(),
        })
    }

    async fn insert_taken(
        &mut self,
        installation: InstallationId,
        kind: i64,
        at: Timestamp,
        amount: u32,
    ) -> Result<Applied, StoreError> {
        let row = Query::new("INSERT INTO taken (installation, kind, at, amount) VALUES ($1, $2, $3, $4)");
        self.run(row.bind(installation).bind(kind).bind(at).bind(i64::from(amount))).await
    }
}
