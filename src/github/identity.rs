//! Who we are: our own comments and check runs are recognised by these ids.

use serde::Deserialize;

use super::{Client, Credentials, Error, Github, error::OrAbsent as _};
use crate::core::{AppId, Login, UserId, snapshot::AppIdentity};

#[derive(Deserialize)]
struct App {
    id: AppId,
    slug: String,
}

#[derive(Deserialize)]
struct User {
    id: UserId,
    login: Login,
}

/// The App whose token is `GITHUB_TOKEN`.
const ACTIONS_APP: &str = "github-actions";

pub(super) async fn ask(github: &Github, client: &Client, credentials: &Credentials) -> Result<AppIdentity, Error> {
    let app = match credentials {
        // Only the App's own signed token may ask this, and it may ask little else.
        Credentials::App(_) => github.client(None).get::<App>("/app").await?,
        // Somebody's own token answers with that somebody; an installation's is refused
        // (<https://docs.github.com/en/rest/users/users#get-the-authenticated-user>).
        Credentials::Token(_) => match client.get::<User>("/user").await {
            Ok(user) => return Ok(AppIdentity { id: AppId::new(0), bot: user.login, bot_id: Some(user.id) }),
            Err(Error::Forbidden { .. } | Error::NotFound { .. }) => {
                client.get::<App>(&format!("/apps/{ACTIONS_APP}")).await?
            }
            Err(error) => return Err(error),
        },
    };
    let bot = format!("{}[bot]", app.slug);
    let bot: Login = bot.parse().map_err(|error| Error::Setup(format!("the App's slug: {error}")))?;
    // `[` and `]` must be escaped in a path. Without its id the bot is recognised by its login, which nobody else can
    // bear.
    let user = match client.get::<User>(&format!("/users/{}%5Bbot%5D", app.slug)).await.or_absent() {
        Ok(user) => user,
        Err(error) => error.refusal().map(|_| None)?,
    };
    Ok(AppIdentity { id: app.id, bot, bot_id: user.map(|user| user.id) })
}
