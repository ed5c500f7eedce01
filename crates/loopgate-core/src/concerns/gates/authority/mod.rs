//! Who may approve a gate, asked of GitHub's answers at the time of the decision.
//!
//! A person who could not be looked up has no authority for now, and the answer says so.

mod codeowners;
mod contributors;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    report::{EligibleApprovers, MOST_BY_RIGHT, Refusal, UnusableApprover},
    trigger::Scope,
};
use crate::{
    ids::{Login, TeamSlug, UserId},
    observed::{Account, AccountKind, Members, Permission, Snapshot, Standing, Unusable},
    policy::GatePolicy,
    state::{AuthorKind, LoopState},
};

pub(crate) use self::codeowners::owners_of;
pub use self::codeowners::{Owner, OwnerMention, owner_mentions};
pub use self::contributors::co_authors;
pub(super) use self::contributors::noreply;
pub(super) use self::{codeowners::OwnerRules, contributors::Contributors};

/// Every workflow of a repository acts as this account, so its word is anybody's with push access.
pub const ACTIONS: &str = "github-actions[bot]";

/// What somebody's approval covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    Everything,
    /// Only files they own, by either name of a rename.
    Files(BTreeSet<String>),
}

/// The approvers of one gate, resolved to accounts.
pub(super) struct ResolvedApprovers<'a> {
    policy: &'a GatePolicy,
    snapshot: &'a Snapshot,
    contributors: Contributors,
    /// Of a coding agent's pull request, whom the agent's own commits name.
    named_by_agent: Contributors,
    users: BTreeMap<UserId, Login>,
    teams: BTreeMap<TeamSlug, &'a Members>,
    /// What depends on no single approver: the permission, names that stand for no approver, and what of the commits is
    /// unknown.
    pub(super) known: EligibleApprovers,
    /// Owned paths of the gate's own diff and the accounts that own each; empty unless code owners may approve.
    owned: BTreeMap<String, BTreeSet<UserId>>,
    owners: BTreeMap<UserId, Login>,
    owner_teams: BTreeMap<TeamSlug, &'a Members>,
}

impl<'a> ResolvedApprovers<'a> {
    /// `paths` are those of the gate's own diff, both names of a rename.
    pub(super) fn resolve(
        policy: &'a GatePolicy,
        snapshot: &'a Snapshot,
        paths: &[String],
    ) -> Self {
        let contributors =
            Contributors::new(snapshot, policy.exclusions.count_update_merges, paths);
        let known = EligibleApprovers {
            permission: policy.approvers.permission,
            must_name_head: snapshot.makers.has_unknown_pusher
                && !contributors.unattributed.is_empty(),
            unattributed: contributors.unattributed.clone(),
            ..EligibleApprovers::default()
        };
        let mut authority = Self {
            policy,
            snapshot,
            contributors,
            named_by_agent: Contributors::named_by_agent(snapshot),
            users: BTreeMap::new(),
            teams: BTreeMap::new(),
            known,
            owned: BTreeMap::new(),
            owners: BTreeMap::new(),
            owner_teams: BTreeMap::new(),
        };
        for login in &policy.approvers.users {
            let account =
                authority.usable(login.as_str(), resolved(&snapshot.authority.logins, login));
            authority
                .users
                .extend(account.map(|account| (account.id, account.login.clone())));
        }
        for slug in &policy.approvers.teams {
            let members =
                authority.usable(&slug.to_string(), resolved(&snapshot.authority.teams, slug));
            authority
                .teams
                .extend(members.map(|members| (slug.clone(), members)));
        }
        if policy.approvers.codeowners {
            authority.resolve_owners(paths);
        }
        if is_unset(policy) {
            authority.resolve_default();
        }
        authority
    }

    /// No one is named: a preset's team if it is usable here, else people with permission maintain stand in for it, and
    /// the request says so.
    fn resolve_default(&mut self) {
        let Some(slug) = self.policy.preset_team(&self.snapshot.repository) else {
            self.known.permission = Some(Permission::Maintain);
            return;
        };
        match resolved(&self.snapshot.authority.teams, &slug) {
            Ok(members) => drop(self.teams.insert(slug, members)),
            // Not knowing for a moment whether there is such a team must not hand its gate to others.
            Err(why @ Unusable::Unknown(_)) => drop(self.usable::<()>(&slug.to_string(), Err(why))),
            // A team that we may never read counts as one that does not exist.
            Err(why) => {
                self.known.permission = Some(Permission::Maintain);
                self.known.absent_preset_team = Some(UnusableApprover {
                    name: slug.to_string(),
                    why,
                });
            }
        }
    }

    fn resolve_owners(&mut self, paths: &[String]) {
        let Some(text) = &self.snapshot.codeowners else {
            self.usable::<()>("CODEOWNERS", Err(Unusable::NoCodeowners));
            return;
        };
        let rules = OwnerRules::parse(text);
        for path in paths.iter().filter(|path| !rules.owners(path).is_empty()) {
            let owners = rules
                .owners(path)
                .iter()
                .flat_map(|owner| self.owner(owner))
                .collect();
            self.owned.insert(path.clone(), owners);
        }
        if self.owned.is_empty() {
            self.usable::<()>("CODEOWNERS", Err(Unusable::OwnsNothing));
        }
    }

    fn owner(&mut self, owner: &Owner) -> Vec<UserId> {
        match owner {
            Owner::User(login) => {
                let account = self.usable(
                    login.as_str(),
                    resolved(&self.snapshot.authority.logins, login),
                );
                self.owners
                    .extend(account.map(|account| (account.id, account.login.clone())));
                account.map(|account| account.id).into_iter().collect()
            }
            Owner::Team(slug) => {
                let members = self.usable(
                    &slug.to_string(),
                    resolved(&self.snapshot.authority.teams, slug),
                );
                self.owner_teams
                    .extend(members.map(|members| (slug.clone(), members)));
                members
                    .into_iter()
                    .flat_map(Members::keys)
                    .copied()
                    .collect()
            }
            Owner::Email(address) => self
                .usable(address, Err(Unusable::Email))
                .unwrap_or_default(),
        }
    }

    /// What a name stands for. If it stands for no approver, the reason is kept.
    fn usable<T>(&mut self, name: &str, found: Result<T, Unusable>) -> Option<T> {
        let why = match found {
            Ok(found) => return Some(found),
            Err(why) => why,
        };
        let unusable = UnusableApprover {
            name: name.to_owned(),
            why,
        };
        if !self.known.unusable.contains(&unusable) {
            self.known.unusable.push(unusable);
        }
        None
    }

    /// Why it could not be learned who else may approve.
    fn unknown(&self) -> Option<String> {
        self.known.unusable.iter().find_map(|one| match &one.why {
            Unusable::Unknown(reason) | Unusable::Unreadable(reason) => {
                Some(format!("{}: {reason}", one.name))
            }
            _ => None,
        })
    }

    /// Why somebody may not approve whatever their rights, if so.
    pub(super) fn excluded(&self, account: &Account) -> Option<Refusal> {
        let (exclusions, pull_request) = (&self.policy.exclusions, &self.snapshot.pull_request);
        let is_author = account.id == pull_request.author.id;
        if self.is_bot(account) {
            return Some(Refusal::IsBot);
        }
        if is_author && !exclusions.allow_author {
            return Some(Refusal::IsAuthor {
                only_hope: self.only_hope(),
            });
        }
        if !exclusions.allow_requester {
            match self
                .snapshot
                .assignments
                .asked(account.id, pull_request.created_at)
            {
                Ok(asked) if asked || self.named_by_agent.include(account) => {
                    return Some(Refusal::IsRequester);
                }
                Ok(_) => {}
                Err(reason) => {
                    return Some(Refusal::AuthorityUnknown {
                        reason: reason.to_owned(),
                    });
                }
            }
        }
        // The author wrote the commits too: allowing the author allows that.
        if is_author {
            None
        } else {
            self.contributors.refusal(account, exclusions)
        }
    }

    /// Whether it is a bot whose word does not count.
    pub(super) fn is_bot(&self, account: &Account) -> bool {
        let is_bot = account.kind == AccountKind::Bot || account.login.as_str().ends_with("[bot]");
        is_bot && (!self.policy.exclusions.allow_bots || account.login.as_str() == ACTIONS)
    }

    /// Whether the policy names somebody, as themselves, in a team or as an owner.
    pub(super) fn names(&self, account: &Account) -> bool {
        self.users.contains_key(&account.id)
            || self
                .teams
                .values()
                .any(|members| members.contains_key(&account.id))
            || self
                .owned
                .values()
                .any(|owners| owners.contains(&account.id))
    }

    /// What somebody's approval would cover.
    ///
    /// # Errors
    /// Why it covers nothing: they are no approver, or that could not be learned.
    pub(super) fn grant(&self, account: &Account) -> Result<Grant, Refusal> {
        let (permission, teams) = self.rights(account)?;
        if matches!(account.kind, AccountKind::Organization | AccountKind::Other) {
            return Err(Refusal::AccountGone);
        }
        let in_team = |(slug, members): (&TeamSlug, &&Members)| {
            members.contains_key(&account.id) || teams.contains(slug)
        };
        let permitted = self
            .known
            .permission
            .is_some_and(|least| permission >= least);
        if permitted || self.users.contains_key(&account.id) || self.teams.iter().any(in_team) {
            return Ok(Grant::Everything);
        }
        let owns = |(path, owners): (&String, &BTreeSet<UserId>)| {
            owners.contains(&account.id).then(|| path.clone())
        };
        let files: BTreeSet<String> = self.owned.iter().filter_map(owns).collect();
        match (files.is_empty(), self.unknown()) {
            (false, _) => Ok(Grant::Files(files)),
            (true, Some(reason)) => Err(Refusal::AuthorityUnknown { reason }),
            (true, None) => Err(Refusal::NotAnApprover),
        }
    }

    /// Somebody's permission on the repository, and the teams of it that they are in.
    fn rights(&self, account: &Account) -> Result<(Permission, &'a BTreeSet<TeamSlug>), Refusal> {
        let unknown = |reason: &str| {
            Err(Refusal::AuthorityUnknown {
                reason: reason.to_owned(),
            })
        };
        match self.snapshot.authority.people.get(&account.id) {
            Some(Standing::Known { permission, teams }) => Ok((*permission, teams)),
            Some(Standing::Gone) => Err(Refusal::AccountGone),
            Some(Standing::Unknown(reason)) => unknown(reason),
            None => unknown("their rights on the repository were not looked up"),
        }
    }

    /// Whether somebody may end another's rejection.
    pub(super) fn may_dismiss(&self, account: &Account) -> Result<(), Refusal> {
        match self.excluded(account) {
            Some(refusal) => Err(refusal),
            None if self.rights(account)?.0 >= Permission::Maintain => Ok(()),
            None => Err(Refusal::NeedsMaintain),
        }
    }

    /// Owned paths without an approval among these grants; empty if one of them approves everything.
    pub(super) fn awaiting_owners<'g>(
        &self,
        grants: impl Iterator<Item = &'g Grant>,
    ) -> BTreeSet<String> {
        let mut awaited: BTreeSet<String> = self.owned.keys().cloned().collect();
        for grant in grants {
            match grant {
                Grant::Everything => return BTreeSet::new(),
                Grant::Files(files) => awaited.retain(|path| !files.contains(path)),
            }
        }
        awaited
    }

    /// Who can approve, for telling people.
    pub(super) fn eligible(&self) -> EligibleApprovers {
        let why_not = |(&id, login): (&UserId, &Login)| {
            self.excluded(&Account {
                id,
                login: login.clone(),
                kind: AccountKind::User,
            })
        };
        let may = |person: (&UserId, &Login)| why_not(person).is_none().then(|| person.1.clone());
        let members = self.teams.values().flat_map(|members| members.iter());
        let named = self.users.iter().chain(&self.owners);
        let teams = self.teams.iter().chain(&self.owner_teams);
        EligibleApprovers {
            people: named.clone().filter_map(may).collect(),
            fell_out: named
                .chain(members)
                .filter_map(|person| Some((person.1.clone(), why_not(person)?)))
                .collect(),
            teams: teams
                .map(|(team, members)| (team.clone(), members.iter().filter_map(may).collect()))
                .collect(),
            by_right: self.by_right(),
            only_hope: self.only_hope(),
            ..self.known.clone()
        }
    }

    /// The people who may approve by their permission alone; empty where they are more than a few.
    fn by_right(&self) -> BTreeSet<Login> {
        let Some(least) = self.known.permission else {
            return BTreeSet::new();
        };
        let writers = self.snapshot.authority.writers.iter().flatten();
        let may = writers.filter(|(_, writer)| {
            writer.permission >= least && self.excluded(&writer.account).is_none()
        });
        let people: BTreeSet<Login> = may.map(|(_, it)| it.account.login.clone()).collect();
        match people.len() {
            0..=MOST_BY_RIGHT => people,
            _ => BTreeSet::new(),
        }
    }

    /// Whether the author is excluded, could approve if they were not, and no other person can.
    fn only_hope(&self) -> bool {
        let author = &self.snapshot.pull_request.author;
        if self.policy.exclusions.allow_author || self.unknown().is_some() {
            return false;
        }
        let members = self.teams.values().flat_map(|members| members.keys());
        let named: Vec<UserId> = self
            .users
            .keys()
            .chain(members)
            .chain(self.owned.values().flatten())
            .copied()
            .collect();
        let account = |id: UserId| Account {
            id,
            login: author.login.clone(),
            kind: AccountKind::User,
        };
        let contributed = |id: UserId| {
            self.contributors
                .refusal(&account(id), &self.policy.exclusions)
                .is_some()
        };
        let others = named.iter().any(|id| *id != author.id && !contributed(*id));
        match self.known.permission {
            _ if others => false,
            None => named.contains(&author.id),
            Some(least) => self.is_only_one_with(least, contributed),
        }
    }

    /// Whether the author has this permission, and all others who have it wrote a part of the change.
    fn is_only_one_with(&self, least: Permission, contributed: impl Fn(UserId) -> bool) -> bool {
        let author = self.snapshot.pull_request.author.id;
        let Some(writers) = &self.snapshot.authority.writers else {
            // On a person's own repository, only the owner has more than write.
            return owns(self.snapshot) && least >= Permission::Maintain;
        };
        let mut able = writers.values().filter(|it| it.permission >= least);
        least >= Permission::Write
            && writers
                .get(&author)
                .is_some_and(|own| own.permission >= least)
            && able.all(|it| it.account.id == author || contributed(it.account.id))
    }
}

/// Whether the author owns the repository.
fn owns(snapshot: &Snapshot) -> bool {
    let author = &snapshot.pull_request.author.login;
    author
        .as_str()
        .eq_ignore_ascii_case(snapshot.repository.owner())
}

/// Whether somebody may decide a gate as a whole. Code owners may where they own every owned file of the change.
///
/// # Errors
/// Why they may not, or why that could not be learned.
pub(crate) fn may_decide(
    gate: &GatePolicy,
    snapshot: &Snapshot,
    person: &Account,
) -> Result<(), Refusal> {
    let paths = Scope::Whole.paths(snapshot.files.known());
    let authority = ResolvedApprovers::resolve(gate, snapshot, &paths);
    if let Some(refusal) = authority.excluded(person) {
        return Err(refusal);
    }
    let grant = authority.grant(person)?;
    let is_whole = authority
        .awaiting_owners(std::iter::once(&grant))
        .is_empty();
    if is_whole {
        Ok(())
    } else {
        Err(Refusal::NotAnApprover)
    }
}

/// Whether somebody wrote a part of the change: opened it, made or co-authored a commit, or pushed more than its base.
pub(crate) fn wrote(snapshot: &Snapshot, person: &Account) -> bool {
    let paths = Scope::Whole.paths(snapshot.files.known());
    person.id == snapshot.pull_request.author.id
        || Contributors::new(snapshot, false, &paths).include(person)
}

/// Whether this account may release what the change weakens or lacks. An account that wrote part of the change may not,
/// except a person who opened the pull request and is the only one with write access.
pub(crate) fn may_accept(snapshot: &Snapshot, state: &LoopState, by: &Account) -> bool {
    let writers = snapshot.authority.writers.iter();
    let is_alone = state.run.author == Some(AuthorKind::Person)
        && by.id == snapshot.pull_request.author.id
        && writers.flat_map(BTreeMap::keys).eq([&by.id]);
    is_alone || !wrote(snapshot, by)
}

/// Whether somebody wrote a part of the change, or asked an agent for it; none where that could not be learned.
pub(crate) fn has_part_in(snapshot: &Snapshot, person: &Account) -> Option<bool> {
    let asked = || {
        snapshot
            .assignments
            .asked(person.id, snapshot.pull_request.created_at)
            .ok()
    };
    if wrote(snapshot, person) {
        Some(true)
    } else {
        asked()
    }
}

/// What a name of the policy stands for.
fn resolved<'a, K: Ord, T>(
    known: &'a BTreeMap<K, Result<T, Unusable>>,
    name: &K,
) -> Result<&'a T, Unusable> {
    known.get(name).map_or_else(
        || Err(Unusable::Unknown("not looked up".to_owned())),
        |found| found.as_ref().map_err(Clone::clone),
    )
}

/// Whether somebody is known to be in a team.
pub(crate) fn is_member(snapshot: &Snapshot, slug: &TeamSlug, person: UserId) -> bool {
    resolved(&snapshot.authority.teams, slug).is_ok_and(|members| members.contains_key(&person))
}

/// Whether the configuration names no approver at all.
pub(super) fn is_unset(policy: &GatePolicy) -> bool {
    let approvers = &policy.approvers;
    approvers.users.is_empty()
        && approvers.teams.is_empty()
        && approvers.permission.is_none()
        && !approvers.codeowners
}
