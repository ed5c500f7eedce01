//! The conversation before a loop begins: what was inferred is shown, changed as wished, and confirmed.

use std::io::{BufRead, Write};

use minijinja::context;

use super::{
    drive::listed,
    new::{Proposal, check, score},
};
use crate::cli::{CliError, output::is_yes};
use loopgate_core::{
    CheckName,
    observed::CodeType,
    policy::{Policy, Rule},
    reflex::{self, Major},
    verdict::evaluate,
};

/// Where questions go and answers come from.
pub(super) struct Terminal<'a> {
    pub input: &'a mut dyn BufRead,
    pub output: &'a mut dyn Write,
}

impl Terminal<'_> {
    fn say(&mut self, text: &str) {
        // If this cannot be written, there is no answer either, and that is reported below.
        let _ = writeln!(self.output, "{text}");
    }

    /// An answer, trimmed; empty for the default.
    fn ask(&mut self, question: &str) -> Result<String, CliError> {
        let _ = write!(self.output, "{question} ");
        let _ = self.output.flush();
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(0) | Err(_) => {
                self.say("");
                Err(CliError::usage(
                    "the criteria and the limit were not confirmed, so nothing was begun; answer the questions, or \
                     pass --yes",
                ))
            }
            Ok(_) => Ok(answer.trim().to_owned()),
        }
    }
}

/// Shows the criteria and the limit and asks for each, for both again after any change.
pub(super) fn confirm(proposal: &mut Proposal, policy: &Policy, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    let has_context = !proposal.task.prompt.trim().is_empty()
        && proposal.told_type.is_some()
        && (!proposal.known.is_empty() || !proposal.settings.checks.is_empty());
    if !has_context {
        terminal.say("There is not enough to go by. A few questions first; an empty answer keeps what is in brackets.");
        set_up(proposal, terminal)?;
    }
    loop {
        terminal.say(&criteria(proposal, policy));
        if !is_yes(&terminal.ask("Are these criteria right? [yes/no]")?) {
            set_up(proposal, terminal)?;
            continue;
        }
        let limit = confirmed_limit(proposal.settings.limit, terminal)?;
        if limit == proposal.settings.limit {
            return Ok(());
        }
        proposal.settings.limit = limit;
    }
}

/// The limit where it is right, else another one.
fn confirmed_limit(limit: u32, terminal: &mut Terminal<'_>) -> Result<u32, CliError> {
    loop {
        let answer = terminal
            .ask(&format!("At most {limit} iterations. Is this limit right? [yes, or a number from 1 to 10]"))?;
        match answer.parse() {
            _ if is_yes(&answer) => return Ok(limit),
            Ok(number @ 1..=10) => return Ok(number),
            _ => terminal.say("Please say yes, or a number from 1 to 10."),
        }
    }
}

/// What the loop will be measured by, and who fixes.
pub(super) fn criteria(proposal: &Proposal, policy: &Policy) -> String {
    let settings = &proposal.settings;
    let rules = evaluate::rules(&reflex::govern(policy, settings, settings.limit), settings.task_type);
    let rules: Vec<String> = rules
        .iter()
        .map(|Rule { id, description, severity, weight, phase, .. }| {
            let severity = format!("{severity:?}").to_lowercase();
            format!("{id}: {description} ({severity}, weight {weight}, phase {phase:?})")
        })
        .collect();
    let list = |names: &[CheckName]| if names.is_empty() { "none".to_owned() } else { listed(names) };
    let given: Vec<String> = settings.checks.iter().map(|(name, command)| format!("{name} ({command})")).collect();
    let model = context! {
        task => &proposal.task.prompt,
        kind => settings.task_type.as_str(),
        ideal => proposal.task.ideal_result.as_deref(),
        checks => if given.is_empty() { list(&proposal.known) } else { given.join(", ") },
        mandatory => list(&settings.mandatory),
        rules,
        a => settings.threshold_a.to_string(),
        b => settings.threshold_b.to_string(),
        major => match settings.major {
            Major::Fail => "failed rules of severity fail",
            Major::Warn => "failed rules of severity fail or warn",
        },
        fixer => proposal.fixer.as_deref(),
    };
    crate::render::text("loop_criteria.txt", model)
}

/// The set-up questions, for a task that says too little by itself.
fn set_up(proposal: &mut Proposal, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    if proposal.task.prompt.trim().is_empty() {
        proposal.task.prompt = terminal.ask("What is to be done?")?;
        if let Some(inferred) = reflex::infer_type(&proposal.task.prompt) {
            proposal.settings.task_type = inferred;
        }
    }
    let kinds = "new_function, bug_fix, refactor, api_endpoint or integration";
    let settings = &mut proposal.settings;
    let known = settings.task_type.as_str();
    settings.task_type = again(terminal, &format!("Task type: {kinds}? [{known}]"), settings.task_type, |answer| {
        CodeType::of_word(&answer.to_lowercase())
    })?;
    let ideal = terminal.ask("What does the ideal result look like? [every check passes]")?;
    if !ideal.is_empty() {
        proposal.task.ideal_result = Some(ideal);
    }
    if proposal.known.is_empty() && settings.checks.is_empty() {
        let checks =
            again(terminal, "Which command checks it? As name=command, for example unit=make test", None, |answer| {
                check(answer).ok().map(Some)
            })?;
        settings.checks.extend(checks);
    }
    let known = listed(&settings.mandatory);
    let mandatory = settings.mandatory.clone();
    settings.mandatory =
        again(terminal, &format!("Mandatory checks, whatever their kind? [{known}]"), mandatory, |answer| {
            answer.split(',').map(|name| name.trim().parse().ok()).collect()
        })?;
    for (phase, threshold) in [("A", &mut settings.threshold_a), ("B", &mut settings.threshold_b)] {
        *threshold =
            again(terminal, &format!("Threshold of phase {phase}, 0 to 1? [{threshold}]"), *threshold, |answer| {
                score(answer).ok()
            })?;
    }
    settings.limit =
        again(terminal, &format!("Iterations at most, 1 to 10? [{}]", settings.limit), settings.limit, |answer| {
            answer.parse().ok().filter(|limit| (1..=10).contains(limit))
        })?;
    let known = settings.major.as_str();
    let question = format!("Which failed rules are major: fail, or warn too? [{known}]");
    settings.major = again(terminal, &question, settings.major, |answer| Major::of_word(&answer.to_lowercase()))?;
    Ok(())
}

/// Asks until the answer can be read; an empty one keeps what is known.
fn again<T>(
    terminal: &mut Terminal<'_>,
    question: &str,
    known: T,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, CliError> {
    loop {
        let answer = terminal.ask(question)?;
        if answer.is_empty() {
            return Ok(known);
        }
        match read(&answer) {
            Some(value) => return Ok(value),
            None => terminal.say("That could not be read."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::reflex::new::settings_of;
    use loopgate_core::state::Task;

    fn proposal(task: &str) -> Proposal {
        let policy = crate::config::presets();
        let settings = settings_of(&policy);
        let task = Task { prompt: task.to_owned(), ideal_result: None };
        let known = vec!["build".parse().unwrap(), "unit".parse().unwrap()];
        Proposal { told_type: reflex::infer_type(&task.prompt), task, settings, fixer: None, known }
    }

    /// What is shown and asked, and what is confirmed in the end.
    fn conversation(mut proposal: Proposal, answers: &str) -> (Result<Proposal, String>, String) {
        let mut shown = Vec::new();
        let mut terminal = Terminal { input: &mut answers.as_bytes(), output: &mut shown };
        let confirmed = confirm(&mut proposal, &crate::config::presets(), &mut terminal)
            .map(|()| proposal)
            .map_err(|stop| stop.message);
        (confirmed, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn criteria_and_limit_are_confirmed_separately() {
        let (confirmed, shown) = conversation(proposal("fix the sum"), "yes\ny\n");
        assert_eq!(confirmed.unwrap(), proposal("fix the sum"));
        insta::assert_snapshot!(shown.trim_end(), @r"
        Task        fix the sum
        Type        new_function
        Ideal       every check passes
        Checks      build, unit
        Mandatory   none
        Rules       tests_added: changed code comes with changed tests (warn, weight 1, phase B)
                    coverage: at least 80 % of the changed lines are covered (warn, weight 1, phase B)
        Thresholds  0.80 in phase A, 0.90 in phase B
        Major       failed rules of severity fail
        Fixer       none: you edit between iterations

        Are these criteria right? [yes/no] At most 4 iterations. Is this limit right? [yes, or a number from 1 to 10]
        ");
    }

    #[test]
    fn after_a_change_it_is_asked_again() {
        let (confirmed, shown) =
            conversation(proposal("fix the sum"), "no\nbug_fix\n\n\n0.5\n\n\nwarn\nyes\n3\nyes\nyes\n");
        let confirmed = confirmed.unwrap().settings;
        assert_eq!((confirmed.task_type, confirmed.limit, confirmed.major), (CodeType::BugFix, 3, Major::Warn));
        assert_eq!(confirmed.threshold_a.to_string(), "0.50");
        assert_eq!(shown.matches("Are these criteria right?").count(), 3, "once more with the limit");
        assert_eq!(shown.matches("Is this limit right?").count(), 2);
    }

    #[test]
    fn without_context_the_set_up_questions_come_first() {
        let empty = Proposal { known: Vec::new(), ..proposal("") };
        let answers = "repair the sum\n\nit adds\nnonsense\nunit=sh test.sh\n\n\n\n\n\nyes\nyes\n";
        let (confirmed, shown) = conversation(empty, answers);
        let confirmed = confirmed.unwrap();
        assert_eq!(confirmed.task.prompt, "repair the sum");
        assert_eq!(confirmed.settings.task_type, CodeType::BugFix, "inferred, and kept by an empty answer");
        assert_eq!(confirmed.settings.checks, [("unit".parse().unwrap(), "sh test.sh".to_owned())]);
        assert!(shown.contains("That could not be read."), "{shown}");
    }

    #[test]
    fn a_task_of_no_known_type_is_asked_about() {
        let (confirmed, shown) = conversation(proposal("make it better"), "refactor\n\n\n\n\n\n\nyes\nyes\n");
        assert_eq!(confirmed.unwrap().settings.task_type, CodeType::Refactor);
        assert!(shown.starts_with("There is not enough to go by."), "{shown}");
        assert!(shown.contains("existing_tests_pass: "), "{shown}");
    }

    #[test]
    fn without_an_answer_nothing_is_begun() {
        for answers in ["", "yes\n", "no\n"] {
            let (confirmed, _) = conversation(proposal("fix the sum"), answers);
            assert!(confirmed.unwrap_err().contains("not confirmed"), "{answers:?}");
        }
    }
}
