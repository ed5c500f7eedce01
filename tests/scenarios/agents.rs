//! Programs ask at `/mcp`, with tokens that people made, and see what GitHub shows to those.

use chrono::TimeDelta;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{Method, StatusCode};
use loopgate_core::UserId;
use loopgate_simulator::{Harm, PullSpec, RequestFault, Role};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::world::{ADDRESS, Answer, Browser, Report, World};

const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
";

/// A private repository with one open loop.
async fn loop_in(world: &World, name: &str) -> loopgate_core::RepoName {
    let repo = world.private_repository(name, CONFIGURATION);
    let spec = PullSpec::new("feat: zeppelins").file("src/lib.rs", "// 1\n");
    world
        .simulator()
        .user("alice")
        .open_pull_request(&repo, spec)
        .expect("a pull");
    world.settle().await;
    repo
}

async fn asks(anybody: &Browser<'_>, token: &str, message: &Value) -> Answer {
    anybody
        .posts(
            &message.to_string(),
            &[("authorization", &format!("Bearer {token}"))],
        )
        .await
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

/// What a tool answers: a document, or why there is none.
async fn calls(
    anybody: &Browser<'_>,
    token: &str,
    tool: &str,
    arguments: Value,
) -> Result<Value, String> {
    let answer = asks(anybody, token, &call(tool, &arguments)).await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json"),
        "{}",
        answer.body
    );
    let mut answer: Value = serde_json::from_str(&answer.body).expect("a message");
    if answer["result"]["isError"] == true {
        return Err(answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned());
    }
    Ok(answer["result"]["structuredContent"].take())
}

/// GitHub tells that a person does not let the App act for them any more.
async fn tells_of_withdrawal(anybody: &Browser<'_>, person: UserId, secret: &str) {
    let body = json!({ "action": "revoked", "sender": { "id": person.get(), "login": "zoe" } })
        .to_string();
    let mut signed = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    signed.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(signed.finalize().into_bytes()));
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", "github_app_authorization"),
        ("x-github-delivery", "withdrawn"),
        ("x-hub-signature-256", &signature),
    ];
    assert_eq!(
        anybody
            .asks(Method::POST, "/webhook", &headers, &body)
            .await
            .status,
        202
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_with_its_token_what_github_shows_to_the_owner() {
    let world = World::published(ADDRESS, None).await;
    loop_in(&world, "acme/shared").await;
    loop_in(&world, "acme/skunkworks").await;
    let shared = "acme/shared".parse().expect("a name");
    world
        .simulator()
        .admin()
        .add_collaborator(&shared, "dave", Role::Read)
        .expect("a repository");
    let dave = Browser::of(&world, "dave");
    dave.signs_in().await;
    let token = dave.makes_a_token("laptop").await;
    assert!(token.starts_with("lg_") && token.len() == 67, "{token}");
    let page = dave.visits("/tokens").await;
    assert!(
        page.body.contains("laptop") && page.body.contains("never") && !page.body.contains(&token),
        "{page:?}"
    );

    let agent = Browser::of(&world, "nobody");
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "agent", "version": "1" } } });
    let hello = asks(&agent, &token, &hello).await;
    assert!(
        hello.status == 200 && hello.body.contains("\"name\":\"loopgate\""),
        "{hello:?}"
    );
    let tools = asks(
        &agent,
        &token,
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
    )
    .await;
    let tools: Value = serde_json::from_str(&tools.body).expect("a message");
    let tools: Vec<_> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .collect();
    let told: Vec<_> = tools
        .iter()
        .map(|tool| (&tool["name"], &tool["inputSchema"]["required"]))
        .collect();
    let required = |tool: &str, names: &[&str]| (json!(tool), json!(names));
    assert_eq!(
        told.iter()
            .map(|(name, needs)| ((*name).clone(), (*needs).clone()))
            .collect::<Vec<_>>(),
        [
            required("feedback", &["pull_request"]),
            required("wait", &["pull_request"]),
            required("explain", &["pull_request"]),
            required("memory", &["words", "repository"]),
            required("dispute", &["failure", "reason", "pull_request"]),
        ]
    );

    let of = |pull: &str| json!({ "pull_request": pull });
    let told = calls(&agent, &token, "feedback", of("acme/shared#1"))
        .await
        .expect("a document");
    assert_eq!(
        (&told["repository"], &told["final"]),
        (&json!("acme/shared"), &json!(false)),
        "{told}"
    );
    let now = json!({ "pull_request": "acme/shared#1", "timeout_seconds": 0 });
    assert_eq!(
        calls(&agent, &token, "wait", now)
            .await
            .expect("a document")["final"],
        false
    );
    let why = calls(&agent, &token, "explain", of("acme/shared#1"))
        .await
        .expect("a document");
    assert!(why.to_string().contains("unit"), "{why}");
    let words = json!({ "words": "zeppelin", "repository": "acme/shared" });
    assert_eq!(
        calls(&agent, &token, "memory", words)
            .await
            .expect("a document")["cards"],
        json!([])
    );
    let before = world.simulator().requests().len();
    let disputed = json!({ "failure": "3fa9c01b", "reason": " it is\nmeant so ", "pull_request": "acme/shared#1" });
    let said = calls(&agent, &token, "dispute", disputed)
        .await
        .expect("a document");
    assert_eq!(
        said["comment"], "/loop dispute 3fa9c01b test_wrong it is meant so",
        "{said}"
    );
    assert!(
        world.simulator().requests().len() - before <= 2,
        "nothing is written, and rights are known"
    );

    // What the owner may not read is answered for like what there is not, to the last byte.
    for tool in ["feedback", "wait", "explain"] {
        let [hidden, absent] = ["acme/skunkworks#1", "acme/nowhere#1"].map(of);
        let hidden = calls(&agent, &token, tool, hidden)
            .await
            .expect_err("it is hidden");
        let absent = calls(&agent, &token, tool, absent)
            .await
            .expect_err("there is none");
        assert_eq!(hidden.replace("skunkworks", "nowhere"), absent, "{tool}");
        assert!(
            absent.contains("or GitHub does not show it to dave"),
            "{absent}"
        );
        assert!(
            calls(&agent, &token, tool, of("acme/shared#99"))
                .await
                .is_err(),
            "{tool}"
        );
    }
    let nothing = calls(&agent, &token, "feedback", json!({}))
        .await
        .expect_err("nothing is named");
    assert!(nothing.contains("no working tree"), "{nothing}");
    let unknown = asks(&agent, &token, &call("verify", &json!({}))).await;
    assert!(unknown.body.contains("Unknown tool: verify"), "{unknown:?}");

    world
        .simulator()
        .admin()
        .remove_collaborator(&shared, "dave")
        .expect("a repository");
    world.wait(TimeDelta::minutes(5));
    let gone = calls(&agent, &token, "feedback", of("acme/shared#1"))
        .await
        .expect_err("it was withdrawn");
    assert!(gone.contains("does not show it"), "{gone}");
    let away =
        RequestFault::on("/permission$", Harm::status(StatusCode::BAD_GATEWAY)).expect("a pattern");
    world.simulator().add_fault(away);
    world.wait(TimeDelta::minutes(5));
    let trouble = calls(&agent, &token, "feedback", of("acme/shared#1"))
        .await
        .expect_err("GitHub is away");
    assert!(trouble.contains("Call again"), "{trouble}");
}

/// Time goes by, and the server answers others, until this is so or much time went by.
async fn passes_until(world: &World, is_so: impl Fn() -> bool) {
    for _ in 0..8 {
        world.wait(TimeDelta::seconds(5));
        for _ in 0..300 {
            if is_so() {
                return;
            }
            world.reads("/healthz").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_client_has_hung_up_asks_github_nothing_more() {
    let world = World::published(ADDRESS, None).await;
    loop_in(&world, "acme/shared").await;
    let alice = Browser::of(&world, "alice");
    alice.signs_in().await;
    let token = alice.makes_a_token("laptop").await;
    let agent = Browser::of(&world, "nobody");
    let asked = || {
        let requests = world.simulator().requests();
        let polls = requests.iter().filter(|it| it.path.ends_with("/pulls/1"));
        polls.count()
    };
    let (before, wait) = (asked(), json!({ "pull_request": "acme/shared#1" }));
    tokio::select! {
        answer = calls(&agent, &token, "wait", wait) => panic!("nothing is final: {answer:?}"),
        () = passes_until(&world, || asked() > before + 2) => {}
    }
    let gone = asked();
    assert!(gone > before + 2, "it polls");
    // One may be on its way.
    passes_until(&world, || asked() > gone + 1).await;
    assert!(asked() <= gone + 1, "and then no more");
}

/// What is no message is answered as JSON-RPC has it, and `ping` in every version of the protocol.
async fn hears_what_is_wrong_with_a_message(world: &World, agent: &Browser<'_>, bearer: &str) {
    let asks = async |body: &str| {
        world.wait(TimeDelta::seconds(10));
        let answer = agent.posts(body, &[("authorization", bearer)]).await;
        let message: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        (answer.status, message)
    };
    let nested = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (body, code) in [
        ("", -32_700),
        ("hello", -32_700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32_700),
        (&nested, -32_700),
        ("{}", -32_600),
        ("null", -32_600),
        ("[]", -32_600),
        (&json!([ping, ping]).to_string(), -32_600),
        (
            &json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }).to_string(),
            -32_600,
        ),
    ] {
        let (status, message) = asks(body).await;
        let told = (status, message["error"]["code"].as_i64(), message.get("id"));
        let start: String = body.chars().take(40).collect();
        assert_eq!(
            told,
            (400, Some(code), Some(&Value::Null)),
            "{start}: {message}"
        );
    }
    let newest = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
    } });
    assert_eq!(asks(&ping.to_string()).await.1["result"], json!({}));
    let mut ping = ping;
    ping["params"] = newest;
    let (status, message) = asks(&ping.to_string()).await;
    assert_eq!(
        (status, message["result"].is_object()),
        (200, true),
        "{message}"
    );
    let gone = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(asks(&gone.to_string()).await.0, 202, "nothing is under way");
    let (_, message) =
        asks(&json!({ "jsonrpc": "2.0", "id": "x", "method": "no/such" }).to_string()).await;
    assert_eq!(
        (&message["error"]["code"], &message["id"]),
        (&json!(-32_601), &json!("x"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_once_ends_and_is_revoked_by_its_owner_alone() {
    let world = World::published(ADDRESS, None).await;
    loop_in(&world, "acme/shared").await;
    let zoe = world.simulator().admin().add_user("zoe").expect("a person");
    let shared = "acme/shared".parse().expect("a name");
    world
        .simulator()
        .admin()
        .add_collaborator(&shared, "zoe", Role::Read)
        .expect("a repository");
    let (visitor, olga) = (Browser::of(&world, "zoe"), Browser::of(&world, "olga"));
    assert_eq!(visitor.visits("/tokens").await.status, 401);
    visitor.signs_in().await;
    olga.signs_in().await;
    let token = visitor.makes_a_token("%3Cb%3E").await;
    let list: Value =
        serde_json::from_str(&visitor.visits("/tokens.json").await.body).expect("a document");
    let id = list["tokens"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        (&list["made"], &list["address"]),
        (&Value::Null, &json!(format!("{ADDRESS}/mcp"))),
        "{list}"
    );
    assert!(visitor.visits("/tokens").await.body.contains("&lt;b&gt;"));

    // No other page makes or revokes one, and nobody else does.
    let form = visitor.form_token("/tokens").await;
    for (path, more) in [
        ("/tokens", "&name=x".to_owned()),
        ("/tokens/revoke", format!("&id={id}")),
    ] {
        assert_eq!(
            visitor
                .sends(path, "https://evil.example", &format!("token={form}{more}"))
                .await
                .status,
            403
        );
        assert_eq!(
            visitor
                .sends(path, ADDRESS, &format!("token=other{more}"))
                .await
                .status,
            403
        );
    }
    let of_olga = format!("token={}&id={id}", olga.form_token("/tokens").await);
    olga.sends("/tokens/revoke", ADDRESS, &of_olga).await;

    let (agent, list) = (
        Browser::of(&world, "nobody"),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
    );
    let works = async |token: &str| asks(&agent, token, &list).await.status;
    assert_eq!(works(&token).await, 200);
    assert!(
        !visitor.visits("/tokens").await.body.contains("never"),
        "that it was used is noted"
    );
    assert_eq!(
        (
            works(&format!("{token}0")).await,
            works("").await,
            works("ghp_x").await
        ),
        (401, 401, 401)
    );
    let refused = agent.posts(&list.to_string(), &[]).await;
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, "Bearer realm=\"loopgate\"")
    );

    let bearer = format!("Bearer {token}");
    let with = async |name: &str, value: &str| {
        agent
            .posts(
                &list.to_string(),
                &[("authorization", &bearer), (name, value)],
            )
            .await
            .status
    };
    assert_eq!(with("origin", ADDRESS).await, 200);
    assert_eq!(
        (
            with("origin", "https://evil.example").await,
            with("origin", "null").await
        ),
        (403, 403)
    );
    assert_eq!(with("host", "rebound.example.com").await, 403);
    assert_eq!(
        (
            with("mcp-protocol-version", "2025-06-18").await,
            with("mcp-protocol-version", "1").await
        ),
        (200, 400)
    );
    assert_eq!(
        agent
            .posts(&" ".repeat(70_000), &[("authorization", &bearer)])
            .await
            .status,
        413
    );
    hears_what_is_wrong_with_a_message(&world, &agent, &bearer).await;
    for method in ["GET", "DELETE"] {
        let method = method.parse().expect("a method");
        let answer = agent
            .asks(
                method,
                "/mcp",
                &[("host", "loopgate.example.com"), ("authorization", &bearer)],
                "",
            )
            .await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
    }
    let mut answers = Vec::new();
    for _ in 0..40 {
        answers.push(works(&token).await);
    }
    assert!(answers.contains(&429), "one asks so often and no more");
    world.wait(TimeDelta::minutes(1));
    assert_eq!(works(&token).await, 200);

    visitor
        .sends("/tokens/revoke", ADDRESS, &format!("token={form}&id={id}"))
        .await;
    assert_eq!(works(&token).await, 401, "revoked");
    let (second, of_olga) = (
        visitor.makes_a_token("second").await,
        olga.makes_a_token("hers").await,
    );
    tells_of_withdrawal(&agent, zoe, world.simulator().webhook_secret()).await;
    assert_eq!(
        (works(&second).await, works(&of_olga).await),
        (401, 200),
        "she lets the App act for her no more"
    );
    for _ in 1..20 {
        olga.makes_a_token("more").await;
    }
    let form = format!("token={}&name=one+more", olga.form_token("/tokens").await);
    assert_eq!(olga.sends("/tokens", ADDRESS, &form).await.status, 409);
    world.wait(TimeDelta::days(90));
    assert_eq!(works(&of_olga).await, 401, "it has ended");
}

/// A stop hook asks about the head that the agent pushed: it is held for a red verdict, and for nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_held_while_the_head_it_pushed_is_red() {
    let world = World::simulated().await;
    let configuration =
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, from: { check: ci / test } }\n";
    let repo = world.repository("held", &[(".github/loopgate.yml", configuration)]);
    let pr = world
        .person("alice")
        .opens(&repo, "feat: blimps", &[("src/blimps.rs", "// 1\n")])
        .await;
    let stops = async |agent: &str| {
        let clone = world.clones(&repo, &world.head(&pr)).await;
        let input =
            json!({ "cwd": clone.path(), "hook_event_name": "Stop", "stop_hook_active": false })
                .to_string();
        let ran = world
            .runs_in(
                clone.path(),
                "alice",
                &["agent-stop", "--for", agent],
                &input,
            )
            .await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    world
        .ci_reports(
            &pr,
            &[Report::Fails {
                check: "ci / test",
                path: "src/blimps.rs",
                line: 1,
                message: "flat",
            }],
        )
        .await;
    let claude: Value = serde_json::from_str(&stops("claude-code").await).expect("an answer");
    let reason = claude["reason"].as_str().expect("a reason");
    assert_eq!(claude["decision"], "block");
    assert!(
        reason.contains("the checks of acme/held#1 fail on the pushed head"),
        "{reason}"
    );
    assert!(
        reason.contains("loopgate feedback acme/held#1") && !reason.contains("flat"),
        "{reason}"
    );
    let cursor: Value = serde_json::from_str(&stops("cursor").await).expect("an answer");
    assert_eq!(cursor["followup_message"], claude["reason"]);

    world
        .person("alice")
        .pushes(&pr, &[("src/blimps.rs", "// 2\n")])
        .await;
    world.ci_reports(&pr, &[Report::Passes("ci / test")]).await;
    assert_eq!(stops("codex").await, "", "it is green");
}
