//! The tokens that people made for their programs, by their digests.

use super::{write::Batch, *};
use loopgate_core::{Login, UserId};

/// Tokens that one person may have at a time. Processes that make one at the same moment may each make the last.
pub(in crate::server) const MOST_TOKENS: u32 = 20;

const MAKE: &str = "INSERT INTO access_token (digest, owner, login, name, made_at, ends_at)
     SELECT $1, $2, $3, $4, $5, $6
     WHERE (SELECT COUNT(*) FROM access_token WHERE owner = $2 AND ends_at > $5) < $7";

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct AccessToken {
    pub digest: TokenDigest,
    pub owner: UserId,
    /// As it was when the token was made.
    pub login: Login,
    pub name: String,
    pub made_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub ends_at: Timestamp,
}

/// The SHA-256 of a token, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct TokenDigest(pub String);

impl TokenDigest {
    pub fn of(token: &str) -> Self {
        Self(hex::encode(Sha256::digest(token)))
    }
}

/// A change of somebody's tokens.
#[derive(Debug, Clone)]
pub(in crate::server) enum TokenChange {
    /// Unless the owner has as many as one may have.
    Make(AccessToken),
    Use(TokenDigest, Timestamp),
    /// One of this person's.
    Revoke(UserId, TokenDigest),
    RevokeAll(UserId),
}

impl Store {
    /// The token of that digest, unless it has ended.
    pub async fn token(&self, digest: &TokenDigest, now: Timestamp) -> Result<Option<AccessToken>> {
        Ok(self
            .tokens("digest = $1 AND ends_at > $2", digest.0.as_str(), now)
            .await?
            .pop())
    }

    /// Somebody's tokens, the newest first.
    pub async fn tokens_of(&self, owner: UserId, now: Timestamp) -> Result<Vec<AccessToken>> {
        let condition = "owner = $1 AND ends_at > $2 ORDER BY made_at DESC, digest";
        self.tokens(condition, owner, now).await
    }

    async fn tokens(
        &self,
        condition: &str,
        of: impl Into<Value>,
        now: Timestamp,
    ) -> Result<Vec<AccessToken>> {
        let columns = "digest, owner, login, name, made_at, used_at, ends_at";
        let query = Query::new(format!(
            "SELECT {columns} FROM access_token WHERE {condition}"
        ))
        .bind(of)
        .bind(now);
        Ok(self
            .database
            .read(query)
            .await?
            .into_iter()
            .filter_map(token)
            .collect())
    }
}

type Columns = (String, i64, String, String, i64, Option<i64>, i64);

/// `None` where this version cannot read whose it is.
fn token((digest, owner, login, name, made_at, used_at, ends_at): Columns) -> Option<AccessToken> {
    Some(AccessToken {
        digest: TokenDigest(digest),
        owner: UserId::new(owner.cast_unsigned()),
        login: login.parse().ok()?,
        name,
        made_at: time(made_at),
        used_at: used_at.map(time),
        ends_at: time(ends_at),
    })
}

impl Batch<'_> {
    pub(super) async fn change_tokens(&mut self, change: &TokenChange) -> Result<ChangeOutcome> {
        let query = match change {
            TokenChange::Make(AccessToken {
                digest,
                owner,
                login,
                name,
                made_at,
                ends_at,
                ..
            }) => {
                let made = Query::new(MAKE)
                    .bind(digest.0.as_str())
                    .bind(*owner)
                    .bind(login.as_str())
                    .bind(name.as_str());
                made.bind(*made_at)
                    .bind(*ends_at)
                    .bind(i64::from(MOST_TOKENS))
            }
            TokenChange::Use(digest, at) => {
                Query::new("UPDATE access_token SET used_at = $2 WHERE digest = $1")
                    .bind(digest.0.as_str())
                    .bind(*at)
            }
            TokenChange::Revoke(owner, digest) => {
                Query::new("DELETE FROM access_token WHERE owner = $1 AND digest = $2")
                    .bind(*owner)
                    .bind(digest.0.as_str())
            }
            TokenChange::RevokeAll(owner) => {
                Query::new("DELETE FROM access_token WHERE owner = $1").bind(*owner)
            }
        };
        self.run(query).await
    }
}
