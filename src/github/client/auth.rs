//! Who we are to GitHub: an App that proves itself with a signed token and acts through short-lived installation
//! tokens, or the bearer of one plain token.

use std::{fmt, str::FromStr, sync::Arc};

use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::github::client::{
    error::{Error, Result},
    secret::Secret,
};
use loopgate_core::{AppId, Timestamp};

/// What requests are signed with.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// The key of an App, which asks for a token of each installation.
    App(AppCredentials),
    /// Somebody's personal access token.
    Token(Secret),
    /// The token of a workflow's job: `GITHUB_TOKEN`, or one that an App's key was exchanged for there. Such a token
    /// cannot ask whose it is, so the App is named.
    Job { token: Secret, app: AppSlug },
    /// None: what everybody may read, 60 times an hour
    /// (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>). The App is the one whose words
    /// are looked for, where any are.
    Nobody(Option<AppSlug>),
}

/// The name of an App in addresses, `github-actions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSlug(String);

impl AppSlug {
    /// The App whose token is `GITHUB_TOKEN`.
    pub fn actions() -> Self {
        Self("github-actions".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AppSlug {
    type Err = Error;

    /// # Errors
    /// When the text is no App's slug: letters, digits and single hyphens.
    fn from_str(text: &str) -> Result<Self> {
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if plain && (1..=100).contains(&text.len()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(Error::Setup(format!(
                "`{}` is no App's slug",
                text.chars().take(100).collect::<String>()
            )))
        }
    }
}

/// An App and its private keys. Clones share them.
#[derive(Clone)]
pub struct AppCredentials {
    name: AppName,
    /// The one that signs first, never none.
    keys: Arc<RwLock<Vec<EncodingKey>>>,
}

/// How an App names itself when it asks for tokens: its number, or its client id
/// (<https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppName {
    Number(AppId),
    ClientId(String),
}

impl AppName {
    /// The number, where it is named by that.
    pub const fn number(&self) -> Option<AppId> {
        match self {
            Self::Number(id) => Some(*id),
            Self::ClientId(_) => None,
        }
    }
}

impl From<AppId> for AppName {
    fn from(id: AppId) -> Self {
        Self::Number(id)
    }
}

impl FromStr for AppName {
    type Err = String;

    /// # Errors
    /// When the text is neither; the sentence goes on after the name of what was set.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(AppId::new(number)));
        }
        let is_client_id = text.starts_with("Iv")
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        if is_client_id {
            Ok(Self::ClientId(text.to_owned()))
        } else {
            Err("is neither the App ID, a number, nor the client id, which begins with Iv; it is not the slug"
                .to_owned())
        }
    }
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => id.fmt(f),
            Self::ClientId(id) => f.write_str(id),
        }
    }
}

impl AppCredentials {
    /// # Errors
    /// When `pem` is no RSA private key in PEM form (PKCS#1 or PKCS#8), or several, one after the other.
    pub fn new(name: impl Into<AppName>, pem: &Secret) -> Result<Self> {
        Ok(Self {
            name: name.into(),
            keys: Arc::new(RwLock::new(keys(pem)?)),
        })
    }

    /// Goes by these keys from now on, and by no others.
    ///
    /// # Errors
    /// As [`new`](Self::new); then nothing changes.
    pub fn replace(&self, pem: &Secret) -> Result<()> {
        *self.keys.write() = keys(pem)?;
        Ok(())
    }

    /// Signs with the next key from now on, since GitHub does not take this one. How many there are.
    pub(in crate::github) fn turn(&self) -> usize {
        let mut keys = self.keys.write();
        keys.rotate_left(1);
        keys.len()
    }

    /// The App's own signed token.
    ///
    /// Issued a minute in the past for clocks that differ, and good for nine minutes of the ten that GitHub allows
    /// (<https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>).
    pub(in crate::github) fn jwt(&self, now: Timestamp) -> Result<Secret> {
        let (issued, expires) = (now - TimeDelta::seconds(60), now + TimeDelta::minutes(9));
        let claims = json!({ "iat": issued.timestamp(), "exp": expires.timestamp(), "iss": self.name.to_string() });
        let keys = self.keys.read();
        let key = keys.first().expect("not empty: checked when read");
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, key)
            .map(Secret::new)
            .map_err(|error| Error::Setup(format!("the App's private key cannot sign: {error}")))
    }
}

/// Each key of a text, in order.
fn keys(pem: &Secret) -> Result<Vec<EncodingKey>> {
    // Secret managers and .env files often carry the key on one line, its line breaks written as `\n`.
    let text = zeroize::Zeroizing::new(pem.expose().replace("\\n", "\n"));
    let keys = text.split_inclusive("PRIVATE KEY-----").collect::<Vec<_>>();
    let read = |block: &[&str]| {
        EncodingKey::from_rsa_pem(zeroize::Zeroizing::new(block.concat()).trim().as_bytes())
    };
    // A block is what opens it, then what it holds and what ends it.
    let keys: Result<Vec<_>, _> = keys
        .chunks(2)
        .filter(|block| !block.concat().trim().is_empty())
        .map(read)
        .collect();
    keys.ok()
        .filter(|keys| !keys.is_empty())
        .ok_or_else(|| Error::Setup("the App's private key is not an RSA key in PEM form".into()))
}

impl fmt::Debug for AppCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppCredentials")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// An installation's token, as `POST /app/installations/{id}/access_tokens` answers. It lives an hour.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::github) struct InstallationToken {
    pub token: Secret,
    pub expires_at: Timestamp,
}

/// The current token of one installation, renewed by one caller while the others wait for it.
#[derive(Debug, Default)]
pub(in crate::github) struct TokenSlot(Mutex<Option<InstallationToken>>);

/// Tokens are renewed this long before they expire, so that no request is under way when they do.
const RENEW_EARLY: TimeDelta = TimeDelta::minutes(5);

impl TokenSlot {
    /// The current token; `renew` is called when there is none, when it is about to expire, or when it is `refused`,
    /// the one GitHub has just answered 401 to. The lock is held meanwhile: that is what makes the renewal single.
    pub async fn current<F>(
        &self,
        now: Timestamp,
        refused: Option<&Secret>,
        renew: F,
    ) -> Result<Secret>
    where
        F: AsyncFnOnce() -> Result<InstallationToken>,
    {
        let mut slot = self.0.lock().await;
        if let Some(held) = slot.as_ref()
            && now < held.expires_at - RENEW_EARLY
            && refused != Some(&held.token)
        {
            return Ok(held.token.clone());
        }
        *slot = None;
        let fresh = renew().await?;
        Ok(slot.insert(fresh).token.clone())
    }
}

#[cfg(test)]
pub(in crate::github) mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
    use chrono::Utc;

    use super::*;

    /// A key made for these tests. No App uses it.
    pub const TEST_KEY: &str = include_str!("../testdata/app-key.pem");

    fn app() -> AppCredentials {
        AppCredentials::new(AppId::new(7), &Secret::new(TEST_KEY)).unwrap()
    }

    #[test]
    fn the_jwt_carries_the_app_and_allows_for_skewed_clocks() {
        let now = Timestamp::from_timestamp(1_800_000_000, 0).unwrap();
        let jwt = app().jwt(now).unwrap();
        let payload = jwt.expose().split('.').nth(1).unwrap();
        let claims: serde_json::Value =
            serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
        assert_eq!(
            claims,
            serde_json::json!({ "iat": 1_799_999_940, "exp": 1_800_000_540, "iss": "7" })
        );
    }

    #[test]
    fn an_app_is_named_by_its_number_or_its_client_id() {
        for name in ["424242", "Iv23liAbCdEf0123456789", "Iv1.0123456789abcdef"] {
            assert_eq!(name.parse::<AppName>().unwrap().to_string(), name);
        }
        assert!(
            ["loopgate", "", "Iv23 li", "-1"]
                .iter()
                .all(|name| name.parse::<AppName>().is_err())
        );
    }

    #[test]
    fn a_key_on_one_line_is_read_and_a_wrong_one_is_named_without_being_printed() {
        let one_line = TEST_KEY.trim().replace('\n', "\\n");
        assert!(AppCredentials::new(AppId::new(7), &Secret::new(one_line)).is_ok());
        let error = AppCredentials::new(AppId::new(7), &Secret::new("hunter2"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("PEM") && !error.contains("hunter2"),
            "{error}"
        );
        assert!(!format!("{:?}", app()).contains("BEGIN"));
    }

    #[test]
    fn several_keys_take_turns_and_are_replaced_wherever_they_are_shared() {
        let other = include_str!("../../server/testdata/not-a-secret.pem");
        let app = AppCredentials::new(AppId::new(7), &Secret::new(format!("{TEST_KEY}\n{other}")))
            .unwrap();
        let (shared, now) = (app.clone(), Utc::now());
        let signed = |app: &AppCredentials| app.jwt(now).unwrap().expose().to_owned();
        let first = signed(&app);
        assert_eq!(shared.turn(), 2);
        let second = signed(&app);
        assert_ne!(first, second);
        assert_eq!(
            signed(&AppCredentials::new(AppId::new(7), &Secret::new(other)).unwrap()),
            second
        );
        assert!(
            app.replace(&Secret::new(format!("{TEST_KEY}{}", &other[..99])))
                .is_err()
        );
        assert_eq!(
            signed(&shared),
            second,
            "what cannot be read changes nothing"
        );
        app.replace(&Secret::new(TEST_KEY)).unwrap();
        assert_eq!((signed(&shared), shared.turn()), (first, 1));
    }

    fn token(text: &str, expires_at: Timestamp) -> InstallationToken {
        InstallationToken {
            token: Secret::new(text),
            expires_at,
        }
    }

    #[tokio::test]
    async fn many_callers_share_one_renewal() {
        let (slot, renewals, now) = (TokenSlot::default(), AtomicU32::new(0), Utc::now());
        let ask = || {
            slot.current(now, None, async || {
                tokio::task::yield_now().await;
                renewals.fetch_add(1, Ordering::Relaxed);
                Ok(token("t1", now + TimeDelta::hours(1)))
            })
        };
        let answers = futures::future::join_all((0..20).map(|_| ask())).await;
        assert!(
            answers
                .into_iter()
                .all(|answer| answer.unwrap().expose() == "t1")
        );
        assert_eq!(renewals.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_token_is_renewed_before_it_expires_and_when_it_is_refused() {
        let (slot, now) = (TokenSlot::default(), Utc::now());
        let hour = now + TimeDelta::hours(1);
        let first = slot
            .current(now, None, async || Ok(token("t1", hour)))
            .await
            .unwrap();
        let kept = slot
            .current(now, None, async || panic!("still good"))
            .await
            .unwrap();
        assert_eq!(first, kept);
        let renewed = slot
            .current(now, Some(&first), async || Ok(token("t2", hour)))
            .await
            .unwrap();
        assert_eq!(renewed.expose(), "t2");
        let late = slot
            .current(now, Some(&first), async || {
                panic!("another caller renewed it already")
            })
            .await
            .unwrap();
        assert_eq!(late.expose(), "t2");
        let soon = hour - TimeDelta::minutes(4);
        let early = slot
            .current(soon, None, async || {
                Ok(token("t3", soon + TimeDelta::hours(1)))
            })
            .await
            .unwrap();
        assert_eq!(early.expose(), "t3");
    }
}
