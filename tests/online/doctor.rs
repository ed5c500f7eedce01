//! `loopgate doctor`: each fault is found by its check and named with its remedy, and a healthy installation has none.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use axum::{Router, http::StatusCode, routing::any};
use http::{HeaderValue, header};
use loopgate_core::AppId;
use loopgate_simulator::{
    Area, Config, Harm, Level, Protection, RequestFault, RequiredCheck, Simulator,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{As, browser::Browser, run_with};

const RIGHT: &str = "\
version: 1
verify: { checks: { build: { kind: build, run: make }, unit: { kind: test, run: make test } } }
gates:
  security: { approvers: { users: [olga, bob] } }
  architecture: off
  database: off
  external: off
  deploy: off
";

/// A healthy installation, before somebody meddles with it.
struct Installation {
    github: Simulator,
    /// What the server answers to webhooks.
    answer: Arc<AtomicU16>,
    address: String,
    environment: Vec<(&'static str, String)>,
    repository: &'static str,
}

impl Installation {
    async fn healthy() -> Self {
        let github = Simulator::start(Config::default()).await.unwrap();
        let answer = Arc::new(AtomicU16::new(202));
        let status = answer.clone();
        let respond = async move || StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(
            async move { axum::serve(listener, Router::new().fallback(any(respond))).await },
        );
        github.set_webhook_url(&format!("{address}/webhook"));
        let environment = vec![("LOOPGATE_PUBLIC_URL", address.clone())];
        let it = Self {
            github,
            answer,
            address,
            environment,
            repository: "acme/widgets",
        };
        it.repository(
            RIGHT,
            ["loopgate / verify", "loopgate / gates"],
            Some(it.github.app_id()),
        );
        it
    }

    fn repository(&self, configuration: &str, required: [&str; 2], app: Option<AppId>) {
        let name = if self
            .github
            .sha(&"acme/widgets".parse().unwrap(), "main")
            .is_ok()
        {
            "acme/other"
        } else {
            "acme/widgets"
        };
        let files = [(".github/loopgate.yml", configuration), ("a", "b")];
        let repo = self
            .github
            .create_private_repo(
                name,
                if configuration.is_empty() {
                    &files[1..]
                } else {
                    &files
                },
            )
            .unwrap();
        let required_checks = required
            .map(|context| RequiredCheck {
                context: context.into(),
                app,
            })
            .to_vec();
        self.github
            .admin()
            .protect(
                &repo,
                "main",
                Protection {
                    required_checks,
                    ..Protection::default()
                },
            )
            .unwrap();
    }

    /// Another repository, with this in its configuration.
    fn configured(&mut self, configuration: &str) {
        self.repository(
            configuration,
            ["loopgate / verify", "loopgate / gates"],
            Some(self.github.app_id()),
        );
        self.repository = "acme/other";
    }

    /// Another repository, whose default branch requires these checks of this App.
    fn requiring(&mut self, required: [&str; 2], app: Option<AppId>) {
        self.repository(RIGHT, required, app);
        self.repository = "acme/other";
    }

    fn harm(&self, path: &str, harm: Harm) {
        self.github.add_fault(RequestFault::on(path, harm).unwrap());
    }

    fn answering(&self, path: &str, body: Value) {
        self.harm(
            path,
            Harm::Answer {
                status: StatusCode::OK,
                headers: Vec::new(),
                body,
            },
        );
    }

    /// What the doctor says, and the exit code.
    async fn examined(&self) -> (Option<i32>, Value) {
        self.github.ping();
        self.github.settle().await;
        let nowhere = tempfile::tempdir().unwrap();
        let arguments = ["doctor", self.repository, "--format", "json"];
        let said = run_with(
            &self.github,
            &As::App,
            nowhere.path(),
            &arguments,
            &self.environment,
        );
        let told =
            serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{} {}", said.out, said.err));
        (said.code, told)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_installation_has_no_fault_and_no_warning() {
    let it = Installation::healthy().await;
    let (code, told) = it.examined().await;
    let lines = told["lines"].as_array().unwrap();
    assert!(
        lines.iter().all(|line| line["outcome"] == "healthy"),
        "{told:#}"
    );
    assert_eq!((code, lines.len()), (Some(0), 17));
    let nowhere = tempfile::tempdir().unwrap();
    it.github
        .admin()
        .edit_app(|_, events| {
            events.remove("status");
        })
        .unwrap();
    let said = run_with(
        &it.github,
        &As::App,
        nowhere.path(),
        &["doctor"],
        &it.environment,
    );
    insta::assert_snapshot!(said.out.replace(&it.github.url(), "https://github.com"), @"
    ✓ clock: this machine's clock agrees with GitHub's
    ✓ app: GitHub answers, and takes the App's key
    ✓ version: this GitHub is one that is made for
    ✓ permissions: the App asks for all permissions that are needed
    ✗ events: the App does not hear of: status
        do: tick these under Subscribe to events, on the App's settings page
        at: https://github.com/organizations/acme/settings/apps/loopgate/permissions
    ✓ installations: the App is installed, and nothing suspends it
    ✓ accepted-permissions: every installation has what the App asks for
    ✓ installation-requests: no request to install the App waits
    ✓ webhook-address: webhooks go to this server
    ✓ deliveries: the last deliveries were accepted
    ✓ signing: no statements about merges are signed: LOOPGATE_SIGNING_KEY is not set
        do: to have them, make a key with `openssl genpkey -algorithm ed25519`
    ✓ redelivery: the newest delivery was sent again, and arrived
    ");
}

/// The check that finds a fault, and words of its remedy.
type Found = (&'static str, &'static str);
type Planted = (&'static str, Found, fn(&mut Installation));

const FAULTS: [Planted; 23] = [
    ("another App's key", ("app", "generate a key"), |it| {
        it.environment.push((
            "LOOPGATE_PRIVATE_KEY",
            include_str!("../../src/server/testdata/not-a-secret.pem").into(),
        ));
    }),
    ("GitHub is away", ("app", "reaches GitHub"), |it| {
        it.harm("^/app$", Harm::status(StatusCode::BAD_GATEWAY))
    }),
    ("a clock that is wrong", ("clock", "NTP"), |it| {
        let late = |parts: &mut http::response::Parts, body| {
            parts.headers.insert(
                header::DATE,
                HeaderValue::from_static("Fri, 20 Nov 2026 10:00:00 GMT"),
            );
            vec![Some(body)]
        };
        it.harm("^/app$", Harm::Alter(late));
    }),
    (
        "a permission that the App does not ask for",
        ("permissions", "choose Checks: read and write"),
        |it| {
            it.github
                .admin()
                .edit_app(|permissions, _| {
                    permissions.insert(Area::Checks, Level::Read);
                })
                .unwrap();
        },
    ),
    (
        "an event that it does not hear",
        ("events", "tick these"),
        |it| {
            it.github
                .admin()
                .edit_app(|_, events| {
                    events.remove("issue_comment");
                })
                .unwrap();
        },
    ),
    (
        "permissions that nobody accepted",
        ("accepted-permissions", "Review request"),
        |it| {
            it.github
                .admin()
                .accept_permissions([(Area::Contents, Level::Read)].into())
                .unwrap();
        },
    ),
    (
        "a suspended installation",
        ("installations", "end the suspension"),
        |it| it.github.admin().suspend_app().unwrap(),
    ),
    ("no installation", ("installations", "install it"), |it| {
        it.github.admin().uninstall_app().unwrap()
    }),
    (
        "no webhook",
        ("webhook-address", "set the webhook URL"),
        |it| it.github.set_webhook_url(""),
    ),
    (
        "a webhook that goes elsewhere",
        ("webhook-address", "/webhook on the App's settings page"),
        |it| {
            it.github.set_webhook_url(&format!("{}/hook", it.address));
        },
    ),
    (
        "webhooks sent as forms",
        ("webhook-address", "application/json"),
        |it| {
            let url = format!("{}/webhook", it.address);
            it.answering(
                "/app/hook/config",
                json!({ "url": url, "content_type": "form" }),
            );
        },
    ),
    (
        "another webhook secret",
        ("deliveries", "LOOPGATE_WEBHOOK_SECRET"),
        |it| it.answer.store(401, Ordering::Relaxed),
    ),
    (
        "nobody answers",
        ("redelivery", "start `loopgate serve`"),
        |it| {
            it.github.set_webhook_url("http://127.0.0.1:9/webhook");
            it.environment = vec![("LOOPGATE_PUBLIC_URL", "http://127.0.0.1:9".into())];
        },
    ),
    (
        "somebody else answers",
        ("deliveries", "the path is not /webhook"),
        |it| it.answer.store(404, Ordering::Relaxed),
    ),
    (
        "a repository that was not selected",
        ("repository", "add the repository"),
        |it| {
            it.github
                .admin()
                .change_selection(&[], &[&"acme/widgets".parse().unwrap()])
                .unwrap();
        },
    ),
    (
        "no configuration",
        ("configuration", "loopgate init"),
        |it| it.configured(""),
    ),
    (
        "a broken configuration",
        ("configuration", "did you mean `verify`?"),
        |it| it.configured("version: 1\nverfy: {}\n"),
    ),
    (
        "a team that is not there",
        ("configuration", "take the name from the address"),
        |it| {
            it.configured(&RIGHT.replace("users: [olga, bob]", "teams: [acme/nobody]"));
        },
    ),
    (
        "GitHub Actions is off",
        ("configuration", "switch it on"),
        |it| {
            it.answering("/actions/permissions$", json!({ "enabled": false }));
        },
    ),
    (
        "required of anybody",
        ("required-checks", "choose loopgate as its expected source"),
        |it| {
            it.requiring(["loopgate / verify", "loopgate / gates"], None);
        },
    ),
    (
        "required of another App",
        ("required-checks", "choose loopgate as its expected source"),
        |it| {
            it.requiring(
                ["loopgate / verify", "loopgate / gates"],
                Some(AppId::new(515_151)),
            );
        },
    ),
    (
        "a required name that nobody reports",
        ("required-checks", "write it as `loopgate / gates`"),
        |it| {
            it.requiring(
                ["loopgate / verify", "loopgate/gates"],
                Some(it.github.app_id()),
            );
        },
    ),
    (
        "an agent that hears no App",
        ("agent", "kind: dispatch"),
        |it| {
            it.github.admin().add_user("copilot").unwrap();
            it.configured(&format!(
                "{RIGHT}fixer: {{ kind: mention, mention: copilot }}\n"
            ));
        },
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_fault_is_found_and_named_with_its_remedy() {
    for (fault, (check, remedy), plant) in FAULTS {
        let mut it = Installation::healthy().await;
        plant(&mut it);
        let (code, told) = it.examined().await;
        let is_found = |line: &Value| {
            let says = line["remedy"]
                .as_str()
                .is_some_and(|text| text.contains(remedy));
            line["check"] == check && line["outcome"] == "fault" && says
        };
        assert!(
            told["lines"].as_array().unwrap().iter().any(is_found),
            "{fault}: {told:#}"
        );
        assert_eq!(
            (code, &told["healthy"]),
            (Some(65), &false.into()),
            "{fault}"
        );
    }
}

const WARNINGS: [Planted; 3] = [
    (
        "an old Enterprise Server",
        ("version", "upgrade it to 3.18"),
        |it| {
            it.answering("/meta$", json!({ "verifiable_password_authentication": true, "installed_version": "3.9.12" }));
        },
    ),
    (
        "a mirror",
        ("hidden-refs", "leave out refs/loopgate/*"),
        |it| {
            let mirrored = |parts: &mut http::response::Parts, body: axum::body::Bytes| {
                let text = String::from_utf8(body.to_vec()).unwrap();
                parts.headers.remove(header::CONTENT_LENGTH);
                vec![Some(
                    text.replace(
                        "\"mirror_url\":null",
                        "\"mirror_url\":\"https://git.example/w\"",
                    )
                    .into(),
                )]
            };
            it.harm("/repos/acme/widgets$", Harm::Alter(mirrored));
        },
    ),
    (
        "rules for each push",
        ("hidden-refs", "bypass list"),
        |it| {
            let rules = |id, target, bypass| {
                json!({ "id": id, "name": "sizes", "target": target, "source": "acme",
            "enforcement": "active", "current_user_can_bypass": bypass })
            };
            it.answering(
                "/rulesets",
                json!([
                    rules(1, "branch", "never"),
                    rules(2, "push", "always"),
                    rules(3, "push", "never")
                ]),
            );
        },
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_may_become_a_fault_is_a_warning() {
    for (warning, (check, remedy), plant) in WARNINGS {
        let mut it = Installation::healthy().await;
        plant(&mut it);
        let (code, told) = it.examined().await;
        let lines: Vec<_> = told["lines"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line["check"] == check)
            .collect();
        assert_eq!(
            (code, lines.len(), &lines[0]["outcome"]),
            (Some(0), 1, &"warning".into()),
            "{warning}: {told:#}"
        );
        assert!(
            lines[0]["remedy"]
                .as_str()
                .is_some_and(|text| text.contains(remedy)),
            "{warning}: {told:#}"
        );
    }
}

/// Somebody who may not install it has asked for it: no fault of ours, and told.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_an_installation_is_named() {
    let it = Installation::healthy().await;
    it.github.admin().add_org("umbrella").unwrap();
    it.github
        .admin()
        .add_org_member("umbrella", "alice", loopgate_simulator::OrgRole::Member)
        .unwrap();
    let alice = Browser::as_person(&it.github.user("alice").token().unwrap());
    alice
        .submit(
            &format!("{}/apps/loopgate/installations/new", it.github.url()),
            &[("account", "umbrella")],
        )
        .await;
    let (code, told) = it.examined().await;
    let line = told["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["check"] == "installation-requests")
        .unwrap();
    assert_eq!(
        (code, &line["outcome"]),
        (Some(0), &"warning".into()),
        "{told:#}"
    );
    assert!(
        line["message"]
            .as_str()
            .unwrap()
            .starts_with("alice has asked for the App on umbrella"),
        "{line}"
    );
}

/// An answer of GitHub's with this done to its JSON.
fn with(
    body: axum::body::Bytes,
    parts: &mut http::response::Parts,
    change: fn(&mut Value),
) -> Vec<Option<axum::body::Bytes>> {
    let mut answer = serde_json::from_slice(&body).unwrap();
    change(&mut answer);
    parts.headers.remove(header::CONTENT_LENGTH);
    vec![Some(answer.to_string().into())]
}

/// An enterprise as GitHub shows it: without a login.
fn enterprise() -> Value {
    json!({ "id": 3, "node_id": "x", "name": "Big", "slug": "big", "html_url": "https://github.com/enterprises/big",
            "avatar_url": "x", "created_at": null, "updated_at": null })
}

/// An installation on an enterprise, and one whose account is gone, as GitHub's description has both.
fn other_installations() -> [Value; 2] {
    let on = |account: Value| {
        json!({ "id": 9002, "account": account, "html_url": "https://github.com/x", "suspended_at": null,
                "permissions": { "enterprise_organization_installations": "write" }, "events": [] })
    };
    let mut gone = on(Value::Null);
    gone["permissions"] = json!({
        "contents": "write", "pull_requests": "write", "issues": "write", "checks": "write", "actions": "write",
        "statuses": "read", "merge_queues": "read", "metadata": "read",
    });
    [on(enterprise()), gone]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_an_enterprise_is_examined_as_any_other() {
    let it = Installation::healthy().await;
    let owned = |parts: &mut http::response::Parts, body| {
        with(body, parts, |app| {
            app["owner"] = enterprise();
            app["events"]
                .as_array_mut()
                .unwrap()
                .retain(|event| event != "status");
        })
    };
    it.harm("^/app$", Harm::Alter(owned));
    let installed = |parts: &mut http::response::Parts, body| {
        with(body, parts, |list| {
            list.as_array_mut().unwrap().extend(other_installations());
        })
    };
    it.harm(r"^/app/installations\?", Harm::Alter(installed));
    let (_, told) = it.examined().await;
    let lines = told["lines"].as_array().unwrap();
    let wrong: Vec<_> = lines
        .iter()
        .filter(|line| line["outcome"] != "healthy")
        .collect();
    assert_eq!((wrong.len(), lines.len()), (1, 17), "{told:#}");
    let link = wrong[0]["link"].as_str().unwrap();
    assert!(
        link.ends_with("/enterprises/big/settings/apps/loopgate/permissions"),
        "{link}"
    );
}

/// What is not known is not ticked, and the way to the machine is not blamed for it.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_not_known() {
    let it = Installation::healthy().await;
    it.answering(
        r"^/app/installations\?",
        json!([{ "account": { "id": 3 }, "html_url": "x" }]),
    );
    let (_, told) = it.examined().await;
    let lines = told["lines"].as_array().unwrap();
    for check in ["installations", "accepted-permissions"] {
        let line = lines.iter().find(|line| line["check"] == check).unwrap();
        assert_eq!(line["outcome"], "unknown", "{line}");
        let remedy = line["remedy"].as_str().unwrap();
        assert!(remedy.contains("a form that this version"), "{remedy}");
    }
    let it = Installation::healthy().await;
    it.answering("^/app$", json!({ "id": 1, "slug": "loopgate" }));
    let (_, told) = it.examined().await;
    let app = told["lines"].as_array().unwrap().last().unwrap();
    assert_eq!(app["check"], "app");
    assert!(
        app["remedy"]
            .as_str()
            .unwrap()
            .contains("a form that this version"),
        "{app}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enterprise_has_no_repositories() {
    let it = Installation::healthy().await;
    let alone = |parts: &mut http::response::Parts, body| {
        with(body, parts, |list| {
            let [on_enterprise, _] = other_installations();
            *list = json!([on_enterprise]);
        })
    };
    it.harm(r"^/app/installations\?", Harm::Alter(alone));
    let (_, told) = it.examined().await;
    let line = told["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["check"] == "installations");
    let message = line.unwrap()["message"].as_str().unwrap();
    assert!(message.contains("on an enterprise alone"), "{message}");
}
