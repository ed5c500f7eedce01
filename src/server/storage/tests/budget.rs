//! What all processes take of GitHub's limits.

use super::*;

on_both! {
    a_creation_counts_from_its_answer_where_that_comes_late,
    what_processes_take_of_a_limit_is_booked_in_one_place,
    whose_turn_it_is_all_processes_know,
}

async fn what_processes_take_of_a_limit_is_booked_in_one_place(kept: Kept) {
    let (mut one, other) = kept.next().await;
    let claim = |points: u32, seconds: i64| {
        book(
            BudgetUse::Points {
                points,
                most: 3,
                takes: TimeDelta::seconds(2),
            },
            seconds,
        )
    };
    assert_eq!(one.one(claim(2, 0)).await, ChangeOutcome::Booked(Ok(at(2))));
    let mut two = other.unwrap_or(one);
    assert_eq!(two.one(claim(1, 1)).await, ChangeOutcome::Booked(Ok(at(3))));
    assert_eq!(
        two.one(claim(1, 1)).await,
        ChangeOutcome::Booked(Err(at(1))),
        "the minute is used up"
    );
    assert_eq!(
        two.one(claim(1, 61)).await,
        ChangeOutcome::Booked(Err(at(61))),
        "it may have been used a moment later"
    );
    assert_eq!(
        two.one(claim(2, 62)).await,
        ChangeOutcome::Booked(Ok(at(64)))
    );
}

/// What is booked for one installation at a second.
fn book(what: BudgetUse, seconds: i64) -> Change {
    Change::Book(BudgetClaim {
        installation: InstallationId::new(7),
        now: at(seconds),
        what,
    })
}

/// A creation for the head of a pull request, asked for at a second.
fn creation(of: u8, need: Need, seconds: i64) -> Change {
    let want = Some(Want {
        head: hex::encode([of; 20]).parse().unwrap(),
        need,
        behind: 0,
    });
    book(
        BudgetUse::Creation {
            want,
            takes: TimeDelta::seconds(2),
        },
        seconds,
    )
}

/// A turn that one process keeps is kept by the others, too, whichever of them works on the pull request then.
async fn whose_turn_it_is_all_processes_know(kept: Kept) {
    let (mut one, other) = kept.next().await;
    for of in 0..80 {
        assert!(matches!(
            one.one(creation(of, Need::Verify, 0)).await,
            ChangeOutcome::Booked(Ok(_))
        ));
    }
    let later = |ms: i64| ChangeOutcome::Booked(Err(at(62) + TimeDelta::milliseconds(ms)));
    assert_eq!(
        one.one(creation(100, Need::Comment, 1)).await,
        later(8),
        "of 80, eight more are over"
    );
    let mut two = other.unwrap_or(one);
    assert_eq!(two.one(creation(101, Need::Comment, 1)).await, later(9));
    assert_eq!(two.one(creation(102, Need::Verify, 1)).await, later(0));
    assert_eq!(
        two.one(creation(100, Need::Comment, 1)).await,
        later(8),
        "asking again changes nothing"
    );
    for of in 100..103 {
        let came = two.one(creation(of, Need::Comment, 63)).await;
        assert!(matches!(came, ChangeOutcome::Booked(Ok(_))), "{came:?}");
    }
}

async fn a_creation_counts_from_its_answer_where_that_comes_late(mut kept: Kept) {
    for nth in 0..80 {
        let until = at(2) + TimeDelta::milliseconds(nth);
        assert_eq!(
            kept.one(creation(1, Need::Verify, 0)).await,
            ChangeOutcome::Booked(Ok(until)),
            "each has its own end"
        );
    }
    assert_eq!(
        kept.one(book(
            BudgetUse::CreationEnd {
                booked_until: at(2)
            },
            9
        ))
        .await,
        ChangeOutcome::Rows(1)
    );
    let moved = at(62) + TimeDelta::milliseconds(1);
    assert_eq!(
        kept.one(creation(1, Need::Verify, 61)).await,
        ChangeOutcome::Booked(Err(moved))
    );
}
