//! The texts whole, as their readers get them. Read them aloud before accepting a change.

use super::*;
use loopgate_core::{
    concerns::gates::EligibleApprovers,
    deciding::Decision,
    evidence::{CheckKind, Outcome},
    observed::Permission,
    policy::{ChecklistMode, ReportSection},
    state::Reviewer,
};

macro_rules! shown {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $text)
        })
    };
}

fn rendered(decision: &Decision, snapshot: &Snapshot) -> Rendered {
    pull_request(decision, snapshot, &fixtures::policy(), None)
}

fn status(decision: &Decision, snapshot: &Snapshot) -> String {
    rendered(decision, snapshot).status_comment
}

#[test]
fn status_comments() {
    let plain = fixtures::snapshot();
    shown!(
        "status_first_failure",
        status(&fixtures::first_failure(), &plain)
    );
    let (decision, snapshot) = fixtures::same_error_again();
    shown!("status_same_error", status(&decision, &snapshot));
    let (decision, snapshot) = fixtures::regression_escalated();
    shown!("status_regression_escalated", status(&decision, &snapshot));
    shown!(
        "status_waiting_for_evidence",
        status(&fixtures::waiting_for_evidence(), &plain)
    );
    shown!(
        "status_open_gate",
        status(&fixtures::open_security_gate_with_an_outsider(), &plain)
    );
    shown!(
        "status_ready_to_merge",
        status(&fixtures::ready_to_merge(), &plain)
    );
    let (decision, snapshot) = fixtures::blocked();
    shown!("status_blocked", status(&decision, &snapshot));
    shown!(
        "status_broken_configuration",
        status(&fixtures::broken_configuration(), &plain)
    );
    let (decision, snapshot) = fixtures::draft_with_capabilities();
    shown!(
        "status_draft_with_capabilities",
        status(&decision, &snapshot)
    );
    let (decision, snapshot) = fixtures::merged();
    shown!("status_merged", status(&decision, &snapshot));
    let (decision, snapshot) = fixtures::merged_over_an_open_gate();
    shown!(
        "status_merged_over_an_open_gate",
        status(&decision, &snapshot)
    );
}

#[test]
fn what_could_not_be_started_is_said_and_what_to_do() {
    let visible = |edited: &[&str]| {
        let said = status(&fixtures::not_started(edited), &fixtures::snapshot());
        said.split("<details>")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    shown!("status_not_started", visible(&[]));
    shown!(
        "status_not_started_with_an_edited_workflow",
        visible(&[".github/workflows/ci.yml"])
    );
}

#[test]
fn gate_requests() {
    let mut decision = fixtures::open_security_gate_with_an_outsider();
    let (mut snapshot, mut policy) = (fixtures::snapshot(), fixtures::policy());
    decision.view.gates = fixtures::requested_gates();
    decision.surface.posts = decision
        .view
        .gates
        .iter()
        .map(|gate| Post::GateRequest {
            gate: gate.name.clone(),
            round: 1,
        })
        .collect();
    decision
        .surface
        .request
        .insert(Reviewer::Team(fixtures::team("acme/security")));
    let database = policy
        .gates
        .get_mut(&fixtures::gate_name("database"))
        .unwrap();
    database.checklist = ChecklistMode::Required;
    for (post, text) in pull_request(&decision, &snapshot, &policy, None).posts {
        let Post::GateRequest { gate, .. } = &post else {
            unreachable!()
        };
        assert!(text.starts_with(&format!("{}\n", marker(&post))), "{text}");
        shown!(format!("gate_request_{gate}"), text);
    }
    let payments = policy
        .gates
        .get_mut(&fixtures::gate_name("payments"))
        .unwrap();
    payments.preset = loopgate_core::fixtures::preset("database");
    let posts = pull_request(&decision, &snapshot, &policy, None).posts;
    let request = posts
        .iter()
        .find(|(_, text)| text.contains("payments approved"))
        .map(|(_, text)| text.as_str());
    let question = "- Which migration belongs to this? What does it do to existing data, and how long does it lock what?";
    assert!(
        request.unwrap().contains(question),
        "a preset's template is the one it names: {request:?}"
    );
    snapshot.pull_request.is_draft = true;
    for (_, text) in pull_request(&decision, &snapshot, &policy, None).posts {
        assert!(!text.contains(" @"), "nobody is called on a draft: {text}");
    }
}

#[test]
fn a_gate_that_only_its_author_could_open_says_so_and_what_helps() {
    let mut decision = fixtures::open_security_gate_with_an_outsider();
    let mut gates = decision.view.gates.iter_mut();
    let open = gates.find(|gate| gate.is_closed()).unwrap();
    open.eligible = EligibleApprovers {
        permission: Some(Permission::Maintain),
        only_hope: true,
        ..EligibleApprovers::default()
    };
    let gate = open.name.clone();
    decision.surface.posts = vec![Post::GateRequest { gate, round: 1 }];
    let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
    let rendered = pull_request(&decision, &snapshot, &policy, None);
    let request = only_post(&rendered);
    let remedy = "in `gates.security.approvers` on the base branch, or let authors approve with \
                  `gates.security.allow_author: true`.";
    for said in [
        "**Who decides:** nobody yet.",
        "Nobody can open it yet: only its author could",
        remedy,
    ] {
        assert!(request.contains(said), "{said}: {request}");
    }
    let status = rendered.status_comment;
    for said in ["only its author could, and may not", remedy] {
        assert!(status.contains(said), "{said}: {status}");
    }
    assert!(!status.contains("anyone with"), "{status}");
}

#[test]
fn a_reminder_says_how_long_a_gate_has_waited_and_what_comes_next() {
    let mut decision = fixtures::open_security_gate_with_an_outsider();
    let gate = fixtures::gate_name("security");
    decision
        .next
        .concerns
        .gates
        .insert(gate.clone(), fixtures::waiting_since(fixtures::at(0)));
    decision.surface.posts = vec![Post::GateReminder { gate, round: 1 }];
    let text = only_post(&pull_request(
        &decision,
        &fixtures::snapshot(),
        &fixtures::policy(),
        None,
    ));
    shown!("gate_reminder_security", text);
    decision.next.concerns.gates.clear();
    let text = only_post(&pull_request(
        &decision,
        &fixtures::snapshot(),
        &fixtures::policy(),
        None,
    ));
    assert!(
        text.starts_with("<!-- loopgate:gate-reminder:security:1 -->\n"),
        "{text}"
    );
}

#[test]
fn escalations() {
    let policy = fixtures::policy();
    let (decision, snapshot) = fixtures::regression_escalated();
    shown!(
        "escalation_regression",
        only_post(&pull_request(&decision, &snapshot, &policy, None))
    );
    let (decision, snapshot) = fixtures::tampering_escalated();
    shown!(
        "escalation_tampering",
        only_post(&pull_request(&decision, &snapshot, &policy, None))
    );
    let (decision, snapshot) = fixtures::service_down();
    shown!(
        "escalation_service_down",
        only_post(&pull_request(&decision, &snapshot, &policy, None))
    );
    let (decision, snapshot) = fixtures::security_issue_found();
    shown!(
        "escalation_security",
        only_post(&pull_request(&decision, &snapshot, &policy, None))
    );
    let (decision, snapshot) = fixtures::senior_fixer_failed();
    shown!(
        "escalation_after_the_senior_fixer",
        only_post(&pull_request(&decision, &snapshot, &policy, None))
    );
}

fn only_post(rendered: &Rendered) -> String {
    assert_eq!(rendered.posts.len(), 1);
    rendered.posts[0].1.clone()
}

#[test]
fn the_escalation_begins_as_the_contract_says() {
    let (decision, snapshot) = fixtures::regression_escalated();
    let template = include_str!("../templates/escalation.md");
    let head = "## Execution Feedback Escalation\n\n**File**: {{file_path}}\n**Attempts**: {{attempt_count}} / \
                {{max_attempts}}\n\n### Failures\n{{failure_summary}}\n\n### Analysis\n{{root_cause_analysis}}\n\n\
                ### Attempted Fixes\n{{fix_attempts}}\n\n**Human review required**\n";
    assert!(template.contains(head));
    let text = only_post(&pull_request(
        &decision,
        &snapshot,
        &fixtures::policy(),
        None,
    ));
    let (marker, rest) = text.split_once('\n').unwrap();
    assert_eq!(marker, "<!-- loopgate:escalation:regression_detected:3 -->");
    // Who is asked, and what, comes before the report.
    let (asked, report) = rest
        .split_once("## Execution Feedback Escalation\n\n")
        .unwrap();
    assert!(
        asked.contains("**Attempt 3 needs a person") && asked.contains("Which side is right?"),
        "{asked}"
    );
    assert!(
        report.starts_with("**File**: `src/session.rs`\n**Attempts**: 3 / 3\n"),
        "{report}"
    );
}

#[test]
fn an_attempt_after_a_resume_is_not_the_nth_try() {
    let (mut decision, snapshot) = fixtures::regression_escalated();
    (decision.view.attempt, decision.next.attempts.failures.count) = (5, 1);
    let text = only_post(&pull_request(
        &decision,
        &snapshot,
        &fixtures::policy(),
        None,
    ));
    assert!(text.contains("**Attempt 5 needs a person: "), "{text}");
    assert!(text.contains("**Attempts**: 1 / 3\n"), "{text}");
}

fn with_template(own: &str) -> String {
    let (decision, snapshot) = fixtures::regression_escalated();
    let own = Some(own);
    only_post(&pull_request(
        &decision,
        &snapshot,
        &fixtures::policy(),
        own,
    ))
}

#[test]
fn a_repository_may_bring_its_own_escalation_template() {
    let text =
        with_template("# {{trigger}} in {{stage}}\n{% if question %}{{question}}{% endif %}\n");
    insta::assert_snapshot!(text, @r#"
    <!-- loopgate:escalation:regression_detected:3 -->
    # `regression_detected` in TEST
    `session::survives_restart` passed before and disagrees with the code now. Which side is right?

    1. The test: it expects `the old expiry`. Change the code.
    2. The code: it gives `a new one`. Say so in a comment; the test then follows the code.
    3. Neither: describe what should happen.
    "#);
}

#[test]
fn a_template_that_cannot_be_used_is_replaced_and_named() {
    let nested = ["{% for a in title %}"; 12].concat() + &["{% endfor %}"; 12].concat();
    let long = "{{ retry_history }}".repeat(390);
    let cases = [
        ("{{ oops }}", "`oops` is undefined in line 1"),
        ("{% if %}", "unexpected"),
        (&nested, "ran out of fuel"),
        (&long, "longer than GitHub takes"),
        (
            "{% set a = \"aaaaaaaa\" %}\n{% set a = a|replace(\"a\", a) %}",
            "is not available in line 1",
        ),
        ("{% include 'status.md' %}", "is not available in line 1"),
    ];
    for (own, problem) in cases {
        let text = with_template(own);
        assert!(
            text.contains("## Execution Feedback Escalation") && text.len() <= LIMIT,
            "{own}"
        );
        assert!(text.contains(problem), "{own}: {:?}", text.lines().last());
    }
    assert!(with_template(&"x".repeat(70_000)).contains("is longer than 65536 bytes"));
}

#[test]
fn include_in_report_chooses_the_sections() {
    let (decision, snapshot) = fixtures::regression_escalated();
    let mut policy = fixtures::policy();
    policy.escalation.include_in_report = vec![ReportSection::StackTraces];
    let text = only_post(&pull_request(&decision, &snapshot, &policy, None));
    assert!(text.contains("<summary>Stack traces</summary>"));
    for absent in [
        "The change in question",
        "All check results",
        "Failure analyses",
        "What is remembered",
    ] {
        assert!(!text.contains(absent), "{absent}");
    }
    policy.retry.escalation_includes_diff = false;
    policy.escalation.include_in_report = vec![ReportSection::OriginalCode];
    assert!(
        !only_post(&pull_request(&decision, &snapshot, &policy, None))
            .contains("The change in question")
    );
}

#[test]
fn a_merge_over_an_open_gate_is_said_once() {
    let (decision, snapshot) = fixtures::merged_over_an_open_gate();
    insta::assert_snapshot!(only_post(&rendered(&decision, &snapshot)), @r#"
    <!-- loopgate:bypassed -->
    ### ⚠️ Merged over what should have held it

    dana merged this pull request on 20 Nov 2026, 11:45 UTC while these stood in its way:

    - security gate

    Nothing is undone. Where the branch rules of `main` require the checks `loopgate / verify` and `loopgate / gates`, only those can do this who may bypass the rules.
    "#);
}

#[test]
fn check_runs() {
    let plain = fixtures::snapshot();
    let said = |decision: &Decision, snapshot: &Snapshot| {
        let rendered = rendered(decision, snapshot);
        let actions: Vec<_> = rendered
            .verify
            .actions
            .iter()
            .map(|action| action.identifier.clone())
            .collect();
        for text in [&rendered.verify, &rendered.gates] {
            assert!(text.title.chars().count() <= 60, "{}", text.title);
        }
        format!(
            "{} | {} | {}",
            rendered.verify.title,
            rendered.gates.title,
            actions.join(" ")
        )
    };
    let (same, same_snapshot) = fixtures::same_error_again();
    let (escalated, escalated_snapshot) = fixtures::regression_escalated();
    let (draft, draft_snapshot) = fixtures::draft_with_capabilities();
    let (merged, merged_snapshot) = fixtures::merged();
    let (bypassed, bypassed_snapshot) = fixtures::merged_over_an_open_gate();
    let all = [
        said(&fixtures::first_failure(), &plain),
        said(&same, &same_snapshot),
        said(&escalated, &escalated_snapshot),
        said(&fixtures::waiting_for_evidence(), &plain),
        said(&fixtures::open_security_gate_with_an_outsider(), &plain),
        said(&fixtures::ready_to_merge(), &plain),
        said(&fixtures::broken_configuration(), &plain),
        said(&draft, &draft_snapshot),
        said(&merged, &merged_snapshot),
        said(&bypassed, &bypassed_snapshot),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    Attempt 1 of 3 failed: unit (1 test) | No gate applies | retry explain
    Attempt 2 of 3 failed: unit (1 test) | No gate applies | retry explain
    Blocked: tests that passed before fail now | No gate applies | retry explain
    Passed: 3 checks | No gate applies | 
    Passed: 3 checks, 10 tests | Waiting for approval: security | 
    Passed: 3 checks, 10 tests | Approved: security | 
    Configuration error at line 14, column 5 | No gate applies | retry explain
    3 of 5 capabilities | No gate applies | 
    Passed: 3 checks, 10 tests | Approved: security | 
    Passed: 3 checks, 10 tests | Waiting for approval: security |
    ");
    shown!(
        "check_verify",
        rendered(&fixtures::first_failure(), &plain).verify.summary
    );
    shown!(
        "check_gates",
        rendered(&fixtures::open_security_gate_with_an_outsider(), &plain)
            .gates
            .summary
    );
    shown!(
        "check_configuration",
        rendered(&fixtures::broken_configuration(), &plain)
            .verify
            .text
            .unwrap()
    );
}

#[test]
fn buttons_stay_within_the_limits_of_the_platform() {
    let mut decision = fixtures::first_failure();
    let mut failing = fixtures::done("lint", CheckKind::Lint, Outcome::Failed, 1);
    decision.view.checks.push(fixtures::shown(failing.clone()));
    let buttons = |decision: &Decision| {
        let actions = rendered(decision, &fixtures::snapshot()).verify.actions;
        assert!(actions.len() <= 3);
        for action in &actions {
            assert!(action.label.chars().count() <= 20 && action.identifier.chars().count() <= 20);
            assert!(action.description.chars().count() <= 40);
        }
        actions
            .into_iter()
            .map(|action| action.label)
            .collect::<Vec<_>>()
    };
    assert_eq!(buttons(&decision), ["Retry", "Skip lint…", "Explain"]);
    failing.name = fixtures::check("a-name-much-too-long-for-a-button");
    decision.view.checks.pop();
    decision.view.checks.push(fixtures::shown(failing));
    assert_eq!(buttons(&decision), ["Retry", "Explain"]);
}

#[test]
fn job_summary_and_artifact() {
    let (decision, snapshot, policy) = (
        fixtures::first_failure(),
        fixtures::snapshot(),
        fixtures::policy(),
    );
    shown!("job_summary", job_summary(&decision, &snapshot, &policy));
    shown!(
        "artifact",
        pull_request(&decision, &snapshot, &policy, None).artifact
    );
}
