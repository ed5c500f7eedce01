//! What fixers may spend, and how long is waited between them.

use chrono::TimeDelta;

use crate::{policy::FixerBudget, state::Spent};

/// Which part of the budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// So many calls, which is all that `fixer.budget.attempts` allows.
    Calls { calls: u32 },
    /// So many seconds of work, which is all that `fixer.budget.wall_time` allows.
    WallTime { seconds: i64 },
    /// So many USD, and the cap of `fixer.budget.cost_usd`.
    Cost { spent: f64, cap: f64 },
}

/// How long one more call may take at most (none: as long as the fixer's own timeout).
///
/// # Errors
/// When there is nothing left to spend.
pub fn time_left(budget: &FixerBudget, spent: &Spent) -> Result<Option<TimeDelta>, Exhausted> {
    if budget.attempts.is_some_and(|most| spent.calls >= most) {
        return Err(Exhausted::Calls { calls: spent.calls });
    }
    if let Some(cap) = budget.cost_usd.filter(|cap| spent.cost_usd >= *cap) {
        return Err(Exhausted::Cost { spent: spent.cost_usd, cap });
    }
    let Some(most) = budget.wall_time else { return Ok(None) };
    let used = TimeDelta::milliseconds(i64::try_from(spent.wall_ms).unwrap_or(i64::MAX / 1_000_000));
    let left = most - used;
    if left > TimeDelta::zero() { Ok(Some(left)) } else { Err(Exhausted::WallTime { seconds: used.num_seconds() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_budget_ends_it() {
        let spent = |calls, wall_ms, cost_usd| Spent { calls, wall_ms, cost_usd };
        let budget = FixerBudget { attempts: Some(2), wall_time: Some(TimeDelta::seconds(60)), cost_usd: Some(1.5) };
        let left = |spent| time_left(&budget, &spent);
        assert_eq!(left(spent(1, 20_000, 1.0)), Ok(Some(TimeDelta::seconds(40))));
        assert_eq!(left(spent(2, 0, 0.0)), Err(Exhausted::Calls { calls: 2 }));
        assert_eq!(left(spent(1, 60_000, 0.0)), Err(Exhausted::WallTime { seconds: 60 }));
        assert!(matches!(left(spent(1, 0, 1.5)), Err(Exhausted::Cost { .. })));
        assert_eq!(time_left(&FixerBudget::default(), &spent(99, u64::MAX, 1e9)), Ok(None));
    }
}
