//! Stopping everything that runs: Ctrl-C, or a check with `fail_fast`.

use tokio::sync::watch;

/// Pulls the string.
#[derive(Clone, Debug)]
pub struct Interrupter(watch::Sender<bool>);

/// Feels it.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupter {
    pub fn new() -> (Self, Interrupt) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Interrupt(receiver))
    }

    pub fn interrupt(&self) {
        self.0.send_replace(true);
    }

    /// Resolves when nobody listens any more.
    pub async fn unheard(&self) {
        self.0.closed().await;
    }
}

impl Interrupt {
    pub fn is_interrupted(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when interrupted; never, when nobody can interrupt any more.
    pub async fn interrupted(&mut self) {
        if self.0.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
