//! TAP 13 and 14: `ok`/`not ok` lines, YAML blocks below them, subtests indented above theirs.
//!
//! A test point sums its own subtests up and is not counted, unless it failed while none of them did. It stands behind
//! them, or opens them with a `{` at its end, which a `}` closes.
//!
//! What ran must be what the plan shows, point by point, and there must be a plan: a producer that dies leaves one of
//! them out (<https://testanything.org/tap-version-14-specification.html>, "Plan"). A file may hold several documents,
//! one after the other.

use std::{collections::HashSet, sync::LazyLock};

use loopgate_core::{
    evidence::{ErrorType, Failure, SourceLocation, TestId, TestState},
    expressions::Patterns,
};

use super::{node_crash::NodeCrashes, tap_yaml::Yaml};
use crate::{
    Case, Clip, Collector, Flaw, MAX_MESSAGE, Mark, Title, Unreadable, Window, numbers, text,
};

pub(super) const MARK: Mark = Mark::Lines {
    own: |line| line.starts_with("TAP version ") || is_statement(line) && !is_point(line),
    pair: is_point,
};

/// `ok 1 - adds`, `not ok - adds`
fn is_point(line: &str) -> bool {
    let point = line.strip_prefix("not ").unwrap_or(line);
    point.strip_prefix("ok ").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with("- ")
    })
}

/// Whether a line further left than a YAML block ends the block.
fn is_statement(line: &str) -> bool {
    is_point(line)
        || plan_of(line).is_some_and(|(first, _)| first == 1)
        || ["# Subtest", "Bail out!"]
            .iter()
            .any(|word| line.starts_with(word))
}

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    let mut tap = Tap::default();
    while let Some(line) = window.line()? {
        tap.line(&text::clean(line), out);
    }
    tap.end(out);
    Ok(())
}

/// Subtests inside subtests; deeper ones are taken for the deepest.
const MAX_LEVELS: usize = 64;
/// Names remembered per level to keep test points with the same description apart.
const MAX_NAMES: usize = 100_000;

pub(crate) struct Tap {
    levels: Vec<Level>,
    /// The test point read last, which a YAML block may yet explain.
    point: Option<TestPoint>,
    /// A test that failed though nothing in it did: the point behind it may tell why.
    unsaid: Option<TestPoint>,
    has_version: bool,
    /// Comments that no point stands above: Perl's and Raku's come by standard error, ahead of the point they explain.
    above: Clip,
    /// The comments that follow are of a point that need not pass yet.
    in_todo: bool,
    /// The comment in the line above, with its level.
    title: Option<(usize, String)>,
    /// What the producer said when it gave up: nothing of what follows is believed.
    bail_out: Option<String>,
    crashes: NodeCrashes,
}

/// The top, or a subtest.
#[derive(Default)]
struct Level {
    name: Option<String>,
    /// The first and the last number of the plan. None may begin at another than 1.
    plan: Option<(u64, u64)>,
    points: u64,
    /// Points of the documents before this one.
    earlier: u64,
    /// Numbers that the points gave themselves.
    numbers: HashSet<u64>,
    /// The first of them that was there before.
    repeated: Option<u64>,
    a_point_failed: bool,
    names: HashSet<TestId>,
    /// The name that `# Subtest: …` announced for the next deeper level.
    announced: Option<String>,
    /// The point whose `{` opened the next deeper level.
    opening: Option<TestPoint>,
}

struct TestPoint {
    level: usize,
    state: TestState,
    number: Option<u64>,
    description: String,
    /// What stands behind the name of those that write it there.
    message: String,
    /// The file, where it stands in front of the name.
    file: String,
    /// A `{` at the end: its subtests follow, or its name ends so.
    opens: bool,
    yaml: Option<Yaml>,
    /// Whether one of its subtests failed, if it has some.
    subtests: Option<bool>,
    /// Comments below it, with what went wrong where there is no YAML.
    comments: Clip,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            levels: vec![Level::default()],
            point: None,
            unsaid: None,
            has_version: false,
            above: Clip::default(),
            in_todo: false,
            title: None,
            bail_out: None,
            crashes: NodeCrashes::default(),
        }
    }
}

impl Tap {
    /// Whether the line begins a document, in a text in which other tools may speak.
    pub fn begins_with(line: &str) -> bool {
        line.starts_with("TAP version ")
    }

    /// Whether all that was planned was read, so that a line that is none of TAP's is another tool's.
    pub fn is_over(&self, line: &str) -> bool {
        if self.has_bailed_out() {
            return true;
        }
        let is_comment = line.trim_start().starts_with('#');
        let is_yaml = line.starts_with("  ");
        let planned = self
            .levels
            .first()
            .and_then(|top| Some((top.plan?.1, top.points)));
        planned.is_none_or(|(planned, points)| planned <= points)
            && self.levels.len() <= 1
            && !is_comment
            && !is_yaml
            && !is_statement(line)
    }

    pub const fn has_bailed_out(&self) -> bool {
        self.bail_out.is_some()
    }

    pub fn line(&mut self, line: &str, out: &mut Collector) {
        self.crashes.goes_on(line);
        if self.has_bailed_out() {
            self.crashes.begin_any(line);
            return;
        }
        let content = line.trim_start_matches(' ');
        let indent = line.len() - content.len();
        let open = self
            .point
            .as_mut()
            .and_then(|point| point.yaml.as_mut())
            .filter(|yaml| yaml.is_open);
        if let Some(yaml) = open {
            if indent >= yaml.dashes || !is_statement(content) {
                return yaml.line(line);
            }
            yaml.is_open = false;
            out.notes.flaw(Flaw::NO_END, || "a YAML block");
        }
        if content == "---"
            && indent >= 2
            && let Some(point) = self.point.as_mut().filter(|point| point.yaml.is_none())
        {
            point.yaml = Some(Yaml::new(indent));
            return;
        }
        self.has_version |= content.starts_with("TAP version ");
        let level = (indent / 4).min(MAX_LEVELS - 1);
        let top = &self.levels[0];
        let is_complete = top.points > 0
            && top.plan == Some((1, top.points))
            && top.numbers.len() as u64 == top.points;
        // `prove` closes each file all of whose tests passed with this word.
        if content == "ok" && level == 0 && is_complete {
            return;
        }
        self.statement(content, indent, level, out);
    }

    fn statement(&mut self, content: &str, indent: usize, level: usize, out: &mut Collector) {
        let subtest = content
            .strip_prefix("# Subtest: ")
            .or_else(|| content.strip_prefix("# Subtest "));
        if let Some(mut point) = TestPoint::of(content, level) {
            self.in_todo = false;
            self.flush(level, out);
            if level == 0 && point.number == Some(1) {
                self.begin_document(out);
            }
            self.count_opening(level, out);
            self.close_subtests(&mut point, out);
            self.entitle(level);
            self.enter(level);
            let here = &mut self.levels[level];
            here.points += 1;
            if let Some(number) = point.number
                && here.numbers.len() < MAX_NAMES
                && !here.numbers.insert(number)
            {
                here.repeated = here.repeated.or(Some(number));
            }
            here.announced = None;
            here.a_point_failed |= point.state == TestState::Failed;
            self.point = Some(point);
        } else if let Some(plan) = plan_of(content) {
            self.plan(plan, level, out);
        } else if let Some(reason) = content.strip_prefix("Bail out!") {
            self.flush(level, out);
            self.count_unsaid(0, out);
            self.bail_out = Some(text::clipped(&format!("Bail out!{reason}"), MAX_MESSAGE));
            // Nothing more is to be expected of any level.
            self.levels.clear();
        } else if let Some(name) = subtest {
            self.flush(level, out);
            let is_new = self.levels.len() <= level;
            self.enter(level);
            let here = &mut self.levels[level];
            // At the parent's indentation it names the subtest to come, as the first line inside one that subtest.
            let named = if is_new && here.name.is_none() {
                &mut here.name
            } else {
                &mut here.announced
            };
            *named = Some(text::name(name.trim()));
        } else if let Some(comment) = content.strip_prefix('#') {
            self.comment(comment, level);
        } else if content.trim_end() == "{" && indent.is_multiple_of(4) {
            if let Some(point) = self.point.as_mut().filter(|point| point.level == level) {
                point.opens = true;
            }
        } else if content.trim_end() == "}" && indent.is_multiple_of(4) {
            // What stands above on its own level was to open subtests, even if there are none.
            self.flush(level + 1, out);
            if let Some(mut opening) = self
                .levels
                .get_mut(level)
                .and_then(|here| here.opening.take())
            {
                self.close_subtests(&mut opening, out);
                opening.description = without_brace(&opening.description).to_owned();
                self.count(opening, out);
            }
        } else if let Some(point) = self.unexplained().filter(|_| indent >= 2) {
            // Mocha shows without a YAML block what went wrong; a brace is text of a value that it shows.
            point.comments.push_line(content);
        } else if indent == 0 {
            self.crashes.begin_any(content);
        }
        if !content.is_empty() {
            let is_title = subtest.is_none() && content.starts_with("# ");
            self.title = is_title.then(|| (level, text::name(content[1..].trim())));
        }
    }

    /// A comment right above the first point of a subtest that nothing announces is its name.
    fn entitle(&mut self, level: usize) {
        if let Some((at, title)) = self.title.take()
            && at + 1 == level
            && self.levels.len() == level
        {
            self.levels[at].announced.get_or_insert(title);
        }
    }

    fn plan(&mut self, (first, last): (u64, u64), level: usize, out: &mut Collector) {
        if first == 1 {
            self.flush(level, out);
            if level == 0 {
                self.begin_document(out);
            }
            self.enter(level);
            self.levels[level].plan = Some((first, last));
        } else if let Some(here) = self.levels.get_mut(level) {
            here.plan = here.plan.or(Some((first, last)));
        }
    }

    fn comment(&mut self, comment: &str, level: usize) {
        // Mocha and tape sum up at the end.
        let is_sum = ["tests ", "pass ", "fail ", "ok"]
            .iter()
            .any(|word| comment.trim_start().starts_with(word));
        if level > 0 || !is_sum {
            let comment = comment.strip_prefix(' ').unwrap_or(comment);
            // Below a point that need not pass yet stands what that one lacks.
            let is_of_todo = self.point.as_ref().is_some_and(|point| {
                point.state == TestState::Skipped
                    && comment.trim_start().starts_with("Failed (TODO)")
            });
            self.in_todo = is_of_todo || self.in_todo && self.point.is_some();
            let in_todo = self.in_todo;
            match self.unexplained() {
                Some(point) => point.comments.push_line(comment),
                None if in_todo => {}
                None => self.above.push_line(comment),
            }
        }
    }

    /// The point read last, if it failed and no YAML block shows why.
    fn unexplained(&mut self) -> Option<&mut TestPoint> {
        self.point
            .as_mut()
            .filter(|point| point.state == TestState::Failed && point.yaml.is_none())
    }

    /// Makes sure there is a level so deep.
    fn enter(&mut self, level: usize) {
        while self.levels.len() <= level {
            let name = self
                .levels
                .last_mut()
                .and_then(|parent| parent.announced.take());
            self.levels.push(Level {
                name,
                ..Level::default()
            });
        }
    }

    /// Where the document so far is complete, what comes at the top begins another one.
    fn begin_document(&mut self, out: &mut Collector) {
        let points = self.levels[0].points;
        if self.levels.len() == 1 && points > 0 && self.levels[0].plan == Some((1, points)) {
            let Level { names, earlier, .. } = self.end_level(false, out);
            self.levels.push(Level {
                names,
                earlier: earlier + points,
                ..Level::default()
            });
        }
    }

    /// Closes the levels below a point, which sums them up.
    fn close_subtests(&mut self, point: &mut TestPoint, out: &mut Collector) {
        while self.levels.len() > point.level + 1 {
            let is_summed_up = self.levels.len() == point.level + 2;
            let inner = self.end_level(is_summed_up, out);
            let failed = point.subtests == Some(true) || inner.a_point_failed;
            if inner.points > 0 || failed {
                point.subtests = Some(failed);
            }
        }
    }

    /// A point whose `{` no `}` closed had a name that ends so; what seemed to be its subtests is another's.
    fn count_opening(&mut self, level: usize, out: &mut Collector) {
        if let Some(opening) = self
            .levels
            .get_mut(level)
            .and_then(|here| here.opening.take())
        {
            self.count(opening, out);
        }
    }

    /// What comes at this level ends the last point, unless the point opened it.
    fn flush(&mut self, level: usize, out: &mut Collector) {
        let Some(point) = self.point.take() else {
            return;
        };
        match self
            .levels
            .get_mut(point.level)
            .filter(|_| point.opens && point.level < level)
        {
            Some(here) => {
                here.announced = Some(without_brace(&point.description).to_owned());
                here.opening = Some(point);
            }
            None => self.count(point, out),
        }
    }

    /// Counts a point, now that all is known of it. What a test's own end threw tap writes into a point behind the
    /// test's, which names that.
    fn count(&mut self, mut point: TestPoint, out: &mut Collector) {
        if let Some(test) = self.unsaid.take() {
            let is_of_it = |of: String| text::name(&of) == test.description;
            let of = point.yaml.as_ref().and_then(Yaml::test);
            if test.level == point.level && of.is_some_and(is_of_it) {
                point.message = std::mem::replace(&mut point.description, test.description);
                point.number = test.number;
            } else {
                self.count_known(test, out);
            }
        }
        match point.state == TestState::Failed && point.subtests == Some(false) {
            true => self.unsaid = Some(point),
            false => self.count_known(point, out),
        }
    }

    fn count_unsaid(&mut self, level: usize, out: &mut Collector) {
        if let Some(test) = self.unsaid.take_if(|test| test.level >= level) {
            self.count_known(test, out);
        }
    }

    fn count_known(&mut self, point: TestPoint, out: &mut Collector) {
        let is_of_hook = || point.yaml.as_ref().is_some_and(Yaml::is_of_hook);
        if point
            .subtests
            .is_some_and(|failed| failed && !is_of_hook() || point.state != TestState::Failed)
        {
            return;
        }
        let class = self.class_of(point.level);
        let name = match self.levels.get_mut(point.level) {
            None => point.description.clone(),
            Some(level) => {
                let number = level.earlier + point.number.unwrap_or(level.points);
                let id = TestId::of("", "", &point.description);
                match point.description.as_str() {
                    "" => number.to_string(),
                    name if level.names.len() < MAX_NAMES && level.names.insert(id) => {
                        name.to_owned()
                    }
                    // Another point has this description.
                    name => format!("{name} #{number}"),
                }
            }
        };
        let seconds = point.yaml.as_ref().and_then(Yaml::seconds).unwrap_or(0.0);
        let case = Case {
            file: &point.file,
            seconds,
            title: Title::Joined(" > "),
            ..Case::new(&class, &name, point.state)
        };
        let mut failures = match &point.yaml {
            _ if point.state != TestState::Failed || !out.wants_failures() => Vec::new(),
            Some(yaml) => yaml.failures(point.told()),
            None => vec![point.failure(&self.above.text())],
        }
        .into_iter();
        let first = failures.next().unwrap_or_default();
        out.case(case, || {
            let above = self.above.text();
            explained(
                first.clone(),
                &point.description,
                above
                    .split("\nNode.js v")
                    .map(str::to_owned)
                    .chain(self.crashes.texts()),
            )
        });
        // Of errors at one place, of each try for instance, one is enough.
        let mut told = vec![(first.source.clone(), first.error_message.clone())];
        for failure in failures {
            let place = (failure.source.clone(), failure.error_message.clone());
            let is_same = |known: &(Option<SourceLocation>, String)| {
                known.0 == place.0 && (known.0.is_some() || known.1 == place.1)
            };
            if !told.iter().any(is_same) {
                told.push(place);
                out.problem(|| Failure {
                    test_name: failure.test_name.or_else(|| Some(case.title())),
                    ..failure
                });
            }
        }
    }

    fn class_of(&self, level: usize) -> String {
        let name = |pair: &[Level]| {
            pair[1]
                .name
                .clone()
                .unwrap_or_else(|| format!("#{}", pair[0].points + 1))
        };
        self.levels
            .windows(2)
            .take(level)
            .map(name)
            .collect::<Vec<_>>()
            .join(" > ")
    }

    /// Closes the deepest level: what ran otherwise than it was planned has failed. A subtest without a plan is judged
    /// by the point behind it, and has no end where there is none.
    fn end_level(&mut self, is_summed_up: bool, out: &mut Collector) -> Level {
        let deepest = self.levels.len() - 1;
        self.count_opening(deepest, out);
        self.count_unsaid(deepest, out);
        let class = self.class_of(deepest);
        let mut level = self.levels.pop().unwrap_or_default();
        // Lines that begin with "ok" may be a script's own words.
        let is_tap = self.has_version || level.numbers.len() as u64 == level.points;
        let has_plan = level.plan.is_some_and(|(first, _)| first == 1);
        let is_needed = self.levels.is_empty() && is_tap;
        if !has_plan && !is_needed {
            if !is_summed_up {
                out.notes.flaw(Flaw::NO_END, || {
                    if class.is_empty() {
                        "no plan".to_owned()
                    } else {
                        class
                    }
                });
            }
            return level;
        }
        let Some(message) = level.broken_plan() else {
            return level;
        };
        level.a_point_failed = true;
        let case = Case::new(&class, "(the plan)", TestState::Errored);
        let is_cut = level.plan.is_none_or(|(_, last)| level.points < last);
        out.case(case, || match self.crashes.texts().next_back() {
            Some(crash) if is_cut => text::failure(Failure::default(), "", crash.trim()),
            _ => Failure::of(ErrorType::Other, message),
        });
        level
    }

    /// What Node printed elsewhere of errors that nothing caught.
    pub(super) fn with_crashes(self, crashes: NodeCrashes) -> Self {
        Self { crashes, ..self }
    }

    pub fn end(&mut self, out: &mut Collector) {
        if self
            .point
            .as_ref()
            .and_then(|point| point.yaml.as_ref())
            .is_some_and(|yaml| yaml.is_open)
        {
            out.notes.flaw(Flaw::NO_END, || "a YAML block");
        }
        if let Some(reason) = self.bail_out.take() {
            let case = Case::new("", "(bailed out)", TestState::Errored);
            out.case(case, || match self.crashes.texts().next_back() {
                Some(crash) => text::failure(Failure::default(), "", crash.trim()),
                None => Failure::of(ErrorType::Other, reason),
            });
            return;
        }
        self.flush(0, out);
        while !self.levels.is_empty() {
            self.end_level(false, out);
        }
    }
}

impl Level {
    /// How what ran differs from what was planned.
    fn broken_plan(&self) -> Option<String> {
        let points = self.points;
        let planned = match self.plan {
            None => {
                return Some(format!(
                    "no plan: {points} tests ran, and the end is missing"
                ));
            }
            Some((1, planned)) if planned == points => planned,
            // AVA plans too few where an error comes after the end; what has failed shows enough.
            Some((1, planned)) if planned < points && self.a_point_failed => points,
            Some((1, planned)) => {
                return Some(format!("{planned} tests were planned, {points} ran"));
            }
            Some((first, last)) => {
                return Some(format!("the plan {first}..{last} does not begin at 1"));
            }
        };
        let outside = self
            .numbers
            .iter()
            .filter(|number| !(1..=planned).contains(*number))
            .min();
        if let Some(number) = outside {
            return Some(format!(
                "test {number} ran, which the plan 1..{planned} does not name"
            ));
        }
        // Node numbers the tests of some files anew; what has failed shows enough.
        let repeated = self.repeated.filter(|_| !self.a_point_failed);
        repeated
            .map(|number| format!("test {number} of {planned} ran twice, and another did not run"))
    }
}

impl TestPoint {
    /// The failure as the comments describe it, else the description.
    fn failure(&self, above: &str) -> Failure {
        let mut comments = self.comments.text();
        if comments.trim().is_empty() {
            // Of comments ahead of all points the ones from `Failed test 'adds'` on, up to those of the next test.
            let is_title = |line: &&str| line.trim_start().starts_with("Failed test ");
            let name = self.description.as_str();
            let is_own = |line: &&str| is_title(line) && !name.is_empty() && line.contains(name);
            let mut lines = above.lines().skip_while(|line| !is_own(line));
            let first = lines.next();
            let lines = first
                .into_iter()
                .chain(lines.take_while(|line| !is_title(line)));
            comments = lines.collect::<Vec<_>>().join("\n");
        }
        if !self.message.is_empty() {
            return text::failure(Failure::default(), &self.message, "");
        }
        if comments.is_empty() {
            let description = text::clipped(&self.description, MAX_MESSAGE);
            return Failure::of(ErrorType::Other, description);
        }
        // Perl repeats the name and names the place above what went wrong.
        let message = HEADING.replace(&comments, "");
        let message = match message.trim() {
            "" => "",
            _ => message.trim_end(),
        };
        text::failure(Failure::default(), message, comments.trim_end())
    }

    /// What its line says of the failure.
    fn told(&self) -> &str {
        match self.message.as_str() {
            "" => &self.description,
            message => message,
        }
    }

    /// `not ok 2 - adds # TODO later`
    fn of(content: &str, level: usize) -> Option<Self> {
        let (ok, rest) = match content.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, content.strip_prefix("ok")?),
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        let rest = rest.trim_start();
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number = rest[..digits].parse().ok();
        let rest = rest[digits..].trim();
        let rest = rest
            .strip_prefix("- ")
            .or_else(|| rest.strip_prefix('-'))
            .unwrap_or(rest);
        let (description, state) = directive_of(rest, ok);
        let description = WITHOUT.replace(description.trim(), "");
        let parts = PARTS.matching(&description).into_iter().next();
        let parts = parts.and_then(|at| PARTS.captures(at, &description));
        let part = |name: &str| {
            let part = parts.as_ref().and_then(|parts| parts.name(name));
            part.map_or("", |part| part.as_str())
        };
        let (message, file) = (text::name(part("message")), text::path(part("file")));
        let description = match part("name") {
            "" => description.as_ref(),
            name => name,
        };
        // It may stand in front of a directive, and behind it.
        let opens = rest.ends_with('{') || description.ends_with('{');
        let description = text::name(&description.replace("\\#", "#"));
        let comments = Clip::default();
        Some(Self {
            level,
            state,
            number,
            description,
            message,
            file,
            opens,
            yaml: None,
            subtests: None,
            comments,
        })
    }
}

patterns! {
    /// `Failed test 'adds'`, `at t/a.t line 5.`
    HEADING = r"^\s*Failed test '[^\n]*'\n\s*at \S+ line [0-9]+\.\n";

    /// What changes from run to run, and Node's mark, are no part of a name: `# time=5.3ms`, `# in 57 ms`, `(0.01s)`.
    WITHOUT = r"(?:\s+# (?:time ?= ?\S+|in [0-9.]+ ?m?s(?:ec)?)|\s+\([0-9.]+ ?m?s\)|\s+# EXPECTED FAILURE)+(?P<brace>\s*\{)?$";
}

/// Producers that write what went wrong behind the name: Check, Criterion, cmocka.
static PARTS: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new([
        r"^(?P<file>[^\s:]+\.\w+):(?P<suite>[^:]+):(?P<name>[^:\s]+): (?P<message>.+)$",
        r"^(?P<name>\w+::\w+) (?P<message>(?:timed out|unexpected signal|expected signal) ?.*)$",
        r"^(?P<name>\S+) (?P<message>Could not run test: .+|\[  FAILED  \] GROUP \w+)$",
    ])
});

/// Of a file that could not be run Node prints `test failed`, tap its name alone, and why in what it printed further up.
pub(super) fn explained<T: AsRef<str>>(
    failure: Failure,
    file: &str,
    mut crashes: impl Iterator<Item = T>,
) -> Failure {
    let message = failure.error_message.trim_matches('\'');
    if file.is_empty() || message != "test failed" && message != file {
        return failure;
    }
    let Some(crash) = crashes.find(|crash| crash.as_ref().contains(file)) else {
        return failure;
    };
    // What another file printed may stand above the line that names the place in this one.
    let crash = crash.as_ref();
    let is_place = |line: &&str| {
        let place = line
            .rsplit_once(':')
            .filter(|(place, _)| place.ends_with(file));
        place.is_some_and(|(_, line)| numbers::line(line).is_some())
    };
    let start = crash
        .lines()
        .rfind(is_place)
        .map_or(0, |line| line.as_ptr().addr() - crash.as_ptr().addr());
    let crash = &crash[start..];
    let Failure {
        test_name,
        test_file,
        line_number,
        ..
    } = failure;
    let read = text::failure(
        Failure {
            test_name,
            test_file,
            ..Failure::default()
        },
        "",
        crash.trim(),
    );
    Failure {
        line_number: read.line_number.or(line_number),
        ..read
    }
}

/// Splits off `# SKIP …` and `# TODO …`, which a blank stands in front of; a `\#` is part of the description. Words
/// that begin with `skip` do as well (<https://testanything.org/tap-version-13-specification.html>, "Skipping tests").
fn directive_of(text: &str, ok: bool) -> (&str, TestState) {
    for (at, _) in text
        .match_indices('#')
        .filter(|(at, _)| *at == 0 || text[..*at].ends_with([' ', '\t']))
    {
        let rest = text[at + 1..].trim_start();
        let word = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default();
        let state = match word.to_ascii_lowercase().as_str() {
            // In front of a numbered name, as lab writes it, the test is not written yet.
            "todo" if ok && (at > 0 || !rest[word.len()..].starts_with(" (")) => TestState::Passed,
            word if word == "todo" || word.starts_with("skip") => TestState::Skipped,
            _ => continue,
        };
        return (&text[..at], state);
    }
    (
        text,
        if ok {
            TestState::Passed
        } else {
            TestState::Failed
        },
    )
}

fn without_brace(description: &str) -> &str {
    description
        .strip_suffix('{')
        .map_or(description, str::trim_end)
}

/// First and last of `1..5` or `1..0 # SKIP no database`
fn plan_of(content: &str) -> Option<(u64, u64)> {
    let (first, rest) = content.split_once("..")?;
    let last = rest.split([' ', '#']).next()?;
    Some((numbers::count(first).ok()?, numbers::count(last).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[test]
    fn a_file_that_tap_cannot_run_is_told_by_what_node_printed() {
        let text = "TAP version 14\n1..1\n/srv/shop/top.test.cjs:1\nthrow new Error('top')\n      ^\n\nError: top\n    \
                    at Object.<anonymous> (/srv/shop/top.test.cjs:1:7)\n    at Module._compile (node:internal/modules/cjs/loader:1:1)\n\n\
                    Node.js v20.20.2\n# Subtest: top.test.cjs\n    1..0 # no tests found\nnot ok 1 - top.test.cjs # time=2333.033ms\n  \
                    ---\n  exitCode: 1\n  ...\n";
        let failures = crate::read("t", text.as_bytes(), &crate::ReadOptions::default()).failures;
        let at = failures[0].source.as_ref().and_then(|source| source.line);
        assert_eq!((failures[0].error_message.as_str(), at), ("top", Some(1)));
    }

    #[test]
    fn comments_ahead_of_all_points_explain_their_own() {
        let text = "1..2\n#   Failed test 'adds'\n#   at t/a.t line 3.\n#   Failed test 'sums'\n#   at t/a.t line 5.\n\
                    not ok 1 - adds\nnot ok 2 - sums\nnot ok 3 - other\n";
        let failures = crate::read("t", text.as_bytes(), &crate::ReadOptions::default()).failures;
        let line = |failure: &Failure| failure.source.as_ref().and_then(|source| source.line);
        let told: Vec<_> = failures
            .iter()
            .map(|failure| (failure.test_name.as_deref(), line(failure)))
            .collect();
        assert_eq!(
            told[..3],
            [
                (Some("adds"), Some(3)),
                (Some("sums"), Some(5)),
                (Some("other"), None)
            ]
        );
    }

    fn told(text: &str) -> Vec<(String, String, Option<u32>)> {
        let failures = crate::read("t", text.as_bytes(), &crate::ReadOptions::default()).failures;
        failures
            .into_iter()
            .map(|failure| {
                let line = failure.source.as_ref().and_then(|source| source.line);
                let name = failure.test_name.unwrap_or_default();
                (name, failure.error_message, line)
            })
            .collect()
    }

    #[test]
    fn a_comment_right_above_the_first_point_of_a_subtest_names_it() {
        let text = "TAP version 13\n\n# adds\n    ok 1 - one\nok 1 - adds # time = 0.4ms\n\n# wrong\n    not ok 1 - two\n\
                    not ok 2 - wrong # time = 7.1ms\n\n# empty\nnot ok 3 - empty # time = 2ms\n\n1..3\n";
        let names: Vec<String> = told(text).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["wrong > two", "empty"]);
        let read = crate::read("t", text.as_bytes(), &crate::ReadOptions::default());
        assert!(read.notes.is_empty(), "{:?}", read.notes);
    }

    const CRASH: &str = "/repo/cart.js:3\ntest('throws', () => { throw new Error('no cart') })\n       ^\n\n\
        Error: no cart\n    at Test.<anonymous> (/repo/cart.js:3:29)\n\nNode.js v26.12.1\n";

    #[test]
    fn what_nothing_caught_is_why_a_run_has_no_end() {
        let cut = format!("TAP version 13\n# adds\nok 1 one\n# throws\n\n{CRASH}");
        let gave_up = format!("TAP version 13\nok 1 one\nBail out! Unhandled error.\n{CRASH}# x\n");
        let among = format!(
            "FAIL a.test.js\n  ● adds\n\n    three is two\n\n      at a.test.js:7:9\n\nTests: 1 failed, 1 total\n{cut}"
        );
        // Deno plans ahead of what it throws, and sums nothing up.
        let planned = "TAP version 14\n# ./a_test.js\nok 1 - a\n1..3\nerror: Error: no cart\n    \
                       at Timeout._onTimeout (file:///repo/a_test.js:3:91)\n    \
                       at invokeCallback (ext:deno_node/internal/timers.mjs:4:810)\n\nStack backtrace:\n   0: <unknown>\n";
        for (text, name) in [
            (&*cut, "(the plan)"),
            (&gave_up, "(bailed out)"),
            (&among, "(the plan)"),
            (planned, "(the plan)"),
        ] {
            let last = told(text).pop().unwrap();
            assert_eq!(last, (name.to_owned(), "no cart".to_owned(), Some(3)));
        }
        let other = "TAP version 13\nok 1 one\n";
        assert_eq!(
            told(other)[0].1,
            "no plan: 1 tests ran, and the end is missing"
        );
    }

    #[test]
    fn what_follows_a_bail_out_is_not_believed() {
        let text = "FAIL a.test.js\n  ● adds\n\n    three is two\n\n      at a.test.js:7:9\n\nTests: 1 failed, 1 total\n\
                    TAP version 13\nok 1 - a\nBail out! no server\n# tests 5\nnot ok 2 - b\n1..2\n\
                    TAP version 13\nnot ok 1 - c\n1..1\n";
        let names: Vec<String> = told(text).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["adds", "(bailed out)", "c"]);
    }

    #[test]
    fn points() {
        use TestState::{Failed, Passed, Skipped};
        let seen = |line: &str| {
            TestPoint::of(line, 0).map(|point| (point.state, point.number, point.description))
        };
        let of = |state, number, description: &str| Some((state, number, description.to_owned()));
        let table = [
            ("ok", of(Passed, None, "")),
            ("ok 1", of(Passed, Some(1), "")),
            ("not ok 2 - adds", of(Failed, Some(2), "adds")),
            ("not ok 3 adds # TODO later", of(Skipped, Some(3), "adds")),
            ("ok 3 adds # TODO later", of(Passed, Some(3), "adds")),
            (
                "ok 4 - issue \\#12 # skip: none",
                of(Skipped, Some(4), "issue #12"),
            ),
            ("ok 5 - with {", of(Passed, Some(5), "with {")),
            (
                "not ok 6 - page#skip-nav",
                of(Failed, Some(6), "page#skip-nav"),
            ),
            (
                "not ok 7 - lists # todos",
                of(Failed, Some(7), "lists # todos"),
            ),
            ("ok 8 # Skipped: none", of(Skipped, Some(8), "")),
            ("ok 1 # TODO (1) later", of(Skipped, Some(1), "")),
            ("not ok 9 - x #TODO: {", of(Skipped, Some(9), "x")),
            ("ok 10 - x { # time=1ms", of(Passed, Some(10), "x {")),
            ("okay", None),
            ("nothing", None),
        ];
        for (line, expected) in table {
            assert_eq!(seen(line), expected, "{line}");
        }
    }

    #[test]
    fn what_a_test_s_own_end_throws_is_its_failure() {
        let told = |tap: &str| {
            let report = read("a.tap", tap.as_bytes(), &ReadOptions::default());
            let shown = |failure: Failure| {
                format!(
                    "{}: {}",
                    failure.test_name.unwrap_or_default(),
                    failure.error_message
                )
            };
            let results = report.results.map(|it| (it.passed, it.failed));
            (
                results.unwrap_or_default(),
                report.failures.into_iter().map(shown).collect::<Vec<_>>(),
            )
        };
        let thrown = |test: &str| {
            format!(
                "not ok 2 - no stop\n  ---\n  stack: |\n    Test.<anonymous> (t.test.js:2:45)\n  at:\n    fileName: \
                 t.test.js\n    lineNumber: 2\n  test: {test}\n  ...\n\n"
            )
        };
        let cart = "# Subtest: cart\n    ok 1 - adds\n    1..1\nnot ok 1 - cart # time=10.5ms\n  ---\n  at:\n    \
                    fileName: t.test.js\n    lineNumber: 2\n  ...\n\n";
        let tap = |thrown: &str| format!("TAP version 14\n{cart}{thrown}1..2\n");
        assert_eq!(
            told(&tap(&thrown("cart"))),
            ((1, 1), vec!["cart: no stop".to_owned()])
        );
        let of_another = told(&tap(&thrown("rows")));
        assert_eq!(of_another.0, (1, 2));
        assert_eq!(
            of_another.1,
            ["cart: cart".to_owned(), "no stop: no stop".to_owned()]
        );
        assert_eq!(told(&tap("ok 2 - rows\n")).0, (2, 1));
        assert_eq!(told(&format!("TAP version 14\n{cart}1..1\n")).0, (1, 1));
    }
}
