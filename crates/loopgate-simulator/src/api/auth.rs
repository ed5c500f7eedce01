//! Who calls, and what they may do.

use http::{HeaderMap, StatusCode, header};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use super::call::Call;
use crate::{
    refused::Refused,
    world::{
        RepoId, World,
        account::{Account, Role},
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
        let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(Self::Anonymous) };
        let value = value.to_str().map_err(|_| Refused::bad_credentials())?;
        let (scheme, token) = value.split_once(' ').ok_or_else(Refused::bad_credentials)?;
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(Refused::bad_credentials());
        }
        if token.matches('.').count() == 2 {
            return Self::from_jwt(world, token);
        }
        let now = world.clock.now();
        let found = world.tokens.get(token).filter(|token| world.is_live(token, now));
        match found.ok_or_else(Refused::bad_credentials)?.holder.clone() {
            Holder::Person(user) => Ok(Self::Person(user)),
            Holder::Installation { id, permissions, repositories } => {
                if world.installations.get(&id).is_some_and(|installation| installation.suspended.is_some()) {
                    return Err(Refused::forbidden("This installation has been suspended"));
                }
                Ok(Self::Installation { id, permissions, repositories })
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
            let claims = jsonwebtoken::decode::<Claims>(token, &key, &validation).ok()?.claims;
            claims.iss.names(app).then_some((app.id, claims))
        };
        let (app, claims) = world.apps.values().find_map(signed_by).ok_or_else(undecodable)?;
        let now = world.clock.now().timestamp();
        if claims.exp <= now {
            Err(wrong(
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            ))
        } else if claims.exp - now > MAX_JWT_SECONDS {
            Err(wrong("'Expiration time' claim ('exp') is too far in the future"))
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
            Self::App(id) => format!("app/{}", world.apps.get(id).map_or("unknown", |app| &app.slug)),
            Self::Installation { id, .. } => world.login(world.account_of(Actor::App(*id))).to_owned(),
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

    fn reaches(&self, world: &World, repo: &Repo) -> bool {
        let Self::Installation { id, repositories, .. } = self else { return false };
        let installation = world.installations.get(id);
        installation.is_some_and(|i| i.account == repo.owner && i.repositories.contains(repo.id))
            && repositories.contains(repo.id)
    }

    /// Whether an installation's token has one of the permissions.
    fn has(&self, needs: Needs) -> bool {
        let Self::Installation { permissions, .. } = self else { return true };
        // Everything that is installed can read metadata.
        needs.iter().any(|(area, level)| {
            (*area, *level) == (Area::Metadata, Level::Read) || permissions.get(area).is_some_and(|has| has >= level)
        })
    }
}

/// 403 with the permissions that would do
/// (docs.github.com, Troubleshooting the REST API: Insufficient permission errors).
fn insufficient(needs: Needs) -> Refused {
    let accepted: Vec<_> = needs.iter().map(|(area, level)| format!("{}={}", area.as_str(), level.as_str())).collect();
    Refused::forbidden("Resource not accessible by integration")
        .header("x-accepted-github-permissions", accepted.join("; "))
}

impl Call {
    /// The repository of the path, if the caller may know of it. Former names are redirected.
    fn visible<'w>(&self, world: &'w World) -> Result<&'w Repo, Refused> {
        let (owner, name) = (self.param("owner"), self.param("repo"));
        let repo =
            world.find_repo(owner, name).or_else(|| world.repo_formerly(owner, name)).ok_or_else(Refused::not_found)?;
        if matches!(self.caller, Caller::App(_)) {
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "Bad credentials"));
        }
        self.caller.role(world, repo).ok_or_else(Refused::not_found)?;
        if !repo.name.eq_ignore_ascii_case(name) || !world.login(repo.owner).eq_ignore_ascii_case(owner) {
            return Err(self.moved(world, repo));
        }
        Ok(repo)
    }

    /// 301 to the repository's address by id (docs.github.com, Best practices for using the REST API: redirects).
    fn moved(&self, world: &World, repo: &Repo) -> Refused {
        let rest = self.path_after_repo();
        let url = format!("{}/repositories/{}{rest}", world.base_url, repo.id);
        Refused::new(StatusCode::MOVED_PERMANENTLY, "Moved Permanently").header("location", url)
    }

    /// The repository of a reading request.
    pub fn read(&self, world: &World, needs: Needs) -> Result<RepoId, Refused> {
        let repo = self.visible(world)?;
        if self.caller.reaches(world, repo) && !self.caller.has(needs) {
            return Err(insufficient(needs));
        }
        Ok(repo.id)
    }

    /// The repository of a request that changes something, and in whose name.
    pub fn write(&self, world: &World, needs: Needs) -> Result<(Actor, RepoId), Refused> {
        let repo = self.visible(world)?;
        match &self.caller {
            Caller::Person(user) => Ok((Actor::Person(*user), repo.id)),
            Caller::Installation { id, .. } if self.caller.reaches(world, repo) && self.caller.has(needs) => {
                Ok((Actor::App(*id), repo.id))
            }
            Caller::Installation { .. } => Err(insufficient(needs)),
            Caller::App(_) | Caller::Anonymous => Err(self.unauthenticated()),
        }
    }

    pub fn unauthenticated(&self) -> Refused {
        Refused::new(StatusCode::UNAUTHORIZED, "Requires authentication")
    }

    /// The App of a request that carries a JWT.
    pub fn app(&self) -> Result<AppId, Refused> {
        match self.caller {
            Caller::App(app) => Ok(app),
            _ => Err(Refused::new(StatusCode::UNAUTHORIZED, "A JSON web token could not be decoded")),
        }
    }

    /// Whoever asks about an organisation: its members, and Apps installed there with the permission.
    pub fn organization<'w>(&self, world: &'w World, needs: Needs) -> Result<&'w Account, Refused> {
        let org = world.org(self.param("org"))?;
        match &self.caller {
            Caller::Person(user) if world.is_member(*user, org.id) => Ok(org),
            Caller::Installation { id, .. } if world.installations.get(id).is_some_and(|i| i.account == org.id) => {
                if self.caller.has(needs) {
                    Ok(org)
                } else {
                    Err(insufficient(needs))
                }
            }
            Caller::Person(_) | Caller::Installation { .. } => Err(Refused::not_found()),
            Caller::App(_) | Caller::Anonymous => Err(self.unauthenticated()),
        }
    }
}
