//! Who calls.

use http::{HeaderMap, StatusCode, header};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use crate::{
    refused::Refused,
    world::{
        World,
        account::Role,
        app::{Actor, App, Area, Holder, Level, Permissions, Selection},
        repo::{Repo, Visibility},
    },
};
use loopgate_core::{AppId, InstallationId, UserId};

/// Who sent a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Caller {
    /// With a JWT.
    App(AppId),
    Installation {
        id: InstallationId,
        permissions: Permissions,
        repositories: Selection,
    },
    Person(UserId),
    Anonymous,
}

/// What an endpoint asks of an App: one of these permissions.
pub type Needs = &'static [(Area, Level)];

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: Issuer,
}

/// The App as GitHub takes it: its id, as a number or in digits, or its client id.
#[derive(Deserialize)]
#[serde(untagged)]
enum Issuer {
    Number(u64),
    Text(String),
}

impl Issuer {
    fn names(&self, app: &App) -> bool {
        match self {
            Self::Number(number) => *number == app.id.get(),
            Self::Text(text) => *text == app.id.to_string() || *text == app.client_id(),
        }
    }
}

/// GitHub takes JWTs of at most ten minutes (docs.github.com, Generating a JSON web token for a GitHub App).
const MAX_JWT_SECONDS: i64 = 600;

impl Caller {
    /// From the `Authorization` header: `Bearer` or `token`, then a JWT or a token.
    pub fn identify(world: &World, headers: &HeaderMap) -> Result<Self, Refused> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(Self::Anonymous);
        };
        let value = value.to_str().map_err(|_| Refused::bad_credentials())?;
        let (scheme, token) = value.split_once(' ').ok_or_else(Refused::bad_credentials)?;
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(Refused::bad_credentials());
        }
        if !token.starts_with("gh") && token.matches('.').count() == 2 {
            return Self::from_jwt(world, token);
        }
        let now = world.clock.now();
        let found = world
            .tokens
            .get(token)
            .filter(|token| world.is_live(token, now));
        match found.ok_or_else(Refused::bad_credentials)?.holder.clone() {
            Holder::Person(user) => Ok(Self::Person(user)),
            Holder::Installation {
                id,
                permissions,
                repositories,
            } => {
                if world
                    .installations
                    .get(&id)
                    .is_some_and(|installation| installation.suspended.is_some())
                {
                    return Err(Refused::forbidden("This installation has been suspended"));
                }
                Ok(Self::Installation {
                    id,
                    permissions,
                    repositories,
                })
            }
        }
    }

    fn from_jwt(world: &World, token: &str) -> Result<Self, Refused> {
        let wrong = |message: &str| Refused::new(StatusCode::UNAUTHORIZED, message);
        let undecodable = || wrong("A JSON web token could not be decoded");
        let mut validation = Validation::new(Algorithm::RS256);
        // The times are compared with the simulator's clock, below.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let signed_by = |app: &App| {
            let key = DecodingKey::from_rsa_der(app.public_key.as_ref()?);
            let claims = jsonwebtoken::decode::<Claims>(token, &key, &validation)
                .ok()?
                .claims;
            claims.iss.names(app).then_some((app.id, claims))
        };
        let (app, claims) = world
            .apps
            .values()
            .find_map(signed_by)
            .ok_or_else(undecodable)?;
        let now = world.clock.now().timestamp();
        if claims.exp <= now {
            Err(wrong(
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            ))
        } else if claims.exp - now > MAX_JWT_SECONDS {
            Err(wrong(
                "'Expiration time' claim ('exp') is too far in the future",
            ))
        } else if claims.iat > now {
            Err(wrong(
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            ))
        } else {
            Ok(Self::App(app))
        }
    }

    /// As the request log names them.
    pub fn name(&self, world: &World) -> String {
        match self {
            Self::App(id) => format!(
                "app/{}",
                world.apps.get(id).map_or("unknown", |app| &app.slug)
            ),
            Self::Installation { id, .. } => {
                world.login(world.account_of(Actor::App(*id))).to_owned()
            }
            Self::Person(id) => world.login(*id).to_owned(),
            Self::Anonymous => "anonymous".to_owned(),
        }
    }

    /// What they may do in a repository, in the words for people.
    pub fn role(&self, world: &World, repo: &Repo) -> Option<Role> {
        let public = (repo.visibility == Visibility::Public).then_some(Role::Read);
        match self {
            Self::Person(user) => world.role(*user, repo),
            Self::Installation { permissions, .. } if self.reaches(world, repo) => {
                let writes = permissions.values().any(|level| *level == Level::Write);
                Some(if writes { Role::Write } else { Role::Read })
            }
            Self::App(_) | Self::Installation { .. } | Self::Anonymous => public,
        }
    }

    pub(super) fn reaches(&self, world: &World, repo: &Repo) -> bool {
        let Self::Installation {
            id, repositories, ..
        } = self
        else {
            return false;
        };
        let installation = world.installations.get(id);
        installation.is_some_and(|i| i.account == repo.owner && i.repositories.contains(repo.id))
            && repositories.contains(repo.id)
    }

    /// Whether an installation's token has one of the permissions.
    pub(super) fn has(&self, needs: Needs) -> bool {
        let Self::Installation { permissions, .. } = self else {
            return true;
        };
        // Everything that is installed can read metadata.
        needs.iter().any(|(area, level)| {
            (*area, *level) == (Area::Metadata, Level::Read)
                || permissions.get(area).is_some_and(|has| has >= level)
        })
    }
}
