//! `loopgate serve`: the App. Puts the parts together and runs until it is stopped.

use std::{io::IsTerminal as _, net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use tokio::time::timeout;
use url::Url;

use super::{CliError, CommandResult, exit, output, setup};
use crate::{
    channels::Channels,
    github::{
        ApiUrl, AppCredentials, Credentials, Github, LoopReader, Setup, SystemClock,
        registration::StoredApp,
    },
    server::{
        DATA_DIR, GithubReconciler, Server, ServerConfig, ServerConfigError, own_app, stop_signal,
        survive_file_size_limit,
    },
};
use loopgate_webhook::OwnApp;

/// What names an App. Where none of it is given, and none is stored, one is registered first.
const APP: [&str; 3] = [
    "LOOPGATE_APP_ID",
    "LOOPGATE_PRIVATE_KEY",
    "LOOPGATE_WEBHOOK_SECRET",
];

/// How long GitHub may take to answer who we are before the start goes on without it; and how often it is asked then.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// How often files of keys and secrets are read again.
const REREAD_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Where webhooks are received; overrides LOOPGATE_LISTEN
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Where operators look; overrides LOOPGATE_ADMIN_LISTEN
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// A channel that webhooks are read from; overrides LOOPGATE_WEBHOOK_PROXY
    #[arg(long, value_name = "URL")]
    webhook_proxy: Option<Url>,
    /// Nothing reaches this server: GitHub's log of deliveries is read every minute
    #[arg(long)]
    poll: bool,
}

pub async fn run(arguments: ServeArguments) -> CommandResult {
    let flag = |name: &str| match name {
        "LOOPGATE_LISTEN" => arguments.listen.map(|address| address.to_string()),
        "LOOPGATE_ADMIN_LISTEN" => arguments.admin_listen.map(|address| address.to_string()),
        "LOOPGATE_WEBHOOK_PROXY" => arguments.webhook_proxy.as_ref().map(Url::to_string),
        "LOOPGATE_POLL" => arguments.poll.then(|| "on".to_owned()),
        _ => None,
    };
    let given = |name: &str| flag(name).or_else(|| std::env::var(name).ok());
    let folder = PathBuf::from(given("LOOPGATE_DATA_DIR").unwrap_or_else(|| DATA_DIR.to_owned()));
    let stored = || {
        StoredApp::read(&folder)
            .map_err(|error| CliError::bad_data(format!("{}: {error}", folder.display())))
    };
    let filter = output::log_filter(given("LOOPGATE_LOG"), "info")?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Lines for people on a terminal, JSON documents otherwise.
    if std::io::stderr().is_terminal() {
        log.init();
    } else {
        log.json().flatten_event(true).init();
    }
    let is_known = APP
        .iter()
        .any(|name| given(name).is_some() || given(&format!("{name}_FILE")).is_some());
    if !is_known
        && stored()?.is_empty()
        && let Some(public_url) = given("LOOPGATE_PUBLIC_URL")
        && let Some(ended) = setup::on_public_listener(&public_url, &folder, given).await?
    {
        return Ok(ended);
    }
    let read = || {
        let stored = stored().unwrap_or_default();
        ServerConfig::from_env(stored.beneath(given))
    };
    stored()?;
    let config = read().map_err(|error: ServerConfigError| {
        let advice = if is_known {
            ""
        } else {
            "\nRegister an App with `loopgate setup`; its credentials are found then."
        };
        CliError::bad_data(format!("{error}{advice}"))
    })?;
    serve(config, read).await
}

async fn serve(
    config: ServerConfig,
    reread: impl Fn() -> Result<ServerConfig, ServerConfigError>,
) -> CommandResult {
    let credentials = AppCredentials::new(config.app_id.clone(), &config.private_key)
        .map_err(CliError::bad_data)?;
    let api = ApiUrl::parse(config.github_api_url.as_str()).map_err(CliError::bad_data)?;
    let github = Github::new(api, Credentials::App(credentials.clone()), Setup::default())?;
    let known = introduction(&github).await?;
    let own = known.clone().unwrap_or_else(|| {
        // No account's: until GitHub has returned the number, echoes of our own check runs are looked at once more.
        OwnApp {
            app_id: config
                .app_id
                .number()
                .unwrap_or(loopgate_core::AppId::new(0)),
            bot: None,
        }
    });
    let seal = config.state_seal();
    let channels =
        Channels::from_env(|variable| std::env::var(variable).ok()).map_err(CliError::bad_data)?;
    let reconciler =
        GithubReconciler::new(github.clone(), std::sync::Arc::new(SystemClock)).with(|reconcile| {
            reconcile
                .sealing(seal.clone())
                .signing(config.signer.clone())
                .calling(channels)
        });
    let mut current = config.clone();
    let setup_pages = setup::pages_of(&config);
    let server = Server {
        recovers: true,
        is_examined: true,
        loops: Some(LoopReader::new(github.clone(), seal.clone())),
        setup: setup_pages.map(std::sync::Arc::new),
        ..Server::new(config, own)
    };
    survive_file_size_limit()?;
    let running = tokio::select! {
        started = server.start(reconciler) => started?,
        // The database may be away for as long as it takes.
        stop = stop_signal() => return stop.map(|()| exit::OK).map_err(CliError::unavailable),
    };
    tracing::info!(webhooks = %running.public_address, admin = %running.admin_address, "ready");
    let learned = async {
        while known.is_none() {
            tokio::time::sleep(INTRODUCTION).await;
            match own_app(&github).await {
                Ok(own) => {
                    running.introduce(own);
                    break;
                }
                Err(error) => tracing::warn!(%error, "GitHub does not say who we are"),
            }
        }
        std::future::pending::<()>().await
    };
    let rotated = async {
        loop {
            tokio::time::sleep(REREAD_EVERY).await;
            let new = match reread() {
                Ok(new) if current.has_secrets_of(&new) => continue,
                Ok(new) => new,
                Err(error) => {
                    tracing::warn!(%error, "what was read last stays in force");
                    continue;
                }
            };
            if credentials.replace(&new.private_key).is_ok() {
                running.replace_secrets(&new.webhook_secrets(), new.client_secret.as_ref());
                if let (Some(seal), Some(new)) = (&seal, new.state_seal()) {
                    seal.replace(&new);
                }
                tracing::info!("keys and secrets have changed, and are in force");
                current = new;
            }
        }
    };
    tokio::select! {
        stop = stop_signal() => stop?,
        () = learned => {}
        () = rotated => {}
    }
    let stopped = running.shutdown().await;
    tracing::info!(released = stopped.released, "stopped");
    Ok(exit::OK)
}

/// Who we are, asked before anything is accepted: a wrong key or a skewed clock shows here. None where GitHub does not
/// answer: deliveries are accepted all the same, since GitHub does not send them again, and the work waits.
async fn introduction(github: &Github) -> Result<Option<OwnApp>, CliError> {
    let asked = timeout(INTRODUCTION, own_app(github)).await;
    let silent = match asked {
        Ok(Ok(own)) => return Ok(Some(own)),
        Ok(Err(error)) if error.is_outage() || error.is_wait() => error.to_string(),
        Ok(Err(error)) => {
            return Err(CliError::unavailable(format!(
                "GitHub does not know this App: {error}. Check LOOPGATE_APP_ID, LOOPGATE_PRIVATE_KEY, \
                 LOOPGATE_GITHUB_API_URL and this machine's clock."
            )));
        }
        Err(_) => format!("no answer within {} s", INTRODUCTION.as_secs()),
    };
    tracing::warn!(
        reason = silent,
        "GitHub is away: deliveries are accepted, and the work waits for it"
    );
    Ok(None)
}
