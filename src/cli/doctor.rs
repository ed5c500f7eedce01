//! `loopgate doctor`: what keeps Loopgate from working, and what to do about it.

use minijinja::{Value, value::Serde};

use super::{CommandResult, exit, online, output};
use crate::github::doctor::{Arrival, Expected, examine};
use loopgate_core::RepoName;
use loopgate_render::{self as render, Diagnosis, defused};

pub async fn run(repository: Option<&RepoName>) -> CommandResult {
    // How webhooks are meant to come, as the environment or the stored App has it.
    let url = |name: &str| online::variable(name).and_then(|text| text.trim().parse().ok());
    let polls = online::variable("LOOPGATE_POLL").is_some_and(|word| word.trim() == "on");
    let arrival = Arrival::of(
        url("LOOPGATE_PUBLIC_URL"),
        url("LOOPGATE_WEBHOOK_PROXY"),
        polls,
    );
    let expected = Expected {
        arrival,
        signer: online::signer(),
    };
    let lines = examine(&online::as_app()?, &expected, repository).await;
    let diagnosis = Diagnosis::new(Some(chrono::Utc::now()), &lines);
    output::show(&diagnosis, || {
        defused(&render::text("doctor.txt", Value::from(Serde(&diagnosis))))
    })?;
    Ok(if diagnosis.healthy {
        exit::OK
    } else {
        exit::BAD_DATA
    })
}
