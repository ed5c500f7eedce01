//! Tokens of people's programs.

use super::*;
use crate::server::storage::access_tokens::MOST_TOKENS;

on_both! {
    tokens_are_their_owners_and_end,
}

async fn tokens_are_their_owners_and_end(mut kept: Kept) {
    let [alice, bob] = [7, u64::MAX].map(loopgate_core::UserId::new);
    let digest = |name: &str| TokenDigest::of(name);
    let token = |owner, name: &str, made: i64| AccessToken {
        digest: digest(name),
        owner,
        login: "alice".parse().unwrap(),
        name: name.to_owned(),
        made_at: at(made),
        used_at: None,
        ends_at: at(made + 100),
    };
    let change = async |kept: &mut Kept, change| kept.one(Change::Tokens(change)).await;
    for made in 0..=i64::from(MOST_TOKENS) {
        let is_too_many = made == i64::from(MOST_TOKENS);
        let applied = change(
            &mut kept,
            TokenChange::Make(token(alice, &format!("t{made}"), made)),
        )
        .await;
        assert_eq!(
            applied,
            ChangeOutcome::Rows(u64::from(!is_too_many)),
            "{made}"
        );
    }
    change(&mut kept, TokenChange::Make(token(bob, "bobs", 1))).await;
    assert_eq!(
        kept.store.token(&digest("bobs"), at(100)).await.unwrap(),
        Some(token(bob, "bobs", 1))
    );
    assert_eq!(
        kept.store.token(&digest("bobs"), at(101)).await.unwrap(),
        None,
        "it has ended"
    );
    assert_eq!(
        kept.store.token(&digest("another"), at(0)).await.unwrap(),
        None
    );

    change(&mut kept, TokenChange::Use(digest("t1"), at(30))).await;
    change(&mut kept, TokenChange::Revoke(bob, digest("t2"))).await;
    change(&mut kept, TokenChange::Revoke(alice, digest("t3"))).await;
    let tokens = kept.store.tokens_of(alice, at(50)).await.unwrap();
    let named: Vec<_> = tokens
        .iter()
        .map(|it| (it.name.as_str(), it.used_at))
        .collect();
    assert_eq!(
        (named.len(), named[0], &named[16..]),
        (
            19,
            ("t19", None),
            &[("t2", None), ("t1", Some(at(30))), ("t0", None)][..],
        )
    );
    assert_eq!(
        change(&mut kept, TokenChange::Make(token(alice, "later", 100))).await,
        ChangeOutcome::Rows(1),
        "one has ended"
    );
    kept.one(Change::Prune(at(100))).await;
    assert_eq!(
        kept.sql("SELECT 1 FROM access_token").await.len(),
        20,
        "what has ended is gone"
    );
    change(&mut kept, TokenChange::RevokeAll(alice)).await;
    assert_eq!(kept.store.tokens_of(alice, at(50)).await.unwrap(), []);
    assert_eq!(kept.store.tokens_of(bob, at(50)).await.unwrap().len(), 1);
}
