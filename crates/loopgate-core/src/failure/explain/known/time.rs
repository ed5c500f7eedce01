//! Time and order: timeouts, deadlocks, races.

use super::Known;
use crate::evidence::{
    RetryClass::Logic,
    RootCauseCategory::{LogicError, RaceCondition},
};

pub(super) const TABLE: &[Known] = &[
    Known::new("go_deadlock", r"all goroutines are asleep - deadlock!", RaceCondition, 90).retry(Logic).says(
        "Every goroutine waits for another one: the program is deadlocked.",
        "Find the channel or lock that the first blocked goroutine of the trace waits on, and add the send, close \
         or unlock that it waits for.",
        "No goroutine can run any more, so every further run ends at the same point.",
    ),
    Known::new(
        "deadlock",
        r"(?i)\bdeadlock(?:ed)?\b(?: detected| found| when)|\bpotential deadlock\b|would deadlock",
        RaceCondition,
        85,
    )
    .retry(Logic)
    .says(
        "Two holders of locks wait for each other.",
        "Take the locks named in the trace in one order everywhere.",
        "With two orders, the deadlock returns whenever the timing allows it.",
    ),
    Known::new(
        "test_timeout",
        r"(?i)exceeded timeout of (?P<limit>[0-9.]+ ?m?s)\b|test timed out in (?P<limit2>[0-9.]+ ?m?s)\b",
        LogicError,
        70,
    )
    .retry(Logic)
    .says(
        "The test did not finish within {limit}.",
        "Find the promise that this test awaits and that never settles, and make the code under test settle it on \
         this path.",
        "A promise that never settles keeps the test waiting whatever the limit is; a longer limit only hides it.",
    ),
    Known::new("mocha_timeout", r"Timeout of (?P<limit>[0-9]+ ?ms) exceeded", LogicError, 70).retry(Logic).says(
        "The test did not finish within {limit}.",
        "Find the callback or promise this test waits for, and make the code under test call or settle it on this \
         path.",
        "Mocha waits for `done()` or for the returned promise; neither came.",
    ),
    Known::new("go_test_timeout", r"test timed out after (?P<limit>[0-9a-z.]+)", LogicError, 75).retry(Logic).says(
        "The test ran longer than {limit} and was stopped.",
        "Read the goroutine marked as running in the trace and end the loop or the wait it stands in.",
        "The trace was taken at the limit, so the place it shows is the place that does not end.",
    ),
    Known::new("pytest_timeout", r"Failed: Timeout \(?>?(?P<limit>[0-9.]+ ?s)", LogicError, 75).retry(Logic).says(
        "The test ran longer than {limit} and was stopped.",
        "End the loop or the wait at the innermost own frame of the trace.",
        "The trace was taken at the limit, so the place it shows is the place that does not end.",
    ),
    Known::new(
        "lock_timeout",
        r"(?i)lock wait timeout exceeded|database (?:table )?is locked|could not obtain lock",
        RaceCondition,
        75,
    )
    .says(
        "The database was locked by another connection for longer than this one waits.",
        "End the transaction that is open when this statement runs.",
        "A transaction left open keeps its locks until its connection ends.",
    ),
    Known::new(
        "timed_out",
        concat!(
            r"(?i)\b(?:execution|test|operation|waiting|assertion) (?:has )?timed out\b",
            r"|\btimed out (?:after|waiting|in)\b|TimeoutException|\bTimeoutError\b",
            r"|deadline (?:has )?(?:exceeded|elapsed)|TIMEOUT \[",
        ),
        LogicError,
        60,
    )
    .retry(Logic)
    .says(
        "An operation did not finish within its time limit.",
        "Find what the innermost own frame waits for, and make the code under test deliver it on this path.",
        "The limit was reached because the awaited result did not come; a longer limit only hides it.",
    ),
    Known::new(
        "data_race",
        concat!(
            r"WARNING: DATA RACE|ThreadSanitizer: data race",
            r"|concurrent map (?:read and map write|writes|iteration and map write)",
            r"|ConcurrentModificationException|Collection was modified; enumeration",
        ),
        RaceCondition,
        90,
    )
    .says(
        "Two threads use the same data at the same time, and one of them writes.",
        "Guard the data named in the trace with one lock.",
        "Without a guard the result depends on the timing, so a passing run proves nothing.",
    ),
    Known::new(
        "already_borrowed",
        concat!(
            r"already (?:mutably )?borrowed: Borrow(?:Mut)?Error|RefCell already (?:mutably )?borrowed",
            r"|\bBorrow(?:Mut)?Error\b",
        ),
        LogicError,
        90,
    )
    .says(
        "A `RefCell` is borrowed a second time while its first borrow is still alive.",
        "End the first borrow before this line: copy what is needed out of it, and drop the guard.",
        "`RefCell` checks its borrows at run time and panics on the second one.",
    ),
    Known::new("poisoned_lock", r"\bPoisonError\b", RaceCondition, 60).says(
        "A lock is poisoned: another thread panicked while it held it.",
        "Mend the earlier panic of the other thread; this failure is only its echo.",
        "A lock is poisoned by a panic alone, and that panic stands further up in the log.",
    ),
];

#[cfg(test)]
mod tests {
    #[test]
    fn examples() {
        super::super::tests::check(
            super::TABLE,
            &[
                ("go_deadlock", "fatal error: all goroutines are asleep - deadlock!"),
                ("deadlock", "ERROR: deadlock detected\nDETAIL: Process 12 waits for ShareLock"),
                ("deadlock", "Deadlock found when trying to get lock; try restarting transaction"),
                ("test_timeout", "thrown: \"Exceeded timeout of 5000 ms for a test.\""),
                ("test_timeout", "Error: Test timed out in 5000ms."),
                (
                    "mocha_timeout",
                    "Error: Timeout of 2000ms exceeded. For async tests and hooks, ensure \"done()\" is called",
                ),
                ("go_test_timeout", "panic: test timed out after 10m0s"),
                ("pytest_timeout", "Failed: Timeout >5.0s"),
                ("pytest_timeout", "Failed: Timeout (>5.0s) from pytest-timeout."),
                ("lock_timeout", "sqlite3.OperationalError: database is locked"),
                ("timed_out", "java.util.concurrent.TimeoutException: execution timed out after 1000 ms"),
                ("timed_out", "context deadline exceeded"),
                ("data_race", "fatal error: concurrent map writes"),
                ("already_borrowed", "already borrowed: BorrowMutError"),
                ("poisoned_lock", "called `Result::unwrap()` on an `Err` value: PoisonError { .. }"),
            ],
        );
    }
}
