//! Failed deliveries, and looks that lists ask for.

use super::*;

on_both! {
    a_failed_delivery_is_due_at_once_and_then_ever_later_until_one_is_taken,
    a_resync_wants_looks_at_what_a_list_says_something_new_of,
}

async fn a_failed_delivery_is_due_at_once_and_then_ever_later_until_one_is_taken(mut kept: Kept) {
    let attempt = |id, minutes: i64, status_code| {
        let delivered_at = at(60 * minutes);
        Change::Log {
            attempts: vec![DeliveryAttempt {
                id,
                guid: "g".into(),
                delivered_at,
                status_code,
            }],
            until: delivered_at,
        }
    };
    let due = async |kept: &Kept, minutes: i64| {
        kept.store.redeliveries(at(60 * minutes), 9).await.unwrap()
    };
    assert_eq!(kept.store.log_known_until().await.unwrap(), None);
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(kept.store.log_known_until().await.unwrap(), Some(at(0)));
    assert_eq!(due(&kept, 0).await, [1]);
    kept.one(Change::Redelivery {
        attempt: 1,
        due_at: None,
    })
    .await;
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(
        due(&kept, 600).await,
        [0; 0],
        "asked for, however often the log shows it"
    );
    kept.one(attempt(2, 1, 502)).await;
    assert_eq!(
        (due(&kept, 5).await, due(&kept, 6).await),
        (vec![], vec![2])
    );
    kept.one(attempt(3, 10, 502)).await;
    assert_eq!(
        (due(&kept, 19).await, due(&kept, 20).await),
        (vec![], vec![3])
    );
    kept.one(attempt(1, 0, 0)).await;
    assert_eq!(
        due(&kept, 20).await,
        [3],
        "an older attempt tells nothing new"
    );
    kept.one(attempt(4, 21, 202)).await;
    assert_eq!(due(&kept, 600).await, [0; 0]);
    kept.one(attempt(5, 30, 502)).await;
    kept.one(Change::Prune(at(8 * 86_400))).await;
    assert_eq!(
        due(&kept, 100_000).await,
        [0; 0],
        "GitHub keeps it no longer"
    );
}

async fn a_resync_wants_looks_at_what_a_list_says_something_new_of(mut kept: Kept) {
    let installation = InstallationId::new(u64::MAX);
    let sha = |digit: char| digit.to_string().repeat(40).parse().unwrap();
    // Each is `(number, minute of the last change, digit of the head)`.
    let listed = |hours: i64, pulls: &[(u64, i64, char)], is_complete| {
        Change::Listed(PullList {
            installation,
            repository: "acme/widgets".parse().unwrap(),
            pulls: pulls
                .iter()
                .map(|&(number, minute, head)| {
                    let (number, updated_at) = (PrNumber::new(number), at(60 * minute));
                    let head = serde_json::json!({ "sha": Sha::to_string(&sha(head)) });
                    serde_json::from_value(serde_json::json!({
                        "number": number, "updated_at": updated_at, "state": "open", "head": head, "base": head,
                    }))
                    .unwrap()
                })
                .collect(),
            is_complete,
            now: at(3_600 * hours),
        })
    };
    let asked = async |kept: &mut Kept, hours: i64, most| {
        let change = Change::Resync {
            installation,
            most,
            now: at(3_600 * hours),
        };
        let ChangeOutcome::New(arrivals) = kept.one(change).await else {
            panic!("arrivals")
        };
        assert!(arrivals.iter().all(|it| it.class == WorkClass::Spread));
        let number = |it: Arrival| {
            if let Target::PullRequest { number, .. } = it.key.target {
                number.get()
            } else {
                0
            }
        };
        arrivals.into_iter().map(number).collect::<Vec<_>>()
    };
    let looked = async |kept: &mut Kept, number: u64, hours: i64, seen| {
        let covered = kept.loaded(number).await.unwrap().covered;
        let how = WorkEnd::Done(ReconcileOutcome {
            seen,
            ..ReconcileOutcome::default()
        });
        kept.one(Change::Settle {
            key: key(number),
            covered,
            how: Box::new(how),
            now: at(3_600 * hours),
        })
        .await;
    };
    let open = |minute: i64, head, is_final| ObservedPull::Open {
        updated_at: at(60 * minute),
        head: sha(head),
        is_final,
    };

    let all = [(1, 1, 'a'), (2, 2, 'a'), (3, 3, 'a'), (4, 0, 'a')];
    kept.one(listed(0, &all, true)).await;
    assert_eq!(
        asked(&mut kept, 0, 2).await,
        [3, 2],
        "what changed last comes first"
    );
    assert_eq!(
        asked(&mut kept, 1, 9).await,
        [1, 4],
        "each is asked for once"
    );
    looked(&mut kept, 1, 1, open(1, 'a', true)).await;
    looked(&mut kept, 2, 1, ObservedPull::Unobserved).await;
    looked(&mut kept, 3, 1, open(3, 'a', false)).await;
    kept.settle(
        4,
        WorkEnd::Dead(Trouble {
            retry_at: at(0),
            ..trouble(10)
        }),
    )
    .await;
    kept.one(listed(6, &all, true)).await;
    assert_eq!(
        asked(&mut kept, 6, 9).await,
        [3],
        "its verdict was not final; what was given up stays so"
    );
    looked(&mut kept, 3, 6, open(3, 'a', true)).await;
    kept.one(listed(12, &[(1, 9, 'a'), (3, 3, 'b')], false))
        .await;
    assert_eq!(
        asked(&mut kept, 12, 9).await,
        [1, 3],
        "something changed, or the head did"
    );
    // A look that had begun before the list was read saw something older.
    looked(&mut kept, 1, 12, open(1, 'a', true)).await;
    looked(&mut kept, 3, 12, open(3, 'b', true)).await;
    kept.one(listed(18, &[(1, 9, 'a'), (3, 3, 'b')], true))
        .await;
    assert_eq!(
        asked(&mut kept, 18, 9).await,
        [1, 2],
        "the second is open no more"
    );
    looked(&mut kept, 1, 18, open(9, 'a', true)).await;
    looked(&mut kept, 2, 18, ObservedPull::Ended).await;
    kept.one(listed(24, &[(1, 9, 'a'), (3, 3, 'b')], true))
        .await;
    assert_eq!(asked(&mut kept, 24, 9).await, [0; 0]);
    kept.one(listed(31, &[(1, 9, 'a'), (3, 3, 'b')], true))
        .await;
    assert_eq!(
        asked(&mut kept, 31, 9).await,
        [3],
        "once a day, whatever the list says"
    );
}
