//! What people must know although it decides nothing, and what is wrong in `.github/loopgate.yml`: where, and what
//! governs meanwhile.

use minijinja::{context, value::Serde};

use super::{
    Links, Markdown, code, fence, line,
    messages::{self, entry},
    plain, texts, words,
};
use loopgate_core::{
    deciding::{Decision, Warning},
    evidence::{RepeatedTest, RepetitionGap},
    observed::{CheckScope, OwnCheck, Snapshot},
    policy::PolicyOrigin,
};

/// The warnings to show where the checks run although they decide nothing, as plain text. Only some checks may have
/// been asked for, so the warning that there is none of a kind is left out.
pub fn notes(decision: &Decision, snapshot: &Snapshot) -> Vec<String> {
    let links = Links::of(snapshot);
    let shown = decision
        .view
        .warnings
        .iter()
        .filter(|warning| !matches!(warning, Warning::NoCheckOfKind(_)));
    shown
        .take(MOST_NOTES)
        .map(|warning| plain(sentence(warning, &links).as_str()))
        .collect()
}

/// Notes shown at most.
const MOST_NOTES: usize = 30;

/// One sentence or two for one warning.
pub fn sentence(warning: &Warning, links: &Links) -> Markdown {
    let beside = match warning {
        Warning::Forged(forged) => {
            context! { see => forged.url.as_deref().map(|url| links.to("see", url)) }
        }
        Warning::TamperedComment { url, .. } => context! { comment => links.to("comment", url) },
        Warning::RecordLost(lost) => {
            context! { left => messages::word(entry::Trace(&lost.trace)) }
        }
        Warning::OpenPattern { pattern, branch } => context! {
            own => OwnCheck::Gates.name(&CheckScope::Branch(branch.clone())),
            shared => OwnCheck::Gates.name(&CheckScope::Pattern(pattern.clone())),
        },
        _ => context! {},
    };
    messages::markdown(entry::Warning(warning), beside)
}

/// Which of the tests that the change adds did not run as often as was asked for, and why: a line for each reason.
pub fn not_repeated(tests: &[RepeatedTest]) -> Vec<String> {
    let line_of = |gap: RepetitionGap| {
        let tests = tests.iter().filter(|test| test.gap == Some(gap));
        let names: Vec<String> = tests.map(|test| line(&test.test)).collect();
        let why = messages::word(entry::RepetitionGap(&gap));
        let line = || {
            format!(
                "new tests that were not repeated often enough: {}: {why}",
                words::few(&names, 5)
            )
        };
        (!names.is_empty()).then(line)
    };
    [
        RepetitionGap::NotAlone,
        RepetitionGap::Broken,
        RepetitionGap::OutOfTime,
    ]
    .into_iter()
    .filter_map(line_of)
    .collect()
}

/// One paragraph for the status comment; `None` while the file is fine.
pub fn configuration_note(origin: &PolicyOrigin) -> Option<Markdown> {
    let error = origin.error()?;
    // A hint may or may not be a whole sentence.
    let hint = error.hint.as_deref().map(|hint| {
        let hint = words::sentence(hint, 200).into_string();
        let mut letters = hint.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        Markdown::ours(first + letters.as_str())
    });
    Some(messages::markdown(
        entry::Configuration::Note,
        context! { hint, governs => governs(origin), ..Serde(error) },
    ))
}

/// What is in force instead of the broken file.
fn governs(origin: &PolicyOrigin) -> Markdown {
    let commit = match origin {
        PolicyOrigin::LastGood { commit, .. } => Some(code(&commit.short())),
        _ => None,
    };
    messages::markdown(entry::Configuration::Governs, context! { commit })
}

/// The text of the check run about a broken configuration.
pub fn configuration_text(origin: &PolicyOrigin) -> Option<String> {
    let error = origin.error()?;
    let (file, frame) = (code(&error.file), fence("text", &error.to_string()));
    Some(texts::render(
        "check_run/configuration.md",
        context! { file, frame, governs => governs(origin) },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        evidence::CheckKind,
        observed::{ForgedCheck, ObservationProblem},
        policy::ConfigError,
        state::{LostRecord, Trace},
    };

    #[test]
    fn every_warning() {
        let links = Links::of(&fixtures::snapshot());
        let warnings = [
            Warning::NoCheckOfKind(CheckKind::Test),
            Warning::NoTests("api/test".parse().unwrap()),
            Warning::SeveralApps {
                check: "unit".parse().unwrap(),
                jobs: vec![
                    ("test".into(), None),
                    ("testimonials".into(), Some("other-ci".into())),
                ],
            },
            Warning::FlakyNewTest(repeated(2, None)),
            Warning::NotObserved(ObservationProblem {
                what: "team acme/security".into(),
                reason: "404".into(),
            }),
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
            Warning::OpenPattern {
                pattern: "release/*".into(),
                branch: "release/1".into(),
            },
            Warning::RecordLost(LostRecord {
                attempts: 3,
                trace: Trace::StatusComment,
            }),
            Warning::RecordLost(LostRecord {
                attempts: 1,
                trace: Trace::Post,
            }),
            Warning::RecordLost(LostRecord {
                attempts: 0,
                trace: Trace::CheckRun,
            }),
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
        let said: Vec<String> = warnings
            .iter()
            .map(|warning| sentence(warning, &links).into_string())
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    fn repeated(failed: u32, gap: Option<RepetitionGap>) -> RepeatedTest {
        let command = Some("pytest tests/test_cart.py::test_total -x".to_owned());
        let (test, file) = ("test_total".to_owned(), "tests/test_cart.py".to_owned());
        RepeatedTest {
            test,
            file,
            command,
            runs: 5,
            failed,
            gap,
        }
    }

    #[test]
    fn what_was_not_repeated_is_told_by_its_reason() {
        let steady = repeated(0, None);
        let alone = repeated(0, Some(RepetitionGap::NotAlone));
        let late = repeated(1, Some(RepetitionGap::OutOfTime));
        insta::assert_snapshot!(not_repeated(&[late.clone(), steady, alone, late]).join("\n"), @r"
        new tests that were not repeated often enough: test_total: it is not known how to run one test alone there
        new tests that were not repeated often enough: test_total and test_total: a quarter of the check's time limit was used up
        ");
    }
}

#[cfg(test)]
mod configuration_tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_note_says_what_governs() {
        let origin = fixtures::broken_configuration().view.origin;
        insta::assert_snapshot!(configuration_note(&origin).unwrap(), @"`.github/loopgate.yml` is wrong on the base branch, line 14, column 5: unknown key `aproach`. Did you mean `approve_by`? Until it is fixed, the last good configuration (commit `b1b1b1b1`) governs.");
        let PolicyOrigin::LastGood {
            broken_at, error, ..
        } = origin
        else {
            unreachable!()
        };
        insta::assert_snapshot!(configuration_note(&PolicyOrigin::Presets { broken_at, error }).unwrap(), @"`.github/loopgate.yml` is wrong on the base branch, line 14, column 5: unknown key `aproach`. Did you mean `approve_by`? Until it is fixed, the presets govern, since no earlier version of it is valid.");
        assert_eq!(configuration_note(&PolicyOrigin::Defaults), None);
    }
}
