//! The real server behind a load balancer, and its time.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, OnceLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
};
use futures::future::join_all;
use http::{Request, StatusCode, request::Parts};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use loopgate::{
    github::{self, ApiUrl, AppCredentials, Credentials, Github, LoopReader, Setup},
    server::{GithubReconciler, Running, Server, ServerConfig, SimulatedClock, own_app},
};
use loopgate_simulator::Clock;

use crate::stacked_emulator::Proxy;

/// What the server takes for the time, and what GitHub goes by when it looks at tokens. The emulator has the machine's
/// clock: there only the server's can be set forward.
#[derive(Clone)]
pub struct Times {
    pub of_server: Clock,
    pub of_github: Arc<dyn github::Clock>,
}

/// Hands each webhook to every server at once, as a load balancer that is set to would.
pub struct Fan {
    pub address: SocketAddr,
    pub targets: Targets,
    /// What the emulator's webhooks lack.
    pub lacks: Arc<OnceLock<Proxy>>,
}

pub type Targets = Arc<Mutex<Vec<SocketAddr>>>;

impl Fan {
    pub fn start(listener: TcpListener) -> Self {
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let (targets, lacks) = (Targets::default(), Arc::default());
        let state = (targets.clone(), Arc::clone(&lacks));
        let router = Router::new()
            .fallback(hand_on)
            .layer(DefaultBodyLimit::disable())
            .with_state(state);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            targets,
            lacks,
        }
    }
}

/// The answer is the first server's; a server that is not there makes it 502.
async fn hand_on(
    State((targets, lacks)): State<(Targets, Arc<OnceLock<Proxy>>)>,
    mut head: Parts,
    body: Bytes,
) -> StatusCode {
    let body = match lacks.get() {
        Some(proxy) => proxy.webhook(body, &mut head.headers).await,
        None => body,
    };
    let targets = targets.lock().expect("no panic").clone();
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let sent = targets.into_iter().map(|target| {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = format!("http://{target}{path}")
            .parse()
            .expect("an address");
        *request.headers_mut() = head.headers.clone();
        client.request(request)
    });
    let answers = join_all(sent).await;
    let mut statuses = answers
        .into_iter()
        .map(|answer| answer.map_or(StatusCode::BAD_GATEWAY, |it| it.status()));
    statuses.next().unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

/// The real server: App id, key, webhook secret, API address, client secret and public address, as an operator would
/// set them.
///
/// It recovers what no webhook told if `resync` says how often, and examines itself where people sign in.
pub async fn serve(
    settings: &[String; 6],
    data: &tempfile::TempDir,
    times: Times,
    resync: Option<&'static str>,
) -> Running {
    let [id, key, secret, url, sign_in, address] = settings;
    let config = ServerConfig::from_env(|name| match name {
        "LOOPGATE_APP_ID" => Some(id.clone()),
        "LOOPGATE_PRIVATE_KEY" => Some(key.clone()),
        "LOOPGATE_WEBHOOK_SECRET" => Some(secret.clone()),
        "LOOPGATE_GITHUB_API_URL" | "LOOPGATE_GITHUB_WEB_URL" => Some(url.clone()),
        "LOOPGATE_CLIENT_SECRET" => Some(sign_in.clone()),
        "LOOPGATE_PUBLIC_URL" => Some(address.clone()),
        // Where a browser is to find it.
        "LOOPGATE_LISTEN" => Some(
            address
                .strip_prefix("http://")
                .unwrap_or("127.0.0.1:0")
                .to_owned(),
        ),
        "LOOPGATE_ADMIN_LISTEN" => Some("127.0.0.1:0".to_owned()),
        "LOOPGATE_RESYNC" => resync.map(str::to_owned),
        "LOOPGATE_DATA_DIR" => Some(data.path().display().to_string()),
        _ => None,
    })
    .expect("a configuration");
    let clock = Arc::new(SimulatedClock(times.of_server));
    let credentials =
        AppCredentials::new(config.app_id.clone(), &config.private_key).expect("a key");
    let setup = Setup {
        clock: times.of_github,
        ..Setup::default()
    };
    let api = ApiUrl::parse(url).expect("an address");
    let client = Github::new(api, Credentials::App(credentials), setup).expect("a client");
    let own = own_app(&client).await.expect("the App is known");
    let seal = config.state_seal();
    let reconciler =
        GithubReconciler::new(client.clone(), clock.clone()).with(|it| it.sealing(seal.clone()));
    let server = Server {
        clock,
        loops: Some(LoopReader::new(client, seal)),
        recovers: resync.is_some(),
        is_examined: !address.is_empty(),
        ..Server::new(config, own)
    };
    server.start(reconciler).await.expect("the server starts")
}
