//! Who we are: our own comments and check runs are recognised by these ids.

use crate::github::client::{
    Client, Github,
    auth::{AppSlug, Credentials},
    error::{Error, OrAbsent as _, Result},
    path,
};
use loopgate_core::{
    AppId, Login, UserId,
    observed::{Actor, AppIdentity},
};
use loopgate_webhook::App;

/// GitHub Actions on the public GitHub: App and bot, so that no workflow has to ask for them.
const ACTIONS_APP: AppId = AppId::new(15_368);
const ACTIONS_BOT: UserId = UserId::new(41_898_282);

impl Github {
    /// Who we are here; asked once, through any client of this GitHub. The bot's id is known once an installation's
    /// client was used.
    ///
    /// # Errors
    /// When GitHub does not answer the request for it.
    pub async fn identity(&self, client: &Client) -> Result<AppIdentity> {
        let actor = self
            .hub
            .actor
            .get_or_try_init(|| actor(self, client))
            .await?
            .clone();
        if actor.bot_id.is_some() {
            return Ok(actor);
        }
        let ask = async || {
            let user: Actor = client
                .get(&format!("/users/{}", path::escape(actor.bot.as_str())))
                .await?;
            Ok::<_, Error>(user.id)
        };
        match self.hub.bot_id.get_or_try_init(ask).await {
            Ok(id) => Ok(AppIdentity {
                bot_id: Some(*id),
                ..actor
            }),
            // The App's own signed token may not be allowed to ask for accounts. Without its id the bot is recognised
            // by its login, which no other account can have; the next caller may learn it.
            Err(Error::Unauthorized { .. }) => Ok(actor),
            Err(error) => error.refusal().map(|_| actor),
        }
    }
}

/// As whom we act, the bot's id perhaps still unknown.
async fn actor(github: &Github, client: &Client) -> Result<AppIdentity> {
    let bot_of = |slug: &str| -> Result<Login> {
        format!("{slug}[bot]")
            .parse()
            .map_err(|error| Error::Setup(format!("the App's slug: {error}")))
    };
    let app = match &github.hub.credentials {
        // Only the App's own signed token may ask this.
        Credentials::App(_) => github.client(None).get::<App>("/app").await?,
        Credentials::Job { app, .. }
            if *app == AppSlug::actions() && github.hub.transport.is_public() =>
        {
            return Ok(AppIdentity {
                id: ACTIONS_APP,
                bot: bot_of(app.as_str())?,
                bot_id: Some(ACTIONS_BOT),
            });
        }
        Credentials::Job { app, .. } | Credentials::Nobody(Some(app)) => {
            match client
                .get::<App>(&format!("/apps/{}", app.as_str()))
                .await
                .or_absent()?
            {
                Some(app) => app,
                None => {
                    return Err(Error::Setup(format!(
                        "there is no App named {}",
                        app.as_str()
                    )));
                }
            }
        }
        Credentials::Nobody(None) => {
            return Err(Error::Setup(
                "without credentials nothing can be done".into(),
            ));
        }
        // Somebody's own token answers with that somebody
        // (<https://docs.github.com/en/rest/users/users#get-the-authenticated-user>).
        Credentials::Token(_) => {
            let user: Actor = client.get("/user").await?;
            return Ok(AppIdentity {
                id: AppId::new(0),
                bot: user.login,
                bot_id: Some(user.id),
            });
        }
    };
    let slug = app
        .slug
        .ok_or_else(|| Error::Setup("GitHub names no slug of the App".to_owned()))?;
    Ok(AppIdentity {
        id: app.id,
        bot: bot_of(&slug)?,
        bot_id: None,
    })
}
