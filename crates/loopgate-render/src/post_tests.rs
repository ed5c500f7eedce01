//! Posts as their readers get them, story by story: what is to be done comes first, and no fact stands twice in one.

use std::collections::BTreeSet;

use loopgate_core::{
    concerns::checks::{CheckStanding, JobName, LossCause, LostJob, gather::OnBase},
    deciding::{CheckView, Decision, NextAction},
    evidence::{CheckKind, Failure},
    failure::Blame,
    fixtures::{Story, commit_by, evidence, gate_name, paths, person, policy_with, sha},
    observed::{Conclusion, ReceivedEvidence, Snapshot},
    policy::Policy,
};

use super::{failure_card, fixtures, messages::entry, pull_request, terminal_report, *};

struct Told {
    name: &'static str,
    decision: Decision,
    snapshot: Snapshot,
    policy: Policy,
}

fn told_by(name: &'static str, play: impl FnOnce(&mut Story)) -> Told {
    let mut story = Story::opened();
    play(&mut story);
    let Story {
        snapshot,
        policy,
        last,
        ..
    } = story;
    Told {
        name,
        decision: last.unwrap(),
        snapshot,
        policy,
    }
}

fn told(name: &'static str, (decision, snapshot): (Decision, Snapshot)) -> Told {
    Told {
        name,
        decision,
        snapshot,
        policy: fixtures::policy(),
    }
}

/// A test that stops in the code it calls, as a reader of reports leaves it.
fn case_of_cart(number: usize) -> Failure {
    let mut failure = Failure {
        test_name: Some(format!("cart › case {number}")),
        test_file: Some("test/cart.test.ts".to_owned()),
        error_class: Some("TypeError".to_owned()),
        error_message: "Cannot read properties of undefined (reading 'price')".to_owned(),
        stack_trace: Some(format!(
            "    at total (src/cart.ts:9:25)\n    at test/cart.test.ts:{number}:15"
        )),
        ..Failure::default()
    };
    loopgate_core::failure::complete(&mut failure);
    failure
}

/// Forty tests that stop at one line, and one that fails by itself.
fn mass_failure(story: &mut Story) {
    let checks = [
        ("build", CheckKind::Build, "npm run build"),
        ("unit", CheckKind::Test, "npx vitest run"),
    ];
    story.policy = policy_with(&checks);
    story.set_head(1);
    story.decide();
    let mut received = evidence(sha(1), &["sums up"], &["starts"]);
    if let ReceivedEvidence::Accepted(evidence) = &mut received {
        let unit = evidence.checks.last_mut().unwrap();
        let each = (1..=40).map(case_of_cart);
        let sums = &mut unit.failures[0];
        (sums.expected, sums.actual) = (Some("9.98".to_owned()), Some("9.99".to_owned()));
        unit.failures.extend(each);
        if let Some(results) = &mut unit.results {
            (results.total, results.failed) = (42, 41);
        }
    }
    story.snapshot.evidence = vec![received];
    story.decide();
}

fn lost_job() -> Told {
    let mut decision = fixtures::waiting_for_evidence();
    let jobs = vec![LostJob {
        name: JobName::Job("unit (windows-latest)".to_owned()),
        end: LossCause::As(Conclusion::Cancelled),
        url: Some("https://github.com/acme/widgets/actions/runs/1/job/7".to_owned()),
    }];
    decision.view.checks.truncate(1);
    decision.view.checks.push(CheckView {
        name: fixtures::check("unit"),
        kind: CheckKind::Test,
        standing: CheckStanding::Lost { jobs },
        baseline: OnBase::Counts,
        blame: Some(Blame::Infrastructure),
    });
    decision.action = NextAction::WaitForEvidence {
        missing: vec![fixtures::check("unit")],
    };
    told("lost_job", (decision, fixtures::snapshot()))
}

fn stories() -> Vec<Told> {
    vec![
        told(
            "first_failure",
            (fixtures::first_failure(), fixtures::snapshot()),
        ),
        told("same_error", fixtures::same_error_again()),
        told("regression", fixtures::regression_escalated()),
        told("tampering", fixtures::tampering_escalated()),
        told("service_down", fixtures::service_down()),
        told(
            "gate",
            (
                fixtures::open_security_gate_with_an_outsider(),
                fixtures::snapshot(),
            ),
        ),
        told(
            "broken_configuration",
            (fixtures::broken_configuration(), fixtures::snapshot()),
        ),
        told("merged", fixtures::merged()),
        lost_job(),
        told_by("mass_failure", mass_failure),
        told_by("three_attempts", |story| {
            for (head, subject) in
                (1..).zip(["feat: round numbers", "Round half up", "Round to even"])
            {
                story.snapshot.commits.items.push(commit_by(
                    &person(1, "alice"),
                    sha(head),
                    subject,
                ));
                story.push(head, &["rounds"], &[]);
            }
        }),
        told_by("two_gates", |story| {
            story.gate("security", "bob");
            story.gate("legal", "bob");
            story.gate("payments", "carol");
            story
                .policy
                .gates
                .get_mut(&gate_name("payments"))
                .unwrap()
                .trigger = paths("src/**");
            story.push(1, &[], &["rounds"]);
            story.comment("bob", "security approved");
        }),
    ]
}

/// Every text of a story, by its name.
fn posts(
    Told {
        decision,
        snapshot,
        policy,
        ..
    }: &Told,
) -> Vec<(String, String)> {
    let rendered = pull_request(decision, snapshot, policy, None);
    let mut texts = vec![
        ("status".to_owned(), rendered.status_comment),
        ("check run".to_owned(), rendered.verify.summary),
        (
            "job summary".to_owned(),
            job_summary(decision, snapshot, policy),
        ),
        ("report".to_owned(), rendered.artifact),
        (
            "terminal".to_owned(),
            terminal_report(decision, snapshot, policy, false, false),
        ),
    ];
    texts.extend(
        rendered
            .posts
            .into_iter()
            .map(|(post, text)| (post.key(), text)),
    );
    texts
}

/// A text without its document for programs.
fn without_document(text: &str) -> String {
    match text.split_once("```json\n") {
        Some((before, rest)) => format!(
            "{before}{}",
            rest.split_once("\n```").map_or("", |(_, after)| after)
        ),
        None => text.to_owned(),
    }
}

/// What people read of a text: no document for programs, and no addresses.
fn read(text: &str) -> String {
    regex::Regex::new(r"\]\([^)]*\)")
        .unwrap()
        .replace_all(&without_document(text), "]")
        .into_owned()
}

/// Whole lines of which a text has two.
fn repeated_lines(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches(|c: char| " -.".contains(c) || c.is_ascii_digit()));
    let facts = lines.filter(|line| line.len() > 12 && !line.starts_with("```"));
    facts
        .filter(|line| !seen.insert(*line))
        .map(str::to_owned)
        .collect()
}

/// What a decision has to tell, each a fact of its own.
fn facts(decision: &Decision) -> Vec<String> {
    let view = &decision.view;
    let mut facts = Vec::new();
    for cause in failure_card::causes(&view.failures) {
        let Failure { error_message, .. } = &cause.first.failure;
        let told = &cause.first.feedback;
        facts.extend([told.action.clone(), told.reason.clone()]);
        facts.extend(told.reproduce.clone());
        // Where nothing explains a message, what to do quotes it.
        let is_quoted = |said: &&str| told.action.contains(*said);
        facts.extend(
            error_message
                .lines()
                .next()
                .filter(|said| !is_quoted(said))
                .map(str::to_owned),
        );
        facts.extend(
            cause
                .first
                .failure
                .location()
                .map(|(file, line)| links::place(file, line)),
        );
    }
    let question = view
        .escalation
        .as_ref()
        .map(|escalation| &escalation.question);
    facts.extend(question.map(|question| super::messages::reason(entry::Question(question))));
    facts.extend(question.into_iter().flat_map(causes::options));
    facts.retain(|fact| !fact.trim().is_empty());
    facts
        .into_iter()
        .map(|fact| fact.trim_end_matches('.').to_owned())
        .collect()
}

#[test]
fn no_post_says_a_fact_twice() {
    let (mut told, mut repeated) = (0, Vec::new());
    for story in stories() {
        for (name, text) in posts(&story) {
            let text = read(&text);
            repeated.extend(
                repeated_lines(&text)
                    .into_iter()
                    .map(|line| format!("{}, {name}: {line}", story.name)),
            );
            for fact in facts(&story.decision) {
                // Behind a place there may stand another line's number.
                let is_it =
                    regex::Regex::new(&format!("{}(?:[^0-9-]|$)", regex::escape(&fact))).unwrap();
                // A trace is the tool's own, and begins with the place.
                let trace = text
                    .split("<summary>Trace</summary>")
                    .skip(1)
                    .filter_map(|rest| rest.split("</details>").next());
                let in_traces: usize = trace.map(|trace| is_it.find_iter(trace).count()).sum();
                let times = is_it.find_iter(&text).count() - in_traces;
                told += times;
                if times > 1 {
                    repeated.push(format!("{}, {name}, {times} times: {fact}", story.name));
                }
            }
        }
    }
    assert!(repeated.is_empty(), "{}", repeated.join("\n"));
    assert!(told > 100, "facts are found at all: {told}");
}

#[test]
fn every_surface_tells_a_failure_in_the_same_words_under_its_id() {
    let story = told_by("mass_failure", mass_failure);
    let mut surfaces: Vec<(String, String)> = posts(&story)
        .into_iter()
        .filter(|(name, _)| name != "report")
        .collect();
    let annotations = annotation_commands(&story.decision.view);
    surfaces.push(("annotations".to_owned(), annotations.replace("%0A", "\n")));
    let document =
        pull_request(&story.decision, &story.snapshot, &story.policy, None).status_comment;
    let document = document
        .split_once("```json\n")
        .unwrap()
        .1
        .split_once("\n```")
        .unwrap()
        .0
        .to_owned();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let causes = failure_card::causes(&story.decision.view.failures);
    assert_eq!(causes.len(), 2, "one cause of forty, and another");
    for (cause, json) in causes.iter().zip(document["failures"].as_array().unwrap()) {
        let id = cause.first.cause.to_string();
        // What repeats the assertion says nothing to do, and a thrown error does not say what to do.
        assert_eq!(
            (json["id"].as_str(), json["do"].as_str()),
            (Some(&*id), None)
        );
        assert_eq!(json["also"], cause.others.len());
        for (name, text) in &surfaces {
            for words in [&*id, json["reproduce"].as_str().unwrap()] {
                assert!(text.contains(words), "{name} lacks {words}:\n{text}");
            }
            assert!(
                !text.contains("in place of"),
                "{name} repeats the assertion:\n{text}"
            );
        }
    }
}

#[test]
fn posts_of_stories() {
    let shown = ["mass_failure", "three_attempts", "two_gates", "lost_job"];
    for story in stories().iter().filter(|story| shown.contains(&story.name)) {
        let texts = posts(story)
            .into_iter()
            .filter(|(name, _)| name != "check run" && name != "report");
        let page: Vec<String> = texts
            .map(|(name, text)| format!("=== {name}\n{}", without_document(&text)))
            .collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("posts_{}", story.name), page.join("\n"))
        });
    }
}
