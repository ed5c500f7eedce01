//! The documents speak of what is there: their paths exist, their tables are whole, and comments in the code cite no
//! other documents than these.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use loopgate::{channels::Channels, config, server::ServerConfig};
use loopgate_core::{
    commands::Verb,
    evidence::ReportFormat::{self, *},
};

/// Documents that a comment may cite.
const CITABLE: [&str; 6] = [
    "README.md",
    "architecture.md",
    "bots.md",
    "commands.md",
    "rules.md",
    "server.md",
];

/// What the documents write for a crate's folder.
const SHORTHANDS: [(&str, &str); 9] = [
    ("core/", "crates/loopgate-core/src/"),
    ("git/", "crates/loopgate-git/src/"),
    ("refs/", "crates/loopgate-refs/src/"),
    ("render/", "crates/loopgate-render/src/"),
    ("reports/", "crates/loopgate-reports/src/"),
    ("runner/", "crates/loopgate-runner/src/"),
    ("simulator/", "crates/loopgate-simulator/src/"),
    ("templates/", "crates/loopgate-render/templates/"),
    ("webhook/", "crates/loopgate-webhook/src/"),
];

/// Folders that hold nothing of ours.
const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "loopgate-evidence"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Documents outside docs/.
const OUTSIDE_DOCS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "action/README.md",
    ".github/CONTRIBUTING.md",
    ".github/SECURITY.md",
];

/// Every page of docs/, and those outside.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    entries(&root().join("docs"), &mut found);
    let pages = found
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter_map(|path| path.strip_prefix(root()).ok()?.to_str());
    let mut documents: Vec<String> = pages.map(|page| page.replace('\\', "/")).collect();
    documents.sort_unstable();
    documents.extend(OUTSIDE_DOCS.map(str::to_owned));
    documents
}

fn text_of(document: &str) -> String {
    fs::read_to_string(root().join(document)).expect("a document")
}

/// Every file and folder below a folder, folders with a `/` at their end.
fn entries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !NOT_OURS.iter().any(|name| path.ends_with(name)) {
            entries(&path, found);
        }
        found.push(path);
    }
}

/// Whether a path in a document is one of the repository, or the end of one.
fn exists(written: &str, entries: &[PathBuf]) -> bool {
    let written = written.trim_end_matches('/');
    for (short, long) in SHORTHANDS {
        if let Some(rest) = format!("{written}/").strip_prefix(short) {
            return root().join(long).join(rest.trim_end_matches('/')).exists();
        }
    }
    entries.iter().any(|path| path.ends_with(written))
}

#[test]
fn every_path_in_the_documents_exists() {
    let mut found = Vec::new();
    entries(root(), &mut found);
    let mut wrong = Vec::new();
    // Two documents name paths of other repositories and programs.
    let is_of_others =
        |document: &String| ["docs/dev/seeds.md", "docs/rules.md"].contains(&document.as_str());
    for document in documents()
        .into_iter()
        .filter(|document| !is_of_others(document))
    {
        let text = text_of(&document);
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.starts_with("<!--"))
        {
            let words = line.split(|c: char| c.is_whitespace() || "`,()|;:\"'".contains(c));
            for word in words.map(|word| word.trim_end_matches('.')) {
                let is_address = word.starts_with("//");
                let is_path = word.ends_with(".rs") || (word.len() > 1 && word.ends_with('/'));
                let is_plain = word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
                if is_path
                    && is_plain
                    && !is_address
                    && !word.starts_with("refs/loopgate/")
                    && !exists(word, &found)
                {
                    wrong.push(format!("{document}:{}: {word}", index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "no such file or folder: {wrong:#?}");
}

#[test]
fn no_empty_line_cuts_a_table() {
    for document in documents() {
        let text = text_of(&document);
        let lines: Vec<&str> = text.lines().collect();
        for index in (0..lines.len()).filter(|index| lines[*index].starts_with('|')) {
            let goes_on = index > 0 && lines[index - 1].starts_with('|');
            let is_head = lines
                .get(index + 1)
                .is_some_and(|next| next.starts_with("|:") || next.starts_with("|-"));
            assert!(
                goes_on || is_head,
                "{document}:{}: a row without the head of its table",
                index + 1
            );
        }
    }
}

/// The anchors that GitHub makes of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    headings
        .map(|heading| {
            heading
                .to_lowercase()
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for document in documents() {
        let text = text_of(&document);
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '\n']).next())
        {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&document).parent().unwrap_or(Path::new(""));
            let linked = if file.is_empty() {
                root().join(&document)
            } else {
                root().join(folder).join(file)
            };
            let is_there = match anchor {
                "" => linked.exists(),
                anchor => {
                    fs::read_to_string(&linked).is_ok_and(|text| anchors(&text).contains(anchor))
                }
            };
            if !is_there {
                wrong.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere: {wrong:#?}");
}

/// Users begin at one page, developers at another.
#[test]
fn a_first_page_leads_to_each_other() {
    for page in documents() {
        let first = match page.rsplit_once('/') {
            Some(("docs" | "docs/deploy", _)) => "docs/README.md",
            Some(("docs/dev", _)) => "docs/dev/README.md",
            _ => continue,
        };
        let from = Path::new(first).parent().expect("a folder");
        let link = Path::new(&page)
            .strip_prefix(from)
            .expect("a page beside or below");
        assert!(
            page == first || text_of(first).contains(&format!("]({}", link.display())),
            "{first} does not lead to {page}"
        );
    }
}

/// The comments of a source file, each run of comment lines as one text.
fn comments(source: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    for line in source.lines().map(str::trim) {
        match line.strip_prefix("//") {
            Some(rest) => {
                let text = texts.last_mut().expect("there is always one");
                text.push_str(rest.trim_start_matches(['/', '!']));
            }
            None => texts.push(String::new()),
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

#[test]
fn comments_cite_documents_of_the_repository() {
    let mut found = Vec::new();
    entries(root(), &mut found);
    let mut wrong = Vec::new();
    for path in found
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
    {
        let source = fs::read_to_string(path).expect("a source file");
        for comment in comments(&source) {
            let outside_code = comment.split('`').step_by(2);
            for word in outside_code
                .flat_map(|text| text.split(|c: char| c.is_whitespace() || "(,;:)".contains(c)))
            {
                // Any other path is one in a repository that Loopgate looks after.
                let name = word.trim_end_matches('.').trim_start_matches("docs/");
                if name.ends_with(".md") && !name.contains('/') && !CITABLE.contains(&name) {
                    wrong.push(format!("{}: {name} is no document to cite", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The value of the first line `key = "…"` of a manifest.
fn value_of(manifest: &str, key: &str) -> String {
    let begin = format!("{key} = \"");
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix(begin.as_str()))
        .expect("a line with the key");
    line.trim_end_matches('"').to_owned()
}

/// What a text names of the published Loopgate otherwise than Cargo.toml does: place, or tag of the major version.
fn published_otherwise(text: &str, place: &str, tag: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
    let mut wrong = Vec::new();
    for (at, _) in text.match_indices("/loopgate") {
        let begin = text[..at]
            .rfind(|c| !word(c))
            .map_or(0, |before| before + 1);
        let named = text[begin..].split(|c| !word(c)).next().unwrap_or_default();
        let hosts = ["/", "raw.githubusercontent.com/", "github.com/"];
        let named = hosts
            .iter()
            .fold(named, |named, host| named.trim_start_matches(host));
        let Some((owner, rest)) = named.split_once("/loopgate") else {
            continue;
        };
        let is_publication =
            rest.starts_with("/action@") || rest.starts_with("/v") || rest.starts_with("/releases");
        let after = text[begin..].lines().next().unwrap_or_default();
        let right = rest != "/action@COMMIT" || after.ends_with(&format!(" # {tag}"));
        let tagged = !rest.starts_with("/action@v") || rest == format!("/action@{tag}");
        let versioned = !rest.starts_with("/v") || rest.starts_with(&format!("/{tag}/"));
        if is_publication && !(format!("{owner}/loopgate") == place && right && tagged && versioned)
        {
            wrong.push(after.to_owned());
        }
    }
    wrong
}

#[test]
fn what_is_published_is_named_as_the_manifest_does() {
    let manifest = text_of("Cargo.toml");
    let (address, version) = (
        value_of(&manifest, "repository"),
        value_of(&manifest, "version"),
    );
    let place = address
        .strip_prefix("https://github.com/")
        .expect("a repository on GitHub");
    let tag = format!("v{}", version.split('.').next().expect("a major version"));
    let others = [
        "config/loopgate.example.yml",
        "Dockerfile",
        ".github/workflows/release.yml",
    ]
    .map(str::to_owned);
    for document in documents().into_iter().chain(others) {
        assert_eq!(
            published_otherwise(&text_of(&document), place, &tag),
            Vec::<String>::new(),
            "{document}"
        );
    }
    assert_eq!(
        text_of("action/README.md")
            .matches(&format!("`@{tag}` works too"))
            .count(),
        1
    );
    for wrong in [
        "uses: x/loopgate/action@COMMIT # v1",
        "uses: a/loopgate/action@v2",
        "=https://h.com/a/loopgate/v0/x",
        "a/loopgate/action@COMMIT",
    ] {
        assert_eq!(
            published_otherwise(wrong, "a/loopgate", "v1").len(),
            1,
            "{wrong}"
        );
    }
}

/// rust-toolchain.toml names the compiler. Workflows name none; where the file is not read, the number is the same.
#[test]
fn one_compiler_builds_everything() {
    let version = value_of(&text_of("rust-toolchain.toml"), "channel");
    let (minor, _) = version.rsplit_once('.').expect("three numbers");
    assert_eq!(value_of(&text_of("Cargo.toml"), "rust-version"), minor);
    assert!(text_of("Dockerfile").contains(&format!("FROM rust:{version}-")));
    assert!(text_of("README.md").contains(&format!("You need Rust {minor},")));
    for workflow in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let text = text_of(workflow);
        let installs: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once("rustup "))
            .map(|(_, arguments)| arguments.split(" #").next().unwrap_or_default())
            .collect();
        assert!(
            !installs.is_empty() && installs.iter().all(|one| *one == "toolchain install"),
            "{workflow}: {installs:?}"
        );
    }
}

/// An action that is pinned anywhere here, as `tests/contract/actions.json` has it.
#[derive(serde::Deserialize)]
struct PinnedAction {
    action: String,
    version: String,
    commit: String,
    /// `runs.using` of its `action.yml` at that commit; of a composite one, that of the actions in it.
    using: String,
}

#[derive(serde::Deserialize)]
struct PinnedActions {
    /// The newest runtime that GitHub's runners have for actions in JavaScript.
    newest: String,
    pinned: Vec<PinnedAction>,
}

/// The files that name actions for GitHub to run: here, in what `init` writes, and in what people copy.
fn files_with_actions() -> Vec<String> {
    let mut found = Vec::new();
    for folder in [
        ".github",
        "action",
        "src/cli/init/templates",
        "crates/loopgate-runner/src/data",
    ] {
        entries(&root().join(folder), &mut found);
    }
    let here = found
        .iter()
        .filter_map(|path| path.strip_prefix(root()).ok()?.to_str());
    let is_text = |path: &&str| path.ends_with(".yml") || path.ends_with(".toml");
    let files = here.filter(is_text).map(str::to_owned);
    files.chain(documents()).collect()
}

/// What `uses:` names by a whole commit, each with the version behind it: `actions/checkout@…`, `v7.0.1`.
fn pins_of(text: &str) -> Vec<(String, String)> {
    let is_pin = |name: &str| {
        let commit = name.split_once('@').map_or("", |(_, commit)| commit);
        commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let uses = text
        .lines()
        .filter_map(|line| line.split_once("uses: "))
        .map(|(_, named)| named.split_once(" # ").unwrap_or((named, "")));
    uses.filter(|(name, _)| is_pin(name))
        .map(|(name, version)| (name.to_owned(), version.trim().to_owned()))
        .collect()
}

/// GitHub takes old runtimes from its runners: what runs on one warns first and fails then. `tests/contract/actions.mjs`
/// holds the table against the actions themselves.
#[test]
fn every_pinned_action_runs_on_the_newest_runtime() {
    let table: PinnedActions = serde_json::from_str(&text_of("tests/contract/actions.json"))
        .expect("the table of pinned actions");
    let mut unused: BTreeSet<String> = BTreeSet::new();
    let mut known = BTreeSet::new();
    for row in table.pinned {
        let name = format!("{}@{}", row.action, row.commit);
        let runtimes = [
            table.newest.clone(),
            format!("composite of {}", table.newest),
        ];
        assert!(
            runtimes.contains(&row.using),
            "{name} runs on {}",
            row.using
        );
        unused.insert(name.clone());
        known.insert((name, row.version));
    }
    for file in files_with_actions() {
        for pin in pins_of(&text_of(&file)) {
            assert!(known.contains(&pin), "{file}: {pin:?} is not in the table");
            unused.remove(&pin.0);
        }
    }
    assert!(unused.is_empty(), "nothing uses {unused:?}");
}

/// The blocks of a document that are in YAML.
fn yaml_blocks(text: &str) -> Vec<&str> {
    text.split("\n```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

/// Whether a block is a workflow, or a part of one: `.ci/workflows.py` lints those.
fn is_workflow(block: &str) -> bool {
    block.starts_with("# .github/workflows/") || block.lines().any(|line| line == "jobs:")
}

#[test]
fn every_configuration_in_the_documents_is_right() {
    let mut read = 0;
    for document in documents() {
        let text = text_of(&document);
        for block in yaml_blocks(&text)
            .into_iter()
            .filter(|block| !is_workflow(block))
        {
            // A part of a file leaves its first line out.
            let version = ["version: 1\n", ""][usize::from(block.contains("version: 1\n"))];
            if let Err(error) = config::parse(&document, &format!("{version}{block}")) {
                panic!("{error}\n\n{block}");
            }
            read += 1;
        }
    }
    assert!(read > 12, "{read} configurations were read");
    let wrong = "version: 1\ngates: { security: { aprovers: { users: [alice] } } }";
    assert!(config::parse("wrong", wrong).is_err());
}

/// The list of report formats in docs/commands.md: what it says, and of which formats.
const FORMATS: &[(&str, &[ReportFormat])] = &[
    ("JUnit XML", &[Junit]),
    (
        "the output of `cargo test` and libtest",
        &[CargoTest, LibtestJson],
    ),
    ("compiler messages of cargo and rustc", &[CargoMessages]),
    ("`go test -json`", &[GoTestJson]),
    ("`jest --json`", &[JestJson]),
    ("Python's `unittest`", &[PythonUnittest]),
    ("TAP", &[Tap]),
    ("TRX", &[Trx]),
    ("NUnit 3", &[NunitXml]),
    ("xUnit.net v2", &[XunitXml]),
    (
        "the JSON of Playwright, mocha, RSpec, Cucumber, Dart and CTRF",
        &[
            PlaywrightJson,
            MochaJson,
            RspecJson,
            CucumberJson,
            DartJson,
            Ctrf,
        ],
    ),
    (
        "the JSON of ESLint, golangci-lint, ruff, mypy and most other linters",
        &[EslintJson, GolangciJson, RuffJson, MypyJson, LinterJson],
    ),
    ("SARIF 2.1.0", &[Sarif]),
    ("checkstyle XML", &[Checkstyle]),
    ("lcov", &[Lcov]),
    ("Cobertura", &[Cobertura]),
    ("JaCoCo", &[Jacoco]),
    ("Clover", &[Clover]),
    ("llvm-cov JSON", &[LlvmCovJson]),
    ("Go cover profiles", &[GoCover]),
    ("GitHub's `::error` annotations", &[GithubAnnotations]),
    (
        "the console output of common test runners, compilers and linters",
        &[Console],
    ),
    ("and any text with your own `report_pattern`", &[Regex]),
];

#[test]
fn every_report_format_is_listed() {
    let mut listed: Vec<ReportFormat> = FORMATS
        .iter()
        .flat_map(|(_, formats)| formats.iter().copied())
        .collect();
    listed.sort_unstable();
    assert_eq!(
        listed,
        ReportFormat::ALL,
        "the table above has each format once"
    );
    let parts: Vec<&str> = FORMATS.iter().map(|(says, _)| *says).collect();
    let list = format!("recognised by content: {}.", parts.join(", "));
    let commands = text_of("docs/commands.md");
    let words: Vec<&str> = commands.split_whitespace().collect();
    assert!(
        words.join(" ").contains(&list),
        "docs/commands.md is to say: {list}"
    );
}

#[test]
fn every_command_in_comments_is_listed() {
    let gates = text_of("docs/gates.md");
    let (_, section) = gates
        .split_once("\n## Commands in comments\n")
        .expect("the section");
    let rows: Vec<&str> = section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next())
        .collect();
    for verb in Verb::ALL {
        // A row may have several, of which the first is written out.
        let is_named = |row: &&str| {
            let calls = row.split('`').map(|call| call.trim_start_matches("/loop "));
            calls
                .filter_map(|call| call.split(' ').next())
                .any(|named| named == verb.as_str())
        };
        assert!(
            rows.iter().any(is_named),
            "docs/gates.md has no row of `{}`",
            verb.usage()
        );
    }
}

/// The variables of its environment that the server reads: it asks for each.
fn variables_of_the_server() -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    let ask = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        // The rest about mail is asked for only where there is a mail server.
        let value = match name {
            "LOOPGATE_SMTP_URL" => "smtps://mail.example.com",
            "LOOPGATE_EMAIL_FROM" => "loopgate@example.com",
            _ => return None,
        };
        Some(value.to_owned())
    };
    assert!(ServerConfig::from_env(ask).is_err() && Channels::from_env(ask).is_err());
    // The command reads it before anything else.
    asked.borrow_mut().insert("LOOPGATE_LOG".to_owned());
    asked.into_inner()
}

/// The names of variables in a text.
fn variables_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_uppercase() && c != '_');
    words
        .filter(|word| word.starts_with("LOOPGATE_") || word.starts_with("DATABASE_URL"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn help_and_documents_have_the_variables_of_the_server() {
    let known = variables_of_the_server();
    let loopgate = env!("CARGO_BIN_EXE_loopgate");
    let help = Command::new(loopgate)
        .args(["serve", "--help"])
        .output()
        .expect("the program runs");
    let help = String::from_utf8(help.stdout).expect("a text");
    let plain: BTreeSet<String> = known
        .iter()
        .filter(|name| !name.ends_with("_FILE"))
        .cloned()
        .collect();
    assert_eq!(variables_in(&help), plain, "`loopgate serve --help`");

    let server = text_of("docs/server.md");
    let rows: String = server
        .lines()
        .filter(|line| line.starts_with("| `LOOPGATE_") || line.starts_with("| `DATABASE_"))
        .filter_map(|line| line.split('|').nth(1))
        .collect();
    assert_eq!(
        variables_in(&rows),
        plain,
        "the table of variables in docs/server.md"
    );

    let folder = fs::read_dir(root().join("docs/deploy")).expect("a folder");
    let mut named = BTreeSet::new();
    for entry in folder {
        let file = entry.expect("an entry").path();
        let variables = variables_in(&fs::read_to_string(&file).expect("a text"));
        let unknown: Vec<_> = variables.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", file.display());
        named.extend(variables);
    }
    assert!(named.contains("LOOPGATE_PRIVATE_KEY_FILE"), "{named:?}");
}

#[test]
fn every_item_of_a_decision_has_a_paragraph() {
    let text = text_of("docs/results.md");
    let headings = text.lines().filter_map(|line| line.strip_prefix("### "));
    // The catalogue has an entry for each, which the compiler holds.
    let catalogue: toml::Table =
        toml::from_str(&text_of("crates/loopgate-render/templates/messages.toml")).expect("TOML");
    let entries = |section: &str, before: &'static str| {
        let section = catalogue[section].as_table().expect("a section").clone();
        let keys = section.into_iter().map(|(key, _)| key);
        let entries = keys.filter(|key| key != "enum" && key != "check");
        entries.map(move |key| format!("{before}{}", key.replace('_', "-")))
    };
    let ids: BTreeSet<String> = entries("item", "")
        .chain(entries("check_item", "check."))
        .collect();
    let headings: BTreeSet<String> = headings.map(str::to_owned).collect();
    assert_eq!(headings, ids);
}
