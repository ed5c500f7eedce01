//! People let an App act for them, at a browser.
//!
//! From <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

use crate::{
    refused::Refused,
    world::{
        World,
        app::{Grant, Holder, Token},
    },
};
use loopgate_core::UserId;

/// A code is good for this long, a token for that.
const CODE_LIFE: TimeDelta = TimeDelta::minutes(10);
pub const TOKEN_LIFE: TimeDelta = TimeDelta::hours(8);

/// What is asked for with a code.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    pub client_id: String,
    pub client_secret: String,
    pub code: String,
    pub redirect: Option<String>,
    pub verifier: Option<String>,
}

impl World {
    /// The person agrees; the code that the browser goes back with.
    pub fn agree(
        &mut self,
        person: UserId,
        client_id: &str,
        redirect: &str,
        challenge: Option<&str>,
    ) -> Result<String, Refused> {
        let app = self
            .apps
            .values()
            .find(|app| app.client_id() == client_id)
            .ok_or_else(Refused::not_found)?
            .id;
        let (code, at) = (self.sequence.token(""), self.now());
        let (redirect, challenge) = (redirect.to_owned(), challenge.map(str::to_owned));
        self.sign_ins.insert(
            code.clone(),
            Grant {
                app,
                person,
                redirect,
                challenge,
                at,
            },
        );
        Ok(code)
    }

    /// A token for a code, once. Refusals are words, which GitHub answers with status 200.
    pub fn exchange(&mut self, asked: &Exchange) -> Result<String, &'static str> {
        let app = self
            .apps
            .values()
            .find(|app| app.client_id() == asked.client_id);
        let app = app
            .filter(|app| app.client_secret() == asked.client_secret)
            .ok_or("incorrect_client_credentials")?;
        let (app, now) = (app.id, self.now());
        let grant = self
            .sign_ins
            .remove(&asked.code)
            .filter(|it| it.app == app && now - it.at < CODE_LIFE);
        let grant = grant.ok_or("bad_verification_code")?;
        if asked
            .redirect
            .as_ref()
            .is_some_and(|redirect| *redirect != grant.redirect)
        {
            return Err("redirect_uri_mismatch");
        }
        let shown = asked
            .verifier
            .as_ref()
            .map(|text| BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text)));
        if grant.challenge.is_some() && grant.challenge != shown {
            return Err("bad_verification_code");
        }
        let text = self.sequence.token("ghu_");
        let expires_at = Some(now + TOKEN_LIFE);
        self.tokens.insert(
            text.clone(),
            Token {
                holder: Holder::Person(grant.person),
                expires_at,
                app: Some(app),
            },
        );
        Ok(text)
    }
}
