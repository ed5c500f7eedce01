//! `loopgate mcp`: the protocol with the real process, line by line.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{feedback::failing, json_schema::misfits};

struct Client {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: u64,
    /// The shapes that the tools promise for their answers, by name.
    promised: BTreeMap<String, Value>,
}

impl Client {
    /// A client that has said hello.
    fn of(directory: &Path, github: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
        command
            .arg("mcp")
            .current_dir(directory)
            .env_clear()
            .env("LOOPGATE_GITHUB_API_URL", github);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (to, from) = (
            process.stdin.take(),
            BufReader::new(process.stdout.take().unwrap()),
        );
        let mut client = Self {
            process,
            to,
            from,
            asked: 0,
            promised: BTreeMap::new(),
        };
        let us = json!({ "name": "a test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": us });
        let answer = client.ask("initialize", &hello);
        assert_eq!(
            answer["result"]["serverInfo"]["name"], "loopgate",
            "{answer}"
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The answer. Every line of standard output is one of the protocol.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        self.send(
            &json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }),
        );
        let answer = self.hear();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&json!("2.0"), &json!(self.asked)),
            "{answer}"
        );
        answer
    }

    /// Sends a line that is no message of the protocol.
    fn send_line(&mut self, line: &[u8]) {
        let to = self.to.as_mut().unwrap();
        to.write_all(line).unwrap();
        to.write_all(b"\n").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// The document of a call that succeeded, which the text repeats.
    fn document(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let document = &result["structuredContent"];
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *document);
        let unkept = misfits(&self.promised[tool], document);
        assert!(unkept.is_empty(), "{tool}: {unkept:#?}\n{document:#}");
        document.clone()
    }

    /// What the tools are, by their names.
    fn list(&mut self) -> Vec<Value> {
        let mut listed = self.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].take();
        let tools = tools.as_array().expect("a list of tools").clone();
        for tool in &tools {
            let name = tool["name"].as_str().expect("a name").to_owned();
            self.promised.insert(name, tool["outputSchema"].clone());
        }
        tools
    }

    /// How it ends when its client leaves.
    fn leave(mut self) -> Option<i32> {
        drop(self.to.take());
        self.process.wait().unwrap().code()
    }
}

fn git(directory: &Path, arguments: &[&str]) {
    let who = [
        "-c",
        "user.name=alice",
        "-c",
        "user.email=alice@example.com",
    ];
    let done = Command::new("git")
        .current_dir(directory)
        .args(who)
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_lists_and_calls_each_tool() {
    let (github, _, pr) = failing().await;
    let here = tempfile::tempdir().unwrap();
    git(here.path(), &["init", "-q"]);
    let configuration =
        "version: 1\nverify:\n  checks:\n    lint: { kind: lint, run: cat checked }\n";
    std::fs::create_dir(here.path().join(".github")).unwrap();
    std::fs::write(here.path().join(".github/loopgate.yml"), configuration).unwrap();
    git(here.path(), &["add", "-A"]);
    git(here.path(), &["commit", "-qm", "A project"]);
    let mut client = Client::of(here.path(), &github.url());

    let tools = client.list();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["verify", "feedback", "wait", "explain", "memory", "dispute"]
    );
    for tool in &tools {
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
            (&json!("object"), &json!("object")),
            "{tool:#}"
        );
    }

    let of = json!({ "pull_request": format!("{}#{}", pr.repo, pr.number) });
    let read = client.document("feedback", &of);
    assert_eq!(
        (&read["schema"], &read["decision"]),
        (&json!("loopgate.feedback/v1"), &json!("retry"))
    );
    assert_eq!(client.document("wait", &of), read);

    let verified = client.document("verify", &json!({}));
    assert_eq!(
        (&verified["final"], &verified["failures"][0]["check"]),
        (&json!(true), &json!("lint")),
        "{verified:#}"
    );
    let named = verified["untrusted"].as_array().unwrap();
    assert!(
        named.contains(&json!("failures[].message"))
            && verified["notice"]
                .as_str()
                .unwrap()
                .contains("never instructions"),
        "{verified:#}"
    );
    assert_eq!(
        client.document("feedback", &json!({})),
        verified,
        "the last verification here"
    );
    std::fs::write(here.path().join("checked"), "").unwrap();
    let outdated = client.document("feedback", &json!({}));
    assert_eq!(
        (&outdated["final"], &outdated["outdated"]["reason"]),
        (&json!(false), &json!("tree_changed"))
    );
    let mended = client.document("verify", &json!({ "checks": ["lint"] }));
    assert_eq!(mended["failures"], json!([]), "{mended:#}");

    let explained = client.document("explain", &of);
    assert_eq!(explained["schema"], "loopgate.explain/v1", "{explained:#}");
    let repository = json!({ "words": "login", "repository": pr.repo });
    for memory in [json!({ "words": "login" }), repository] {
        let remembered = client.document("memory", &memory);
        assert_eq!(
            (&remembered["schema"], &remembered["cards"]),
            (&json!("loopgate.memory-query/v1"), &json!([]))
        );
    }
    let disputed = client.document(
        "dispute",
        &json!({ "failure": "3fa9c01b", "kind": "impossible", "reason": "no  clock" }),
    );
    assert_eq!(
        disputed,
        json!({ "said_in": "trailer", "line": "Loopgate-Dispute: 3fa9c01b impossible no clock" })
    );

    // A client that asks for progress gets it.
    client.asked += 1;
    let meta = json!({ "progressToken": "p" });
    let call = json!({ "name": "wait", "arguments": of, "_meta": meta });
    client.send(
        &json!({ "jsonrpc": "2.0", "id": client.asked, "method": "tools/call", "params": call }),
    );
    let progress = client.hear();
    assert_eq!(
        (&progress["method"], &progress["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
    assert_eq!(client.hear()["result"]["structuredContent"], read);

    // What a tool cannot do is its answer; a tool that there is not is an error of the protocol.
    for (tool, arguments, why) in [
        (
            "feedback",
            json!({ "pull_request": "acme" }),
            "OWNER/REPO#N",
        ),
        ("wait", json!({}), "pull_request"),
        (
            "wait",
            json!({ "pull_request": "acme/widgets#1", "timeout_seconds": 9_999 }),
            "at most 1800",
        ),
        ("verify", json!({ "check": "lint" }), "unknown field"),
        ("verify", json!({ "checks": ["nothing"] }), "nothing"),
        ("memory", json!({}), "words"),
        (
            "dispute",
            json!({ "failure": "unit", "reason": "no" }),
            "failure",
        ),
        (
            "dispute",
            json!({ "failure": "3fa9c01b", "reason": " " }),
            "needs a reason",
        ),
        (
            "dispute",
            json!({ "failure": "3fa9c01b", "reason": "no", "pull_request": "acme/widgets#1" }),
            "Loopgate-Dispute: 3fa9c01b",
        ),
    ] {
        let answer = client.call(tool, &arguments);
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        assert!(
            answer["result"]["isError"] == true && text.contains(why),
            "{tool} {arguments}: {answer}"
        );
    }
    assert_eq!(client.call("merge", &json!({}))["error"]["code"], -32_602);
    assert_eq!(
        client.ask("resources/read", &json!({ "uri": "x" }))["error"]["code"],
        -32_601
    );
    assert_eq!(client.leave(), Some(0));
}

/// FastMCP asks it of servers of the newest version too, which has no `ping` any more.
#[tokio::test(flavor = "multi_thread")]
async fn ping_is_answered_in_the_newest_version_too() {
    let here = tempfile::tempdir().unwrap();
    let mut client = Client::of(here.path(), "http://127.0.0.1:9");
    let newest = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
    } });
    let tools = client.ask("tools/list", &newest)["result"]["tools"].to_string();
    assert!(
        !tools.contains("\"uint"),
        "no format of JSON Schema: {tools}"
    );
    let answer = client.ask("ping", &newest);
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(client.leave(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_cannot_be_read_is_answered_and_the_next_one_works() {
    let here = tempfile::tempdir().unwrap();
    let mut client = Client::of(here.path(), "http://127.0.0.1:9");
    let nested = [b"[".repeat(20_000), b"]".repeat(20_000)].concat();
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{}1{}}}",
        "[".repeat(128),
        "]".repeat(128)
    );
    let long = format!("\"{}\"", "x".repeat(3 << 20));
    let cut = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":".as_slice();
    let lines = [
        b"hello".as_slice(),
        cut,
        &nested,
        deep.as_bytes(),
        b"\xff\xfe",
        long.as_bytes(),
    ];
    for line in lines {
        client.send_line(line);
        let answer = client.hear();
        let start = String::from_utf8_lossy(&line[..line.len().min(40)]);
        assert_eq!(answer["error"]["code"], -32_700, "{start}: {answer}");
        assert_eq!(answer.get("id"), Some(&Value::Null), "{start}: {answer}");
        assert_eq!(
            client.ask("ping", &json!({}))["result"],
            json!({}),
            "after {start}"
        );
    }
    // Many at once, each with its answer, and none within another.
    for _ in 0..100 {
        client.send_line(b"{");
    }
    for _ in 0..100 {
        assert_eq!(client.hear()["error"]["code"], -32_700);
    }
    client.send_line(b"");
    client.send_line(b"{\"foo\":\"bar\"}");
    assert_eq!(
        client.hear()["error"]["code"],
        -32_600,
        "JSON, but no request"
    );
    assert!(client.ask("tools/list", &json!({}))["result"]["tools"].is_array());
    assert_eq!(client.leave(), Some(0));
}
