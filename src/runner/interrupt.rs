//! Stopping everything that runs: Ctrl-C, or a check with `fail_fast`.

use tokio::sync::watch;

/// Resolves when the process is asked to stop: Ctrl-C, and on Unix the signals by which a CI service cancels a job and
/// a terminal goes away.
///
/// Commands run in groups of their own, so these signals do not reach them. A caller that runs commands waits for this,
/// and then interrupts them.
pub async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (term, hangup) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()));
        let (Ok(mut term), Ok(mut hangup)) = (term, hangup) else {
            return std::future::pending().await;
        };
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => if pressed.is_err() { std::future::pending::<()>().await },
            _ = term.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Interrupts everything that holds its [`Interrupt`].
#[derive(Clone, Debug)]
pub struct Interrupter(watch::Sender<bool>);

/// Tells when its [`Interrupter`] interrupts.
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
}

impl Interrupt {
    /// One that comes when `stop` resolves. Nothing waits for that once the interrupt is dropped. Must be called within a
    /// runtime.
    pub fn at(stop: impl Future<Output = ()> + Send + 'static) -> Self {
        let (interrupter, interrupt) = Interrupter::new();
        tokio::spawn(async move {
            tokio::select! {
                () = stop => interrupter.interrupt(),
                () = interrupter.0.closed() => {}
            }
        });
        interrupt
    }

    pub fn is_interrupted(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when interrupted; never, when no interrupt can come any more.
    pub async fn interrupted(&mut self) {
        if self.0.wait_for(|interrupted| *interrupted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
