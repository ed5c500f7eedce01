use super::*;
use loopgate_core::Sha;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

fn head(of: usize) -> Sha {
    format!("{of:040x}").parse().unwrap()
}

fn seconds(moment: Timestamp) -> i64 {
    (moment - at(0)).num_seconds()
}

fn verify(of: usize) -> Want {
    Want {
        head: head(of),
        need: Need::Verify,
        behind: 0,
    }
}

/// Asks, and is answered at once.
fn create(
    creates: &mut Creates,
    need: Need,
    of: usize,
    behind: usize,
    now: Timestamp,
) -> Result<(), Timestamp> {
    creates
        .book(
            Some(&Want {
                head: head(of),
                need,
                behind,
            }),
            now,
        )
        .map(|()| creates.answered(now))
}

/// Asks for points, and counts them as used.
fn spend(
    budget: &mut Budget,
    class: WorkClass,
    points: u32,
    now: Timestamp,
) -> Result<(), HoldReason> {
    budget
        .ask(class, None, points, now)
        .map(|()| budget.answered(points, now))
}

#[test]
fn what_is_under_way_is_counted_from_its_answer() {
    let mut creates = Creates::default();
    for nth in 0..80 {
        assert_eq!(creates.book(Some(&verify(nth)), at(0)), Ok(()));
    }
    assert_eq!(creates.book(Some(&verify(90)), at(90)), Err(at(150)));
    creates.answered(at(95));
    assert_eq!(
        creates.book(Some(&verify(90)), at(154)),
        Err(at(155)),
        "79 are still under way"
    );
    assert_eq!(creates.book(Some(&verify(90)), at(155)), Ok(()));
    let mut budget = Budget::new(true);
    assert_eq!(budget.ask(WorkClass::Author, None, 820, at(0)), Ok(()));
    assert_eq!(
        budget.ask(WorkClass::Author, None, 1, at(90)),
        Err(HoldReason::Points)
    );
    budget.answered(820, at(95));
    assert_eq!(
        budget.ask(WorkClass::Author, None, 1, at(154)),
        Err(HoldReason::Points)
    );
    assert_eq!(budget.ask(WorkClass::Author, None, 1, at(155)), Ok(()));
}

#[test]
fn what_is_needed_more_may_use_more_of_a_minute() {
    let mut creates = Creates::default();
    let mut granted = |need, from: usize| {
        (from..)
            .take_while(|nth| create(&mut creates, need, *nth, 0, at(0)).is_ok())
            .count()
    };
    assert_eq!(granted(Need::Reaction, 0), 64);
    assert_eq!(granted(Need::Comment, 100), 8);
    assert_eq!(granted(Need::Status, 150), 4);
    assert_eq!(granted(Need::Verdict, 200), 4);
    assert_eq!(granted(Need::Verify, 300), 0);
    assert_eq!(
        create(&mut creates, Need::Verify, 1, 0, at(59)),
        Err(at(60))
    );
    assert_eq!(create(&mut creates, Need::Verify, 1, 0, at(60)), Ok(()));
}

#[test]
fn who_waits_comes_back_one_after_the_other_and_is_promised_one_moment() {
    let mut creates = Creates::default();
    for nth in 0..80 {
        assert_eq!(
            create(
                &mut creates,
                Need::Verify,
                nth,
                0,
                at(i64::try_from(nth / 10).unwrap())
            ),
            Ok(())
        );
    }
    let mut told =
        |nth: usize| seconds(create(&mut creates, Need::Verify, nth, 0, at(10)).unwrap_err());
    let moments: Vec<_> = (100..280).map(&mut told).collect();
    assert_eq!(
        (moments[0], moments[9], moments[10], moments[79]),
        (60, 60, 61, 67)
    );
    assert_eq!(
        (moments[80], moments[160]),
        (124, 188),
        "of those promised none takes the place of another"
    );
    assert_eq!(
        (told(100), told(279)),
        (60, moments[179]),
        "asking again changes nothing"
    );
}

#[test]
fn beyond_five_hundred_an_hour_comments_wait_and_verdicts_appear() {
    let mut creates = Creates::default();
    let mut created = [0; 4];
    // Five pull requests a minute: two check runs, and three comments each.
    for minute in 0..38 {
        for pull in 0..5 {
            let (head, now) = (
                minute * 5 + pull,
                at(i64::try_from(minute * 60 + pull).unwrap()),
            );
            let mut ask = |need: Need| {
                created[need as usize] +=
                    usize::from(create(&mut creates, need, head, 0, now).is_ok())
            };
            [
                Need::Verify,
                Need::Verdict,
                Need::Status,
                Need::Comment,
                Need::Comment,
            ]
            .into_iter()
            .for_each(&mut ask);
        }
    }
    // Comments take 104 of 260, and status comments what is left of 300; up to 400 both check runs; then each has its
    // verdict still.
    assert_eq!(created, [190, 115, 65, 104]);
}

#[test]
fn a_verdict_that_waits_for_its_first_look_goes_before_a_comment() {
    let mut creates = Creates::default();
    assert_eq!(create(&mut creates, Need::Verify, 1, 200, at(0)), Ok(()));
    let told = create(&mut creates, Need::Comment, 1, 200, at(0)).unwrap_err();
    assert_eq!(
        seconds(told),
        120,
        "80, 80 and 41 verdicts are created first"
    );
    assert_eq!(create(&mut creates, Need::Comment, 1, 3, at(0)), Ok(()));
}

#[test]
fn a_clock_that_was_set_back_holds_nothing_up() {
    let mut creates = Creates::default();
    while create(&mut creates, Need::Verify, 1, 0, at(7_200)).is_ok() {}
    assert_eq!(create(&mut creates, Need::Verify, 1, 0, at(0)), Ok(()));
    let mut budget = Budget::new(true);
    while spend(&mut budget, WorkClass::Person, 5, at(7_200)).is_ok() {}
    assert_eq!(budget.ask(WorkClass::Spread, None, 5, at(0)), Ok(()));
}

#[test]
fn points_are_used_up_to_what_is_peoples() {
    let mut budget = Budget::new(true);
    let mut all = |class| {
        std::iter::repeat(())
            .take_while(|()| spend(&mut budget, class, 5, at(0)).is_ok())
            .count()
            * 5
    };
    assert_eq!(
        (
            all(WorkClass::Spread),
            all(WorkClass::Author),
            all(WorkClass::Person)
        ),
        (820, 0, 80)
    );
    assert_eq!(
        budget.ask(WorkClass::Author, None, 1, at(59)),
        Err(HoldReason::Points)
    );
    assert_eq!(budget.ask(WorkClass::Author, None, 1, at(60)), Ok(()));
}

#[test]
fn nothing_overtakes_what_waits_for_points_with_a_better_class_or_for_longer() {
    let mut budget = Budget::new(true);
    assert_eq!(spend(&mut budget, WorkClass::Author, 818, at(0)), Ok(()));
    let write = budget.waits(WorkClass::Author, at(0));
    let read = budget.waits(WorkClass::Author, at(0));
    assert_eq!(
        budget.ask(WorkClass::Author, Some(write), 5, at(1)),
        Err(HoldReason::Points),
        "two are left"
    );
    for (class, place) in [
        (WorkClass::Author, Some(read)),
        (WorkClass::Author, None),
        (WorkClass::Progress, None),
    ] {
        assert_eq!(
            budget.ask(class, place, 1, at(1)),
            Err(HoldReason::Points),
            "{class:?} behind a write"
        );
    }
    assert_eq!(budget.ask(WorkClass::Person, None, 1, at(1)), Ok(()));
    assert_eq!(
        budget.ask(WorkClass::Progress, None, 1, at(4)),
        Ok(()),
        "neither has asked again"
    );
    assert_eq!(
        budget.ask(WorkClass::Author, Some(write), 5, at(60)),
        Ok(())
    );
    budget.leaves(write);
    assert_eq!(budget.ask(WorkClass::Author, Some(read), 1, at(60)), Ok(()));
    budget.leaves(read);
    assert_eq!(budget.ask(WorkClass::Progress, None, 1, at(60)), Ok(()));
}

fn told(budget: &mut Budget, remaining: u32, reset: i64, resource: &str) {
    let reset = at(reset).timestamp().to_string();
    let pairs = [
        ("limit", "5000"),
        ("remaining", &remaining.to_string()),
        ("reset", &reset),
        ("resource", resource),
    ];
    let header = |(name, value): (&str, &str)| {
        (
            format!("x-ratelimit-{name}")
                .parse::<http::HeaderName>()
                .unwrap(),
            value.parse().unwrap(),
        )
    };
    budget.update(&pairs.into_iter().map(header).collect());
}

#[test]
fn the_last_tenth_of_the_hour_is_peoples() {
    let mut budget = Budget::default();
    assert_eq!(
        budget.ask(WorkClass::Spread, None, 1, at(0)),
        Ok(()),
        "nothing is known of it yet"
    );
    told(&mut budget, 501, 600, "core");
    assert_eq!(budget.ask(WorkClass::Spread, None, 1, at(0)), Ok(()));
    told(&mut budget, 500, 600, "core");
    // A late answer, and another limit.
    told(&mut budget, 502, 600, "core");
    told(&mut budget, 4_999, 660, "graphql");
    for class in [WorkClass::Author, WorkClass::Progress, WorkClass::Spread] {
        assert_eq!(
            budget.ask(class, None, 1, at(0)),
            Err(HoldReason::ForPeople { until: at(600) })
        );
    }
    assert_eq!(budget.ask(WorkClass::Person, None, 1, at(0)), Ok(()));
    assert_eq!(budget.quota(at(0)).map(|quota| quota.remaining), Some(500));
    assert_eq!(budget.ask(WorkClass::Spread, None, 1, at(600)), Ok(()));
}
