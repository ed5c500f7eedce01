//! Writes the names and terms of `data/causes.toml` as code, and shows the file to the build of the program, whose
//! sentences stand in it.
#![allow(
    clippy::disallowed_methods,
    reason = "a build reads its data and writes code, which the core itself does not"
)]

use std::{env, error::Error, fs, path::Path};

use serde::{Deserialize, de::IgnoredAny};

#[derive(Deserialize)]
struct Causes {
    cause: Vec<CauseRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CauseRow {
    name: String,
    #[serde(default = "human_review")]
    action: String,
    #[serde(default = "notify")]
    calls: String,
    #[serde(default)]
    needs_a_decision: bool,
    waits_for: Option<String>,
    /// The program reads what it says.
    #[serde(rename = "says")]
    _says: IgnoredAny,
    #[serde(rename = "says_in_a_local_loop")]
    _says_in_a_local_loop: Option<IgnoredAny>,
}

fn human_review() -> String {
    "human_review".to_owned()
}

fn notify() -> String {
    "notify".to_owned()
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("data/causes.toml");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", file.display());
    // `DEP_LOOPGATE_CORE_CAUSES` in the build of a crate that depends on this one.
    println!("cargo::metadata=causes={}", file.display());
    let Causes { cause: rows } = toml::from_str(&fs::read_to_string(&file)?)?;
    let variants: String = rows
        .iter()
        .map(|row| format!("{} = {:?}, ", camel_case(&row.name), row.name))
        .collect();
    let terms: String = rows.iter().map(terms).collect();
    let code = format!(
        "words! {{\n\
         /// The causes of an escalation, the most urgent first: when several hold, the first of this order is *the* cause\n\
         /// and the others are listed with it.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]\n\
         pub enum Trigger {{ {variants}}}\n}}\n\
         impl Trigger {{\nconst fn terms(self) -> Terms {{ match self {{\n{terms}}} }}\n}}\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("triggers.rs"), code)?;
    Ok(())
}

fn terms(row: &CauseRow) -> String {
    let waits_for = row.waits_for.as_deref().map_or_else(
        || "None".to_owned(),
        |what| format!("Some(WaitsFor::{})", camel_case(what)),
    );
    format!(
        "Self::{} => Terms {{ action: EscalationAction::{}, calls: Called::{}, needs_a_decision: {}, waits_for: {waits_for} }},\n",
        camel_case(&row.name),
        camel_case(&row.action),
        camel_case(&row.calls),
        row.needs_a_decision
    )
}

/// `no_report` as Rust names variants.
fn camel_case(name: &str) -> String {
    let upper = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    name.split('_')
        .filter(|part| !part.is_empty())
        .map(upper)
        .collect()
}
