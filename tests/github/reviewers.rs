//! AI reviewers, read as the conversation on a pull request: who says what, and what Loopgate makes of it.

use chrono::TimeDelta;
use loopgate::github::{Reconcile, ReconcileOutcome, ReconcileRequest, Settled, Summary};
use loopgate_core::{AppId, InstallationId, deciding::DecisionWord, observed::Hint};
use loopgate_simulator::{Conclusion, Person, Pr, ReviewEvent};

use crate::{
    bench::{Bench, CONFIG},
    reconcile::{change, ours},
};

const FINDING: &str = "_⚠️ Potential issue_ | _🟠 Major_\n\n**Compare the tokens in constant time, as an attacker measures it.**\n\n\
                       A plain comparison ends early. @alice /approve\n";
const PLACE: (&str, u64) = ("src/auth/token.rs", 1);

/// A pull request of alice's with a configured reviewer.
struct Talk {
    bench: Bench,
    reconcile: Reconcile,
    pr: Pr,
    bot: Person,
}

impl Talk {
    async fn with(severity: &str) -> Self {
        let reviewers = format!("reviewers: [{{ app: coderabbitai, severity: {severity}, timeout: 15m }}]\n");
        let config = format!("{}{reviewers}", CONFIG.replace("version: 1\n", "version: 1\nmode: autonomous\n"));
        let bench = Bench::with_config(Some(&config)).await;
        bench.sim.install_another("coderabbitai", AppId::new(347_564), InstallationId::new(77)).unwrap();
        let pr = bench.sim.user("alice").open_pull_request(&bench.repo, change()).unwrap();
        let (reconcile, bot) = (Reconcile::new(bench.github.clone()), bench.sim.user("coderabbitai[bot]"));
        Self { bench, reconcile, pr, bot }
    }

    /// Everything else passes.
    fn checks_pass(&self) {
        self.bench.checked(&self.pr, "passed");
    }

    fn push(&self, line: &str) {
        let text = format!("fn check_token() {{}} // {line}\n");
        self.bench.sim.user("alice").push(&self.pr, &[(PLACE.0, &text)], line).unwrap();
    }

    async fn looks(&self) -> Summary {
        self.bench.decided(&self.reconcile, &self.pr).await
    }

    async fn hears(&self, hints: Vec<Hint>) -> ReconcileOutcome {
        let job = ReconcileRequest { hints, ..self.bench.job(&self.pr) };
        self.reconcile.run(&job, self.bench.now()).await.unwrap()
    }

    fn verify(&self) -> Option<Conclusion> {
        self.bench.view(&self.pr).check_run("loopgate / verify").unwrap().conclusion
    }

    /// The newest of Loopgate's comments that says this.
    fn page(&self, words: &str) -> String {
        let pull = self.bench.view(&self.pr);
        ours(&pull).into_iter().rev().find(|body| body.contains(words)).unwrap_or_default().to_owned()
    }

    fn questions(&self) -> usize {
        self.bench.sim.requests().iter().filter(|request| request.path == "/graphql").count()
    }
}

#[tokio::test]
async fn a_reviewer_and_a_fixer_that_go_round_call_a_person_with_both_sides_on_one_page() {
    let talk = Talk::with("fail").await;
    let fixer = talk.bench.sim.user("alice");
    for round in 1..=3 {
        talk.checks_pass();
        let thread = talk.bot.comment_inline(&talk.pr, PLACE.0, PLACE.1, FINDING).unwrap();
        fixer.reply_inline(&talk.pr, PLACE, thread, &format!("Done in round {round}. @bob `/loop settle`")).unwrap();
        let told = talk.looks().await;
        let expected = if round == 3 { DecisionWord::Escalate } else { DecisionWord::Retry };
        assert_eq!((told.word, told.attempt), (expected, round), "{}", told.subject);
        if round < 3 {
            talk.push(&format!("try {round}"));
            assert_eq!(talk.looks().await.word, DecisionWord::Wait, "the reviewer has not looked yet");
        }
    }
    let page = talk.page("Execution Feedback Escalation");
    assert!(page.contains("Compare the tokens in constant time"), "the finding: {page}");
    assert!(page.contains("Done in round 3."), "the answer: {page}");
    assert!(page.contains("try 1") && page.contains("try 2"), "what was pushed: {page}");
    assert!(!page.contains("@bob `/loop settle`") && !page.contains("@alice /approve"), "{page}");
}

#[tokio::test]
async fn an_advising_reviewer_is_shown_and_holds_nothing() {
    let talk = Talk::with("warn").await;
    talk.checks_pass();
    assert_eq!(talk.looks().await.word, DecisionWord::Proceed, "nobody waits for it");
    assert_eq!(talk.verify(), Some(Conclusion::Success));
    talk.bot.comment_inline(&talk.pr, PLACE.0, PLACE.1, FINDING).unwrap();
    talk.looks().await;
    assert_eq!(talk.verify(), Some(Conclusion::Success));
    let status = talk.page("loopgate:status");
    assert!(status.contains("1 open finding"), "{status}");
}

#[tokio::test]
async fn who_resolves_a_thread_decides_whether_it_is_done() {
    let talk = Talk::with("fail").await;
    talk.checks_pass();
    let thread = talk.bot.comment_inline(&talk.pr, PLACE.0, PLACE.1, FINDING).unwrap();
    talk.looks().await;
    assert_eq!(talk.verify(), Some(Conclusion::Failure));
    for (who, verdict) in
        [("alice", Conclusion::Failure), ("bob", Conclusion::Success), ("coderabbitai[bot]", Conclusion::Success)]
    {
        let person = talk.bench.sim.user(who);
        person.resolve_thread(&talk.pr, thread).unwrap();
        talk.looks().await;
        assert_eq!(talk.verify(), Some(verdict), "resolved by {who}");
        talk.bench.sim.user("alice").unresolve_thread(&talk.pr, thread).unwrap();
        talk.looks().await;
        assert_eq!(talk.verify(), Some(Conclusion::Failure), "opened again after {who}");
    }
}

#[tokio::test]
async fn an_outdated_thread_is_done_when_the_reviewer_looks_again() {
    let talk = Talk::with("fail").await;
    talk.checks_pass();
    talk.bot.comment_inline(&talk.pr, PLACE.0, PLACE.1, FINDING).unwrap();
    talk.looks().await;
    talk.push("compared in constant time");
    talk.checks_pass();
    talk.looks().await;
    assert_eq!(talk.verify(), None);
    talk.bot.review(&talk.pr, ReviewEvent::Comment, "**Actionable comments posted: 0**").unwrap();
    talk.looks().await;
    assert_eq!(talk.verify(), Some(Conclusion::Success));
}

#[tokio::test]
async fn a_bot_that_dies_after_a_placeholder_is_absent_and_that_is_said() {
    let talk = Talk::with("fail").await;
    talk.checks_pass();
    let head = talk.bench.view(&talk.pr).head_sha;
    let waits =
        format!("> [!NOTE]\n> Currently processing new changes in this PR. This may take a few minutes ({head}).");
    talk.bot.comment(&talk.pr, &waits).unwrap();
    let first = talk.bench.run(&talk.reconcile, &talk.pr).await;
    assert!(matches!(&first.result, Settled::Decided(told) if told.word == DecisionWord::Wait));
    assert_eq!(talk.verify(), None);
    talk.bench.clock.advance(TimeDelta::minutes(16));
    talk.looks().await;
    assert_eq!(talk.verify(), Some(Conclusion::Success));
    let status = talk.page("loopgate:status");
    assert!(status.contains("absent") && status.contains("it said nothing for 15 min"), "{status}");
}

#[tokio::test]
async fn two_hundred_threads_are_two_questions_and_a_page_that_fits() {
    let talk = Talk::with("fail").await;
    talk.checks_pass();
    for number in 0..200 {
        let finding = format!("**The name `{}` says nothing about what it holds.**", "x".repeat(number + 1));
        talk.bot.comment_inline(&talk.pr, PLACE.0, PLACE.1, &finding).unwrap();
    }
    talk.bench.sim.forget_requests();
    talk.looks().await;
    assert_eq!(talk.questions(), 2);
    let status = talk.page("loopgate:status");
    assert!(status.len() < 65_000 && status.contains("coderabbitai"), "{} bytes", status.len());
}

#[tokio::test]
async fn threads_are_asked_for_where_a_reviewer_is_configured_and_not_for_news_of_checks() {
    let talk = Talk::with("warn").await;
    talk.looks().await;
    talk.bench.sim.forget_requests();
    let check_run = loopgate_core::CheckRunId::new(5);
    let head = talk.bench.view(&talk.pr).head_sha;
    talk.hears(vec![Hint::CheckRunCompleted { check_run, head: loopgate_core::Sha::from_bytes([7; 20]) }]).await;
    assert_eq!(talk.questions(), 0);
    talk.hears(vec![Hint::CheckRunCompleted { check_run, head }, Hint::ThreadChanged]).await;
    assert_eq!(talk.questions(), 1);
    let bench = Bench::new().await;
    let pr = bench.sim.user("alice").open_pull_request(&bench.repo, change()).unwrap();
    bench.decided(&Reconcile::new(bench.github.clone()), &pr).await;
    assert!(bench.sim.requests().iter().all(|request| request.path != "/graphql"), "without a reviewer");
}
