//! Stopping everything that runs: Ctrl-C, or a check with `fail_fast`.

use tokio_util::sync::DropGuard;

/// Ends all that holds a clone of it, and those of its children. One that never comes is never waited for.
pub use tokio_util::sync::CancellationToken as Interrupt;

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

/// An interrupt that comes when `stop` resolves, or when the guard beside it is dropped. Must be called within a runtime.
pub fn interrupt_at(stop: impl Future<Output = ()> + Send + 'static) -> (Interrupt, DropGuard) {
    let interrupt = Interrupt::new();
    let watching = interrupt.clone();
    tokio::spawn(async move {
        watching.run_until_cancelled(stop).await;
        watching.cancel();
    });
    (interrupt.clone(), interrupt.drop_guard())
}
