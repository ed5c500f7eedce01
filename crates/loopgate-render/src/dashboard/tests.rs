use std::path::Path;

use chrono::TimeDelta;

use super::*;
use crate::{Subject, fixtures};
use loopgate_core::{
    PrNumber, Timestamp,
    deciding::{Decision, Part},
    metrics::{RunLine, SlowTest, Window},
    observed::Snapshot,
    policy::Trigger,
    state::{AuthorKind, VerificationResult},
};

const OPERATOR: Frame = Frame::Operator {
    faults: Some(1),
    token: String::new(),
};

fn now() -> Timestamp {
    fixtures::at(600)
}

fn situations() -> Vec<(Decision, Snapshot)> {
    let alone = [
        fixtures::first_failure(),
        fixtures::waiting_for_evidence(),
        fixtures::open_security_gate_with_an_outsider(),
        fixtures::ready_to_merge(),
        fixtures::broken_configuration(),
    ];
    let with_snapshot = [
        fixtures::blocked(),
        fixtures::draft_with_capabilities(),
        fixtures::merged(),
        fixtures::tampering_escalated(),
    ];
    alone
        .into_iter()
        .map(|decision| (decision, fixtures::snapshot()))
        .chain(with_snapshot)
        .collect()
}

fn listed(title: &str) -> ListedLoop {
    let (decision, snapshot, policy) = (
        fixtures::first_failure(),
        fixtures::snapshot(),
        fixtures::policy(),
    );
    let mut open = OpenLoop::of(&Subject::new(&decision, &snapshot, &policy));
    open.title = title.to_owned();
    ListedLoop::new(
        &"acme/widgets".parse().unwrap(),
        PrNumber::new(12),
        open,
        now(),
    )
}

#[test]
fn who_acts_is_said_of_every_situation() {
    let said: Vec<String> = situations()
        .iter()
        .map(|(decision, snapshot)| {
            let open = OpenLoop::of(&Subject::new(decision, snapshot, &fixtures::policy()));
            format!(
                "{}: {} ({}) {}",
                open.part.as_str(),
                open.action,
                open.who.join(", "),
                open.verdict
            )
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    author: push a fix (alice) Attempt 1 of 3 failed: unit — alice, please fix and push
    ci: report the checks () Waiting for unit and lint
    approver: decide the gate (acme/security) Checks pass; security is not approved yet — waiting for a member of team acme/security
    merger: merge () All green — ready to merge
    author: push a fix (alice) Attempt 1 of 3 failed: unit — alice, please fix and push
    human: decide (dana, acme/maintainers) Blocked: tests that passed before fail now — dana and acme/maintainers decide
    author: push the next capability (alice) 3 of 5 capabilities are done — alice continues
    nobody: take the loop up again () Merged by dana after 4 attempts
    human: decide (acme/security) Blocked: tests or thresholds were weakened — the security approvers decide
    ");
}

#[test]
fn every_page_is_written_and_escapes_what_it_prints() {
    const HOSTILE: &str = "<script>alert(1)</script>\"'&";
    let mut pages = Vec::new();
    for (mut decision, mut snapshot) in situations() {
        HOSTILE.clone_into(&mut snapshot.pull_request.title);
        HOSTILE.clone_into(&mut decision.next.run.title);
        let recorded = RecordedLoop {
            commit: fixtures::sha(1),
            history: decision.events.clone(),
            state: decision.next.clone(),
            attempts: std::collections::BTreeMap::new(),
            report: format!("# {HOSTILE}\n\nok\n"),
            saved: vec![SavedState {
                sha: fixtures::sha(1),
                at: now(),
                subject: HOSTILE.to_owned(),
            }],
        };
        let page = LoopPage::now(
            &Subject::new(&decision, &snapshot, &fixtures::policy()),
            Some(&recorded),
            now(),
        );
        let then = LoopPage::then(&recorded, PrNumber::new(page.number), &snapshot.repository);
        assert!(then.at.as_ref().is_some_and(|at| at.subject == HOSTILE));
        let permalink = format!("<a href=\"{}?at=", page.page.replace('/', "&#x2f;"));
        assert!(then.html(&OPERATOR).contains(&permalink), "{permalink}");
        pages.extend([page.html(&OPERATOR), then.html(&OPERATOR)]);
    }
    let groups = vec![(Part::Author, 1, now(), vec![listed(HOSTILE)])];
    let filter = Filter {
        person: Some(HOSTILE.to_owned()),
        ..Filter::default()
    };
    pages.push(Overview::new(filter, groups, 0, now()).html(&OPERATOR));
    let visitor = Frame::Visitor {
        login: HOSTILE.to_owned(),
        token: "a token".to_owned(),
    };
    pages.push(Notice::not_now(HOSTILE).html(&visitor));
    let text = || HOSTILE.to_owned();
    let token = TokenRow {
        id: text(),
        name: text(),
        made: text(),
        last_used: None,
        ends: text(),
    };
    let tokens = TokensPage {
        schema: "loopgate.tokens/v1",
        address: text(),
        made: Some(text()),
        tokens: vec![token],
    };
    pages.push(tokens.html(&visitor));
    pages.push(Notice::refused(super::Refused::SignIn).html(&Frame::Stranger));
    let (message, remedy) = (HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
    let (outcome, link) = (
        DoctorOutcome::Warning,
        Some("javascript:alert(1)".to_owned()),
    );
    let found = Diagnosis::new(
        Some(now()),
        &[DoctorLine {
            check: "clock",
            outcome,
            message,
            remedy,
            link,
        }],
    );
    assert_eq!((found.healthy, &found.lines[0].link), (true, &None));
    pages.push(found.html(&OPERATOR));
    pages.push(Repositories::new(vec![("acme/widgets".parse().unwrap(), 3)]).html(&OPERATOR));
    let repository = "acme/widgets".parse().unwrap();
    pages.push(MemoryPage::of(&repository, &memory()).html(&OPERATOR));
    pages.push(MetricsPage::of(&repository, &report(HOSTILE)).html(&OPERATOR));
    let mine = Mine {
        total: 3,
        loops: vec![listed(HOSTILE)],
    };
    let first = Overview::new(Filter::default(), Vec::new(), 0, now());
    pages.push(first.with(Some(mine), vec![(text(), 2)]).html(&visitor));
    for stage in ["locked", "pending", "installing", "refused"] {
        let asked_by = [(HOSTILE, HOSTILE)];
        let said = [HOSTILE];
        pages.push(setup_page(context! {
            stage, asked_by, problem => HOSTILE, action => HOSTILE, manifest => HOSTILE, organization => HOSTILE,
            name => HOSTILE, hook => HOSTILE, polls => false, token => HOSTILE, slug => HOSTILE, file => HOSTILE,
            installation_page => HOSTILE, installed_on => said, newest_delivery => 200,
        }));
    }
    pages.push(home_page());
    for page in pages {
        assert!(
            page.starts_with("<!doctype html>") && page.contains("</html>"),
            "{page}"
        );
        assert!(!page.contains(" style="), "the policy forbids it: {page}");
        let ours = page.replacen("<script src=\"/live.js\" defer></script>", "", 1);
        assert!(
            !ours.contains("<script") && !page.contains("could not write"),
            "{page}"
        );
    }
}

#[test]
fn metrics_are_charts_and_tables_in_words() {
    let page = MetricsPage::of(&"acme/widgets".parse().unwrap(), &report("claude")).html(&OPERATOR);
    for shown in [
        "First attempts that pass</h2>",
        "<b>50 %</b> <span class=\"bad\">✗ target missed</span>",
        "1 of 2 runs. Target (dashed): more than 70 %.</p>",
        "No run says it yet. Target: more than 90 %.",
        "role=\"img\" aria-label=\"Chart of “First attempts that pass”",
        "<td class=\"number\">50 %</td>",
        "<th scope=\"row\">The same error keeps coming back</th><td class=\"number\">1</td>",
        "<th scope=\"row\">claude</th><td class=\"number\" data-label=\"Runs\">1</td>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for key in ["first_attempt", "same_error", "NaN", "inf\"", "<pre"] {
        assert!(!page.contains(key), "{key}: {page}");
    }
    assert_eq!(page.matches("<svg").count(), 3, "two have no numbers yet");

    let window = Window::back(now(), TimeDelta::days(30));
    let empty = MetricsPage::of(&"acme/widgets".parse().unwrap(), &Report::of(&[], window));
    let empty = empty.html(&OPERATOR);
    assert!(
        empty.contains("five charts stand here") && !empty.contains("<svg"),
        "{empty}"
    );
}

#[test]
fn a_loop_says_who_acts_and_no_score() {
    for (decision, snapshot) in situations() {
        let policy = fixtures::policy();
        let page = LoopPage::now(&Subject::new(&decision, &snapshot, &policy), None, now());
        let page = page.html(&OPERATOR);
        assert!(
            !page.contains("score") && !page.contains("<dt>Stage"),
            "{page}"
        );
    }
}

#[test]
fn the_doctor_is_linked_where_there_is_one() {
    let page = |faults| {
        Notice::absent("page").html(&Frame::Operator {
            faults,
            token: String::new(),
        })
    };
    assert!(page(Some(2)).contains("Doctor</a> <span class=\"bad\">(2 problems)</span>"));
    assert!(page(Some(0)).contains("Doctor</a></li>"));
    assert!(!page(None).contains("octor"), "{}", page(None));
}

/// The report on a run of a person that passed at once, and one of this agent that did not.
fn report(agent: &str) -> Report {
    let ended_at = now() - TimeDelta::days(1);
    let run = |name: &str| {
        let line = serde_json::json!({ "schema": "loopgate.run/v1", "run_id": name, "author": "person",
            "started_at": ended_at - TimeDelta::hours(3), "attempts": 1, "retries": 0 });
        RunLine {
            ended_at: Some(ended_at),
            first_result: Some(VerificationResult::Pass),
            first_pass: Some(1),
            ..serde_json::from_value(line).unwrap()
        }
    };
    let slow = SlowTest {
        check: "unit".parse().unwrap(),
        test: agent.to_owned(),
        attempts: 1,
        total_ms: 9,
    };
    let failed = RunLine {
        author: AuthorKind::Agent,
        agent: Some(agent.to_owned()),
        first_result: Some(VerificationResult::Fail),
        first_pass: Some(3),
        calls: [(Trigger::SameError, 1)].into(),
        slow_tests: vec![slow],
        ..run("two")
    };
    let window = Window::back(now(), TimeDelta::days(30));
    Report::of(&[run("one"), failed], window)
}

fn memory() -> Memory {
    let seen = |test: &str, flips: u32| {
        serde_json::json!({ "test": test, "occurrences": 2, "resolution": "pending", "flips": flips,
            "last_seen": now(), "last_run": "run" })
    };
    let mut memory = Memory::default();
    let found = fixtures::failure();
    let card = serde_json::json!({ "id": found.cause, "fingerprints": [], "test": "fixed", "template": "", "error_type":
        "AssertionError", "cause": "", "category": found.analysis.category, "fix": { "commit": fixtures::sha(1), "description": "",
        "diff_summary": "", "files_modified": [] }, "fix_pull_request": null, "fixed_at": now(), "citations": [], "mended_in": [],
        "first_seen": now(), "last_seen": now() });
    memory
        .cards
        .insert(found.cause, serde_json::from_value(card).unwrap());
    for (name, flips) in [("fixed", 0), ("open", 0), ("flaky", 3)] {
        memory.recurring.insert(
            name.to_owned(),
            serde_json::from_value(seen(name, flips)).unwrap(),
        );
    }
    memory
}

#[test]
fn a_test_with_a_known_fix_is_not_listed_without_one() {
    let page = MemoryPage::of(&"acme/widgets".parse().unwrap(), &memory());
    let listed: Vec<_> = page.recurring.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(
        (page.cards[0].test.as_deref(), listed),
        (Some("fixed"), vec!["flaky", "open"])
    );
}

#[test]
fn a_list_that_is_too_long_shows_less_and_says_where_it_goes_on() {
    let loops = (0..50).map(|_| listed(&"ж".repeat(140))).collect();
    let filter = Filter {
        agent: Some("a b".to_owned()),
        part: Some(Part::Author),
        ..Filter::default()
    };
    let page = shortened(
        Overview::new(filter, vec![(Part::Author, 200, now(), loops)], 100, now()),
        30_000,
        &OPERATOR,
    );
    let (group, shown) = (&page.groups[0], page.groups[0].loops.len());
    assert!(
        page.html(&OPERATOR).len() <= 30_000 && (5..50).contains(&shown),
        "{shown}"
    );
    assert_eq!(
        group.more.as_deref(),
        Some(&*format!("/?part=author&from={}&agent=a+b", 100 + shown))
    );
}

/// The schema of a page's JSON, pretty-printed.
fn schema<P: JsonSchema>() -> String {
    let schema = schemars::generate::SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<P>();
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_schema_of_each_page_is_the_one_that_is_shipped() {
    let schemas = [
        ("overview", schema::<Overview>()),
        ("loop", schema::<LoopPage>()),
        ("repositories", schema::<Repositories>()),
        ("operations", schema::<Operations>()),
        ("doctor", schema::<Diagnosis>()),
        ("metrics-page", schema::<MetricsPage>()),
        ("memory-page", schema::<MemoryPage>()),
        ("notice", schema::<Notice>()),
        ("tokens", schema::<TokensPage>()),
    ];
    for (name, schema) in schemas {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../config/schemas/{name}.schema.json"));
        loopgate_written::assert_written(path, &schema);
    }
}
