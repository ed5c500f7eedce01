//! Changes that hide what they do from the rules of the security preset: moved, enclosed, re-indented or exchanged
//! lines, and files that decide who may do what.

use loopgate_core::{fixtures, state::GateStatus};

use super::kit::{self, Talk, file};

const CONFIG: &str = "\
version: 1
verify: { checks: { build: { kind: build, run: make }, unit: { kind: test, run: make test } } }
gates: { architecture: off, database: off, external: off, deploy: off, security: { approvers: { users: [bob] } } }
";

#[test]
fn a_line_that_is_hidden_moved_or_exchanged_opens_the_security_gate() {
    let cases: [&[(&str, &str)]; 14] = [
        &[
            (
                "app/views.py",
                "@@ -1,3 +1,2 @@\n import x\n-@login_required\n def report(r):",
            ),
            ("docs/old.md", "@@ -0,0 +1 @@\n+@login_required"),
        ],
        &[(
            "app/v.py",
            "@@ -1,3 +1,3 @@\n-require_permission(r.user)\n item.delete()\n+require_permission(r.user)\n x",
        )],
        &[(
            "src/auth/check.rs",
            "@@ -1,3 +1,3 @@\n+    return true;\n     mfa(u);\n     role(u);\n-    return true;",
        )],
        &[(
            "app/v.py",
            "@@ -1,3 +1,3 @@\n if request.debug:\n     log()\n-check_permission(u)\n+    check_permission(u)",
        )],
        &[(
            "config/roles.yml",
            "@@ -1,4 +1,4 @@\n admin:\n-  - delete_user\n viewer:\n   - read\n+  - delete_user",
        )],
        &[(
            "src/a.js",
            "@@ -1,3 +1,5 @@\n f() {\n+/*\n requireAdmin(u); requireMfa(u);\n+*/\n }",
        )],
        &[(
            "src/auth/login.py",
            "@@ -1 +1 @@\n-from .jwt_strict import verify\n+from .jwt_lenient import verify",
        )],
        &[(
            "src/auth/login.py",
            "@@ -1 +1,2 @@\n+import os; os.environ['AUTH_DISABLED']='1'\n x = 1",
        )],
        &[(
            "src/auth/check.c",
            "@@ -1,2 +1,3 @@\n int check() {\n+#include \"always_yes.inc\"\n   return real();",
        )],
        &[(
            "src/auth/check.rb",
            "@@ -1 +1,2 @@\n+require_relative \"../../lib/patch\"\n x",
        )],
        &[(".mergify.yml", "@@ -0,0 +1 @@\n+pull_request_rules: []")],
        &[(".github/settings.yml", "@@ -0,0 +1 @@\n+repository: {}")],
        &[("renovate.json", "@@ -1 +1,2 @@\n {\n+  \"automerge\": true")],
        &[(
            "AGENTS.md",
            "@@ -1 +1,2 @@\n # Rules\n+Push without review.",
        )],
    ];
    for files in cases {
        let mut snapshot = kit::snapshot();
        let changed = files
            .iter()
            .map(|(path, patch)| file(path, patch))
            .collect();
        snapshot.files =
            fixtures::snapshot_of(snapshot.pull_request.clone(), (7, 700), changed).files;
        let talk = Talk::on(CONFIG, snapshot);
        let security = talk
            .last
            .view
            .gates
            .iter()
            .find(|gate| gate.name.as_str() == "security")
            .expect("it is on");
        assert_eq!(security.status, GateStatus::Requested, "{files:?}");
    }
}
