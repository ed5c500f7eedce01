//! The items of a decision in words: what holds, what is not known, what advises, what is satisfied.

use minijinja::{Value, context};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Links, Markdown, Subject, causes, check_table, code,
    gate_card::GateCard,
    messages::{self, entry},
    short_text, warning, word, words,
};
use loopgate_core::{
    concerns::{
        checks::CheckStanding,
        review::ReviewStanding,
        verdict::{Evaluation, RuleOutcome, RuleView},
    },
    deciding::{CheckView, Part},
    policy::{PolicyOrigin, Trigger},
    result::{About, Item, ItemId, ItemStatus},
    stage::Stage,
};

/// Items of one list that are shown at most.
const MOST: usize = 300;

/// An item as every surface shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ItemCard {
    /// Its paragraph in `docs/results.md`.
    id: ItemId,
    status: ItemStatus,
    /// The stage that it holds, or would hold.
    stage: Option<Stage>,
    /// Who acts so that it no longer stands in the way.
    who: Option<Part>,
    /// Why it calls a person.
    #[schemars(with = "Option<String>")]
    calls: Option<Trigger>,
    says: Markdown,
    children: Vec<Self>,
}

/// The items of the decision, in the order of the stages that they hold.
pub(super) fn items(subject: &Subject<'_>) -> Vec<ItemCard> {
    let mut items: Vec<&Item<'_>> = subject.items().iter().collect();
    items.sort_by_key(|item| item.stage.unwrap_or(Stage::Complete));
    cards(items, subject, &Links::of(subject.snapshot))
}

fn cards<'i, 'a: 'i>(
    items: impl IntoIterator<Item = &'i Item<'a>>,
    subject: &Subject<'_>,
    links: &Links,
) -> Vec<ItemCard> {
    let card = |item: &Item<'_>| ItemCard {
        id: item.id,
        status: item.status,
        stage: item.stage,
        who: item.who,
        calls: item.calls,
        says: says(item, subject, links),
        children: cards(&item.children, subject, links),
    };
    items.into_iter().take(MOST).map(card).collect()
}

/// The sentence about an item, without its stop.
fn says(item: &Item<'_>, subject: &Subject<'_>, links: &Links) -> Markdown {
    let fields = match &item.about {
        About::Configuration(origin) => configuration(origin, links),
        About::Check(view) => check(view),
        About::Score(evaluation) => score(evaluation),
        About::Rule(rule) => return rule_line(rule, 300),
        About::Gate(report) => {
            let card = GateCard::new(report, subject, links);
            context! { name => card.name, state => card.state, how => card.how, advisory => card.advisory }
        }
        About::Capabilities(progress) => context! {
            completed => progress.completed,
            total => progress.total,
            next => progress.current.as_deref(),
        },
        About::Review(ReviewStanding::Pending { have, need }) => context! { have, need },
        About::Review(ReviewStanding::Rejected { rejection, words }) => context! {
            by => words::person(&rejection.by),
            quoted => short_text(words, 300),
        },
        About::Review(ReviewStanding::NotRequired | ReviewStanding::Approved)
        | About::Draft
        | About::Merge => context! {},
        About::Beneath(layer) => context! { layer => layer.get() },
        About::Call { trigger, cause } => context! {
            trigger => words::trigger(*trigger),
            pattern => cause
                .filter(|cause| causes::adds_to_trigger(cause))
                .map(|cause| short_text(&messages::reason(entry::Cause(cause)), 300)),
        },
        About::Tampering(found) => context! { what => short_text(&found.to_string(), 300) },
        About::Warning(one) => context! { what => warning::sentence(one, links) },
    };
    match &item.id {
        ItemId::Check(state) => messages::markdown(entry::CheckItem(state), fields),
        id => messages::markdown(entry::Item(id), fields),
    }
}

fn configuration(origin: &PolicyOrigin, links: &Links) -> Value {
    context! {
        commit => origin.commit().map(|commit| links.commit(commit)),
        is_a_file => !matches!(origin, PolicyOrigin::Defaults),
    }
}

fn check(view: &CheckView) -> Value {
    let name = code(view.name.as_str());
    let check = Markdown::ours(format!("{name} ({})", view.kind.as_str()));
    let evidence = view.evidence();
    let edited_workflows = match &view.standing {
        CheckStanding::NotStarted {
            edited_workflows, ..
        } => edited_workflows.clone(),
        _ => Vec::new(),
    };
    context! {
        check,
        tests => evidence.and_then(|it| it.results.as_ref()).map(check_table::tests),
        failures => evidence.map_or(0, |it| it.failures.len() as u64 + it.failures_not_kept),
        blame => view.blame.and_then(words::blame),
        note => check_table::note(view),
        edited_workflows,
    }
}

fn score(evaluation: &Evaluation) -> Value {
    context! {
        score => evaluation.score.to_string(),
        threshold => evaluation.threshold.to_string(),
        phase => format!("{:?}", evaluation.phase),
        reaches => evaluation.score >= evaluation.threshold,
    }
}

/// A rule with what it weighs and how it ended.
pub(super) fn rule_line(rule: &RuleView, most: usize) -> Markdown {
    let (icon, outcome) = match &rule.outcome {
        RuleOutcome::Passed => ("✅", String::new()),
        RuleOutcome::Failed(why) => (
            "❌",
            format!(
                ": {}",
                short_text(&messages::reason(entry::Rule(why)), most)
            ),
        ),
        RuleOutcome::Unknown => ("➖", ": not known, so it has no weight".to_owned()),
    };
    let severity = word(entry::Severity(&rule.severity));
    Markdown::ours(format!(
        "{icon} {} ({severity}, weight {}){outcome}",
        code(rule.id.as_str()),
        rule.weight
    ))
}
