//! The operators' page, the doctor's, and their forms.
//!
//! A form of another page cannot know the token, which is made anew with each start and shown on these pages alone.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Redirect, Response},
};

use super::{PageError, reply::Reply, reply_with};
use crate::{
    github::{DormantRepository, WorkClass, registration::is_same},
    server::{
        Admin,
        operating::{Refusal, Replay, replayed},
    },
};
use loopgate_core::Timestamp;
use loopgate_render::{
    Budget, CheckVerdict, ConfigurationRow, DeadLetterRow, DormantRow, Notice, Operations, Queue,
    Refused, age, moment, plain_line, work_class,
};

/// Dead letters shown, and repositories without configuration.
const MOST: usize = 100;

pub(super) async fn page(State(admin): State<Arc<Admin>>, reply: Reply) -> Response {
    reply_with(&reply, operations(&admin).await)
}

async fn operations(admin: &Admin) -> Result<Operations, PageError> {
    let now = admin.services.clock.now();
    let (counts, letters, problems) = futures::try_join!(
        admin.services.store.counts(),
        admin.services.store.dead_letters(),
        admin.services.store.problems()
    )?;
    let github = admin.services.github.as_ref();
    let requests = github.map(|github| github.counts()).unwrap_or_default();
    let queue = WorkClass::ALL.into_iter().map(|class| Queue {
        class: work_class(class.as_str()),
        oldest: counts.oldest[class as usize].map(|oldest| age(oldest, now)),
        spent: requests.spent[class as usize],
        deferred: requests.deferred[class as usize],
    });
    let budget =
        |(installation, quota): (loopgate_core::InstallationId, crate::github::Quota)| Budget {
            installation: installation.get(),
            limit: quota.limit.into(),
            remaining: quota.remaining.into(),
            reset: moment(quota.reset),
        };
    let verdicts = admin
        .verdicts()
        .await
        .into_iter()
        .map(|(name, answer)| CheckVerdict {
            name: name.to_owned(),
            ok: answer.is_ok(),
            said: answer
                .err()
                .map_or_else(|| "ok".to_owned(), |wrong| plain_line(&wrong)),
        });
    let configuration = problems.into_iter().map(|(repository, problem, since)| {
        let known = age(since, now);
        ConfigurationRow {
            repository,
            problem,
            known,
        }
    });
    Ok(Operations {
        schema: "loopgate.operations/v1",
        checks: verdicts.collect(),
        queue: queue.collect(),
        waiting: counts.waiting,
        dead: counts.dead,
        budgets: github
            .map(|github| github.quotas().into_iter().map(budget).collect())
            .unwrap_or_default(),
        configuration: configuration.collect(),
        without_configuration: without_configuration(admin, now),
        dead_letters: letters
            .iter()
            .take(MOST)
            .map(|letter| DeadLetterRow {
                id: letter.key.to_string(),
                failures: letter.failures,
                reason: plain_line(&letter.reason),
                died: age(letter.died_at, now),
            })
            .collect(),
    })
}

/// Those that had a configuration first, then those that were noticed last.
fn without_configuration(admin: &Admin, now: Timestamp) -> Vec<DormantRow> {
    let mut dormant = (admin.overview)().dormant;
    dormant.sort_by_key(|it| (!it.had_one, std::cmp::Reverse(it.since)));
    let row = |it: DormantRepository| DormantRow {
        repository: it.repository.to_string(),
        had_one: it.had_one,
        known: age(it.since, now),
        next: it.next_at.map(moment),
    };
    dormant.into_iter().take(MOST).map(row).collect()
}

pub(super) fn field(form: &str, name: &str) -> Option<String> {
    let found = url::form_urlencoded::parse(form.as_bytes()).find(|(field, _)| field == name);
    found.map(|(_, value)| value.into_owned())
}

/// Whether a form is of a page of this process.
fn is_ours(admin: &Admin, form: &str) -> bool {
    field(form, "token").is_some_and(|token| is_same(&admin.form_token, &token))
}

pub(super) async fn doctor(State(admin): State<Arc<Admin>>, reply: Reply) -> Response {
    let found = admin
        .doctor
        .as_ref()
        .map(|doctor| doctor.last.lock().clone());
    reply_with(
        &reply,
        found.ok_or_else(|| {
            PageError::NotNow("this server asks GitHub nothing by itself".to_owned())
        }),
    )
}

/// Examines again.
pub(super) async fn examine(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    form: String,
) -> Response {
    if !is_ours(&admin, &form) {
        return reply.with(
            StatusCode::FORBIDDEN,
            &Notice::refused(Refused::ForeignForm),
        );
    }
    if let Some(doctor) = &admin.doctor {
        doctor.ask();
    }
    Redirect::to("/doctor").into_response()
}

/// Tries the dead letter again that the form names; all of them where its `id` is empty.
pub(super) async fn replay(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    form: String,
) -> Response {
    let Some(id) = field(&form, "id").filter(|_| is_ours(&admin, &form)) else {
        return reply.with(
            StatusCode::FORBIDDEN,
            &Notice::refused(Refused::ForeignForm),
        );
    };
    let which = if id.is_empty() {
        Replay::All
    } else {
        Replay::Id(id)
    };
    match replayed(&admin, &which).await {
        Ok(_) => Redirect::to("/operations").into_response(),
        Err(Refusal(StatusCode::BAD_REQUEST, _)) => {
            PageError::Absent("dead letter of that id").response(&reply)
        }
        Err(Refusal(_, reason)) => PageError::NotNow(reason).response(&reply),
    }
}
