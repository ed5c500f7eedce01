//! What no resource of the REST API shows, from the pull request's events and from GraphQL, each read where it matters:
//! who put a label on that declares the type of the change (it counts only from people with write), who dismissed a
//! review, who edited a comment, the place in the merge queue, and review threads.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::PullReading;
use crate::github::client::{
    error::{OrAbsent as _, Result},
    repo::Repo,
    wire::{GraphqlAccount, account_at, nodes},
};
use loopgate_core::{
    CommentId, PrNumber, ReviewId,
    concerns::{
        coverage::{stricter, type_of_label},
        gates::may_speak,
    },
    observed::{
        Account, AccountKind, Actor, Assigner, Assignment, Assignments, CodeType, Comment, Hint,
        Lifecycle, Listing, MOST_OF_A_FINDING, MOST_OF_AN_ANSWER, Permission, QueueRemoval,
        QueueStanding, RemovalReason, Resolution, Review, ReviewThread, ReviewVerdict, Standing,
    },
    policy::GateTrigger,
    state::WordSource,
    text,
};

/// Pages of events read at most: 1,000 of them. The label of a longer story does not count.
const MOST_PAGES: usize = 10;

/// Comments asked about in one look, the newest first.
const MOST_EDITED: usize = 20;
/// <https://docs.github.com/en/graphql/reference/interfaces#comment>, `userContentEdits`.
const EDITS: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id \
                     userContentEdits(first: 50) { nodes { editedAt editor { login ... on User { databaseId } \
                     ... on Bot { databaseId } } } } } } }";

/// The place in the merge queue (<https://docs.github.com/en/graphql/reference/objects#removedfrommergequeueevent>).
const QUEUE: &str = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { \
                     pullRequest(number: $number) { isInMergeQueue timelineItems(last: 1, itemTypes: \
                     [REMOVED_FROM_MERGE_QUEUE_EVENT]) { nodes { ... on RemovedFromMergeQueueEvent { createdAt reason \
                     actor { login } } } } } } }";

/// Pages of 100 threads read at most, the newest first.
const THREAD_PAGES: usize = 5;
/// <https://docs.github.com/en/graphql/reference/objects#pullrequestreviewthread>
const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $before: String) { \
                     repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
                     reviewThreads(last: 100, before: $before) { pageInfo { hasPreviousPage startCursor } nodes { \
                     isResolved isOutdated path line originalLine resolvedBy { login databaseId } \
                     begin: comments(first: 1) { nodes { ...said } } end: comments(last: 2) { nodes { ...said } } } } } } } \
                     fragment said on PullRequestReviewComment { body url originalCommit { oid } author { __typename login \
                     ... on Bot { databaseId } ... on User { databaseId } } }";

impl PullReading<'_> {
    /// The types that labels from people with write declare, the strictest of them. Asks nothing where no label
    /// declares one.
    pub(super) async fn declared_type(&self) -> Result<Option<CodeType>> {
        let labels = &self.facts.pull.pull_request.labels;
        let declaring: Vec<_> = labels
            .iter()
            .filter_map(|label| Some((label, type_of_label(label)?)))
            .collect();
        if declaring.is_empty() {
            return Ok(None);
        }
        let Some(labeled) = self.events("labeled").await? else {
            return Ok(None);
        };
        let mut declared = None;
        for (label, code_type) in declaring {
            let Some(event) = labeled
                .iter()
                .rfind(|event| event["label"]["name"] == label.as_str())
            else {
                continue;
            };
            let by = account_at(&event["actor"]);
            // A label that a program puts on must not lower what the change must pass.
            if by.kind != AccountKind::User {
                continue;
            }
            let standing = self
                .observer
                .registry
                .person(self.repo, by.id, &by.login)
                .await?;
            if matches!(standing, Standing::Known { permission, .. } if permission >= Permission::Write)
            {
                declared = Some(declared.map_or(code_type, |other| stricter(other, code_type)));
            }
        }
        Ok(declared)
    }

    /// Who dismissed the reviews whose rejection is remembered: everybody with write can dismiss a review, and not
    /// everybody may end a rejection by it. Asks nothing where none of them was dismissed.
    pub(super) async fn dismissed_by(&self) -> Result<BTreeMap<ReviewId, Account>> {
        let objections = self
            .previous
            .into_iter()
            .flat_map(|state| state.concerns.gates.values())
            .flat_map(|gate| &gate.objections);
        let rejecting: BTreeSet<ReviewId> = objections
            .filter_map(|objection| match objection.source {
                WordSource::Review(id) => Some(id),
                WordSource::Comment(_) | WordSource::Inline(_) => None,
            })
            .collect();
        let dismissed = |review: &Review| {
            review.verdict == ReviewVerdict::Dismissed && rejecting.contains(&review.id)
        };
        if !self.facts.reviews.items.iter().any(dismissed) {
            return Ok(BTreeMap::new());
        }
        // <https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#review_dismissed>
        let dismissals = self.events("review_dismissed").await?.unwrap_or_default();
        let review = |event: &Value| {
            event["dismissed_review"]["review_id"]
                .as_u64()
                .map(ReviewId::new)
        };
        Ok(dismissals
            .iter()
            .filter_map(|event| Some((review(event)?, account_at(&event["actor"]))))
            .collect())
    }

    /// Who was assigned, where a coding agent opened it.
    pub(super) async fn assignments(&self) -> Result<Assignments> {
        let agents = &self.policy.coding_agents;
        if !agents.contains(&self.facts.pull.pull_request.author.login) {
            return Ok(Assignments::NotAnAgents);
        }
        let Some(assigned) = self.events("assigned").await? else {
            return Ok(Assignments::Unread(
                "its events could not all be read".to_owned(),
            ));
        };
        let assigned = assigned.iter().filter_map(|event| {
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
            Some(Assignment {
                whom,
                by,
                at: event["created_at"].as_str()?.parse().ok()?,
            })
        });
        Ok(Assignments::Read(assigned.collect()))
    }

    /// The coding agents among those who were ever assigned. Asks nothing where no gate asks for agents.
    pub(super) async fn assigned_agents(&self) -> Result<Vec<Account>> {
        let mut conditions = self
            .policy
            .gates
            .values()
            .flat_map(|gate| gate.trigger.conditions());
        if !conditions.any(|condition| matches!(condition, GateTrigger::Agent(_))) {
            return Ok(Vec::new());
        }
        let assigned = self.events("assigned").await?.unwrap_or_default();
        let assigned = assigned.iter().map(|event| account_at(&event["assignee"]));
        Ok(assigned
            .filter(|whom| self.policy.coding_agents.contains(&whom.login))
            .collect())
    }

    /// Finds the edits of comments with commands that no event brought. Each comment is asked about once. Where GitHub
    /// names no editor, no edit is known, and a comment that closes a gate counts.
    pub(super) async fn unheard_edits(&self) -> Result<Vec<Hint>> {
        let Self {
            repo,
            facts,
            hints,
            previous,
            ..
        } = *self;
        let comments = &facts.comments;
        let is_announced = |id| {
            hints
                .iter()
                .any(|hint| matches!(hint, Hint::CommentEdited { comment, .. } if *comment == id))
        };
        let known = |id| {
            previous
                .is_some_and(|state| state.people.edited_words.contains(&WordSource::Comment(id)))
        };
        let unheard = |comment: &&Comment| {
            comment.updated_at.timestamp() != comment.created_at.timestamp()
                && Some(comment.author.id) != facts.us.bot_id
                && !is_announced(comment.id)
                && !known(comment.id)
                && may_speak(&comment.body)
        };
        let asked = comments
            .listing
            .items
            .iter()
            .rev()
            .filter(unheard)
            .take(MOST_EDITED);
        // GraphQL's own number of a comment has 32 bits, and comments have more by now.
        let by_node: BTreeMap<&str, CommentId> = asked
            .filter_map(|comment| Some((comments.nodes.get(&comment.id)?.as_str(), comment.id)))
            .collect();
        if by_node.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = by_node.keys().copied().collect();
        let mut found = Vec::new();
        for node in repo.graphql_nodes(EDITS, &ids).await? {
            let Some(comment) = node["id"].as_str().and_then(|id| by_node.get(id).copied()) else {
                continue;
            };
            let mut editors = BTreeSet::new();
            for edit in nodes(&node["userContentEdits"]) {
                let editor = GraphqlAccount::at(&edit["editor"]);
                let Some(GraphqlAccount {
                    login,
                    database_id: Some(id),
                }) = editor
                else {
                    continue;
                };
                let Some(at) = edit["editedAt"].as_str().and_then(|at| at.parse().ok()) else {
                    continue;
                };
                if editors.insert(id) {
                    found.push(Hint::CommentEdited {
                        comment,
                        by: Actor { id, login },
                        at,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Whether it is in the queue, and when and why it left it last. Asked only of an open pull request, when an event
    /// is about the queue, or a group with it is newer than its last departure.
    pub(super) async fn queue(&self) -> Result<Option<QueueStanding>> {
        let Self {
            repo,
            facts,
            hints,
            previous,
            ..
        } = *self;
        let pull_request = &facts.pull.pull_request;
        let has_news = hints.iter().any(|hint| {
            matches!(
                hint,
                Hint::Enqueued | Hint::Dequeued { .. } | Hint::QueueGroup(_)
            )
        });
        let is_unsettled = previous.is_some_and(|state| state.concerns.queue.is_unsettled());
        if pull_request.lifecycle != Lifecycle::Open || !(has_news || is_unsettled) {
            return Ok(None);
        }
        let queued = repo.graphql_pull(pull_request.number, QUEUE, None).await?;
        Ok(queued.map(|queued| {
            let removal = nodes(&queued["timelineItems"])
                .next_back()
                .and_then(|last| {
                    Some(QueueRemoval {
                        at: last["createdAt"].as_str()?.parse().ok()?,
                        reason: RemovalReason::from_github(
                            last["reason"].as_str().unwrap_or_default(),
                        ),
                        by: GraphqlAccount::at(&last["actor"]).map(|actor| actor.login),
                    })
                });
            QueueStanding {
                is_queued: queued["isInMergeQueue"] == true,
                removal,
            }
        }))
    }

    /// The threads of the reviewers that the policy names; where GitHub refuses, what was read is not all.
    pub(super) async fn review_threads(&self) -> Result<Listing<ReviewThread>> {
        let (repo, number) = (self.repo, self.facts.pull.pull_request.number);
        let apps: Vec<&str> = self
            .policy
            .verify
            .reviewers()
            .map(|(_, reviewer)| reviewer.app.as_str())
            .collect();
        let mut found = Listing::complete(Vec::new());
        if apps.is_empty() {
            return Ok(found);
        }
        let mut before: Option<String> = None;
        for _ in 0..THREAD_PAGES {
            let pull = repo
                .graphql_pull(number, THREADS, before.as_deref())
                .await?
                .unwrap_or_default();
            found.is_complete = false;
            let threads = &pull["reviewThreads"];
            found.items.splice(
                0..0,
                nodes(threads).filter_map(|thread| of_reviewer(thread, &apps)),
            );
            before = threads["pageInfo"]["startCursor"]
                .as_str()
                .map(str::to_owned);
            let Some(has_more) = threads["pageInfo"]["hasPreviousPage"].as_bool() else {
                break;
            };
            if !has_more {
                found.is_complete = true;
                break;
            }
        }
        Ok(found)
    }

    async fn events(&self, kind: &str) -> Result<Option<Vec<Value>>> {
        of_kind(self.repo, self.facts.pull.pull_request.number, kind).await
    }
}

/// The events of one kind, oldest first; none where not all events of the pull request can be read
/// (<https://docs.github.com/en/rest/issues/events#list-issue-events>).
pub(super) async fn of_kind(
    repo: Repo<'_>,
    number: PrNumber,
    kind: &str,
) -> Result<Option<Vec<Value>>> {
    let path = repo.path(format!("issues/{number}/events"));
    let events = repo.list::<Value>(&path, MOST_PAGES).await.or_refused()?;
    let events = events.filter(|events| events.is_complete);
    Ok(events.map(|events| {
        events
            .items
            .into_iter()
            .filter(|event| event["event"] == kind)
            .collect()
    }))
}

/// A thread that the bot of one of these Apps began. What GitHub does not return counts as open.
fn of_reviewer(thread: &Value, apps: &[&str]) -> Option<ReviewThread> {
    let begin = nodes(&thread["begin"]).next()?;
    let reviewer = GraphqlAccount::at(&begin["author"])?;
    let login = reviewer.login.as_str().trim_end_matches("[bot]");
    let app = apps
        .iter()
        .find(|app| begin["author"]["__typename"] == "Bot" && **app == login)?;
    let is_reviewer = |account: &GraphqlAccount| match (account.database_id, reviewer.database_id) {
        (Some(one), Some(other)) => one == other,
        _ => account.login.as_str().trim_end_matches("[bot]") == login,
    };
    let resolution = match GraphqlAccount::at(&thread["resolvedBy"]) {
        _ if thread["isResolved"] != true => Resolution::Open,
        Some(by) if is_reviewer(&by) => Resolution::ByReviewer,
        Some(GraphqlAccount {
            database_id: Some(id),
            login,
        }) => Resolution::By(Account {
            id,
            login,
            kind: AccountKind::User,
        }),
        _ => Resolution::Unknown,
    };
    let string = |text: &Value| text.as_str().unwrap_or_default().to_owned();
    let others = nodes(&thread["end"]).filter_map(|comment| {
        Some((
            GraphqlAccount::at(&comment["author"])?,
            string(&comment["body"]),
        ))
    });
    let answer = others.rev().find(|(by, _)| !is_reviewer(by));
    let line = ["line", "originalLine"]
        .iter()
        .find_map(|key| thread[*key].as_u64());
    Some(ReviewThread {
        app: (*app).to_owned(),
        path: string(&thread["path"]),
        line: line.and_then(|line| line.try_into().ok()),
        finding: text::start(&string(&begin["body"]), MOST_OF_A_FINDING),
        begun_on: begin["originalCommit"]["oid"]
            .as_str()
            .and_then(|commit| commit.parse().ok()),
        answer: answer.map(|(by, body)| (by.login, text::start(&body, MOST_OF_AN_ANSWER))),
        resolution,
        is_outdated: thread["isOutdated"] == true,
        url: string(&begin["url"]),
    })
}
