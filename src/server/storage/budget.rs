//! What the processes of this App take of the limits that GitHub sets each installation, one row each time, and the
//! turns of those who wait to create something.
//!
//! Races: of several processes one reads and writes at a time, by a lock that all of them take before any row.

use super::{write::Batch, *};
use crate::github::{
    BudgetClaim, BudgetUse, COUNTS_FOR, LATE, Ledger, MOST_PROMISED, Need, Promise, Want,
};
use loopgate_core::Sha;

/// Of a clock that was set back, rows further ahead are of no use.
const AHEAD: TimeDelta = TimeDelta::minutes(1);

const CREATION: i64 = 0;
const POINTS: i64 = 1;

const USED: &str = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM taken WHERE installation = $1 AND kind = $2 AND at > $3 AND at <= $4";

impl Batch<'_> {
    pub(super) async fn book(&mut self, claim: BudgetClaim) -> Result<ChangeOutcome> {
        let BudgetClaim {
            installation,
            now,
            what,
        } = claim;
        let (kind, at, amount) = match what {
            BudgetUse::Points {
                points,
                most,
                takes,
            } => {
                self.lock_budget().await?;
                let rows = Query::new(USED).bind(installation).bind(POINTS);
                let rows = rows.bind(now - TimeDelta::minutes(1)).bind(now + AHEAD);
                let used: i64 = rows
                    .fetch(self.on())
                    .await?
                    .first()
                    .map_or(0, |(used,)| *used);
                if used + i64::from(points) > i64::from(most) {
                    return Ok(ChangeOutcome::Booked(Err(now)));
                }
                (POINTS, now + takes, points)
            }
            BudgetUse::Creation { want, takes } => {
                self.lock_budget().await?;
                match self.create(installation, want, now).await? {
                    Ok(not_before) => (CREATION, not_before.max(now + takes), 1),
                    Err(later) => return Ok(ChangeOutcome::Booked(Err(later))),
                }
            }
            BudgetUse::CreationEnd { booked_until } => {
                let row = Query::new(
                    "UPDATE taken SET at = $1 WHERE installation = $2 AND kind = 0 AND at = $3",
                );
                return self
                    .run(row.bind(now).bind(installation).bind(booked_until))
                    .await;
            }
        };
        let row = Query::new(
            "INSERT INTO taken (installation, kind, at, amount) VALUES ($1, $2, $3, $4)",
        );
        self.run(
            row.bind(installation)
                .bind(kind)
                .bind(at)
                .bind(i64::from(amount)),
        )
        .await?;
        Ok(ChangeOutcome::Booked(Ok(at)))
    }

    /// Before when a booking may not end, if something may be created now; else when to ask again.
    async fn create(
        &mut self,
        of: InstallationId,
        want: Option<Want>,
        now: Timestamp,
    ) -> Result<BookingAnswer> {
        let ledger = self.ledger(of, now).await?;
        if let Some(want) = want {
            let asked = ledger.ask(&want, now);
            let head = want.head.to_string();
            let row = Query::new("DELETE FROM turn WHERE installation = $1 AND head = $2");
            self.run(row.bind(of).bind(head.as_str())).await?;
            if let Err(promise) = asked {
                if ledger.promised.len() < MOST_PROMISED {
                    let row = Query::new(
                        "INSERT INTO turn (installation, head, need, at) VALUES ($1, $2, $3, $4)",
                    );
                    self.run(
                        row.bind(of)
                            .bind(head)
                            .bind(promise.need as i64)
                            .bind(promise.at),
                    )
                    .await?;
                }
                return Ok(Err(promise.at));
            }
        }
        // No two end at the same time, so that each can be named by its end.
        Ok(Ok(ledger
            .created
            .iter()
            .max()
            .map_or(now, |at| *at + TimeDelta::milliseconds(1))))
    }

    async fn lock_budget(&mut self) -> Result<()> {
        if self.is_shared {
            // Any number: nothing else of this database takes such a lock.
            Query::new("SELECT pg_advisory_xact_lock(1)")
                .execute(self.on())
                .await?;
        }
        Ok(())
    }

    /// What was created within the last hour, and the turns that are kept.
    async fn ledger(&mut self, installation: InstallationId, now: Timestamp) -> Result<Ledger> {
        let rows = Query::new(
            "SELECT at FROM taken WHERE installation = $1 AND kind = $2 AND at > $3 AND at <= $4",
        );
        let rows = rows
            .bind(installation)
            .bind(CREATION)
            .bind(now - COUNTS_FOR)
            .bind(now + AHEAD);
        let created: Vec<(i64,)> = rows.fetch(self.on()).await?;
        let rows =
            Query::new("SELECT at, head, need FROM turn WHERE installation = $1 AND at > $2");
        let promised: Vec<(i64, String, i64)> = rows
            .bind(installation)
            .bind(now - LATE)
            .fetch(self.on())
            .await?;
        let promise = |(at, head, need): (i64, String, i64)| {
            let need = *Need::ALL.get(usize::try_from(need).ok()?)?;
            Some((head.parse::<Sha>().ok()?, Promise { at: time(at), need }))
        };
        Ok(Ledger {
            created: created.into_iter().map(|(at,)| time(at)).collect(),
            promised: promised.into_iter().filter_map(promise).collect(),
        })
    }
}
