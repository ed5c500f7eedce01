//! What a tired person reads in a check run or a terminal about a wrong file.

use loopgate::config::{self, Source};

/// All errors and warnings of a repository's file, as the terminal shows them.
pub fn told(text: &str) -> String {
    told_of(None, text)
}

/// The same where there is an organisation's file, too.
pub fn told_of(organisation: Option<&str>, text: &str) -> String {
    let (organisation, text) = (organisation.map(dedented), dedented(text));
    let organisation = organisation
        .as_deref()
        .map(|text| Source::new("acme/.github/loopgate.yml", text));
    let errors = match config::load(
        organisation,
        Some(Source::new(".github/loopgate.yml", &text)),
    ) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors.as_slice().to_vec(),
    };
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A text that is written indented in a test, as the file it stands for.
fn dedented(text: &str) -> String {
    let Some(text) = text.strip_prefix('\n') else {
        return text.to_owned();
    };
    let indent = text.len() - text.trim_start_matches(' ').len();
    text.trim_end_matches(' ')
        .split_inclusive('\n')
        .map(|line| line.get(indent..).unwrap_or("\n"))
        .collect()
}
