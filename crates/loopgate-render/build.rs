//! Lists the templates to embed, and writes the catalogue of sentences as code.
#![allow(
    clippy::disallowed_methods,
    reason = "a build reads its data and writes code"
)]

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    embed_templates()?;
    write_sentences()
}

/// Writes the table of `templates/` that `src/templates.rs` includes: a new template is a new file.
fn embed_templates() -> io::Result<()> {
    let root = env::current_dir()?.join("templates");
    println!("cargo:rerun-if-changed=templates");
    let mut files = Vec::new();
    collect_files(&root, &mut files)?;
    files.sort();
    let mut table = "pub(super) const EMBEDDED: &[(&str, &str)] = &[\n".to_owned();
    for file in files {
        let below: Vec<_> = file
            .strip_prefix(&root)
            .unwrap_or(&file)
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        table += &format!(
            "    ({:?}, include_str!({:?})),\n",
            below.join("/"),
            file.to_string_lossy()
        );
    }
    table += "];\n";
    write_out("templates.rs", &table)
}

fn write_out(name: &str, code: &str) -> io::Result<()> {
    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    fs::write(out.join(name), code)
}

/// Writes the catalogue as the code that `src/messages.rs` includes: a table of all entries, and for each section
/// with an enum a type that finds the entry of a variant by a `match` without a default. So a
/// variant without an entry, an entry without a variant, and an entry that no code names do not compile.
fn write_sentences() -> io::Result<()> {
    let sections = catalogue()?;
    let mut table = "pub(super) const ENTRIES: &[(&str, &str)] = &[\n".to_owned();
    let mut types = "/// Sentences by section.\n\
         #[allow(clippy::unneeded_struct_pattern, reason = \"a pattern of variants of all shapes\")]\n\
         pub(crate) mod entry {\n"
        .to_owned();
    for (section, mut entries) in sections {
        let of = entries.remove("enum");
        for (variant, words) in &entries {
            table += &format!("    ({:?}, {words:?}),\n", format!("{section}/{variant}"));
        }
        types += &match of.as_deref() {
            Some("own") => enum_of_entries(&section, &entries),
            Some(of) => entries_of_enum(&section, of, &entries),
            None => String::new(),
        };
    }
    write_out("sentences.rs", &format!("{table}];\n\n{types}}}\n"))
}

/// Sentences by section and entry.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// `templates/messages.toml`, and the sentences of the causes for calling a person, which stand with the causes.
fn catalogue() -> io::Result<Sections> {
    let text = fs::read_to_string("templates/messages.toml")?;
    let mut sections: Sections = toml::from_str(&text).map_err(io::Error::other)?;
    let causes = env::var("DEP_LOOPGATE_CORE_CAUSES").map_err(io::Error::other)?;
    println!("cargo:rerun-if-changed={causes}");
    let Causes { cause: causes } =
        toml::from_str(&fs::read_to_string(causes)?).map_err(io::Error::other)?;
    for cause in causes {
        let (says, locally) = (cause.says, cause.says_in_a_local_loop);
        for (section, sentence) in [
            ("trigger", says.title),
            ("cause", says.recognised),
            ("human_action", says.to_do),
            ("question_of_run", says.question),
            ("answers_of_run", says.answers),
            ("trigger_of_local_loop", locally.title),
            ("question_of_local_loop", locally.question),
            ("answers_of_local_loop", locally.answers),
        ] {
            let entries = sections.entry(section.to_owned()).or_default();
            entries.extend(sentence.map(|sentence| (cause.name.clone(), sentence)));
        }
    }
    Ok(sections)
}

#[derive(Deserialize)]
struct Causes {
    cause: Vec<CauseRow>,
}

/// The core reads the rest of a row.
#[derive(Deserialize)]
struct CauseRow {
    name: String,
    says: CauseSentences,
    #[serde(default)]
    says_in_a_local_loop: CauseSentences,
}

/// What is said of a cause. `data/causes.toml` of the core tells what each is.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CauseSentences {
    title: Option<String>,
    recognised: Option<String>,
    to_do: Option<String>,
    question: Option<String>,
    answers: Option<String>,
}

/// `entry::Step::PushAFix`: an enum of a section's entries.
fn enum_of_entries(section: &str, entries: &BTreeMap<String, String>) -> String {
    let name = camel_case(section);
    let variants: String = entries
        .keys()
        .map(|entry| format!("{}, ", camel_case(entry)))
        .collect();
    let rows = match_rows(section, entries, |entry| {
        format!("Self::{}", camel_case(entry))
    });
    format!(
        "#[derive(Clone, Copy)]\npub enum {name} {{ {variants} }}\n\
         impl super::Sentence for {name} {{\n\
         fn entry(&self) -> super::Entry {{ match self {{\n{rows}}} }}\n\
         fn fields(&self) -> super::Value {{ super::context! {{}} }}\n}}\n"
    )
}

/// `entry::Cause(&cause)`: the entry of an enum's variant, with its fields.
fn entries_of_enum(section: &str, of: &str, entries: &BTreeMap<String, String>) -> String {
    let name = camel_case(section);
    let rows = match_rows(section, entries, |entry| {
        format!("{of}::{} {{ .. }}", camel_case(entry))
    });
    format!(
        "#[allow(dead_code, reason = \"some sections are for templates alone\")]\n\
         #[derive(Clone, Copy)]\npub struct {name}<'a>(pub &'a {of});\n\
         impl super::Sentence for {name}<'_> {{\n\
         fn entry(&self) -> super::Entry {{ match self.0 {{\n{rows}}} }}\n\
         fn fields(&self) -> super::Value {{ super::fields(self.0) }}\n}}\n"
    )
}

fn match_rows(
    section: &str,
    entries: &BTreeMap<String, String>,
    pattern: impl Fn(&str) -> String,
) -> String {
    let row = |(entry, words): (&String, &String)| {
        let name = format!("{section}/{entry}");
        let pattern = pattern(entry);
        format!("{pattern} => super::Entry {{ name: {name:?}, words: {words:?} }},\n")
    };
    entries.iter().map(row).collect()
}

/// `no_tests` and `check.no-tests` as Rust names variants.
fn camel_case(name: &str) -> String {
    let parts = name.split(['_', '-', '.']);
    let upper = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    parts.filter(|part| !part.is_empty()).map(upper).collect()
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["md", "html", "txt"].iter().any(|one| extension == *one))
        {
            files.push(path);
        }
    }
    Ok(())
}
