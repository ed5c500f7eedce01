//! Whatever people and tools write, and however much of it: every page stays one page, whole, within its limit, and
//! mentions no account.

use std::{collections::BTreeSet, sync::LazyLock};

use loopgate_core::{
    GateName,
    concerns::{
        checks::CheckStanding,
        coverage::MissingTests,
        escalation::{Cause, Disagreement, Question},
        gates::*,
        verdict::{FailureView, FeedbackFact, RuleFailure},
    },
    deciding::*,
    evidence::*,
    failure::{Blame, FeedbackLine},
    memory::{MatchOutcome, MemoryMatch, ShownFix, Tier},
    observed::{ForgedCheck, ObservationProblem, Unusable},
    policy::{ConfigError, PolicyOrigin, ReportSection, Severity},
    stage::Stage,
    state::{GateStatus, Skip},
};
use proptest::prelude::*;
use pulldown_cmark::{Event, Tag};

use super::{
    fixtures, pull_request,
    sanitize::tests::{events, hostile, references},
    *,
};

/// Texts handed out in turn.
struct Texts {
    pool: Vec<String>,
    next: usize,
}

impl Texts {
    fn take(&mut self) -> String {
        self.next += 1;
        self.pool
            .get(self.next % self.pool.len())
            .cloned()
            .unwrap_or_default()
    }

    fn set(&mut self, n: usize) -> BTreeSet<String> {
        (0..n).map(|i| format!("{}{i}", self.take())).collect()
    }
}

/// Fills everything that came from outside with hostile texts, in `n` pieces each.
fn poison(decision: &mut Decision, snapshot: &mut Snapshot, texts: &mut Texts, n: usize) {
    snapshot.pull_request.title = texts.take();
    snapshot.pull_request.head.branch = texts.take();
    for commit in &mut snapshot.commits.items {
        commit.message = texts.take();
    }
    if let loopgate_core::observed::ChangedFiles::Complete(files) = &mut snapshot.files {
        for file in files {
            file.patch = Some(texts.take().repeat(n));
        }
    }
    let view = &mut decision.view;
    view.failures = (0..n).map(|_| failure(texts)).collect();
    view.feedback = (0..n).map(|_| feedback(texts)).collect();
    view.checks = (0..n).map(|i| check(texts, i)).collect();
    view.gates = (0..n.min(300)).map(|i| gate(texts, i, n)).collect();
    view.evaluation.rules = (0..n)
        .map(|i| fixtures::failed_rule(&format!("rule-{i}"), Severity::Fail, rule_failure(texts)))
        .collect();
    view.capabilities.total = n;
    view.capabilities.current = Some(texts.take());
    view.capabilities.remaining = (0..n).map(|_| texts.take()).collect();
    view.compare = Some(Compare {
        new: texts.set(n),
        still: texts.set(n),
        fixed: texts.set(n),
        ..Compare::default()
    });
    view.coverage = Some(ChangedCoverage {
        changed_total: 10,
        uncovered: (0..n)
            .map(|i| format!("{}:{i}-{}", texts.take(), i + 1))
            .collect(),
        ..ChangedCoverage::default()
    });
    view.skips = (0..n)
        .map(|_| Skip {
            check: fixtures::check("lint"),
            reason: texts.take(),
            by: fixtures::login("dana"),
            at: fixtures::at(1),
        })
        .collect();
    view.warnings = (0..n).map(|i| warning(texts, i)).collect();
    view.bypassed = (0..n).map(|_| texts.take()).collect();
    view.origin = PolicyOrigin::Presets {
        broken_at: fixtures::sha(1),
        error: ConfigError {
            file: ".github/loopgate.yml".into(),
            line: 1,
            column: 2,
            snippet: texts.take(),
            message: texts.take(),
            hint: Some(texts.take()),
        },
    };
    if let Some(escalation) = &mut view.escalation {
        escalation.cause = Some(Cause::SameError {
            attempts: 3,
            last: texts.take(),
        });
        let (test, expected, actual) = (texts.take(), texts.take(), texts.take());
        escalation.question = Question::WhichSide {
            test,
            expected,
            actual,
            since: Disagreement::Regression,
        };
        for attempt in &mut escalation.history {
            attempt.summary = texts.take();
        }
    }
    decision.next.run.plan = (0..n).map(|_| texts.take()).collect();
    for attempt in &mut decision.next.attempts.counted {
        attempt.summary = texts.take();
    }
}

fn failure(texts: &mut Texts) -> FailureView {
    let mut view = fixtures::failure();
    view.failure.test_name = Some(texts.take());
    view.failure.error_class = Some(texts.take());
    view.failure.error_message = texts.take();
    view.failure.stack_trace = Some(texts.take().repeat(20));
    view.failure.expected = Some(texts.take());
    view.failure.actual = Some(texts.take());
    view.failure.source = Some(SourceLocation {
        file: texts.take(),
        line: Some(3),
        function: None,
    });
    view.blame = Blame::Flaky;
    view.feedback = line(texts);
    view.cause = loopgate_core::Fingerprint::from_bytes(texts.next.to_be_bytes()).into();
    view.analysis.rules_matched = vec![texts.take()];
    view.analysis.related = vec![texts.take()];
    view.memory = vec![MemoryMatch {
        fingerprint: loopgate_core::Fingerprint::from_bytes([3; 8]),
        card: Some(view.cause),
        tier: Some(Tier::SameError),
        outcome: MatchOutcome::Shown,
        seen: 3,
        last_pull_request: None,
        followed: None,
        went_green: None,
        fix: Some(ShownFix {
            pull_request: None,
            commit: fixtures::sha(1),
            description: texts.take(),
            diff_summary: texts.take(),
            path: texts.take(),
            line: Some(1),
            hunk: texts.take(),
            cause: texts.take(),
            failed_before: vec![texts.take()],
        }),
        settled: Some(loopgate_core::memory::SettledDispute {
            failure: view.cause,
            outcome: loopgate_core::memory::Settlement::Neither(texts.take()),
            by: "olga".parse().unwrap(),
            at: loopgate_core::Timestamp::UNIX_EPOCH,
            run_id: texts.take(),
            pull_request: None,
        }),
    }];
    view
}

fn rule_failure(texts: &mut Texts) -> RuleFailure {
    RuleFailure::RequiredTest(MissingTests::Proof {
        reason: texts.take(),
    })
}

fn feedback(texts: &mut Texts) -> FeedbackFact {
    FeedbackFact::Rule {
        id: "rule".parse().unwrap(),
        description: texts.take(),
        why: RuleFailure::RequiredTest(MissingTests::Proof {
            reason: texts.take(),
        }),
    }
}

fn line(texts: &mut Texts) -> FeedbackLine {
    FeedbackLine {
        id: None,
        location: texts.take(),
        problem: texts.take(),
        action: texts.take(),
        reason: texts.take(),
        reproduce: Some(texts.take()),
    }
}

fn check(texts: &mut Texts, i: usize) -> CheckView {
    let mut evidence = fixtures::done(&format!("check-{i}"), CheckKind::Lint, Outcome::Failed, 10);
    evidence.url = Some(format!("https://github.com/{}", texts.take()));
    evidence.skipped_because = Some(texts.take());
    evidence.reports = vec![ReportNote {
        path: texts.take(),
        format: None,
        quality: if i.is_multiple_of(2) {
            ReportQuality::Invalid
        } else {
            ReportQuality::Valid
        },
        notes: vec![texts.take()],
    }];
    let mut view = fixtures::shown(evidence);
    if i % 3 == 1 {
        view.standing = CheckStanding::Refused {
            reason: texts.take(),
        };
    }
    view
}

fn gate(texts: &mut Texts, i: usize, n: usize) -> GateReport {
    let status = [
        GateStatus::Requested,
        GateStatus::NotApplicable,
        GateStatus::Rejected,
    ][i % 3];
    let name = if i == 0 {
        "security".to_owned()
    } else {
        format!("gate-{i}")
    };
    let mut report = fixtures::gate(&name, Stage::Validate, status);
    report.objections = vec![fixtures::objection(
        fixtures::at(1),
        texts.take(),
        texts.take(),
    )];
    report.matches = (0..n.min(50))
        .map(|_| TriggerMatch {
            file: Some(texts.take()),
            line: Some(1),
            reason: MatchReason::AddedLine {
                name: None,
                excerpt: texts.take(),
            },
        })
        .collect();
    report.eligible.unusable = (0..n)
        .map(|_| UnusableApprover {
            name: texts.take(),
            why: Unusable::Unknown(texts.take()),
        })
        .collect();
    report.considered = (0..n)
        .map(|_| Considered {
            url: texts.take(),
            ..fixtures::considered(
                "mallory",
                Word::NearMiss,
                WordOutcome::Refused(Refusal::Phrase(PhraseProblem::UnknownGate {
                    named: texts.take(),
                    nearest: None,
                })),
            )
        })
        .collect();
    report
}

fn warning(texts: &mut Texts, i: usize) -> Warning {
    match i % 4 {
        3 => Warning::FlakyNewTest(RepeatedTest {
            test: texts.take(),
            file: texts.take(),
            command: Some(texts.take()),
            runs: 5,
            failed: 2,
            gap: None,
        }),
        0 => Warning::NotObserved(ObservationProblem {
            what: texts.take(),
            reason: texts.take(),
        }),
        1 => Warning::Forged(ForgedCheck {
            name: texts.take(),
            app: Some(texts.take()),
            url: Some(texts.take()),
        }),
        _ => Warning::EvidenceRefused {
            artifact: texts.take(),
            reason: texts.take(),
        },
    }
}

/// Situations worth poisoning, with every kind of post.
fn situation(i: usize) -> (Decision, Snapshot) {
    let plain = fixtures::snapshot();
    let (mut decision, snapshot) = match i {
        0 => (fixtures::first_failure(), plain),
        1 => fixtures::regression_escalated(),
        2 => (fixtures::waiting_for_evidence(), plain),
        3 => (fixtures::open_security_gate_with_an_outsider(), plain),
        4 => fixtures::draft_with_capabilities(),
        _ => fixtures::merged_over_an_open_gate(),
    };
    let security: GateName = fixtures::gate_name("security");
    decision.surface.posts.push(Post::GateRequest {
        gate: security,
        round: 2,
    });
    (decision, snapshot)
}

/// Markers, collapsed sections and code: all the HTML there is.
fn check_html(html: &str, page: &str) -> Result<(), TestCaseError> {
    let allowed = [
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
        "<code>",
        "</code>",
        "<sub>",
        "</sub>",
        "<!--",
    ];
    for (at, _) in html.match_indices('<') {
        prop_assert!(
            allowed.iter().any(|tag| html[at..].starts_with(tag)),
            "{html:?} in {page}"
        );
    }
    static INERT: LazyLock<regex::Regex> = LazyLock::new(|| {
        regex::Regex::new("(?s)<code>.*?</code>|^<!-- loopgate:[a-z_:0-9-]+ -->").unwrap()
    });
    let active = INERT.replace_all(html, "");
    prop_assert!(!references(&active), "{active:?} in {page}");
    Ok(())
}

/// What must hold of every page on GitHub; `called` are the only mentions it may hold.
fn check_page(page: &str, markers: usize, called: &[&str]) -> Result<(), TestCaseError> {
    prop_assert!(page.len() <= LIMIT, "{} bytes", page.len());
    prop_assert_eq!(page.matches("<!--").count(), markers, "{}", page);
    let (mut opened, mut closed) = (0, 0);
    let mut in_code = 0;
    for event in events(page) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code += 1,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code -= 1,
            Event::Text(text) if in_code == 0 => {
                let known = called
                    .iter()
                    .fold(text.to_string(), |text, who| text.replace(who, ""));
                prop_assert!(!references(&known), "{known:?} in {page}");
            }
            // Text in code is never looked at for references.
            Event::InlineHtml(tag) if &*tag == "<code>" => in_code += 1,
            Event::InlineHtml(tag) if &*tag == "</code>" => in_code -= 1,
            Event::Html(html) | Event::InlineHtml(html) => {
                opened += html.matches("<details>").count();
                closed += html.matches("</details>").count();
                check_html(&html, page)?;
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                prop_assert!(
                    dest_url.starts_with("https://") || dest_url.starts_with("http://"),
                    "{dest_url}"
                )
            }
            Event::Start(Tag::Image { .. }) => prop_assert!(false, "an image in {page}"),
            _ => {}
        }
    }
    prop_assert_eq!((opened, in_code), (closed, 0), "{}", page);
    Ok(())
}

fn check_everything(situation_: usize, pool: Vec<String>, n: usize) -> Result<(), TestCaseError> {
    let mut texts = Texts { pool, next: 0 };
    let (mut decision, mut snapshot) = situation(situation_);
    poison(&mut decision, &mut snapshot, &mut texts, n);
    let mut policy = fixtures::policy();
    policy
        .escalation
        .include_in_report
        .push(ReportSection::StackTraces);
    let rendered = pull_request(&decision, &snapshot, &policy, None);
    check_page(&rendered.status_comment, 1, &[])?;
    check_page(&rendered.verify.summary, 0, &[])?;
    check_page(&rendered.gates.summary, 0, &[])?;
    check_page(rendered.verify.text.as_deref().unwrap_or_default(), 0, &[])?;
    check_page(&job_summary(&decision, &snapshot, &policy), 0, &[])?;
    check_page(&rendered.artifact, 0, &[])?;
    prop_assert!(rendered.artifact.len() <= 12_000);
    for (_, post) in &rendered.posts {
        check_page(post, 1, &["@dana", "@acme/maintainers", "@acme/security"])?;
    }
    for text in [&rendered.verify, &rendered.gates] {
        prop_assert!(text.title.chars().count() <= 60 && !text.title.contains('\n'));
        prop_assert!(text.annotations.len() <= 200);
    }
    let shown = terminal_report(&decision, &snapshot, &policy, false, false);
    prop_assert!(
        !shown
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_page_is_whole_and_calls_nobody_it_should_not(
        situation in 0_usize..6,
        pool in prop::collection::vec(hostile(), 1..12),
        n in 0_usize..4,
    ) {
        check_everything(situation, pool, n)?;
    }
}

#[test]
fn however_much_there_is_every_page_fits() {
    let long = [
        "@alice *x* `a` www.evil.com ".repeat(200),
        "<b> [x](y)\n```\n".repeat(500),
        "😀|".repeat(3_000),
    ];
    for situation in [1, 3, 5] {
        check_everything(situation, long.to_vec(), 30).unwrap();
    }
}

/// What a tool prints stands in messages, traces and sides too, beside the excerpt: nothing secret in it is shown, and
/// no other bot obeys it.
#[test]
fn what_a_failure_reports_commands_nobody_and_shows_no_secret() {
    let (mut decision, snapshot) = situation(1);
    let key = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let said = format!("it failed\n/lgtm\n@dependabot merge\n{key}\n");
    let failure = &mut decision.view.failures[0].failure;
    (failure.error_message, failure.stack_trace) =
        (said.clone(), Some(format!("at a\nat b\n{said}")));
    (failure.expected, failure.actual) = (Some(key.to_owned()), Some("none".to_owned()));
    let mut policy = fixtures::policy();
    policy
        .escalation
        .include_in_report
        .push(ReportSection::StackTraces);
    let rendered = pull_request(&decision, &snapshot, &policy, None);
    let mut pages = vec![
        rendered.status_comment,
        rendered.verify.summary,
        rendered.artifact,
    ];
    pages.extend(rendered.posts.into_iter().map(|(_, post)| post));
    assert!(
        pages.iter().any(|page| page.contains("it failed")),
        "it is shown at all"
    );
    for page in &pages {
        assert!(
            !page.contains("@dependabot") && !page.lines().any(|line| line.trim() == "/lgtm"),
            "{page}"
        );
    }
    // No bot reads these.
    pages.extend(
        rendered
            .verify
            .annotations
            .into_iter()
            .map(|annotation| annotation.message),
    );
    pages.push(terminal_report(&decision, &snapshot, &policy, false, false));
    for page in &pages {
        assert!(!page.contains("wJalrXUtnFEMI"), "{page}");
    }
}
