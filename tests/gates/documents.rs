//! What docs/bots.md says of the pull requests of bots, under the configuration that it shows.

use std::{fs, path::Path};

use loopgate_core::{
    observed::{ChangedFiles, Push, PushContent, Snapshot},
    state::GateStatus,
};

use super::kit::{self, Talk, account, file};

const NEW_DEPENDENCY: (&str, &str) = (
    "package.json",
    "@@ -1,3 +1,4 @@\n {\n   \"dependencies\": {\n+    \"left-pad\": \"^1.3.0\",\n     \"jose\": \"^5.0.0\"",
);
const OTHER: (&str, &str) = ("src/a.rs", "@@ -1 +1,2 @@\n a\n+b");

/// A pull request by an account, with these changes.
fn changed(author: &str, files: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = kit::snapshot();
    let author = account(author);
    let changed = files
        .iter()
        .map(|(path, patch)| file(path, patch))
        .collect();
    snapshot.files = ChangedFiles::Complete(changed);
    snapshot.pull_request.author = author.clone();
    for commit in &mut snapshot.commits.items {
        commit.author = Some(author.clone());
        commit.committer = Some(author.clone());
    }
    snapshot
}

/// The gates that open.
fn opened(configuration: &str, snapshot: Snapshot) -> Vec<String> {
    let gates = Talk::on(configuration, snapshot).last.view.gates;
    let open = gates
        .iter()
        .filter(|gate| gate.status != GateStatus::NotApplicable);
    open.map(|gate| gate.name.to_string()).collect()
}

/// The configuration of the document's section *Exempt a bot*.
fn exempting() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/bots.md");
    let page = fs::read_to_string(page).expect("the document");
    let (_, section) = page.split_once("## Exempt a bot").expect("the section");
    let (_, block) = section.split_once("```yaml\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    block.replace("gates:", "gates:\n  deploy: off")
}

/// Changes of package.json below a line that stays, and the gate that each opens.
const IN_THE_MANIFEST: [(&str, &[&str]); 4] = [
    (
        "-    \"jose\": \"^5.0.0\",\n+    \"jose\": \"^5.1.0\",",
        &[],
    ),
    (
        "+    \"left-pad\": \"^1.3.0\",\n     \"jose\": \"^5.0.0\"",
        &["architecture"],
    ),
    (
        "-    \"jose\": \"^5.0.0\",\n+    \"jose\": \"github:somebody/jose#main\",",
        &["security"],
    ),
    (
        "   },\n   \"scripts\": {\n+    \"postinstall\": \"node setup.js\",",
        &["security"],
    ),
];

#[test]
fn the_updates_of_bots_open_the_gates_that_the_document_names() {
    let mut cases: Vec<(&str, String, &[&str])> =
        Vec::from(IN_THE_MANIFEST.map(|(lines, gates)| {
            let patch = format!("@@ -1,4 +1,4 @@\n {{\n   \"dependencies\": {{\n{lines}");
            ("package.json", patch, gates)
        }));
    let image = "@@ -1 +1 @@\n-FROM debian:12\n+FROM debian:13";
    cases.push(("Dockerfile", image.to_owned(), &["architecture"]));
    let action =
        "@@ -1,2 +1,2 @@\n steps:\n-  - uses: actions/checkout@v4\n+  - uses: actions/checkout@v5";
    cases.push((".github/workflows/ci.yml", action.to_owned(), &[]));
    for (path, patch, gates) in cases {
        let snapshot = changed("renovate[bot]", &[(path, &patch)]);
        let configuration = "version: 1\ngates: { deploy: off }\n";
        assert_eq!(opened(configuration, snapshot), gates, "{path}: {patch}");
    }
    let any = changed("renovate[bot]", &[OTHER]);
    assert_eq!(opened("version: 1\n", any), ["deploy"]);
}

/// A digest may be that of a fork, and the bot's branch is open to all who may write.
#[test]
fn a_digest_that_somebody_else_puts_on_a_bots_branch_is_none_of_the_bots() {
    let digest = "@@ -1,2 +1,2 @@\n steps:\n-  - uses: actions/checkout@0a1b2c3d4e5f60718293a4b5c6d7e8f901234567\n\
                  +  - uses: actions/checkout@76543210f9e8d7c6b5a4938271605f4e3d2c1b0a";
    let configuration = "version: 1\ngates: { deploy: off }\n";
    let file = (".github/workflows/ci.yml", digest);
    let bots = changed("renovate[bot]", &[file]);
    assert_eq!(opened(configuration, bots.clone()), [""; 0]);
    let mut committed = bots.clone();
    committed.commits.items[0].author = Some(account("author"));
    assert_eq!(opened(configuration, committed), ["security"]);
    // Under the bot's name, which anybody can write.
    let mut pushed = bots;
    pushed.makers.pushes = vec![Push {
        by: account("author"),
        content: PushContent::Own,
    }];
    assert_eq!(opened(configuration, pushed), ["security"]);
}

#[test]
fn the_documents_exemption_is_for_the_bot_and_its_files_alone() {
    let opened_for = |author, files: &[_]| opened(&exempting(), changed(author, files)).join(" ");
    assert_eq!(opened_for("renovate[bot]", &[NEW_DEPENDENCY]), "");
    assert_eq!(opened_for("author", &[NEW_DEPENDENCY]), "architecture");
    let with_another = [NEW_DEPENDENCY, OTHER];
    assert_eq!(opened_for("renovate[bot]", &with_another), "architecture");
}
