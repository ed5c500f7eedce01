//! What a caller may do.

use http::StatusCode;

use super::{
    call::Call,
    caller::{Caller, Needs},
};
use crate::{
    refused::Refused,
    world::{RepoId, World, account::Account, app::Actor, repo::Repo},
};
use loopgate_core::AppId;

/// 403 with the permissions that would do
/// (docs.github.com, Troubleshooting the REST API: Insufficient permission errors).
fn insufficient(needs: Needs) -> Refused {
    let accepted: Vec<_> = needs
        .iter()
        .map(|(area, level)| format!("{}={}", area.as_str(), level.as_str()))
        .collect();
    Refused::forbidden("Resource not accessible by integration")
        .header("x-accepted-github-permissions", accepted.join("; "))
}

impl Call {
    /// The repository of the path, if the caller may know of it. Former names are redirected.
    fn visible<'w>(&self, world: &'w World) -> Result<&'w Repo, Refused> {
        let (owner, name) = (self.param("owner"), self.param("repo"));
        let repo = world
            .find_repo(owner, name)
            .or_else(|| world.repo_formerly(owner, name))
            .ok_or_else(Refused::not_found)?;
        if matches!(self.caller, Caller::App(_)) {
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "Bad credentials"));
        }
        self.caller
            .role(world, repo)
            .ok_or_else(Refused::not_found)?;
        if !repo.name.eq_ignore_ascii_case(name)
            || !world.login(repo.owner).eq_ignore_ascii_case(owner)
        {
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
            Caller::Installation { id, .. }
                if self.caller.reaches(world, repo) && self.caller.has(needs) =>
            {
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
            _ => Err(Refused::new(
                StatusCode::UNAUTHORIZED,
                "A JSON web token could not be decoded",
            )),
        }
    }

    /// Those who may ask about an organisation: its members, and Apps installed there with the permission.
    pub fn organization<'w>(&self, world: &'w World, needs: Needs) -> Result<&'w Account, Refused> {
        let org = world.org(self.param("org"))?;
        match &self.caller {
            Caller::Person(user) if world.is_member(*user, org.id) => Ok(org),
            Caller::Installation { id, .. }
                if world
                    .installations
                    .get(id)
                    .is_some_and(|i| i.account == org.id) =>
            {
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
