//! What the presets open, and what they leave alone. Each rule shows one example each way.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use super::*;
use crate::config::load::{load_on, parse, presets};
use loopgate_core::{
    concerns::gates::{MatchReason, TriggerMatch, is_advisory, matches},
    fixtures,
    observed::{AccountKind, ChangedFile, ChangedFiles, Content, FileStatus, Snapshot},
    policy::{ApproveBy, GateRole, GateTrigger, ManifestChange, Mode, Pattern, Policy, RuleTerms},
    stage::Stage,
};

/// A pull request of one file. Every folder at the top is known, unless the file is new.
fn pull_request(path: &str, lines: &[String]) -> Snapshot {
    let mut snapshot = fixtures::snapshot();
    let is_new = lines.iter().all(|line| line.starts_with('+'));
    let top = path.split_once('/').map(|(folder, _)| folder.to_owned());
    snapshot.base_folders = Some(
        top.into_iter()
            .filter(|folder| folder != "billing")
            .collect(),
    );
    let file = ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: if is_new {
            FileStatus::Added
        } else {
            FileStatus::Modified
        },
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some(format!("@@ -1,1 +1,1 @@\n{}", lines.join("\n"))),
    };
    snapshot.files = ChangedFiles::Complete(vec![file]);
    with_texts(snapshot)
}

/// The pull request with the texts of its files, which hold what their patches show, and with a workflow at the base.
fn with_texts(mut snapshot: Snapshot) -> Snapshot {
    let base = snapshot.pull_request.base.sha;
    let head = snapshot.pull_request.head.sha;
    snapshot.merge_base = Some(base);
    let texts = &mut snapshot.contents.texts;
    for file in snapshot.files.known() {
        let patch = file.patch.as_deref().unwrap_or_default();
        for (commit, mark) in [(base, '-'), (head, '+')] {
            let own = patch.lines().filter(|line| line.starts_with([mark, ' ']));
            let text: String = own.map(|line| format!("{}\n", &line[1..])).collect();
            texts.insert((commit, file.path.clone()), Content::Text(text.into()));
        }
    }
    let workflow = "jobs: { ship: { steps: [{ run: ./tools/release.sh && node bin/ship }] } }";
    let path = ".github/workflows/ship.yml".to_owned();
    texts.insert((base, path), Content::Text(workflow.into()));
    snapshot
}

/// The rules that find something in an example, suspects included.
fn rules_found(example: &[String]) -> Vec<String> {
    let [path, lines @ ..] = example else {
        panic!("an example is a path and the lines of its diff")
    };
    let book = &Presets::builtin().rules;
    let tiers = (0..book.rules.len())
        .map(|index| (index, RuleTier::Opens))
        .collect();
    let trigger = GateTrigger::Rules(ChosenRules {
        book: Arc::clone(book),
        tiers,
    });
    let gate = fixtures::gate_with(trigger, &[]);
    matches(&gate, &pull_request(path, lines), &[])
        .into_iter()
        .filter_map(rule_of)
        .collect()
}

fn rule_of(found: TriggerMatch) -> Option<String> {
    match found.reason {
        MatchReason::Rule { id, .. } => Some(id.to_string()),
        _ => None,
    }
}

/// The presets that a change to one file opens, without `deploy`, which every change opens.
fn opened_by(path: &str, lines: &[&str]) -> Vec<String> {
    let lines: Vec<String> = [" context"]
        .iter()
        .chain(lines)
        .map(|line| (*line).to_owned())
        .collect();
    opened_in(&pull_request(path, &lines))
}

fn opened_in(snapshot: &Snapshot) -> Vec<String> {
    static PRESETS: LazyLock<Policy> = LazyLock::new(presets);
    let gates = PRESETS
        .gates
        .iter()
        .filter(|(name, _)| name.as_str() != "deploy");
    gates
        .filter(|(_, gate)| !matches(gate, snapshot, &[]).is_empty())
        .map(|(name, _)| name.to_string())
        .collect()
}

const NONE: [&str; 0] = [];

#[path = "changes_tests.rs"]
mod changes_tests;

#[test]
fn every_rule_finds_its_example_and_leaves_the_other() {
    let mut wrong = Vec::new();
    for rule in &Presets::builtin().rules.rules {
        let id = rule.id.to_string();
        let looks_at = [
            rule.path.is_some(),
            rule.manifest.is_some(),
            rule.new_folder,
        ]
        .map(usize::from);
        assert_eq!(
            looks_at.iter().sum::<usize>() + rule.of_lines().count(),
            1,
            "{id} looks at one thing"
        );
        if !rules_found(&rule.opens).contains(&id) {
            wrong.push(format!("{id} does not find {:?}", rule.opens));
        }
        if rules_found(&rule.quiet).contains(&id) {
            wrong.push(format!("{id} finds {:?}", rule.quiet));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_has_a_heading_of_its_own_and_an_expression_that_finds_something_short() {
    let mut ids = BTreeSet::new();
    for gate in Presets::builtin().gates.keys() {
        let own = Presets::builtin()
            .rules
            .rules
            .iter()
            .filter(|rule| rule.gate == *gate);
        for rule in own {
            assert!(
                ids.insert(&rule.id),
                "{} is the heading of two rules",
                rule.id
            );
            for (_, terms) in rule.of_lines() {
                let RuleTerms::Expression { r#match } = terms else {
                    continue;
                };
                let pattern = Pattern::parse(r#match).unwrap();
                assert!(r#match.len() <= 190 && !pattern.matches(""), "{}", rule.id);
            }
        }
    }
}

#[test]
fn paths_open_the_gates_they_are_about() {
    for (path, gates) in [
        ("src/auth/mod.rs", &["security"][..]),
        ("src/Auth/Login.java", &["security"]),
        ("lib/user_auth.rb", &["security"]),
        ("src/AuthService.kt", &["security"]),
        ("config/secrets.yml", &["architecture", "security"]),
        (".env", &["architecture", "security"]),
        ("deploy/tls/server.key", &["security"]),
        (".github/workflows/ci.yml", &["security"]),
        (".github/CODEOWNERS", &["security"]),
        ("AGENTS.md", &["security"]),
        (".mergify.yml", &["security"]),
        (".github/settings.yml", &["security"]),
        ("Dockerfile", &["architecture"]),
        ("docker-compose.override.yml", &["architecture"]),
        ("terraform/main.tf", &["architecture"]),
        ("deploy/k8s/api.yaml", &["architecture"]),
        ("config/production.toml", &["architecture"]),
        ("infra/stack.py", &["architecture"]),
        ("deploy/vault/policy.hcl", &["architecture", "security"]),
        ("src/main/resources/application-prod.yml", &["architecture"]),
        ("api/openapi.yaml", &["architecture"]),
        ("migrations/0001_init.sql", &["database"]),
        ("app/db/migrate/20260101_add.rb", &["database"]),
        ("prisma/schema.prisma", &["database"]),
        ("src/user.entity.ts", &["database"]),
        ("src/integrations/pay.rs", &["external"]),
        ("app/webhooks/inbound.py", &["external"]),
    ] {
        assert_eq!(opened_by(path, &["+plain text"]), gates, "{path}");
    }
}

#[test]
fn paths_that_only_look_alike_open_nothing() {
    for path in [
        "src/author.rs",
        "src/blog/AuthorCard.tsx",
        "src/lexer/token.rs",
        "src/tokenizer.rs",
        "docs/auth/overview.md",
        "e2e/acceptance/login.spec.ts",
        "tests/unit/oidc/test_core.py",
        "src/login.cy.ts",
        "tests/LoginCest.php",
        "auth_SUITE.erl",
        "R/test-auth.R",
        "src/auth/authSpec.js",
        "locale/de/LC_MESSAGES/auth.mo",
        "src/auth/README.md",
        "src/config.rs",
        "src/accessibility.ts",
        "src/keyboard.ts",
        "queries/report.sql",
        "tests/integration/checkout.rs",
        "src/client.rs",
        "README.md",
        "Cargo.lock",
        "package-lock.json",
        "src/class_loader.rs",
        "sdk/shop/infra/store.py",
        "app/Vault/Journal.php",
        "Shop.Tests/compose.yml",
        "pixi.lock",
        "web/.env.development",
    ] {
        assert_eq!(opened_by(path, &["+plain text"]), NONE, "{path}");
    }
}

#[test]
fn lines_open_the_gates_they_are_about() {
    for (line, gates) in [
        ("+if !user.is_authenticated() {", &["security"][..]),
        ("-    require_permission(user);", &["security"]),
        ("+let hash = bcrypt::hash(input, 12)?;", &["security"]),
        ("+const jwt = sign(payload, secret);", &["security"]),
        ("+pub ssn: String,", &["security"]),
        ("+tls_config.InsecureSkipVerify = true", &["security"]),
        ("+GRANT ALL ON orders TO app;", &["security"]),
        ("+// nosec", &["security"]),
        ("+  role = token.role", &["security"]),
        ("+pub mod billing;", &["architecture"]),
        ("+CREATE TABLE users (id INT);", &["database"]),
        ("+    op.add_column('users', age)", &["database"]),
        ("+db.users.drop()", &["database"]),
        ("+name = models.CharField(max_length=20)", &["database"]),
        ("+r = requests.get(url)", &["external"]),
        ("+  const call = http.request(options);", &["external"]),
        (
            "+\tanswer, err := client.PostForm(url, form)",
            &["external"],
        ),
        (
            "+const URL: &str = \"https://hooks.partner.test/services\";",
            &["external"],
        ),
    ] {
        assert_eq!(opened_by("src/lib.rs", &[line]), gates, "{line}");
    }
}

#[test]
fn lines_that_only_look_alike_open_nothing() {
    for line in [
        "+let author = commit.author();",
        "+let token = lexer.next_token();",
        "+for key in map.keys() {",
        "+// Calls the authorization service, see the login page",
        "+onDelete: (row: ApiRow) => void;",
        "+impl Session {",
        "+// create a table of contents",
        "+fn update_view(&mut self) {",
        "+// see https://docs.rs/serde for the attributes",
        "+const LOCAL: &str = \"http://localhost:8080\";",
        "+mod billing;",
        "+export const total = 3;",
        "+let hash = map.hash();",
        "+    permissions: Vec<String>,",
        "+let post_form = PostForm::from(input);",
        "+func rates(w http.ResponseWriter, r *http.Request) {",
        "+  await axios.put(route, form);",
        "-fn permissions() -> Vec<Permission> {",
    ] {
        assert_eq!(opened_by("src/lib.rs", &[line]), NONE, "{line}");
    }
    for path in [
        "tests/login_helpers.rs",
        "src/form.test.ts",
        "docs/guide.md",
        "locale/de.po",
    ] {
        assert_eq!(
            opened_by(
                path,
                &["+password = sign(jwt); CREATE TABLE users; axios('https://api.a.test')"]
            ),
            NONE,
            "{path}"
        );
    }
}

/// What somebody writes who has read the rules: each was a way past the gates before, or is of the kind of one.
#[test]
fn what_is_meant_to_get_past_does_not() {
    for (gate, files) in [
        // The check that is pasted elsewhere, where it has no effect.
        (
            "security",
            &[
                ("app/a.py", "-@login_required\n def wipe"),
                ("docs/e.py", "+@login_required\n def example"),
            ][..],
        ),
        (
            "security",
            &[(
                "a.kt",
                "-    requireRole(ADMIN)\n wipe()\n+    requireRole(ADMIN)",
            )],
        ),
        (
            "database",
            &[
                ("docs/old.sql", "-DROP TABLE users;"),
                ("scripts/new.sql", "+DROP TABLE users;"),
            ],
        ),
        (
            "external",
            &[
                ("docs/e.py", "-requests.post(url)"),
                ("app/e.py", "+requests.post(url)"),
            ],
        ),
        // An import: what a name stands for is code.
        (
            "security",
            &[(
                "src/auth/a.py",
                "-from .strict import verify\n+from .lenient import verify",
            )],
        ),
        // Order and indentation.
        (
            "security",
            &[(
                "a.py",
                " if debug:\n-check_permission(u)\n+    check_permission(u)",
            )],
        ),
        (
            "security",
            &[(
                "roles.yml",
                " admin:\n-  - permission: delete\n viewer:\n+  - permission: delete",
            )],
        ),
        // Marks around code: it is unknown what they hide, so the change counts.
        (
            "security",
            &[("a.swift", "+/*\n guard isAdmin(u)\n+*/\n wipe()")],
        ),
        ("security", &[("a.nim", "+#[\n requireAdmin(u)\n+]#")]),
        ("security", &[("a.ex", "+\"\"\"\n authorize!(u)\n+\"\"\"")]),
        (
            "security",
            &[("a.cs", "+#if NEVER\n RequireRole(u);\n+#endif")],
        ),
        (
            "security",
            &[("a.erl", "+-ifdef(never).\n authorize(U),\n+-endif.")],
        ),
        ("security", &[("a.ps1", "+<#\n Require-Admin\n+#>")]),
        // Comments that are code.
        ("security", &[("a.cs", "+// x\u{85} AllowAnonymous();")]),
        ("security", &[("a.kt", "+//go:build x\\u000a permitAll()")]),
        (
            "security",
            &[("a.sql", "+/*!50000 GRANT ALL ON *.* TO evil */")],
        ),
        // Other letters.
        ("security", &[("a.js", "+\u{435}val(text)")]),
        ("security", &[("\u{430}uth/a.js", "+x")]),
        // Sources and hooks of packages.
        (
            "security",
            &[("web/package.json", "+    \"prepare\": \"node x.js\",")],
        ),
        (
            "security",
            &[(
                "pyproject.toml",
                "+jose = { git = \"https://evil.test/jose\" }",
            )],
        ),
        (
            "security",
            &[("yarn.lock", "+  resolved \"https://evil.test/jose.tgz\"")],
        ),
        (
            "security",
            &[(
                "nuget.config",
                "+    <add key=\"x\" value=\"https://evil.test/v3\" />",
            )],
        ),
        (
            "security",
            &[(
                "gradle/wrapper/gradle-wrapper.properties",
                "+distributionUrl=https://evil.test/gradle.zip",
            )],
        ),
        // What guards or merges by itself, and what agents read.
        (
            "security",
            &[(".github/renovate.json5", "+automerge: true")],
        ),
        ("security", &[(".claude/settings.json", "+allow")]),
        ("security", &[(".husky/pre-commit", "+exit 0")]),
        (
            "security",
            &[(
                ".github/workflows/a.yml",
                "-  - uses: a/b@v1\n+  - uses: evil/b@v1",
            )],
        ),
        // Code where documents lie, and a test that the program loads.
        ("security", &[("docs/conf.py", "+os.system(x)")]),
        (
            "security",
            &[
                ("src/auth/a.test.js", "+x"),
                ("src/main.js", "+import './auth/a.test';"),
            ],
        ),
        ("database", &[("db/migrations/0007_add_test.py", "+x")]),
        ("architecture", &[("deploy/big.yaml", "+replicas: 0")]),
    ] {
        let mut snapshot = pull_request("src/x.rs", &["+x".to_owned()]);
        let file = |(path, lines): &(&str, &str)| ChangedFile {
            path: (*path).to_owned(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: 1,
            deletions: 1,
            blob: None,
            patch: Some(format!("@@ -1,9 +1,9 @@\n{lines}")),
        };
        snapshot.files = ChangedFiles::Complete(files.iter().map(file).collect());
        assert!(
            opened_in(&snapshot).contains(&gate.to_owned()),
            "{gate}: {files:?}"
        );
    }
}

#[test]
fn everyday_changes_are_quiet() {
    for (path, lines) in [
        ("Cargo.toml", &["-serde = \"1.0\"", "+serde = \"1.1\""][..]),
        (
            "package-lock.json",
            &["+      \"resolved\": \"https://registry.npmjs.org/a/-/a-2.tgz\","],
        ),
        (
            ".github/workflows/ci.yml",
            &[
                "-      - uses: actions/checkout@v4",
                "+      - uses: actions/checkout@v5",
            ],
        ),
        ("src/lib.rs", &["-fn total() {", "+fn sum() {"]),
        ("src/lib.rs", &["-        total();", "+    total();"]),
        ("README.md", &["+How to log in with a password"]),
        ("src/styles/login-form.css", &["+.password { color: red; }"]),
    ] {
        assert_eq!(opened_by(path, lines), NONE, "{path} {lines:?}");
    }
    let mut snapshot = pull_request(
        ".github/workflows/ci.yml",
        &[
            format!("-  - uses: a/b@{} # v1", "1".repeat(40)),
            format!("+  - uses: a/b@{} # v2", "2".repeat(40)),
        ],
    );
    assert_eq!(
        opened_in(&snapshot),
        ["security"],
        "a commit that somebody wrote may be one of a fork"
    );
    snapshot.pull_request.author.kind = AccountKind::Bot;
    snapshot.pull_request.author.login = "renovate[bot]".parse().unwrap();
    assert_eq!(opened_in(&snapshot), NONE);
}

#[test]
fn a_repository_chooses_its_rules() {
    let policy = |text: &str| parse("f", text).map_err(|error| (error.message, error.hint));
    let security = |policy: &Policy| policy.gates[&"security".parse().unwrap()].clone();
    let change = |line: &str| pull_request("src/a.rs", &[" x".to_owned(), line.to_owned()]);
    let opens = |text: &str, line: &str| {
        !matches(&security(&policy(text).unwrap()), &change(line), &[]).is_empty()
    };
    assert!(opens("version: 1\n", "+eval(x)"));
    assert!(!opens(
        "gates: { security: { rules: { code-execution: off } } }\n",
        "+eval(x)"
    ));
    assert!(!opens(
        "gates: { security: { rules: { code-execution: suspects } } }\n",
        "+eval(x)"
    ));
    assert!(opens(
        "gates: { security: { rules: { code-execution: suspects } } }\n",
        "+eval(token)"
    ));
    assert!(opens(
        "gates: { security: { rules: { role-word: opens } } }\n",
        "+role"
    ));
    // A gate of one's own may go by a preset's rules.
    let own = policy("gates: { pay: { when: { rules: external }, rules: { payment: opens } } }\n")
        .unwrap();
    assert!(
        !matches(
            &own.gates[&"pay".parse().unwrap()],
            &change("+refund()"),
            &[]
        )
        .is_empty()
    );
    for (text, hint) in [
        (
            "gates: { security: { rules: { code-executio: off } } }\n",
            "did you mean `code-execution`?",
        ),
        (
            "gates: { deploy: { rules: { code-execution: off } } }\n",
            "its `when` names no rules",
        ),
        (
            "gates: { pay: { when: { rules: securty } } }\n",
            "did you mean `security`?",
        ),
    ] {
        let (message, said) = policy(text).unwrap_err();
        assert!(
            said.as_deref().unwrap_or_default().contains(hint),
            "{text}: {message} {said:?}"
        );
    }
}

#[test]
fn the_presets_are_those_of_the_contract() {
    let policy = presets();
    let facts: Vec<_> = policy
        .gates
        .iter()
        .map(|(name, gate)| {
            let team = gate.approvers.preset_team.as_deref().unwrap_or_default();
            (
                name.as_str(),
                gate.label.as_str(),
                gate.holds,
                team,
                gate.approve_by,
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            (
                "architecture",
                "needs:architecture-review",
                Stage::Scaffold,
                "tech-leads",
                ApproveBy::Comment
            ),
            (
                "database",
                "needs:database-review",
                Stage::Verify,
                "dba",
                ApproveBy::Comment
            ),
            (
                "deploy",
                "needs:deploy-approval",
                Stage::Review,
                "release-managers",
                ApproveBy::Review
            ),
            (
                "external",
                "needs:external-review",
                Stage::Validate,
                "tech-leads",
                ApproveBy::Comment
            ),
            (
                "security",
                "needs:security-review",
                Stage::Validate,
                "security",
                ApproveBy::Comment
            ),
        ]
    );
    assert_eq!(
        policy.gates[&"deploy".parse().unwrap()].trigger,
        GateTrigger::Always
    );
    for gate in policy.gates.values() {
        assert!(!gate.is_configured);
        assert_eq!(
            (
                gate.remind_after.num_hours(),
                gate.escalate_after.num_hours()
            ),
            (24, 72)
        );
    }
}

#[test]
fn every_preset_has_its_template_and_no_role_is_given_twice() {
    let templates =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/loopgate-render/templates/gates");
    let mut roles = BTreeMap::new();
    for (name, gate) in presets().gates {
        let preset = gate.preset.unwrap();
        let template = std::fs::read_to_string(templates.join(format!("{}.md", preset.template)))
            .expect("a template");
        assert_eq!(template.matches("- [ ]").count(), preset.boxes, "{name}");
        if let Some(role) = preset.role {
            assert_eq!(roles.insert(role, name), None, "{role:?}");
        }
    }
    let custom = std::fs::read_to_string(templates.join("custom.md")).expect("a template");
    assert_eq!(custom.matches("- [ ]").count(), GatePreset::BOXES_OF_OTHERS);
    assert_eq!(
        roles.keys().copied().collect::<Vec<_>>(),
        [GateRole::Security, GateRole::Deploy]
    );
}

/// Nothing else knows gates by their names: a preset more is a file more.
#[test]
fn a_sixth_preset_is_one_file() {
    let text = "gate:\n  preset: { team: treasury, template: database, boxes: 4, holds_without_team: true }\n  blocks: REVIEW -> SHIP\n  \
                label: money\n  when: { paths: [\"src/billing/**\"] }\n";
    let files: Vec<_> = FILES
        .into_iter()
        .chain([("payments", "six.yml", text)])
        .collect();
    let six = Presets::read(&files).unwrap();
    let load = |text| load_on(&six, None, Some(Source::new("f", text)));

    let gates = load("").unwrap().policy.gates;
    let payments = &gates[&"payments".parse().unwrap()];
    assert_eq!((gates.len(), payments.is_configured), (6, false));
    assert_eq!(
        (payments.label.as_str(), payments.holds),
        ("money", Stage::Review)
    );
    assert_eq!(
        payments.preset.as_ref().unwrap().template.as_str(),
        "database"
    );
    let snapshot = fixtures::snapshot();
    assert_eq!(
        payments.preset_team(&snapshot.repository),
        "acme/treasury".parse().ok()
    );
    let is_shown = |gate| {
        is_advisory(
            gate,
            Mode::Hybrid,
            &snapshot.repository,
            &snapshot.authority,
        )
    };
    assert!(!is_shown(payments));
    assert!(is_shown(&gates[&"external".parse().unwrap()]));

    let gates = load("gates: { payments: { approvers: { users: [alice] } } }\n")
        .unwrap()
        .policy
        .gates;
    let payments = &gates[&"payments".parse().unwrap()];
    assert_eq!(
        (payments.is_configured, &payments.approvers.preset_team),
        (true, &None)
    );
    assert_eq!(
        payments.preset.as_ref().unwrap().template.as_str(),
        "database"
    );

    let hint = load("gates: { paymets: {} }\n").unwrap_err().remove(0).hint;
    assert_eq!(
        hint.as_deref(),
        Some("say when it opens, or did you mean the preset `payments`?")
    );
}

/// `docs/rules.md` is made from the rules. What stands between its two marks was measured, and stays.
#[test]
fn the_document_says_what_the_rules_are() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    let written = fs::read_to_string(&file).unwrap_or_default();
    let measured = written
        .split_once(MEASURED)
        .and_then(|(_, rest)| rest.split_once(END))
        .map_or("\n", |(it, _)| it);
    let mut document = include_str!("rules_head.md").replace(
        &format!("{MEASURED}{END}"),
        &format!("{MEASURED}{measured}{END}"),
    );
    for name in Presets::builtin().gates.keys() {
        let rules: Vec<&GateRule> = Presets::builtin()
            .rules
            .rules
            .iter()
            .filter(|rule| rule.gate == *name)
            .collect();
        if !rules.is_empty() {
            let _ = write!(document, "\n## The gate {name}\n");
        }
        for rule in rules {
            let tier = match rule.tier {
                RuleTier::Opens => "Opens.",
                RuleTier::Suspects => "A suspect.",
            };
            let kinds: Vec<&str> = rule.kinds.iter().map(|kind| kind.as_str()).collect();
            let looks_at_kinds = rule.path.is_some() || rule.of_lines().next().is_some();
            let kinds = if looks_at_kinds {
                format!(" Files: {}.", kinds.join(", "))
            } else {
                String::new()
            };
            let _ = write!(
                document,
                "\n### {}\n\n{}{}. {tier} {}{kinds}\n\n```diff\nfound: {}\nnot: {}\n```\n",
                rule.id,
                rule.says[..1].to_uppercase(),
                &rule.says[1..],
                looks_at(rule),
                rule.opens.join("\n"),
                rule.quiet.join("\n"),
            );
        }
    }
    loopgate_written::assert_written(&file, &document);
}

const MEASURED: &str = "<!-- measured -->";
const END: &str = "<!-- end of measured -->";

/// Words of a rule that the document shows; the file of the gate has all.
const SHOWN: usize = 4;

/// What a rule looks at, with its first words.
fn looks_at(rule: &GateRule) -> String {
    let words = |words: &[&str]| {
        let first = words
            .iter()
            .take(SHOWN)
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let more = words.len().saturating_sub(SHOWN);
        if more > 0 {
            format!("{first} and {more} more")
        } else {
            first
        }
    };
    let what = |terms: &RuleTerms| match terms {
        RuleTerms::Words(all) => {
            let (globs, named): (Vec<&str>, Vec<&str>) = all
                .iter()
                .map(String::as_str)
                .partition(|word| rule.path.is_some() && word.contains(['/', '*', '.']));
            words(&[named, globs].concat())
        }
        RuleTerms::Expression { .. } => "by an expression".to_owned(),
    };
    let inside = match rule.within {
        Some(_) => " directly in a declaration that another expression names",
        None => "",
    };
    let lines = rule
        .of_lines()
        .next()
        .map(|(side, terms)| format!("{side:?} lines{inside}: {}.", what(terms)));
    let path = rule
        .path
        .as_ref()
        .map(|terms| format!("Paths: {}.", what(terms)));
    let manifest = rule.manifest.map(|change| match change {
        ManifestChange::Dependency => "Dependencies of manifests.".to_owned(),
        ManifestChange::Source => "Where manifests and lock files fetch from.".to_owned(),
        ManifestChange::Hook => "What manifests run at install.".to_owned(),
        ManifestChange::Identity => "Packages of lock files.".to_owned(),
        ManifestChange::Downgrade => "Where manifests hold packages.".to_owned(),
        ManifestChange::Script => "`run:` of workflows.".to_owned(),
        ManifestChange::Copy => "Copies of packages, and what machines write.".to_owned(),
        ManifestChange::Action => "`uses:` of workflows.".to_owned(),
    });
    lines
        .or(path)
        .or(manifest)
        .unwrap_or_else(|| "Folders at the top.".to_owned())
}
