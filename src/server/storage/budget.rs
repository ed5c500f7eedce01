//! What the processes of this App take of the limits that GitHub sets each installation: one row each time.
//!
//! Races: of several processes one reads and adds at a time, by a lock that all of them take before any row.

use super::{write::Batch, *};
use crate::github::{CreationEnd, Limited};

/// How long what was taken counts at most.
pub(super) const LONGEST: TimeDelta = TimeDelta::hours(1);

/// Of a clock that was set back, rows further ahead are of no use.
const AHEAD: TimeDelta = TimeDelta::minutes(1);

impl Batch<'_> {
    pub(super) async fn take(&mut self, claim: &Claim) -> Result<Applied, StoreError> {
        let Claim { installation, what, amount, limits, now, usable_for } = claim;
        let (installation, kind) = (installation.get().cast_signed(), i64::from(*what == Limited::Points));
        if self.is_shared() {
            // Any number: nothing else of this database takes such a lock.
            Query::new("SELECT pg_advisory_xact_lock(1)").fetch_all(self.on()).await?;
        }
        let rows = Query::new(
            "SELECT at, amount FROM taken WHERE installation = $1 AND kind = $2 AND at > $3 AND at <= $4 ORDER BY at",
        );
        let rows = rows.bind(installation).bind(kind).bind(*now - LONGEST).bind(*now + AHEAD);
        let row = |row: &Row| {
            let amount = u32::try_from(row.get::<i64>(1)?).unwrap_or(u32::MAX);
            Ok((time(Some(row.get(0)?)).unwrap_or_default(), amount))
        };
        let rows: Result<Vec<(Timestamp, u32)>, StoreError> =
            rows.fetch_all(self.on()).await?.iter().map(row).collect();
        let mut taken = rows?;
        let is_granted = limits.iter().all(|(window, most)| {
            let used = taken.iter().filter(|(at, _)| *at + *window > *now).map(|(_, amount)| *amount as usize);
            used.sum::<usize>() + *amount as usize <= *most
        });
        if is_granted {
            // No two end at the same time, so that each can be named by its end.
            let last = taken.last().map_or(*now, |(at, _)| *at + TimeDelta::milliseconds(1));
            let until = last.max(*now + *usable_for);
            let row = Query::new("INSERT INTO taken (installation, kind, at, amount) VALUES ($1, $2, $3, $4)");
            let row = row.bind(installation).bind(kind).bind(until).bind(i64::from(*amount));
            row.execute(self.on()).await?;
            taken.push((until, *amount));
        }
        Ok(Applied::Taken(Granted { is_granted, taken }))
    }

    pub(super) async fn creation_ended(&mut self, end: &CreationEnd) -> Result<Applied, StoreError> {
        let row = Query::new("UPDATE taken SET at = $1 WHERE installation = $2 AND kind = 0 AND at = $3");
        let row = row.bind(end.answered_at).bind(end.installation.get().cast_signed());
        row.bind(end.booked_until).execute(self.on()).await?;
        Ok(Applied::Recorded)
    }
}
