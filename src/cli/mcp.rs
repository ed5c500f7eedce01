//! `loopgate mcp`: what the command line answers, for programs that speak the Model Context Protocol
//! (<https://modelcontextprotocol.io/specification>) on standard input and output.
//!
//! Nothing but the protocol is written to standard output: notes go to standard error, as everywhere. No tool writes to
//! GitHub but `dispute`, whose comment is the caller's own. When the client leaves, or the process is asked to stop,
//! the checks that run are ended.

use std::{fs, io, path::Path, sync::Arc};

use rmcp::{ServiceExt as _, model::Extensions, service::ServerInitializeError};
use serde_json::Value;
use tokio::{
    fs::File,
    runtime::Handle,
    sync::{Mutex, OnceCell},
};

use super::{
    CliError, CommandResult, dispute, exit, explain, feedback, memory, online::Online, verify,
    working_tree,
};
use crate::mcp::{
    self, Answer, Call, Dispute, Feedback, Place, Refused, Stop, Toolbox, Tools, Verify,
};
use loopgate_render::{self as render, Currency, ReadFrom, Reading, Until};
use loopgate_runner::{self as runner, FixerDispute, Interrupt};

pub async fn run() -> CommandResult {
    let interrupt = Interrupt::new();
    let session = Arc::new(McpSession {
        online: OnceCell::new(),
        verifying: Arc::default(),
        interrupt: interrupt.clone(),
    });
    let (from, to) = streams()?;
    let (transport, moving) = mcp::transport(from, to);
    let serving = async {
        match mcp::Session(Tools(Arc::clone(&session)))
            .serve(transport)
            .await
        {
            Ok(running) => running
                .waiting()
                .await
                .map(drop)
                .map_err(CliError::unavailable),
            // The client has left before it sent anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(CliError::bad_data(error)),
        }
    };
    // What moves the lines ends after the one who serves, so that the last answer is written.
    let serving = async { tokio::join!(serving, moving).0 };
    let ended = tokio::select! {
        ended = serving => ended.map(|()| exit::OK),
        () = runner::asked_to_stop() => Ok(exit::INTERRUPTED),
    };
    interrupt.cancel();
    // This waits until no verification is under way any more.
    drop(session.verifying.lock().await);
    ended
}

/// Standard input and output, as files: the protocol needs no more of them.
fn streams() -> io::Result<(File, File)> {
    #[cfg(unix)]
    use std::os::fd::AsFd as Handle;
    #[cfg(windows)]
    use std::os::windows::io::AsHandle as Handle;
    #[cfg(unix)]
    let owned = (
        Handle::as_fd(&io::stdin()).try_clone_to_owned()?,
        Handle::as_fd(&io::stdout()).try_clone_to_owned()?,
    );
    #[cfg(windows)]
    let owned = (
        Handle::as_handle(&io::stdin()).try_clone_to_owned()?,
        Handle::as_handle(&io::stdout()).try_clone_to_owned()?,
    );
    Ok((
        File::from_std(fs::File::from(owned.0)),
        File::from_std(fs::File::from(owned.1)),
    ))
}

/// What calls share.
struct McpSession {
    /// One GitHub for all calls, so that what was read before is asked for conditionally, and a limit is kept.
    online: OnceCell<Online>,
    /// Two verifications would write into each other's evidence.
    verifying: Arc<Mutex<()>>,
    interrupt: Interrupt,
}

impl McpSession {
    async fn online(&self) -> Result<&Online, CliError> {
        self.online
            .get_or_try_init(async || Online::from_environment())
            .await
    }

    async fn verify(&self, input: Verify, stop: Stop) -> Result<Value, CliError> {
        let guard = Arc::clone(&self.verifying).lock_owned().await;
        let interrupt = self.interrupt.clone();
        let stop = async move {
            interrupt
                .run_until_cancelled(stop)
                .await
                .unwrap_or_default()
        };
        let arguments = verify::VerifyArguments::of(input.checks, input.base)?;
        let verified = tokio::task::spawn_blocking(move || {
            let verified = Handle::current().block_on(verify::verify(&arguments, stop));
            drop(guard);
            verified
        });
        let verified = verified.await??;
        let feedback = verified
            .ok_or_else(|| CliError::unavailable("stopped: what was running has been ended"))?
            .feedback;
        Ok(Reading {
            feedback,
            from: ReadFrom::Verification,
            currency: Currency::Current,
        }
        .document())
    }

    async fn answered(&self, call: Call, stop: Stop) -> Result<Value, CliError> {
        match call {
            Call::Verify(input) => self.verify(input, stop).await,
            Call::Feedback(Feedback { pull_request }) => {
                let reading = match pull_request {
                    Some(of) => feedback::look(self.online().await?, &of, None).await?,
                    None => feedback::here(
                        &std::env::current_dir()?,
                        Path::new(working_tree::EVIDENCE),
                    )?,
                };
                Ok(reading.document())
            }
            Call::Wait(input) => {
                let time = input.time().map_err(|Refused(why)| CliError::usage(why))?;
                let what = (input.since, Until::Final);
                Ok(
                    feedback::wait(self.online().await?, &input.pull_request, what, time)
                        .await?
                        .document(),
                )
            }
            Call::Explain(input) => Ok(render::explanation(
                &explain::look(&input.pull_request).await?.subject(),
            )),
            Call::Memory(input) => memory::search(input.repository.as_ref(), &input.words).await,
            Call::Dispute(Dispute {
                failure,
                kind,
                reason,
                pull_request,
            }) => {
                let dispute = FixerDispute {
                    failure,
                    kind,
                    reason,
                };
                let (document, _) = match pull_request {
                    Some(of) => {
                        dispute::on_pull_request(self.online().await?, &of, &dispute).await?
                    }
                    None => dispute::here(&dispute).await?,
                };
                Ok(document)
            }
        }
    }
}

impl Toolbox for McpSession {
    const PLACE: Place = Place::WorkingTree;

    fn answer(self: Arc<Self>, call: Call, _: Extensions, stop: Stop) -> Answer {
        Box::pin(async move {
            self.answered(call, stop)
                .await
                .map_err(|error| Refused(error.message))
        })
    }
}
