//! The third-party emulator, played through the Python program that knows it.

use std::{
    cell::RefCell,
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::stacked_emulator::Proxy;

/// A running emulator. It stops when this is dropped.
pub struct Emulator {
    child: Child,
    pipes: RefCell<Option<(ChildStdin, BufReader<ChildStdout>)>>,
    /// Where it is and who the App is: `url`, `app_id`, `private_key`, `webhook_secret`, and a `token` that reads all.
    pub here: Value,
    /// What it lacks; the server asks here.
    pub proxy: Proxy,
}

impl Emulator {
    /// None where no emulator is named. Webhooks go to `webhook_url`, which the emulator must know from the start.
    pub fn start(webhook_url: &str) -> Option<Self> {
        let directory = env::var_os("LOOPGATE_EMULATOR")?;
        let python = env::var_os("LOOPGATE_PYTHON").unwrap_or_else(|| "python3".into());
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/emulator_world.py");
        let mut child = Command::new(python)
            .arg(driver)
            .arg(directory)
            .arg(webhook_url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the interpreter that LOOPGATE_PYTHON names");
        let stdin = child.stdin.take().expect("piped above");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped above"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line from the driver");
        let here = serde_json::from_str(&line)
            .expect("the emulator starts (its own words are on standard error)");
        let proxy = Proxy::start(&here);
        Some(Self {
            child,
            pipes: RefCell::new(Some((stdin, stdout))),
            here,
            proxy,
        })
    }

    /// Calls a method of `github_world.World`.
    pub fn tries(&self, call: &str, args: Value) -> Result<Value, String> {
        let mut pipes = self.pipes.borrow_mut();
        let (stdin, stdout) = pipes.as_mut().expect("open until it is dropped");
        writeln!(stdin, "{}", json!({ "call": call, "args": args })).expect("the driver reads");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("the driver answers");
        let mut answer: Value = serde_json::from_str(&line).expect("the driver answers in JSON");
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or("unreadable").to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }

    /// The same for what must succeed.
    pub fn call(&self, call: &str, args: Value) -> Value {
        self.tries(call, args)
            .unwrap_or_else(|error| panic!("{call}: {error}"))
    }

    pub fn text(&self, key: &str) -> String {
        self.here[key].as_str().expect("a text").to_owned()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The driver ends the emulator and itself when its input ends.
        drop(self.pipes.borrow_mut().take());
        // A driver that cannot be waited for is gone already.
        let _ = self.child.wait();
    }
}
