//! One command: started in its own process group, read while it runs, ended at its timeout, measured.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::PathBuf,
    process::{Child, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;
use wait4::{ResUse, Wait4 as _};

use super::{
    capture::{Captured, OutputReader, Tee},
    processes::{self, ProcessTree},
};
use loopgate_git::{in_own_group, withhold};

/// Ends all that holds a clone of it, and those of its children. One that never comes is never waited for.
pub use tokio_util::sync::CancellationToken as Interrupt;

/// How long a process group is given between TERM and KILL; tests do not wait so long for what never comes.
const GRACE: Duration = if cfg!(test) {
    Duration::from_millis(300)
} else {
    Duration::from_secs(5)
};
/// How long nothing more comes after the whole group is gone until nothing is waited for: a process that left the group
/// may hold the pipe.
const DRAIN: Duration = if cfg!(test) {
    Duration::from_millis(200)
} else {
    Duration::from_secs(1)
};
/// The most times that this is waited for, and how long the reader of the output may take: a busy machine needs time,
/// and results that are not read yet must not be lost.
const MOST_DRAINS: usize = 60;
const READ: Duration = Duration::from_secs(120);

/// What to run, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// One line for the shell.
    pub shell: String,
    pub directory: PathBuf,
    /// Added to the environment Loopgate itself runs in, without what is [withheld](withhold).
    pub environment: BTreeMap<String, String>,
    /// What it reads on its standard input.
    pub input: Vec<u8>,
    pub timeout: Duration,
}

impl CommandLine {
    /// A line that gets no input.
    pub fn new(shell: impl Into<String>, directory: impl Into<PathBuf>, timeout: Duration) -> Self {
        let (shell, directory, environment) = (shell.into(), directory.into(), BTreeMap::new());
        Self {
            shell,
            directory,
            environment,
            input: Vec::new(),
            timeout,
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    /// Ended by a signal that was not ours.
    Signalled(i32),
    /// Ended by us at its timeout.
    TimedOut,
    /// Ended by us because everything was to stop.
    Interrupted,
    /// The shell could not be started; why.
    NotStarted(String),
}

impl Ending {
    /// What is wrong with a program that has `limit` to end; none where that ended with 0.
    pub fn problem(&self, program: &str, limit: Duration) -> Option<String> {
        Some(match self {
            Self::Exited(0) => return None,
            Self::Exited(code) => format!("{program} ended with exit code {code}"),
            Self::Signalled(signal) => format!("{program} was ended by signal {signal}"),
            Self::TimedOut => format!("{program} did not end within {} seconds", limit.as_secs()),
            Self::Interrupted => format!("{program} was interrupted"),
            Self::NotStarted(why) => format!("{program} could not be started: {why}"),
        })
    }
}

/// What is known of a command that has ended.
#[derive(Debug)]
pub struct Finished<T> {
    pub ending: Ending,
    pub output: Captured,
    pub wall: Duration,
    /// CPU time of the command and everything it waited for.
    pub cpu: Option<Duration>,
    pub peak_rss_kb: Option<u64>,
    /// What the reader made of the whole output.
    pub read: Option<T>,
}

/// Runs a command to its end.
///
/// `reader` reads the whole output as it comes, on a thread of its own; `live` is called with each chunk. When the
/// command has ended, nothing of its process group is left running, on Linux nothing that left the group either.
pub async fn run<T: Send + 'static>(
    line: CommandLine,
    interrupt: Interrupt,
    reader: impl FnOnce(OutputReader) -> T + Send + 'static,
    live: impl FnMut(&[u8]) + Send + 'static,
) -> Finished<T> {
    let started = Instant::now();
    let (tree, child, output) = match ProcessTree::begin(|mark| start(&line, mark)) {
        Ok(started) => started,
        Err(error) => {
            let (ending, output) = (Ending::NotStarted(error.to_string()), Captured::default());
            return Finished {
                ending,
                output,
                wall: started.elapsed(),
                cpu: None,
                peak_rss_kb: None,
                read: None,
            };
        }
    };
    let (tee, output_read) = Tee::new();
    let tee = Arc::new(tee);
    let mut pumped = on_thread({
        let tee = Arc::clone(&tee);
        move || tee.pump(output, live)
    });
    let read = on_thread(move || reader(output_read));
    let mut ended = on_thread(move || child.wait4());

    let (result, by_us) = tokio::select! {
        result = &mut ended => (result, None),
        () = tokio::time::sleep(line.timeout) => (end(&tree, &mut ended).await, Some(Ending::TimedOut)),
        () = interrupt.cancelled() => (end(&tree, &mut ended).await, Some(Ending::Interrupted)),
    };
    // The shell is gone; whatever it left goes too.
    tree.end();
    // Where nothing is known of who left the group, somebody may hold the pipe still: what was written is what there
    // is.
    let mut before = None;
    for _ in 0..MOST_DRAINS {
        if tokio::time::timeout(DRAIN, &mut pumped).await.is_ok() {
            break;
        }
        let waits = tee.waits();
        if waits.is_some() && waits == before {
            break;
        }
        before = waits;
    }
    let output = tee.finish();
    let read = tokio::time::timeout(READ, read)
        .await
        .ok()
        .and_then(Result::ok);
    let usage = result.ok().and_then(Result::ok);
    Finished {
        ending: by_us.unwrap_or_else(|| {
            usage
                .as_ref()
                .map_or(Ending::Interrupted, |usage| ending_of(usage.status))
        }),
        output,
        wall: started.elapsed(),
        cpu: usage
            .as_ref()
            .map(|usage| usage.rusage.utime + usage.rusage.stime),
        peak_rss_kb: usage.as_ref().map(|usage| usage.rusage.maxrss / 1024),
        read,
    }
}

/// Starts the shell with one pipe for both streams, so that their order is kept.
fn start(line: &CommandLine, mark: &str) -> io::Result<(Child, io::PipeReader)> {
    let (output, input) = io::pipe()?;
    let mut command = processes::shell(&line.shell);
    withhold(&mut command);
    command
        .current_dir(&line.directory)
        .envs(&line.environment)
        .env(processes::MARK, mark)
        .stdin(if line.input.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(input.try_clone()?)
        .stderr(input);
    in_own_group(&mut command);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = line.input.clone();
        // A program that does not read its input must not delay us. The thread ends with the pipe.
        thread::spawn(move || stdin.write_all(&input));
    }
    // `command` holds our ends of the pipe's input; the output ends only when they are closed.
    drop(command);
    Ok((child, output))
}

async fn end(
    tree: &ProcessTree,
    ended: &mut oneshot::Receiver<io::Result<ResUse>>,
) -> Result<io::Result<ResUse>, oneshot::error::RecvError> {
    tree.end_group(false);
    match tokio::time::timeout(GRACE, &mut *ended).await {
        Ok(result) => result,
        Err(_) => {
            tree.end_group(true);
            ended.await
        }
    }
}

fn ending_of(status: ExitStatus) -> Ending {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ending::Signalled(signal);
    }
    status.code().map_or(Ending::Interrupted, Ending::Exited)
}

/// Runs something blocking on a thread of its own. Not on the runtime's pool: a thread that never ends must not keep
/// the program from ending.
fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || sender.send(work()));
    receiver
}

/// Resolves when the process is asked to stop: Ctrl-C, and on Unix the signals by which a CI service cancels a job and
/// a terminal goes away.
///
/// Commands run in groups of their own, so these signals do not reach them. A caller that runs commands waits for this,
/// and then interrupts them.
pub async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let arrives = async |kind| match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        };
        tokio::select! {
            () = arrives(SignalKind::interrupt()) => {}
            () = arrives(SignalKind::terminate()) => {}
            () = arrives(SignalKind::hangup()) => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// An interrupt that comes when `stop` resolves, or when the guard beside it is dropped. Must be called within a
/// runtime.
pub fn interrupt_at(stop: impl Future<Output = ()> + Send + 'static) -> (Interrupt, DropGuard) {
    let interrupt = Interrupt::new();
    let watching = interrupt.clone();
    tokio::spawn(async move {
        watching.run_until_cancelled(stop).await;
        watching.cancel();
    });
    (interrupt.clone(), interrupt.drop_guard())
}

#[cfg(all(test, unix))]
mod tests {
    use super::{super::capture::KEPT_OUTPUT, *};

    async fn sh(shell: &str, timeout: Duration) -> Finished<u64> {
        let interrupt = Interrupt::new();
        run(
            line(shell, timeout),
            interrupt,
            |mut output| io::copy(&mut output, &mut io::sink()).unwrap_or(0),
            |_| {},
        )
        .await
    }

    fn line(shell: &str, timeout: Duration) -> CommandLine {
        CommandLine::new(shell, std::env::temp_dir(), timeout)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_slow_reader_loses_nothing() {
        let interrupt = Interrupt::new();
        let slowly = |mut output: OutputReader| {
            // Longer than what is waited for where nothing comes.
            thread::park_timeout(DRAIN * 4);
            io::copy(&mut output, &mut io::sink()).unwrap_or(0)
        };
        let much = line("head -c 3000000 /dev/zero", Duration::from_secs(60));
        let finished = run(much, interrupt, slowly, |_| {}).await;
        assert_eq!(finished.read, Some(3_000_000));
    }

    #[tokio::test]
    async fn a_command_is_captured_measured_and_read() {
        let got = sh("echo out; echo err >&2; exit 3", LONG).await;
        assert_eq!(got.ending, Ending::Exited(3));
        assert_eq!(got.output.head, "out\nerr\n");
        assert_eq!(got.read, Some(8));
        assert!(got.cpu.is_some() && got.peak_rss_kb.is_some_and(|kb| kb > 100));
    }

    #[tokio::test]
    async fn input_is_read_or_not() {
        let interrupt = Interrupt::new();
        let input = vec![b'x'; 1 << 20];
        for (shell, expected) in [("wc -c", "1048576"), ("echo done", "done")] {
            let line = CommandLine {
                input: input.clone(),
                ..line(shell, LONG)
            };
            let got = run(line, interrupt.clone(), |_| (), |_| {}).await;
            assert_eq!(
                (got.ending, got.output.head.trim()),
                (Ending::Exited(0), expected)
            );
        }
    }

    #[tokio::test]
    async fn a_signal_that_is_not_ours_is_told() {
        assert_eq!(sh("kill -9 $$", LONG).await.ending, Ending::Signalled(9));
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_told() {
        let interrupt = Interrupt::new();
        let line = CommandLine {
            directory: "/nonexistent".into(),
            ..line("true", LONG)
        };
        let got = run(line, interrupt, |_| (), |_| {}).await;
        assert!(matches!(got.ending, Ending::NotStarted(_)), "{got:?}");
    }

    #[tokio::test]
    async fn the_whole_group_goes_at_the_timeout() {
        // A grandchild that outlives its parent and would hold the pipe for a minute.
        let got = sh("sleep 60 & echo $!; sleep 60", Duration::from_millis(200)).await;
        assert_eq!(got.ending, Ending::TimedOut);
        assert!(
            got.wall < Duration::from_secs(5),
            "TERM was enough: {:?}",
            got.wall
        );
        assert!(!is_running(got.output.head.trim()));
    }

    #[tokio::test]
    async fn a_grandchild_left_behind_is_ended_too() {
        let got = sh("sleep 60 & echo $!", LONG).await;
        assert_eq!(got.ending, Ending::Exited(0));
        assert!(!is_running(got.output.head.trim()));
    }

    #[tokio::test]
    async fn what_ignores_term_is_killed_with_its_grandchildren() {
        let deaf = "trap '' TERM; (trap '' TERM; sleep 60) & echo $!; (sleep 60; :) & echo $!; sleep 60; sleep 60";
        let got = sh(deaf, Duration::from_millis(300)).await;
        assert_eq!(got.ending, Ending::TimedOut);
        let pids: Vec<&str> = got.output.head.lines().collect();
        assert_eq!(pids.len(), 2, "{pids:?}");
        assert!(pids.into_iter().all(|pid| !is_running(pid)));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_left_the_group_is_ended_too() {
        // A process in a session of its own that ignores signals, has lost its parent, and does not hold the output.
        let away =
            "setsid sh -c 'trap \"\" TERM HUP; sleep 60; sleep 60' >/dev/null 2>&1 & echo $!";
        for (shell, ending) in [
            (away.to_owned(), Ending::Exited(0)),
            (format!("{away}; sleep 60"), Ending::TimedOut),
        ] {
            let got = sh(&shell, Duration::from_millis(300)).await;
            assert_eq!(got.ending, ending);
            assert!(!is_running(got.output.head.trim()), "{shell}");
        }
    }

    #[tokio::test]
    async fn closing_the_output_is_not_ending() {
        let got = sh(
            "echo before; exec >&- 2>&-; for i in 1 2 3; do :; done; exit 7",
            LONG,
        )
        .await;
        assert_eq!(
            (got.ending, got.output.head.as_str()),
            (Ending::Exited(7), "before\n")
        );
        let hanging = sh("exec >&- 2>&-; sleep 60", Duration::from_millis(200)).await;
        assert_eq!(hanging.ending, Ending::TimedOut);
    }

    #[tokio::test]
    async fn an_interrupt_ends_it() {
        let interrupt = Interrupt::new();
        let interrupter = interrupt.clone();
        let running = tokio::spawn(run(
            line("echo on; sleep 60", LONG),
            interrupt,
            |_| (),
            move |_| interrupter.cancel(),
        ));
        assert_eq!(running.await.unwrap().ending, Ending::Interrupted);
    }

    #[tokio::test]
    async fn a_flood_of_output_stays_in_bounds() {
        let got = sh("head -c 20000000 /dev/zero | tr '\\0' x", LONG).await;
        assert_eq!(got.read, Some(20_000_000));
        assert_eq!(got.output.head.len() + got.output.tail.len(), KEPT_OUTPUT);
        assert_eq!(got.output.cut_bytes, 20_000_000 - KEPT_OUTPUT as u64);
    }

    /// Whether the process is still there a moment later, zombies left to their parent aside: a kill is carried out
    /// by the kernel when it gets to it.
    fn is_running(pid: &str) -> bool {
        assert!(pid.parse::<u32>().is_ok(), "{pid:?}");
        let patience = Instant::now() + Duration::from_secs(2);
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat.rsplit(") ").next().unwrap_or_default();
            if stat.is_empty() || state.starts_with(['Z', 'X']) {
                return false;
            }
            if Instant::now() > patience {
                return true;
            }
            thread::yield_now();
        }
    }
}
