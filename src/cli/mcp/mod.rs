//! `loopgate mcp`: what the command line answers, for programs that speak the Model Context Protocol
//! (<https://modelcontextprotocol.io/specification>) on standard input and output.
//!
//! Nothing but the protocol is written to standard output: notes go to standard error, as everywhere. No tool writes to
//! GitHub but `dispute`, whose comment is the caller's own. When the client leaves, or the process is asked to stop, the checks that run are ended.

mod tools;

use std::{fs, io, sync::Arc, time::Duration};

use clap::Args;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    },
    service::{RequestContext, ServerInitializeError},
};
use tokio::{fs::File, time::interval};

use self::tools::{Session, TOOLS};
use super::{CliError, CommandResult, exit, runtime};
use crate::{
    render,
    runner::{self, Interrupter},
};

/// How often a client that asked for it is told that a call goes on: many give up after a minute of silence.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = format!("{}\nWithout any of these public repositories are read.\n\n\
    A client starts it in the repository that is worked on. In its configuration:\n  \
    {{ \"mcpServers\": {{ \"loopgate\": {{ \"command\": \"loopgate\", \"args\": [\"mcp\"] }} }} }}\n\
    Claude Code: claude mcp add loopgate -- loopgate mcp", super::online::ENVIRONMENT))]
pub struct Arguments {}

pub fn run(_: &Arguments) -> CommandResult {
    let runtime = runtime()?;
    let ended = runtime.block_on(serve());
    // A read of standard input may be under way, which nothing can end.
    runtime.shutdown_background();
    ended
}

async fn serve() -> CommandResult {
    let (interrupter, interrupt) = Interrupter::new();
    let session = Arc::new(Session::new(interrupt));
    let serving = async {
        match Server(Arc::clone(&session)).serve(streams().map_err(CliError::unavailable)?).await {
            Ok(running) => running.waiting().await.map(drop).map_err(CliError::unavailable),
            // The client has left before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(CliError::bad_data(error)),
        }
    };
    let ended = tokio::select! {
        ended = serving => ended.map(|()| exit::OK),
        () = runner::asked_to_stop() => Ok(exit::INTERRUPTED),
    };
    interrupter.interrupt();
    session.checks_have_ended().await;
    ended
}

/// Standard input and output, as files: the protocol needs no more of them.
fn streams() -> io::Result<(File, File)> {
    #[cfg(unix)]
    use std::os::fd::AsFd as Handle;
    #[cfg(windows)]
    use std::os::windows::io::AsHandle as Handle;
    #[cfg(unix)]
    let owned = (Handle::as_fd(&io::stdin()).try_clone_to_owned()?, Handle::as_fd(&io::stdout()).try_clone_to_owned()?);
    #[cfg(windows)]
    let owned =
        (Handle::as_handle(&io::stdin()).try_clone_to_owned()?, Handle::as_handle(&io::stdout()).try_clone_to_owned()?);
    Ok((File::from_std(fs::File::from(owned.0)), File::from_std(fs::File::from(owned.1))))
}

struct Server(Arc<Session>);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("loopgate", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(tools::INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(tools::Entry::described).collect()))
    }

    /// What a tool cannot do is told to whoever called it, wrong arguments included
    /// (<https://modelcontextprotocol.io/seps/1303-input-validation-errors-as-tool-execution-errors>); a tool that there
    /// is not is an error of the protocol.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = TOOLS.iter().find(|tool| tool.name == request.name);
        let tool = tool.ok_or_else(|| ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None))?;
        let RequestContext { ct: cancelled, meta, peer, .. } = context;
        let stop = Box::pin(async move { cancelled.cancelled().await });
        let mut answer = (tool.call)(Arc::clone(&self.0), request.arguments.unwrap_or_default(), stop);
        let (token, mut every, mut told) = (meta.get_progress_token(), interval(PROGRESS_EVERY), 0);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                _ = every.tick(), if token.is_some() => {
                    let Some(token) = token.clone() else { continue };
                    let progress = ProgressNotificationParam::new(token, f64::from(told));
                    let said = progress.with_message(format!("{} is at work", tool.name));
                    // Whoever is gone needs no progress.
                    let _ = peer.notify_progress(said).await;
                    told += 1;
                }
            }
        };
        let result = match answer {
            Ok(document) => {
                let text = ContentBlock::text(render::json_text(&document));
                let mut result = CallToolResult::structured(document);
                result.content = vec![text];
                result
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(render::defused(&error.message))]),
        };
        Ok(result.into())
    }
}
