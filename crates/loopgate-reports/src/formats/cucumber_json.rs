//! Cucumber's JSON, which Cucumber of many languages and behave write: features with their scenarios, and those with
//! their steps, each of which has a result.

use loopgate_core::evidence::{Failure, TestState};

use crate::json::{CUCUMBER, read_each};
use crate::{Case, Collector, Json, Mark, Title, Unreadable, Window, numbers, text};

pub(super) const MARK: Mark = Mark::Array(|_, keys| {
    keys.contains(&"elements") && (keys.contains(&"uri") || keys.contains(&"keyword"))
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    read_each(window, CUCUMBER, |feature| {
        let uri = feature.text("uri");
        for scenario in feature.get("elements").list() {
            let is_test = scenario
                .text("type|keyword")
                .is_none_or(|kind| !kind.eq_ignore_ascii_case("background"));
            if is_test {
                self::scenario(scenario, uri.as_deref(), out);
            }
        }
    })
}

fn scenario(scenario: &Json, uri: Option<&str>, out: &mut Collector) {
    // behave writes the place as one text.
    let location = scenario.text("location");
    let place = location.as_deref().and_then(|at| at.rsplit_once(':'));
    let file = place.map(|(file, _)| file).or(uri).unwrap_or_default();
    let line = scenario
        .line("line")
        .or_else(|| place.and_then(|(_, line)| numbers::line(line)));
    let name = scenario.text("name").unwrap_or_default();
    let steps = || {
        ["before", "steps", "after"]
            .into_iter()
            .flat_map(|key| scenario.get(key).list())
    };
    let status = |step: &Json| {
        step.text("result/status")
            .unwrap_or_default()
            .to_lowercase()
    };
    let failing = steps().find(|step| {
        matches!(
            status(step).as_str(),
            "failed" | "error" | "undefined" | "ambiguous"
        )
    });
    let is_skipped = || steps().any(|step| matches!(status(step).as_str(), "pending" | "skipped"));
    let nanoseconds: f64 = steps()
        .filter_map(|step| step.number("result/duration"))
        .sum();
    let state = match failing {
        Some(_) => TestState::Failed,
        None if is_skipped() || steps().next().is_none() => TestState::Skipped,
        None => TestState::Passed,
    };
    let case = Case {
        // behave counts in seconds.
        seconds: if location.is_some() {
            nanoseconds
        } else {
            nanoseconds / 1e9
        },
        title: Title::NameOnly,
        ..Case::in_file(file, &name, state)
    };
    out.case(case, || {
        failing.map_or_else(Failure::default, |step| failure(step, file, line))
    });
}

fn failure(step: &Json, file: &str, line: Option<u32>) -> Failure {
    let known = Failure {
        test_file: Some(text::path(file)),
        line_number: line,
        ..Failure::default()
    };
    let said = step.get("result");
    let message = match said.get("error_message") {
        Json::List(lines) => lines
            .iter()
            .filter_map(|line| line.text(""))
            .collect::<Vec<_>>()
            .join("\n"),
        message => message.text("").unwrap_or_default().into_owned(),
    };
    if message.trim().is_empty() {
        let status = said.text("status").unwrap_or_default();
        let name = step.text("name").unwrap_or_default();
        return Failure {
            error_message: text::name(&format!("{status} step: {name}")),
            ..known
        };
    }
    text::failure(known, "", &message)
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    #[test]
    fn a_step_tells_why_its_scenario_failed() {
        let report = read(
            "c.json",
            br#"[{"uri":"a.feature","keyword":"Feature","elements":[
                {"name":"sums","line":3,"type":"scenario","steps":[{"name":"the total is 6","result":{"status":"failed",
                 "error_message":"AssertionError: wrong total\n\n5 !== 6"}}]},
                {"name":"ships","line":9,"type":"scenario","steps":[{"name":"I ship","result":{"status":"undefined"}}]},
                {"name":"fine","line":14,"type":"scenario","steps":[{"name":"x","result":{"status":"passed"}}]},
                {"name":"later","line":17,"type":"scenario","steps":[{"name":"x","result":{"status":"pending"}}]},
                {"name":"","line":1,"type":"background","steps":[]}]}]"#
                .as_slice(),
            &ReadOptions::default(),
        );
        let results = report.results.expect("tests");
        assert_eq!(
            (
                results.total,
                results.passed,
                results.failed,
                results.skipped
            ),
            (4, 1, 2, 1)
        );
        let said: Vec<(&str, Option<u32>)> = report
            .failures
            .iter()
            .map(|failure| {
                (
                    failure.error_message.lines().next().unwrap_or_default(),
                    failure.line_number,
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                ("wrong total", Some(3)),
                ("undefined step: I ship", Some(9))
            ]
        );
    }
}
