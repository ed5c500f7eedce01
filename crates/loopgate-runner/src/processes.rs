//! The processes of a command: its shell, its process group, and what left the group.
//!
//! A process that calls `setsid` is in no group of ours, and once its parent has ended nothing shows which command
//! started it. On Linux two things find it again. Each command has a mark of its own in its environment, which its
//! descendants inherit: every process with the mark is ended with the command. And this process adopts orphans
//! (`PR_SET_CHILD_SUBREAPER`): a descendant that cleared its environment becomes our child without being of our
//! session, and is ended as soon as no command runs that may have started it.
//!
//! Not closed: an orphan without the mark outlives its command as long as another command runs, and a process of
//! another account is never ended. If Loopgate itself is killed with SIGKILL, it can end nothing; a program that edited
//! for a local loop is ended when the loop goes on, by the loop's own mark. On macOS only the process group is ended,
//! and on Windows the tree that `taskkill /T` still finds, so a process that left these may live on.

use std::{
    collections::BTreeSet,
    io,
    process::{Child, Command},
    sync::{Mutex, PoisonError},
};

/// The variable that names the command a process descends from.
pub const MARK: &str = "LOOPGATE_COMMAND";
/// The variable that names the local loop a program works for. It outlives the loop's process, by which [`MARK`] is
/// known.
pub const LOOP_MARK: &str = "LOOPGATE_LOOP";

/// Ends every process with this variable in its environment, and returns how many. It is for what a killed process
/// left: only the holder of the lock that the killed one held calls it. Linux only; elsewhere nothing is found.
pub fn end_left_behind(variable: &str, value: &str) -> usize {
    #[cfg(target_os = "linux")]
    return linux::end_bearing(variable, value);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (variable, value);
        0
    }
}

/// The shell of the host with one line to run.
#[expect(
    clippy::disallowed_methods,
    reason = "what a pull request runs is started here, and tokens are withheld by the caller"
)]
pub fn shell(line: &str) -> Command {
    #[cfg(unix)]
    let mut command = Command::new("sh");
    #[cfg(unix)]
    command.arg("-c").arg(line);
    #[cfg(windows)]
    let mut command = Command::new("cmd");
    #[cfg(windows)]
    std::os::windows::process::CommandExt::raw_arg(command.arg("/C"), line);
    command
}

/// A command and all that descends from it.
#[derive(Debug)]
pub struct ProcessTree {
    mark: String,
    /// The first process of the group that [`in_own_group`](loopgate_git::in_own_group) makes.
    leader: u32,
}

impl ProcessTree {
    /// Starts a command, which is to have `mark` as the value of [`MARK`] in its environment.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn begin<T>(
        start: impl FnOnce(&str) -> io::Result<(Child, T)>,
    ) -> io::Result<(Self, Child, T)> {
        let mark = uuid::Uuid::new_v4().simple().to_string();
        #[cfg(target_os = "linux")]
        linux::adopt_orphans();
        // Started and listed under one lock: a command that is not listed yet looks like an orphan.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let (child, rest) = start(&mark)?;
        running.insert(child.id());
        Ok((
            Self {
                mark,
                leader: child.id(),
            },
            child,
            rest,
        ))
    }

    /// Asks every process of the group to end, or ends it. Windows ends a process with everything it started by its own
    /// tool.
    #[cfg_attr(
        windows,
        expect(
            clippy::disallowed_methods,
            reason = "a tool of Windows, which gets a number"
        )
    )]
    pub fn end_group(&self, is_forced: bool) {
        #[cfg(unix)]
        if let Ok(leader) = i32::try_from(self.leader) {
            use nix::sys::signal::{Signal, killpg};
            let signal = if is_forced {
                Signal::SIGKILL
            } else {
                Signal::SIGTERM
            };
            // A group that is gone already is what was wanted.
            let _ = killpg(nix::unistd::Pid::from_raw(leader), signal);
        }
        #[cfg(windows)]
        let _ = (
            is_forced,
            Command::new("taskkill")
                .args(["/F", "/T", "/PID", &self.leader.to_string()])
                .output(),
        );
    }

    /// Ends every process that is left.
    pub fn end(self) {
        self.end_group(true);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.leader);
        #[cfg(not(target_os = "linux"))]
        let _ = self.mark;
        #[cfg(target_os = "linux")]
        {
            if running.is_empty() && linux::has_no_descendant() {
                return;
            }
            linux::end_bearing(MARK, &self.mark);
            if running.is_empty() {
                linux::end_adopted();
            }
        }
    }
}

/// Leaders of the commands that are running now.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

#[cfg(target_os = "linux")]
mod linux {
    use std::{fs, sync::OnceLock};

    use nix::{
        errno::Errno,
        sys::{
            prctl,
            signal::{Signal, kill},
            wait::{Id, WaitPidFlag, waitid, waitpid},
        },
        unistd::{Pid, getpid, getsid},
    };

    /// Rounds in which processes are looked for: one that forks while it is ended is found in the next.
    const ROUNDS: usize = 20;

    /// Makes this process the parent of its descendants' orphans. False where the kernel refuses: then only marks find
    /// them.
    pub fn adopt_orphans() -> bool {
        static ADOPTS: OnceLock<bool> = OnceLock::new();
        *ADOPTS.get_or_init(|| prctl::set_child_subreaper(true).is_ok())
    }

    /// Whether there is no process to look for. A process that adopts all orphans has no descendant if it has no child,
    /// so most commands need no search through all processes of the machine. Asked while no command runs.
    pub fn has_no_descendant() -> bool {
        let any = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        adopt_orphans() && waitid(Id::All, any) == Err(Errno::ECHILD)
    }

    pub fn end_bearing(variable: &str, value: &str) -> usize {
        let borne = format!("{variable}={value}");
        until_none(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == borne.as_bytes())
        })
    }

    /// Ends our children of other sessions. What we start ourselves is of ours; called while no command runs whose
    /// descendants these may be.
    pub fn end_adopted() {
        let Ok(session) = getsid(None) else { return };
        let ours = (getpid().as_raw(), session.as_raw());
        until_none(|pid| {
            parent_and_session(pid).is_some_and(|(parent, of)| parent == ours.0 && of != ours.1)
        });
    }

    /// Kills every process that is one, until there is none; how many there were.
    ///
    /// Between looking and killing, a process may end and its number go to another; numbers are given in turn, so that
    /// takes as many new processes as there are numbers.
    fn until_none(is_one: impl Fn(i32) -> bool) -> usize {
        let (ours, mut ended) = (getpid().as_raw(), std::collections::BTreeSet::new());
        for _ in 0..ROUNDS {
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let found: Vec<i32> = processes
                .filter(|pid| *pid != ours && is_one(*pid))
                .collect();
            if found.is_empty() {
                break;
            }
            ended.extend(found.iter().copied());
            for pid in found.into_iter().map(Pid::from_raw) {
                // It fails if the process has ended already or is not ours; neither needs anything done.
                let _ = kill(pid, Signal::SIGKILL);
                // Only its parent can reap it: that is us if we adopted it. Otherwise this call fails, and the parent
                // does it.
                let _ = waitpid(pid, Some(WaitPidFlag::WNOHANG));
            }
            std::thread::yield_now();
        }
        ended.len()
    }

    /// Parent and session of a process that has not ended; the name before them may hold anything.
    fn parent_and_session(pid: i32) -> Option<(i32, i32)> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit(") ").next()?.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        (state != "Z" && state != "X").then_some((parent, session))
    }
}
