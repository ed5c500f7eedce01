//! What is wrong in `.github/loopgate.yml`, where, and what governs meanwhile.

use minijinja::{context, value::Serde};

use super::{
    messages,
    sanitize::{Markdown, code, fence, short_text},
    templates,
};
use loopgate_core::policy::PolicyOrigin;

/// One paragraph for the status comment; `None` while the file is fine.
pub fn note(origin: &PolicyOrigin) -> Option<Markdown> {
    let error = origin.error()?;
    let hint = error.hint.as_deref().map(sentence);
    Some(messages::markdown("configuration", &"note", context! { hint, governs => governs(origin), ..Serde(error) }))
}

/// What is in force instead of the broken file.
fn governs(origin: &PolicyOrigin) -> Markdown {
    let commit = match origin {
        PolicyOrigin::LastGood { commit, .. } => Some(code(&commit.short())),
        _ => None,
    };
    messages::markdown("configuration", &"governs", context! { commit })
}

/// A hint may or may not be a whole sentence.
fn sentence(hint: &str) -> Markdown {
    let hint = short_text(hint, 200).into_string();
    let mut letters = hint.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if hint.ends_with(['.', '?', '!']) { "" } else { "." };
    Markdown::ours(format!("{first}{}{end}", letters.as_str()))
}

/// The check run's text.
pub fn check_text(origin: &PolicyOrigin) -> Option<String> {
    let error = origin.error()?;
    let (file, frame) = (code(&error.file), fence("text", &error.to_string()));
    Some(templates::render("check_run/configuration.md", &context! { file, frame, governs => governs(origin) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn the_note_says_what_governs() {
        let origin = fixtures::broken_configuration().view.origin;
        insta::assert_snapshot!(note(&origin).unwrap(), @"`.github/loopgate.yml` is wrong on the base branch, line 14, column 5: unknown key `aproach`. Did you mean `approve_by`? Until it is fixed, the last good configuration (commit `b1b1b1b1`) governs.");
        let PolicyOrigin::LastGood { broken_at, error, .. } = origin else { unreachable!() };
        insta::assert_snapshot!(note(&PolicyOrigin::Presets { broken_at, error }).unwrap(), @"`.github/loopgate.yml` is wrong on the base branch, line 14, column 5: unknown key `aproach`. Did you mean `approve_by`? Until it is fixed, the presets govern, since no earlier version of it is valid.");
        assert_eq!(note(&PolicyOrigin::Defaults), None);
    }
}
