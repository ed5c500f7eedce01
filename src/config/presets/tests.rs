//! What the presets open, and what they leave alone.

use std::{collections::BTreeMap, path::Path};

use super::*;
use crate::config::load::{load_on, presets};
use loopgate_core::{
    fixtures,
    gate::{Holding, holding, matches},
    observed::{ChangedFile, ChangedFiles, FileStatus},
    policy::{ApproveBy, GateDefinition, GateTrigger, LinePatterns, Mode, Policy},
    stage::Stage,
};

/// The presets that a change to one file opens, without `deploy`, which every change opens.
fn opened_by(path: &str, added: &str) -> Vec<String> {
    opened(vec![changed(path, FileStatus::Modified, &format!(" context\n+{added}"))])
}

fn changed(path: &str, status: FileStatus, lines: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status,
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some(format!("@@ -1,1 +1,1 @@\n{lines}")),
    }
}

fn opened(files: Vec<ChangedFile>) -> Vec<String> {
    let mut snapshot = fixtures::snapshot();
    // Every folder at the top is known, so that only what stands in the files opens a gate.
    let top = |file: &ChangedFile| file.path.split_once('/').map(|(folder, _)| folder.to_owned());
    snapshot.base_folders = Some(files.iter().filter_map(top).collect());
    snapshot.files = ChangedFiles::Complete(files);
    static PRESETS: LazyLock<Policy> = LazyLock::new(presets);
    let presets = PRESETS.gates.iter().filter(|(name, _)| name.as_str() != "deploy");
    let opened = presets.filter(|(_, gate)| !matches(gate, &snapshot, &[]).is_empty());
    opened.map(|(name, _)| name.to_string()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn look_alikes_of_ten_languages_are_told_apart() {
    let mut wrong = Vec::new();
    for case in include_str!("look_alikes.txt").split("\n= ").skip(1) {
        let (title, files) = case.split_once('\n').unwrap();
        let (name, gates) = title.split_once(" -> ").unwrap();
        let files = format!("\n{}", files.trim_end());
        let files = files.split("\n@").skip(1).map(|file| {
            let (path, lines) = file.split_once('\n').unwrap();
            match path.strip_prefix('+') {
                Some(path) => changed(path.trim(), FileStatus::Added, lines),
                None => changed(path.trim(), FileStatus::Modified, lines),
            }
        });
        let is = opened(files.collect());
        let is = if is.is_empty() { "none".to_owned() } else { is.join(", ") };
        if is != gates {
            wrong.push(format!("{name}: {is} instead of {gates}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_open_the_gates_they_are_about() {
    for (path, gates) in [
        ("src/auth/mod.rs", &["security"][..]),
        ("src/Auth/Login.java", &["security"]),
        ("auth/handler.go", &["security"]),
        ("src/auth.ts", &["security"]),
        ("lib/user_auth.rb", &["security"]),
        ("src/AuthService.kt", &["security"]),
        ("app/middleware/authenticate.py", &["security"]),
        ("src/crypto/aes.rs", &["security"]),
        ("src/session_store.rs", &["security"]),
        ("src/access_token.rs", &["security"]),
        ("config/secrets.yml", &["architecture", "security"]),
        (".env", &["security"]),
        ("deploy/tls/server.key", &["security"]),
        (".github/workflows/ci.yml", &["security"]),
        ("manifests/role/controller-clusterrole.yaml", &["architecture", "security"]),
        ("lib/dkim_header.rb", &["security"]),
        (".github/CODEOWNERS", &["security"]),
        ("docs/CODEOWNERS", &["security"]),
        (".github/loopgate.yml", &["security"]),
        ("Dockerfile", &["architecture"]),
        ("services/api/Dockerfile.dev", &["architecture"]),
        ("docker-compose.override.yml", &["architecture"]),
        ("compose.yaml", &["architecture"]),
        ("terraform/main.tf", &["architecture"]),
        ("deploy/k8s/api.yaml", &["architecture"]),
        ("helm/values.yaml", &["architecture"]),
        ("manifests/base/deployment.yaml", &["architecture"]),
        ("server/config/production.toml", &["architecture"]),
        ("docs/schema/V1/schema.verified.graphql", &["architecture"]),
        ("config/production.toml", &["architecture"]),
        ("src/main/resources/application-prod.yml", &["architecture"]),
        ("migrations/0001_init.sql", &["database"]),
        ("app/db/migrate/20260101_add.rb", &["database"]),
        ("prisma/schema.prisma", &["database"]),
        ("db/schema.rb", &["database"]),
        ("sql/report.sql", &["database"]),
        ("src/user.entity.ts", &["database"]),
        ("src/integrations/stripe.rs", &["external"]),
        ("app/webhooks/github.py", &["external"]),
        ("src/billing_api_client.go", &["external"]),
        ("src/HttpClientFactory.java", &["external"]),
    ] {
        assert_eq!(opened_by(path, "plain text"), gates, "{path}");
    }
}

#[test]
fn paths_that_only_look_alike_open_nothing() {
    for path in [
        "src/author.rs",
        "src/authors/list.ts",
        "src/blog/AuthorCard.tsx",
        "src/lexer/token.rs",
        "src/tokenizer.rs",
        "src/theme/tokens.ts",
        "docs/auth/overview.md",
        // Only tests, translations, and models in which nothing is defined.
        "e2e/acceptance/login.spec.ts",
        "tests/unit/oidc/test_core.py",
        "src/models/session.test.ts",
        "locale/de/LC_MESSAGES/auth.mo",
        "shop/models.py",
        "app/models/order.rb",
        "src/auth/README.md",
        "docs/architecture.md",
        "src/config.rs",
        "src/accessibility.ts",
        "src/keyboard.ts",
        "queries/report.sql",
        "tests/integration/checkout.rs",
        "src/client.rs",
        "src/indexer.rs",
        "src/view.rs",
        "README.md",
        "Cargo.lock",
        "package-lock.json",
        "src/class_loader.rs",
        "src/obsolete.rs",
    ] {
        assert_eq!(opened_by(path, "plain text"), NONE, "{path}");
    }
}

#[test]
fn names_of_another_sense_count_by_what_changes() {
    for (path, quiet, security) in [
        ("src/tokens.rs", "skip_comma(rest);", "revoke(user);"),
        ("app/models/certificate.rb", "course.title", "renew(key_pair)"),
        ("lib/kitchen/cookies.ex", "bake(tray, 12)", "drop(conn, domain)"),
        ("policies/premium.py", "return base * factor", "return member.is_owner"),
        ("src/identity/matrix.rs", "rows.swap(0, 1);", "login(form);"),
        ("src/santa/secret.ts", "shuffle(names)", "rotate(namespace)"),
    ] {
        assert_eq!(opened_by(path, quiet), NONE, "{path} {quiet}");
        assert_eq!(opened_by(path, security), ["security"], "{path} {security}");
    }
}

#[test]
fn added_lines_open_the_gates_they_are_about() {
    for (line, gates) in [
        ("if !user.is_authenticated() {", &["security"][..]),
        ("let auth = request.header(AUTHORIZATION);", &["security"]),
        ("const authToken = read();", &["security"]),
        ("fn require_permission(user: &User) {}", &["security"]),
        ("let hash = bcrypt::hash(input, 12)?;", &["security"]),
        ("let digest = hmac.finalize();", &["security"]),
        ("password_hash TEXT,", &["security"]),
        ("gh_encrypted_token -> Nullable<Bytea>,", &["database", "security"]),
        ("if (assignerRole !== Role.owner) throw new AuthorizationError();", &["security"]),
        ("    await requireWorkspaceAccess(user, id);", &["security"]),
        ("refuse_untrusted(\"fails closed\");", &["security"]),
        ("throttle: '10',", &["security"]),
        ("csp.add(\"script-src 'unsafe-inline'\");", &["security"]),
        ("    verbs: [get, list]", &["security"]),
        ("  identity: managedIdentity.id", &["security"]),
        ("permissions = cleaned.pop(0)", &["security"]),
        ("if (!this.auth.isMaster) {", &["security"]),
        ("API_KEY = os.environ['API_KEY']", &["security"]),
        ("  client_secret: ${CLIENT_SECRET}", &["security"]),
        ("const jwt = sign(payload);", &["security"]),
        ("key = \"AKIAIOSFODNN7EXAMPLE\"", &["security"]),
        ("-----BEGIN RSA PRIVATE KEY-----", &["security"]),
        ("session_id = new_id()", &["security"]),
        ("pub ssn: String,", &["security"]),
        ("tls_config.InsecureSkipVerify = true", &["security"]),
        ("user.valid_password?(given)", &["security"]),
        ("return _signer.Sign(slip);", &["security"]),
        ("if invoice.customer != current_user.customer: abort(404)", &["security"]),
        ("if !by.can_settle(&slip) {", &["security"]),
        ("res.headers.set('Strict-Transport-Security', age)", &["security"]),
        ("await HttpContext.SignOutAsync();", &["security"]),
        ("if !strings.HasPrefix(filepath.Clean(p), root) {", &["security"]),
        ("@Needs('deed:read')", &["security"]),
        ("var secret = await _keyVault.GetSecretAsync(name, cancellationToken: stop);", &["external", "security"]),
        ("if (parcel.holderId !== clerk.id) return refuse();", &["security"]),
        ("if tries.Count(card) > maxWrongPins {", &["security"]),
        ("await refreshCsrfToken();", &["security"]),
        ("Permissions.DepotsWrite,", &["security"]),
        ("pub mod billing;", &["architecture"]),
        ("app.include_router(parcels.router)", &["architecture"]),
        ("cfg.service(list);", &["architecture"]),
        ("@QueryMapping", &["architecture"]),
        ("export * from './billing';", &["architecture"]),
        ("CREATE TABLE users (id INT);", &["database"]),
        ("create table if not exists users (", &["database"]),
        ("ALTER TABLE users ADD COLUMN age INT;", &["database"]),
        ("\"drop table users;\"", &["database"]),
        ("CREATE UNIQUE INDEX by_name ON users (name);", &["database"]),
        ("CREATE OR REPLACE FUNCTION f() RETURNS int", &["database"]),
        ("    op.add_column('users', sa.Column('age'))", &["database"]),
        ("@Entity", &["database"]),
        ("weaned: Mapped[date | None]", &["database"]),
        ("b.Property(x => x.State).HasConversion<string>();", &["database"]),
        ("enum :state, { open: 0, shut: 1 }", &["database"]),
        ("name = models.CharField(max_length=20)", &["database"]),
        ("let client = reqwest::Client::new();", &["external"]),
        ("r = requests.get(url)", &["external"]),
        ("const partner = axios.create({ baseURL });", &["external"]),
        ("resp, err := http.Get(url)", &["external"]),
        ("const URL: &str = \"https://hooks.slack.com/services\";", &["external"]),
        ("HttpClient client = HttpClient.newHttpClient();", &["external"]),
        ("answer = labs.post('/orders', json=order)", &["external"]),
        ("{:ok, relay} = Mint.HTTP.connect(:https, host, 443)", &["external"]),
        ("const answer = await fetch(process.env.PARTNER + path)", &["external"]),
    ] {
        assert_eq!(opened_by("src/lib.rs", line), gates, "{line}");
    }
}

#[test]
fn lines_that_only_look_alike_open_nothing() {
    for line in [
        "let author = commit.author();",
        "pub authors: Vec<Author>,",
        "let token = lexer.next_token();",
        "for key in map.keys() {",
        "let secretary = person.role();",
        "// Fails closed: an attacker could read another workspace otherwise.",
        "// Calls the authorization service, see the login page",
        "the session store keeps your password safe",
        "onDelete: (apiKey: ApiKeyRow) => void;",
        "const isAdminEmailsShown = true;",
        "@Suppress(\"ForbiddenMethodCall\")",
        "run_with(thread_sanitizer);",
        "let url = format!(\"/api/users\");",
        "sameSite: \"lax\",",
        "let accessible = true;",
        "impl Session {",
        "// create a table of contents",
        "// drop the index once it is built",
        "let index = create_index(&words);",
        "fn update_view(&mut self) {",
        "// see https://docs.rs/serde for the attributes",
        "let url = format!(\"{base}/items\");",
        "let response = client.get(\"/items\");",
        "http://localhost:8080",
        "const LOCAL: &str = \"http://localhost:8080\";",
        "mod billing;",
        "export const total = 3;",
        "let parse = |text: &str| text.parse::<u32>();",
        "let class = \"person\";",
        "let phase = 'a';",
        "self.trigger(event);",
        "let hash = map.hash();",
        "class LinkMaker(private val site: Site) {",
        "def create_table(seats):",
        "val client = salon.client(id)",
        "return httpError(http.StatusTooManyRequests, sentence)",
        "mail = Letter.find(id)",
        "depot = self.get_object()",
        "router->get('{depot}', [",
        "const age = reply.getResponseHeader('X-Last-Event-Timestamp')",
        "class BaseAddressChange(Mutation):",
        "<document propertyAccessControl=\"none\">",
        "var AuthTag = \"v1.22.7\"",
        "return absolute(request.secure(), host)",
    ] {
        assert_eq!(opened_by("src/lib.rs", line), NONE, "{line}");
    }
}

#[test]
fn tests_prose_and_lock_files_are_not_read() {
    for path in [
        "tests/login_flow_helpers.rs",
        "src/__tests__/form.ts",
        "src/form.test.ts",
        "pkg/form_test.go",
        "src/FormTest.java",
        "test_form.py",
        "docs/guide.html",
        "CHANGELOG.md",
        "Cargo.lock",
        "yarn.lock",
        "go.sum",
        "web/app.min.js",
        "vendor/lib/x.go",
    ] {
        let line = "password = sign(jwt); CREATE TABLE users (id INT); axios(\"https://api.example.com\")";
        let opened = opened_by(path, line);
        // By its name alone, a file may be of interest all the same.
        let by_name = opened_by(path, "plain text");
        assert_eq!(opened, by_name, "{path}");
    }
    assert_eq!(opened_by("tests/form_helpers.rs", "password = jwt"), NONE);
}

#[test]
fn the_presets_are_those_of_the_contract() {
    let policy = presets();
    let facts: Vec<_> = policy
        .gates
        .iter()
        .map(|(name, gate)| {
            let team = gate.approvers.preset_team.as_deref().unwrap_or_default();
            (name.as_str(), gate.label.as_str(), gate.holds, team, gate.approve_by)
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("architecture", "needs:architecture-review", Stage::Scaffold, "tech-leads", ApproveBy::Comment),
            ("database", "needs:database-review", Stage::Verify, "dba", ApproveBy::Comment),
            ("deploy", "needs:deploy-approval", Stage::Review, "release-managers", ApproveBy::Review),
            ("external", "needs:external-review", Stage::Validate, "tech-leads", ApproveBy::Comment),
            ("security", "needs:security-review", Stage::Validate, "security", ApproveBy::Comment),
        ]
    );
    assert_eq!(policy.gates[&"deploy".parse().unwrap()].trigger, GateTrigger::Always);
    for gate in policy.gates.values() {
        assert_eq!(gate.definition, GateDefinition::Preset);
        assert_eq!((gate.remind_after.num_hours(), gate.escalate_after.num_hours()), (24, 72));
    }
}

/// A glob that does not compile would be left out without a word, since a preset has no one to complain to, and a
/// pattern would panic.
#[test]
fn every_matcher_of_the_presets_compiles() {
    fn compiled(patterns: &LinePatterns) -> usize {
        assert!(patterns.as_slice().is_empty() || !patterns.may_match(""), "they are asked all at once");
        // Asked, a constant that does not compile panics.
        patterns.as_slice().iter().inspect(|pattern| _ = pattern.matches("")).count()
    }
    fn count(trigger: &GateTrigger) -> usize {
        match trigger {
            GateTrigger::Any(parts) | GateTrigger::All(parts) | GateTrigger::SameFile(parts) => {
                parts.iter().map(count).sum()
            }
            GateTrigger::Not(part) => count(part),
            GateTrigger::Paths(paths) => {
                compiled(&paths.words) + paths.globs.as_slice().len() + paths.except.as_slice().len()
            }
            GateTrigger::AddedLines(lines) | GateTrigger::RemovedLines(lines) => {
                compiled(&lines.patterns) + compiled(&lines.unless) + lines.except.as_slice().len()
            }
            _ => 0,
        }
    }
    /// Texts below the keys that hold matchers, names above them or not; `api: true` stands for what is said once.
    fn written(node: &Node, inside: bool) -> usize {
        match &node.kind {
            Kind::List(items) => items.iter().map(|item| written(item, inside)).sum(),
            Kind::Text(_) => usize::from(inside),
            Kind::Map(map) => map
                .iter()
                .map(|(key, entry)| match key.as_str() {
                    "api" if !inside => written(&Presets::builtin().api, false),
                    "name" => 0,
                    "words" => 1,
                    key => {
                        let holds = ["paths", "globs", "patterns", "unless", "except"].contains(&key);
                        written(&entry.node, inside || holds)
                    }
                })
                .sum(),
            _ => 0,
        }
    }
    assert_eq!(
        presets().gates.values().map(|gate| count(&gate.trigger)).sum::<usize>(),
        written(&Presets::builtin().tree, false)
    );
}

#[test]
fn every_preset_has_its_template_and_no_role_is_given_twice() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/templates/gates");
    let mut roles = BTreeMap::new();
    for (name, gate) in presets().gates {
        let preset = gate.preset.unwrap();
        let template = std::fs::read_to_string(templates.join(format!("{}.md", preset.template))).expect("a template");
        assert_eq!(template.matches("- [ ]").count(), preset.boxes, "{name}");
        if let Some(role) = preset.role {
            assert_eq!(roles.insert(role, name), None, "{role:?}");
        }
    }
    let custom = std::fs::read_to_string(templates.join("custom.md")).expect("a template");
    assert_eq!(custom.matches("- [ ]").count(), GatePreset::BOXES_OF_OTHERS);
    assert_eq!(roles.keys().copied().collect::<Vec<_>>(), [GateRole::Security, GateRole::Deploy]);
}

/// Nothing else knows gates by their names: a preset more is an entry more.
#[test]
fn a_sixth_preset_is_one_entry() {
    let text = [
        TEXT.as_str(),
        "\n  payments:\n    preset: { team: treasury, template: database, boxes: 4, hybrid: always }\n    blocks: REVIEW -> SHIP\n",
        "    label: money\n    when: { paths: [\"src/billing/**\"] }\n",
    ]
    .concat();
    let six = Presets::read(Source::new("six.yml", Box::leak(text.into_boxed_str()))).unwrap();
    let load = |text| load_on(&six, None, Some(Source::new("f", text)));

    let gates = load("").unwrap().policy.gates;
    let payments = &gates[&"payments".parse().unwrap()];
    assert_eq!((gates.len(), payments.definition), (6, GateDefinition::Preset));
    assert_eq!((payments.label.as_str(), payments.holds), ("money", Stage::Review));
    assert_eq!(payments.preset.as_ref().unwrap().template.as_str(), "database");
    let snapshot = fixtures::snapshot();
    assert_eq!(payments.preset_team(&snapshot.repository), "acme/treasury".parse().ok());
    let held = |gate| holding(gate, Mode::Hybrid, &snapshot.repository, &snapshot.authority);
    assert_eq!(held(payments), Holding::Holds);
    assert_eq!(held(&gates[&"external".parse().unwrap()]), Holding::Advisory);

    let gates = load("gates: { payments: { approvers: { users: [alice] } } }\n").unwrap().policy.gates;
    let payments = &gates[&"payments".parse().unwrap()];
    assert_eq!((payments.definition, &payments.approvers.preset_team), (GateDefinition::Configured, &None));
    assert_eq!(payments.preset.as_ref().unwrap().template.as_str(), "database");

    let hint = load("gates: { paymets: {} }\n").unwrap_err().into_first().hint;
    assert_eq!(hint.as_deref(), Some("say when it opens, or did you mean the preset `payments`?"));
}
