//! The tools for programs that speak the Model Context Protocol (<https://modelcontextprotocol.io/specification>), in
//! one table. `loopgate mcp` offers them where the repository is worked on, a server to clients that show a token.

mod lines;
mod tools;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientNotification, ClientRequest,
        ContentBlock, Extensions, Implementation, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, ServerResult,
    },
    service::{NotificationContext, RequestContext, Service},
};
use serde_json::Value;
use tokio::time::interval;

pub use self::lines::{at_once, transport};
use self::tools::TOOLS;
pub use self::tools::{Call, Dispute, Explain, Feedback, Memory, Verify, Wait};
use loopgate_render as render;

/// How often a client that asked for it gets a progress message: many give up after a minute of silence.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// Why a tool did not do what it was called for; the caller gets it as the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// Where tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a working tree, for the person who started this process.
    WorkingTree,
    /// On a server, far from it: each call names what it is about, and is answered in one piece.
    Server,
}

/// Resolves when the client does not want the answer any more.
pub type Stop = BoxFuture<'static, ()>;
pub type Answer = BoxFuture<'static, Result<Value, Refused>>;

/// Who answers calls.
pub trait Toolbox: Send + Sync + 'static {
    const PLACE: Place;

    /// Answers a call. `from` is what the transport knows of the caller. A verification ends by `stop` what it has
    /// begun; any other answer is dropped.
    fn answer(self: Arc<Self>, call: Call, from: Extensions, stop: Stop) -> Answer;
}

/// The protocol, before those who answer.
pub struct Tools<T>(pub Arc<T>);

/// The protocol for one client that stays. Its newest version has no `ping`
/// (<https://modelcontextprotocol.io/specification/2026-07-28/changelog>); clients that speak it ask all the same, and take an
/// error for a dead server, so it is answered in each.
pub struct Session<T>(pub Tools<T>);

impl<T: Toolbox> Service<RoleServer> for Session<T> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if matches!(request, ClientRequest::PingRequest(_)) {
            return Ok(ServerResult::empty(()));
        }
        self.0.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }
}

impl<T: Toolbox> ServerHandler for Tools<T> {
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
        let offered = TOOLS.iter().filter_map(|tool| tool.described(T::PLACE));
        Ok(ListToolsResult::with_all_items(offered.collect()))
    }

    /// The answer to the caller holds what a tool cannot do, wrong arguments included
    /// (<https://modelcontextprotocol.io/seps/1303-input-validation-errors-as-tool-execution-errors>); a tool that there
    /// is not is an error of the protocol.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = TOOLS
            .iter()
            .find(|tool| tool.name == request.name && tool.is_offered(T::PLACE));
        let tool = tool.ok_or_else(|| {
            ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None)
        })?;
        let RequestContext {
            ct: cancelled,
            meta,
            peer,
            extensions,
            ..
        } = context;
        let stop = cancelled.clone();
        let stop: Stop = Box::pin(async move { stop.cancelled().await });
        let (ends_itself, mut answer): (_, Answer) =
            match Call::of(tool, request.arguments.unwrap_or_default()) {
                Ok(call) => (
                    matches!(call, Call::Verify(_)),
                    Arc::clone(&self.0).answer(call, extensions, stop),
                ),
                Err(refused) => (false, Box::pin(async { Err(refused) })),
            };
        let token = meta
            .get_progress_token()
            .filter(|_| T::PLACE == Place::WorkingTree);
        let (mut every, mut sent) = (interval(PROGRESS_EVERY), 0);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                () = cancelled.cancelled(), if !ends_itself => break Err(Refused("stopped".to_owned())),
                _ = every.tick(), if token.is_some() => {
                    let Some(token) = token.clone() else { continue };
                    let progress = ProgressNotificationParam::new(token, f64::from(sent));
                    let progress = progress.with_message(format!("{} is at work", tool.name));
                    // A client that is gone needs no progress.
                    let _ = peer.notify_progress(progress).await;
                    sent += 1;
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
            Err(Refused(why)) => {
                CallToolResult::error(vec![ContentBlock::text(render::defused(&why))])
            }
        };
        Ok(result.into())
    }
}
