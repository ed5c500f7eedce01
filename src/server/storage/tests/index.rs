//! The index of open loops.

use super::*;

on_both! {
    an_open_loop_is_listed_as_the_last_look_left_it,
    a_broken_configuration_is_known_since_the_look_that_noticed_it,
    an_index_that_cannot_be_written_harms_no_look,
    what_was_not_seen_open_for_a_week_is_listed_no_more,
}

async fn looked(kept: &mut Kept, number: u64, entry: LoopEntry) {
    kept.one(delivery(&Uuid::new_v4().to_string(), number, vec![]))
        .await;
    kept.settle(
        number,
        WorkEnd::Done(ReconcileOutcome {
            entry,
            ..ReconcileOutcome::default()
        }),
    )
    .await;
}

async fn an_open_loop_is_listed_as_the_last_look_left_it(mut kept: Kept) {
    let open = |title, part, who: &[&str], since| {
        LoopEntry::Open(Box::new(sample(title, part, who, at(since))))
    };
    looked(
        &mut kept,
        1,
        open("one", Part::Approver, &["Bob", "acme/security"], 5),
    )
    .await;
    looked(&mut kept, 2, open("two", Part::Approver, &["carol"], 3)).await;
    looked(&mut kept, 3, open("three", Part::Agent, &["Alice"], 1)).await;
    looked(&mut kept, 4, open("four", Part::Ci, &[], 1)).await;
    let listed = async |kept: &Kept, filter: IndexFilter| {
        let mut titles = Vec::new();
        for (part, count, _) in kept.store.count_loops(&filter).await.unwrap() {
            let loops = kept.store.loops((&filter, part), 0, 9).await.unwrap();
            assert_eq!(loops.len() as u64, count);
            titles.extend(loops.into_iter().map(|(_, _, open)| open.title));
        }
        titles.join(" ")
    };
    let all = || IndexFilter {
        visible: Visibility::Everything,
        ..IndexFilter::default()
    };
    let only = |shown: Filter| IndexFilter { shown, ..all() };
    assert_eq!(listed(&kept, all()).await, "two one three four");
    let counts = kept.store.count_loops(&all()).await.unwrap();
    assert_eq!(counts[0], (Part::Approver, 2, at(3)));
    let waited_for = kept.store.waited_for(&all(), 3).await.unwrap().1;
    let named: Vec<_> = waited_for
        .iter()
        .map(|(who, loops)| (&**who, *loops))
        .collect();
    assert_eq!(named, [("acme/security", 1), ("alice", 1), ("bob", 1)]);
    let nothing = kept.store.waited_for(&IndexFilter::default(), 3).await;
    assert_eq!(
        nothing.unwrap().1,
        [],
        "of repositories that are not visible"
    );
    let bob = "BOB".parse().unwrap();
    let (total, loops) = kept.store.loops_of(&all().visible, &bob, 9).await.unwrap();
    assert_eq!((total, loops[0].2.title.as_str()), (1, "one"));
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        listed(
            &kept,
            only(Filter {
                person: name("ALICE"),
                ..Filter::default()
            })
        )
        .await,
        "two one three four",
        "hers"
    );
    assert_eq!(
        listed(
            &kept,
            only(Filter {
                me: name("alice"),
                ..Filter::default()
            })
        )
        .await,
        "three"
    );
    assert_eq!(
        listed(
            &kept,
            only(Filter {
                person: name("acme/security"),
                ..Filter::default()
            })
        )
        .await,
        "one"
    );
    for hostile in ["bo", "%", "bob' OR '1'='1", "_ob"] {
        assert_eq!(
            listed(
                &kept,
                only(Filter {
                    person: name(hostile),
                    ..Filter::default()
                })
            )
            .await,
            "",
            "{hostile}"
        );
    }
    assert_eq!(
        listed(
            &kept,
            only(Filter {
                agent: name("other"),
                ..Filter::default()
            })
        )
        .await,
        ""
    );
    let named = |name: &str| name.parse::<RepoName>().ok().map(|name| name.to_string());
    let repository = |name: &str| {
        only(Filter {
            repository: named(name),
            ..Filter::default()
        })
    };
    assert_eq!(
        listed(&kept, repository("Acme/Widgets")).await,
        "two one three four"
    );
    assert_eq!(listed(&kept, repository("acme/other")).await, "");
    let second = kept
        .store
        .loops((&all(), Part::Approver), 1, 1)
        .await
        .unwrap();
    assert_eq!((second.len(), second[0].1.get()), (1, 1));
    let these = |names: &[&str]| {
        Visibility::These(Arc::new(
            names.iter().map(|name| name.parse().unwrap()).collect(),
        ))
    };
    let seen = async |visible: Visibility| kept.store.repositories(visible).await.unwrap();
    assert_eq!(
        seen(Visibility::Everything).await,
        [("acme/widgets".parse().unwrap(), 4)]
    );
    assert_eq!(seen(these(&["acme/other", "ACME/Widgets"])).await.len(), 1);
    for visible in [Visibility::default(), these(&["acme/other"])] {
        assert_eq!(seen(visible.clone()).await, []);
        assert_eq!(
            listed(&kept, IndexFilter { visible, ..all() }).await,
            "",
            "what is not seen is not counted"
        );
    }

    looked(&mut kept, 1, LoopEntry::Unchanged).await;
    looked(&mut kept, 2, LoopEntry::Over).await;
    kept.one(delivery("dead", 3, vec![])).await;
    kept.settle(
        3,
        WorkEnd::Dead(Trouble {
            retry_at: at(0),
            ..trouble(10)
        }),
    )
    .await;
    assert_eq!(
        listed(&kept, all()).await,
        "three one four",
        "what was given up comes first"
    );
}

async fn a_broken_configuration_is_known_since_the_look_that_noticed_it(mut kept: Kept) {
    let mut known = Vec::new();
    for (problem, now) in [
        (Some("3:1: no"), 5),
        (Some("3:1: no"), 9),
        (Some("4:1: no"), 12),
        (None, 15),
    ] {
        kept.one(delivery(&Uuid::new_v4().to_string(), 1, vec![]))
            .await;
        let open = sample("one", Part::Author, &["alice"], at(0));
        let entry = LoopEntry::Open(Box::new(OpenLoop {
            problem: problem.map(str::to_owned),
            ..open
        }));
        let how = WorkEnd::Done(ReconcileOutcome {
            entry,
            ..ReconcileOutcome::default()
        });
        let covered = kept.loaded(1).await.unwrap().covered;
        kept.one(Change::Settle {
            key: key(1),
            covered,
            how: Box::new(how),
            now: at(now),
        })
        .await;
        let problems = kept.store.problems().await.unwrap();
        known.push(
            problems
                .into_iter()
                .map(|(_, problem, since)| (problem, since))
                .collect::<Vec<_>>(),
        );
    }
    let row = |problem: &str, since| vec![(problem.to_owned(), at(since))];
    assert_eq!(
        known,
        [
            row("3:1: no", 5),
            row("3:1: no", 5),
            row("4:1: no", 12),
            Vec::new()
        ]
    );
}

async fn an_index_that_cannot_be_written_harms_no_look(mut kept: Kept) {
    kept.one(Change::Probe(at(0))).await;
    kept.sql("DROP TABLE open_loop").await;
    kept.one(delivery("a", 2, vec![])).await;
    looked(&mut kept, 1, LoopEntry::Over).await;
    assert_eq!((kept.loaded(1).await, kept.counts().await), (None, (1, 0)));
}

async fn what_was_not_seen_open_for_a_week_is_listed_no_more(mut kept: Kept) {
    let open = sample("one", Part::Ci, &[], at(1));
    looked(&mut kept, 1, LoopEntry::Open(Box::new(open))).await;
    let all = IndexFilter {
        visible: Visibility::Everything,
        ..IndexFilter::default()
    };
    let count = async |kept: &Kept| kept.store.count_loops(&all).await.unwrap().len();
    kept.one(Change::Prune(at(0) + TimeDelta::days(6))).await;
    assert_eq!(count(&kept).await, 1);
    kept.one(Change::Prune(at(0) + TimeDelta::days(9))).await;
    assert_eq!(count(&kept).await, 0);
}
