//! Who did what to the pull request, by its events: who put a label on that declares the type of the change, which
//! counts only from people with write, and who dismissed a review. They are read where it matters.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rest::Reading;
use crate::github::{Error, Repo, error::OrAbsent as _, wire::account_at};
use loopgate_core::{
    PrNumber, ReviewId,
    observed::{
        Account, AccountKind, Assigner, Assignment, Assignments, CodeType, Completeness, Permission, Review,
        ReviewVerdict, Standing,
    },
    policy::GateTrigger,
    state::WordSource,
    verdict::coverage::{stricter, type_of_label},
};

/// Pages of events read at most: 1,000 of them. The label of a longer story does not count.
const MOST_PAGES: usize = 10;

impl Reading<'_> {
    /// The types that labels from people with write declare, the strictest of them. Asks nothing where no label declares
    /// one.
    pub(super) async fn declared_type(&self) -> Result<Option<CodeType>, Error> {
        let labels = &self.facts.pull.pull_request.labels;
        let declaring: Vec<_> = labels.iter().filter_map(|label| Some((label, type_of_label(label)?))).collect();
        if declaring.is_empty() {
            return Ok(None);
        }
        let Some(events) = self.events().await? else { return Ok(None) };
        let mut declared = None;
        for (label, code_type) in declaring {
            let set = |event: &&Value| event["event"] == "labeled" && event["label"]["name"] == label.as_str();
            let Some(event) = events.iter().rfind(set) else { continue };
            let by = account_at(&event["actor"]);
            // A label that a program puts on must not lower what the change must pass.
            if by.kind != AccountKind::User {
                continue;
            }
            let standing = self.observer.registry.person(self.repo, by.id, &by.login).await?;
            if matches!(standing, Standing::Known { permission, .. } if permission >= Permission::Write) {
                declared = Some(declared.map_or(code_type, |other| stricter(other, code_type)));
            }
        }
        Ok(declared)
    }

    /// Who dismissed the reviews whose rejection is remembered: everybody with write can dismiss a review, and not everybody
    /// may end a rejection by it. Asks nothing where none of them was dismissed.
    pub(super) async fn dismissed_by(&self) -> Result<BTreeMap<ReviewId, Account>, Error> {
        let objections =
            self.previous.into_iter().flat_map(|state| state.gates.values()).flat_map(|gate| &gate.objections);
        let rejecting: BTreeSet<ReviewId> = objections
            .filter_map(|objection| match objection.source {
                WordSource::Review(id) => Some(id),
                WordSource::Comment(_) | WordSource::Inline(_) => None,
            })
            .collect();
        let dismissed = |review: &Review| review.verdict == ReviewVerdict::Dismissed && rejecting.contains(&review.id);
        if !self.facts.reviews.items.iter().any(dismissed) {
            return Ok(BTreeMap::new());
        }
        let told = self.events().await?.unwrap_or_default().into_iter();
        // <https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#review_dismissed>
        let told = told.filter(|event| event["event"] == "review_dismissed");
        let review = |event: &Value| event["dismissed_review"]["review_id"].as_u64().map(ReviewId::new);
        Ok(told.filter_map(|event| Some((review(&event)?, account_at(&event["actor"])))).collect())
    }

    /// Who was assigned, where a coding agent opened it.
    pub(super) async fn assignments(&self) -> Result<Assignments, Error> {
        let agents = &self.policy.coding_agents;
        if !agents.contains(&self.facts.pull.pull_request.author.login) {
            return Ok(Assignments::NotAnAgents);
        }
        let Some(events) = self.events().await? else {
            return Ok(Assignments::Unread("its events could not all be read".to_owned()));
        };
        let assigned = events.iter().filter(|event| event["event"] == "assigned").filter_map(|event| {
            let whom = account_at(&event["assignee"]);
            // `actor` is the assignee there
            // (<https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#assigned>).
            let assigner = Some(&event["assigner"]).filter(|assigner| assigner.is_object());
            let by = account_at(assigner.unwrap_or(&event["actor"]));
            let by = match by {
                by if agents.contains(&by.login) => Assigner::Agent,
                by if by.id == whom.id => Assigner::Themselves,
                _ => Assigner::Other,
            };
            Some(Assignment { whom, by, at: event["created_at"].as_str()?.parse().ok()? })
        });
        Ok(Assignments::Read(assigned.collect()))
    }

    /// The coding agents among those who were ever assigned. Asks nothing where no gate asks for agents.
    pub(super) async fn assigned_agents(&self) -> Result<Vec<Account>, Error> {
        let mut conditions = self.policy.gates.values().flat_map(|gate| gate.trigger.conditions());
        if !conditions.any(|condition| matches!(condition, GateTrigger::Agent(_))) {
            return Ok(Vec::new());
        }
        let told = self.events().await?.unwrap_or_default().into_iter();
        let assigned = told.filter(|event| event["event"] == "assigned").map(|event| account_at(&event["assignee"]));
        Ok(assigned.filter(|whom| self.policy.coding_agents.contains(&whom.login)).collect())
    }

    async fn events(&self) -> Result<Option<Vec<Value>>, Error> {
        events(self.repo, self.facts.pull.pull_request.number).await
    }
}

/// Who forced a push to the branch, by the events that GitHub returns
/// (<https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#head_ref_force_pushed>).
pub(super) async fn forced_pushes(repo: Repo<'_>, number: PrNumber) -> Result<Vec<Account>, Error> {
    let told = events(repo, number).await?.unwrap_or_default().into_iter();
    Ok(told
        .filter(|event| event["event"] == "head_ref_force_pushed")
        .map(|event| account_at(&event["actor"]))
        .collect())
}

/// The events of a pull request, oldest first; none where they cannot all be read
/// (<https://docs.github.com/en/rest/issues/events#list-issue-events>).
async fn events(repo: Repo<'_>, number: PrNumber) -> Result<Option<Vec<Value>>, Error> {
    let path = repo.path(format!("issues/{number}/events"));
    let events = repo.list::<Value>(&path, MOST_PAGES).await.or_refused()?;
    Ok(events.filter(|events| events.completeness == Completeness::Complete).map(|events| events.items))
}
