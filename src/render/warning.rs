//! What people must know although it decides nothing.

use super::{
    links::Links,
    plain::plain,
    sanitize::{Markdown, clip, code, line, short_text},
    words,
};
use loopgate_core::{
    deciding::{View, Warning},
    evidence::{CheckKind, RepeatedTest, RepetitionGap},
    observed::{CheckScope, OwnCheck},
    state::{LostRecord, Trace},
};

/// What whoever runs the checks here must know although it decides nothing, as plain text. Only some checks may have been
/// asked for, so that none of a kind says nothing.
pub fn notes(view: &View, links: &Links) -> Vec<String> {
    let told = view.warnings.iter().filter(|warning| !matches!(warning, Warning::NoCheckOfKind(_)));
    told.take(MOST_NOTES).map(|warning| plain(sentence(warning, links).as_str())).collect()
}

/// Notes told at most.
const MOST_NOTES: usize = 30;

/// One sentence or two for one warning.
pub fn sentence(warning: &Warning, links: &Links) -> Markdown {
    Markdown::ours(match warning {
        Warning::NoCheckOfKind(kind) => format!(
            "No {} is configured, so {}. Add one under {} in {}.",
            code(&format!("kind: {}", kind.as_str())),
            unproved(*kind),
            code("verify.checks"),
            code(".github/loopgate.yml")
        ),
        Warning::NoTests(check) => format!(
            "{} found no test to run: nothing shows that this works. Add a test, or write down the command that finds them \
             under {} in {}.",
            code(check.as_str()),
            code("verify.checks"),
            code(".github/loopgate.yml")
        ),
        Warning::FlakyNewTest(test) => format!(
            "The new test {} in {} is flaky: run alone on this commit it failed {} of {} times{}. Nothing is held against \
             the change for that; make it steady before it is merged.",
            code(&clip(&test.test, 200)),
            code(&clip(&test.file, 200)),
            test.failed,
            test.runs,
            test.command.as_deref().map(|line| format!(" ({})", code(&clip(line, 300)))).unwrap_or_default()
        ),
        Warning::NotObserved(problem) => format!(
            "Could not read {}: {}. What depends on it stays closed; Loopgate tries again.",
            short_text(&problem.what, 120),
            short_text(&problem.reason, 200)
        ),
        Warning::Overruled(error) => format!(
            "{}, line {}: {}. What is written there has no effect.",
            code(&error.file),
            error.line,
            short_text(&error.message, 200)
        ),
        Warning::Forged(forged) => {
            let by =
                forged.app.as_deref().map_or_else(|| "somebody".to_owned(), |app| format!("the App {}", code(app)));
            let check = code(&forged.name);
            let see = forged.url.as_deref().map(|url| format!(" ({})", links.to("see", url))).unwrap_or_default();
            format!("A check named {check} was written by {by}, not by Loopgate{see}. It is ignored.")
        }
        Warning::EvidenceRefused { artifact, reason } => {
            format!("The evidence {} was refused: {}.", code(artifact), short_text(reason, 300))
        }
        Warning::JudgedOn(number) => {
            format!("The same commit waits for the same branch in #{number}, and its checks are decided there.")
        }
        Warning::OpenPattern { pattern, branch } => format!(
            "The checks are called {own} here and not {shared}, since no ruleset keeps people from creating {branch} and \
             from pushing to it without a pull request. An administrator adds such a ruleset for {pattern}, or \
             requires the checks under these names.",
            own = code(&OwnCheck::Gates.name(&CheckScope::Branch(branch.clone()))),
            shared = code(&OwnCheck::Gates.name(&CheckScope::Pattern(pattern.clone()))),
            branch = code(branch),
            pattern = code(pattern)
        ),
        Warning::RecordLost(lost) => record_lost(*lost),
        Warning::TamperedComment { by, changed_by, url } => format!(
            "A {} of {} that had counted was changed afterwards{}. It no longer counts.",
            links.to("comment", url),
            words::person(by),
            changed_by.as_ref().map(|who| format!(" by {}", words::person(who))).unwrap_or_default()
        ),
    })
}

/// Which of the tests that the change adds did not run as often as was asked for, and why: a line for each reason.
pub fn not_repeated(tests: &[RepeatedTest]) -> Vec<String> {
    const REASONS: [(RepetitionGap, &str); 3] = [
        (RepetitionGap::NotAlone, "it is not known how to run one test alone there"),
        (RepetitionGap::Broken, "run alone, nothing was heard of it"),
        (RepetitionGap::OutOfTime, "a quarter of the check's time limit was used up"),
    ];
    let said = |(gap, why)| {
        let tests = tests.iter().filter(|test| test.gap == Some(gap));
        let names: Vec<String> = tests.map(|test| line(&test.test)).collect();
        let said = || format!("not run again as often as asked for: {}: {why}", words::few(&names, 5));
        (!names.is_empty()).then(said)
    };
    REASONS.into_iter().filter_map(said).collect()
}

fn record_lost(LostRecord { attempts, trace }: LostRecord) -> String {
    let left = match trace {
        Trace::StatusComment => "This comment tells",
        Trace::Post => "An earlier comment of Loopgate tells",
        Trace::CheckRun => "A check of Loopgate that had ended on this commit tells",
    };
    let counted = match attempts {
        0 => "No attempt on another commit is known, so they count from 1".to_owned(),
        1 => "Attempt 1 counts as failed".to_owned(),
        attempts => format!("Attempts 1 to {attempts} count as failed"),
    };
    format!(
        "The record of this loop is gone: its ref was deleted or never written. {left} that there was one. {counted}."
    )
}

const fn unproved(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Build => "nothing shows that this builds",
        CheckKind::Test => "nothing shows that this works",
        _ => "nothing is known of it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::{
        observed::{ForgedCheck, ObservationProblem},
        policy::ConfigError,
    };

    #[test]
    fn every_warning() {
        let links = Links::of(&fixtures::snapshot());
        let warnings = [
            Warning::NoCheckOfKind(CheckKind::Test),
            Warning::NoTests("api/test".parse().unwrap()),
            Warning::FlakyNewTest(repeated(2, None)),
            Warning::NotObserved(ObservationProblem { what: "team acme/security".into(), reason: "404".into() }),
            Warning::Overruled(ConfigError {
                file: ".github/loopgate.yml".into(),
                line: 7,
                column: 3,
                snippet: "  deploy: off".into(),
                message: "`gates.deploy` is locked by the organisation".into(),
                hint: None,
            }),
            Warning::Forged(ForgedCheck {
                name: "loopgate / verify".into(),
                app: Some("github-actions".into()),
                url: Some("https://github.com/acme/widgets/runs/3".into()),
            }),
            Warning::EvidenceRefused {
                artifact: "loopgate-evidence-test".into(),
                reason: "its head is not @ours".into(),
            },
            Warning::JudgedOn(fixtures::snapshot().pull_request.number),
            Warning::OpenPattern { pattern: "release/*".into(), branch: "release/1".into() },
            Warning::RecordLost(LostRecord { attempts: 3, trace: Trace::StatusComment }),
            Warning::RecordLost(LostRecord { attempts: 1, trace: Trace::Post }),
            Warning::RecordLost(LostRecord { attempts: 0, trace: Trace::CheckRun }),
            Warning::TamperedComment {
                by: fixtures::login("bob"),
                changed_by: Some(fixtures::login("mallory")),
                url: "https://github.com/acme/widgets/pull/12#issuecomment-5".into(),
            },
            Warning::TamperedComment {
                by: fixtures::login("bob"),
                changed_by: None,
                url: "https://github.com/acme/widgets/pull/12#issuecomment-5".into(),
            },
        ];
        let said: Vec<String> = warnings.iter().map(|warning| sentence(warning, &links).into_string()).collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    fn repeated(failed: u32, gap: Option<RepetitionGap>) -> RepeatedTest {
        let command = Some("pytest tests/test_cart.py::test_total -x".to_owned());
        let (test, file) = ("test_total".to_owned(), "tests/test_cart.py".to_owned());
        RepeatedTest { test, file, command, runs: 5, failed, gap }
    }

    #[test]
    fn what_was_not_repeated_is_told_by_its_reason() {
        let steady = repeated(0, None);
        let alone = repeated(0, Some(RepetitionGap::NotAlone));
        let late = repeated(1, Some(RepetitionGap::OutOfTime));
        insta::assert_snapshot!(not_repeated(&[late.clone(), steady, alone, late]).join("\n"), @r"
        not run again as often as asked for: test_total: it is not known how to run one test alone there
        not run again as often as asked for: test_total and test_total: a quarter of the check's time limit was used up
        ");
    }
}
