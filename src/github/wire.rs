//! Shapes that several answers of the API share. Only the fields that are used; unknown values are tolerated.

use serde::{Deserialize, Serialize};

use loopgate_core::{
    Login, Sha, UserId,
    observed::{Account, AccountKind},
};

/// An account as answers show it. Deleted accounts are `null`, and shown as `ghost` here as there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct User {
    pub id: UserId,
    pub login: String,
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        // Nobody whose login is none can be named, or have a say.
        let Ok(login) = user.login.parse() else { return Self { id: user.id, ..ghost() } };
        let kind = match user.kind.as_str() {
            "User" => AccountKind::User,
            "Bot" => AccountKind::Bot,
            "Organization" => AccountKind::Organization,
            _ => AccountKind::Other,
        };
        Self { id: user.id, login, kind }
    }
}

/// What answers say of a pull request that is a layer of a native stack
/// (<https://docs.github.com/en/pull-requests/reference/stacked-pull-requests-apis-and-webhooks>).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InStack {
    pub base: StackBase,
}

/// The branch that the stack lands on, whatever the layer itself targets.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StackBase {
    #[serde(rename = "ref")]
    pub branch: String,
    pub sha: Sha,
}

/// The account, or GitHub's placeholder for one that is gone.
pub(super) fn account(user: Option<User>) -> Account {
    user.map_or_else(ghost, Account::from)
}

fn ghost() -> Account {
    let login: Login = "ghost".parse().expect("five letters are a login");
    Account { id: UserId::new(0), login, kind: AccountKind::Other }
}
