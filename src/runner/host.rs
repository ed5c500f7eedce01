//! What differs between operating systems: the shell, process groups, signals.

use std::process::{Child, Command, ExitStatus};

/// The shell of the host with one line to run.
#[cfg(unix)]
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// The shell of the host with one line to run.
#[cfg(windows)]
pub fn shell(line: &str) -> Command {
    use std::os::windows::process::CommandExt;
    let mut command = Command::new("cmd");
    command.raw_arg("/C").raw_arg(line);
    command
}

/// The signal that ended a process, where there are signals.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(windows)]
    {
        let _ = status;
        None
    }
}

/// A process group made by [`in_own_group`](crate::git::in_own_group).
#[derive(Clone, Copy, Debug)]
pub struct Group {
    leader: u32,
}

impl Group {
    pub fn of(child: &Child) -> Self {
        Self { leader: child.id() }
    }

    /// Asks every process of the group to end.
    pub fn terminate(&self) {
        #[cfg(unix)]
        self.signal(nix::sys::signal::Signal::SIGTERM);
        #[cfg(windows)]
        self.taskkill();
    }

    /// Ends every process of the group.
    pub fn kill(&self) {
        #[cfg(unix)]
        self.signal(nix::sys::signal::Signal::SIGKILL);
        #[cfg(windows)]
        self.taskkill();
    }

    #[cfg(unix)]
    fn signal(&self, signal: nix::sys::signal::Signal) {
        // A group that is gone already is what was wanted.
        if let Ok(leader) = i32::try_from(self.leader) {
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(leader), signal);
        }
    }

    /// Windows ends a process with everything it started by its own tool.
    #[cfg(windows)]
    fn taskkill(&self) {
        let _ = Command::new("taskkill").args(["/F", "/T", "/PID", &self.leader.to_string()]).output();
    }
}
