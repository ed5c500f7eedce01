//! The rights of the people and teams that matter for the decision, as GitHub returns them.
//!
//! A look-up that fails is an answer too: no authority, with the reason. Only a rate limit ends the observation, since
//! then nothing at all can be asked for a while.

use std::collections::{BTreeMap, BTreeSet};

use futures::{TryFutureExt as _, future::try_join_all};
use serde::Deserialize as _;
use serde_json::Value;

use crate::github::client::{
    Client,
    error::{Error, OrAbsent as _, Result},
    path,
    repo::Repo,
    ttl_cache::TtlCache,
    wire::{Team, User, is_ghost},
};
use loopgate_core::{
    Login, RepoName, TeamSlug, UserId,
    concerns::gates::{AuthorityQuestions, online_facts::Fetched},
    observed::{Account, Authority, Members, Permission, Standing, Unusable, Writer},
};

/// Pages of an organisation's teams, and of a team's members, read at most.
const MOST_PAGES: usize = 20;

/// Looks up rights, and believes the answers for five minutes.
#[derive(Default)]
pub(in crate::github) struct Registry {
    /// Whether a later look asks again. If so, an absence in doubt takes no rights; otherwise it counts.
    pub asks_again: bool,
    people: TtlCache<(RepoName, UserId), Standing>,
    logins: TtlCache<Login, Result<Account, Unusable>>,
    teams: TtlCache<(RepoName, TeamSlug), Result<Members, Unusable>>,
    organisations: TtlCache<String, Organisation>,
    collaborators: TtlCache<RepoName, Collaborators>,
}

/// Who may do what in a repository, or why that is not known.
type Collaborators = Fetched<Vec<(Account, Permission)>>;

/// Which teams an organisation has, or why that is not known.
type Organisation = Result<BTreeSet<TeamSlug>, Unusable>;

impl Registry {
    pub(super) fn forget(&self) {
        self.people.clear();
        self.logins.clear();
        self.teams.clear();
        self.organisations.clear();
        self.collaborators.clear();
    }

    pub(super) async fn look_up(
        &self,
        repo: Repo<'_>,
        questions: &AuthorityQuestions,
    ) -> Result<Authority> {
        // Most presets name teams that most organisations do not have: one list of an organisation answers for all of
        // them.
        let unknown = |team: &&TeamSlug| {
            self.teams
                .get(&(repo.name.clone(), (*team).clone()), repo.now())
                .is_none()
        };
        let names: BTreeSet<&str> = questions
            .teams
            .iter()
            .filter(unknown)
            .map(TeamSlug::org)
            .collect();
        let organisations = names.into_iter().map(|name| {
            self.organisation(&repo, name)
                .map_ok(move |teams| (name, teams))
        });
        let organisations: BTreeMap<_, _> =
            try_join_all(organisations).await?.into_iter().collect();
        let teams = questions.teams.iter().map(|team| {
            let standing = self.team(repo, team, organisations.get(team.org()));
            standing.map_ok(|standing| (team.clone(), standing))
        });
        let logins = questions.logins.iter().map(|login| {
            self.login(&repo, login)
                .map_ok(|account| (login.clone(), account))
        });
        let people = questions.people.iter().map(|(id, login)| {
            self.person(repo, *id, login)
                .map_ok(|standing| (*id, standing))
        });
        let writers = async {
            let listed = match questions.writers {
                true => self.collaborators(&repo).await?.ok(),
                false => None,
            };
            Ok(listed.map(with_write))
        };
        let (teams, logins, people, writers) = futures::try_join!(
            try_join_all(teams),
            try_join_all(logins),
            try_join_all(people),
            writers
        )?;
        let teams: BTreeMap<_, _> = teams.into_iter().collect();
        let with_teams = |(id, standing): (UserId, Standing)| match standing {
            Standing::Known { permission, .. } => {
                let is_member = |members: &Result<Members, _>| {
                    members.as_ref().is_ok_and(|it| it.contains_key(&id))
                };
                let teams = teams
                    .iter()
                    .filter(|(_, members)| is_member(members))
                    .map(|(team, _)| team.clone());
                (
                    id,
                    Standing::Known {
                        permission,
                        teams: teams.collect(),
                    },
                )
            }
            unknown => (id, unknown),
        };
        let people = people.into_iter().map(with_teams).collect();
        Ok(Authority {
            people,
            logins: logins.into_iter().collect(),
            teams,
            writers,
        })
    }

    async fn collaborators(&self, repo: &Repo<'_>) -> Result<Collaborators> {
        let is_answer = |listed: &Collaborators| listed.is_ok();
        self.collaborators
            .recall_or_ask(repo.name.clone(), repo, is_answer, async || {
                collaborators(*repo).await
            })
            .await
    }

    /// One person's rights, teams aside.
    pub(super) async fn person(
        &self,
        repo: Repo<'_>,
        id: UserId,
        login: &Login,
    ) -> Result<Standing> {
        if is_ghost(id) {
            return Ok(Standing::Gone);
        }
        // `[bot]` must be escaped. Bots have no authority, but they get an answer.
        let path = repo.path(format!(
            "collaborators/{}/permission",
            path::escape(login.as_str())
        ));
        let ask = async || match repo.get::<Value>(&path).await {
            // The login may belong to somebody else by now: ids are never reused.
            Ok(rights) if rights["user"].is_object() && rights["user"]["id"] != id.get() => {
                Ok(Standing::Gone)
            }
            Ok(rights) => Ok(Standing::Known {
                permission: permission(&rights),
                teams: BTreeSet::new(),
            }),
            Err(error) => Ok(Standing::Unknown(reason(error)?)),
        };
        let is_answer = |standing: &Standing| !matches!(standing, Standing::Unknown(_));
        self.people
            .recall_or_ask((repo.name.clone(), id), &repo, is_answer, ask)
            .await
    }

    async fn login(&self, client: &Client, login: &Login) -> Result<Result<Account, Unusable>> {
        let doubts = client.doubts();
        let path = format!("/users/{}", path::escape(login.as_str()));
        let ask = async || match client.get::<User>(&path).await.or_absent() {
            Ok(Some(user)) => Ok(Ok(user.into())),
            Ok(None) if self.asks_again && client.doubts() > doubts => Ok(Err(Unusable::Unknown(
                "GitHub shows no such account for the moment".to_owned(),
            ))),
            Ok(None) => Ok(Err(Unusable::NoAccount)),
            Err(error) => Ok(Err(Unusable::Unknown(reason(error)?))),
        };
        let is_answer =
            |account: &Result<_, Unusable>| !matches!(account, Err(Unusable::Unknown(_)));
        self.logins
            .recall_or_ask(login.clone(), client, is_answer, ask)
            .await
    }

    async fn team(
        &self,
        repo: Repo<'_>,
        team: &TeamSlug,
        organisation: Option<&Organisation>,
    ) -> Result<Result<Members, Unusable>> {
        let why = match organisation {
            Some(Err(why)) => Some(why.clone()),
            Some(Ok(teams)) => (!teams.contains(team)).then_some(Unusable::NoTeam),
            None => None,
        };
        let is_answer = |standing: &Result<_, Unusable>| {
            why.is_none() && !matches!(standing, Err(Unusable::Unknown(_)))
        };
        let ask = async || match &why {
            Some(why) => Ok(Err(why.clone())),
            None => ask_for_team(repo, team)
                .await
                .or_else(|error| unread(error).map(Err)),
        };
        self.teams
            .recall_or_ask((repo.name.clone(), team.clone()), &repo, is_answer, ask)
            .await
    }

    async fn organisation(&self, client: &Client, name: &str) -> Result<Organisation> {
        let slug = |team: Team| format!("{name}/{}", team.slug).parse().ok();
        let path = format!("/orgs/{name}/teams");
        // A person's account has no teams (404).
        let ask = async || match client.list::<Team>(&path, MOST_PAGES).await.or_absent() {
            Ok(listed) => {
                let teams = listed.map(|listing| listing.items).unwrap_or_default();
                Ok(Ok(teams.into_iter().filter_map(slug).collect()))
            }
            // We lack `members: read`, or it did not answer.
            Err(error) => unread(error).map(Err),
        };
        let is_answer =
            |organisation: &Organisation| !matches!(organisation, Err(Unusable::Unknown(_)));
        self.organisations
            .recall_or_ask(name.to_owned(), client, is_answer, ask)
            .await
    }
}

/// Who may do what in the repository, where GitHub lists them.
pub(super) async fn collaborators(repo: Repo<'_>) -> Result<Collaborators> {
    let path = repo.path("collaborators");
    let listed = repo.list::<Value>(&path, MOST_PAGES).await;
    let known = |one: Value| {
        Some((
            User::deserialize(&one).ok()?.into(),
            of_flags(&one["permissions"]),
        ))
    };
    listed
        .map(|listing| listing.items.into_iter().filter_map(known).collect())
        .or_reason()
}

/// Those of them who may write.
fn with_write(listed: Vec<(Account, Permission)>) -> BTreeMap<UserId, Writer> {
    let writer = |(account, permission)| Writer {
        account,
        permission,
    };
    let writers = listed.into_iter().map(writer);
    let writers = writers.filter(|writer| writer.permission >= Permission::Write);
    writers.map(|writer| (writer.account.id, writer)).collect()
}

async fn ask_for_team(repo: Repo<'_>, team: &TeamSlug) -> Result<Result<Members, Unusable>> {
    // The slug of an enterprise's team holds a colon.
    let base = format!("/orgs/{}/teams/{}", team.org(), path::escape(team.slug()));
    let (access, members) = (
        format!("{base}/repos/{}", repo.name),
        format!("{base}/members"),
    );
    // Members include those of child teams
    // (<https://docs.github.com/en/rest/teams/members#list-team-members>).
    let (access, members) = futures::join!(
        repo.exists(&access),
        repo.list::<User>(&members, MOST_PAGES)
    );
    if !access? {
        return Ok(Err(Unusable::NoAccess));
    }
    let member = |user: User| Some((user.id, user.login()?));
    Ok(Ok(members?.items.into_iter().filter_map(member).collect()))
}

/// Why there is no answer, for people.
fn reason(error: Error) -> Result<String> {
    if error.is_wait() {
        Err(error)
    } else {
        Ok(error.to_string())
    }
}

/// What an error makes of a team: closed to us for good, or unanswered for now.
fn unread(error: Error) -> Result<Unusable> {
    let is_refused = error.is_refusal();
    Ok(if is_refused {
        Unusable::Unreadable(reason(error)?)
    } else {
        Unusable::Unknown(reason(error)?)
    })
}

/// By the `permissions` of an account or of a collaborator.
fn of_flags(flags: &Value) -> Permission {
    use Permission::{Admin, Maintain, Read, Triage, Write};
    let known = [
        ("admin", Admin),
        ("maintain", Maintain),
        ("push", Write),
        ("triage", Triage),
        ("pull", Read),
    ];
    known
        .into_iter()
        .find(|(flag, _)| flags[*flag] == true)
        .map_or(Permission::None, |(_, permission)| permission)
}

/// By `GET …/collaborators/{login}/permission`. The flags are exact, custom roles included; `role_name` names the
/// built-in roles; `permission` folds maintain into write and triage into read
/// (<https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user>).
fn permission(rights: &Value) -> Permission {
    let flags = &rights["user"]["permissions"];
    if flags.is_object() {
        return of_flags(flags);
    }
    let of = |role: &str| rights[role].as_str().and_then(Permission::of_word);
    of("role_name")
        .or_else(|| of("permission"))
        .unwrap_or(Permission::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_permission_is_read_from_flags_role_or_plain_permission() {
        for (answer, permission) in [
            (
                r#"{"permission":"write","role_name":"maintain","user":{"id":1,"permissions":{"maintain":true,"push":true}}}"#,
                Permission::Maintain,
            ),
            (
                r#"{"permission":"write","role_name":"releaser","user":{"id":1,"permissions":{"push":true,"pull":true}}}"#,
                Permission::Write,
            ),
            (
                r#"{"permission":"write","role_name":"maintain","user":{"id":1}}"#,
                Permission::Maintain,
            ),
            (
                r#"{"permission":"read","role_name":"triage"}"#,
                Permission::Triage,
            ),
            (
                r#"{"permission":"write","role_name":"releaser"}"#,
                Permission::Write,
            ),
            (
                r#"{"permission":"none","user":{"id":1,"permissions":{}}}"#,
                Permission::None,
            ),
            (r#"{}"#, Permission::None),
        ] {
            assert_eq!(
                super::permission(&serde_json::from_str(answer).unwrap()),
                permission,
                "{answer}"
            );
        }
    }
}
