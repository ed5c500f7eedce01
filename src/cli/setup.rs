//! `loopgate setup`: registers the GitHub App, with a browser's help.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle, time::Instant};
use url::Url;

use super::{CliError, CommandResult, exit, output};
use crate::{
    github::registration::{
        AppWish, Arrival, InstallationProgress, Owner, RegisteredApp, Registration, Stage,
        stored_github,
    },
    server::{ServerConfig, SetupPages, known_setup_token, parse_url, setup_token, stop_signal},
};
use loopgate_core::Login;
use loopgate_git::withhold;

/// How long is waited for somebody to press GitHub's buttons: as long as its code is good.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// How often GitHub is asked whether the App is installed.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// How long the last pages are waited for.
const SENT_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub struct SetupArguments {
    /// The organisation that will own the App; otherwise the account that presses the button. GitHub registers none in
    /// this way for an enterprise
    #[arg(long, value_name = "ORG")]
    organization: Option<Login>,
    /// The App's name, which no other App has [default: Loopgate and the organisation, or some letters]
    #[arg(long)]
    name: Option<String>,
    /// Where GitHub's pages are: your GitHub Enterprise Server
    #[arg(
        long,
        env = "LOOPGATE_GITHUB_WEB_URL",
        default_value = "https://github.com",
        value_name = "URL",
        value_parser = parse_url
    )]
    web_url: Url,
    #[command(flatten)]
    arrival: ArrivalArguments,
    /// Where the credentials are kept
    #[arg(
        long,
        env = "LOOPGATE_DATA_DIR",
        default_value = "./loopgate-data",
        value_name = "DIRECTORY"
    )]
    data_dir: PathBuf,
    /// Where the page is served; an address of the loopback
    #[arg(long, default_value = "127.0.0.1:8737", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Only print the page's address
    #[arg(long)]
    no_browser: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ArrivalArguments {
    /// The server's address as GitHub reaches it
    #[arg(long, env = "LOOPGATE_PUBLIC_URL", value_name = "URL", value_parser = parse_url)]
    public_url: Option<Url>,
    /// A channel that webhooks are sent to, and read from
    #[arg(long, env = "LOOPGATE_WEBHOOK_PROXY", value_name = "URL", value_parser = parse_url)]
    webhook_proxy: Option<Url>,
    /// Nothing reaches the server: it reads GitHub's log
    #[arg(long)]
    poll: bool,
}

pub async fn run(arguments: &SetupArguments) -> CommandResult {
    if !arguments.listen.ip().is_loopback() {
        return Err(CliError::usage(
            "--listen takes an address of the loopback: the page hands out an App's key",
        ));
    }
    let ArrivalArguments {
        public_url,
        webhook_proxy,
        poll,
    } = &arguments.arrival;
    let arrival =
        Arrival::of(public_url.clone(), webhook_proxy.clone(), *poll).unwrap_or(Arrival::Poll);
    let until = Instant::now() + PATIENCE;
    let stage = Registration::new(&arguments.data_dir)
        .stage()
        .map_err(|error| disk(&arguments.data_dir, &error))?;
    let (app, served) = match stage {
        Some(Stage::Registered(app)) => (app, None),
        before => {
            let registered =
                tokio::time::timeout_at(until, register(arguments, arrival.clone(), before)).await;
            let (app, served) = registered.map_err(|_| {
                CliError::waiting("nothing was registered within an hour; run it again")
            })??;
            (app, Some(served))
        }
    };
    output::note_line(format_args!(
        "The App {} ({}) is registered. Its key and secrets are in {}.",
        app.slug,
        app.id,
        app.file.display()
    ));
    let progress = installed(&arguments.data_dir, &app, until).await?;
    if let Some(served) = served {
        served.end().await;
    }
    show_installed(&app, &progress, &arrival)
}

/// Serves the page, and waits until the credentials are on disk. A name that was made up before stays.
async fn register(
    arguments: &SetupArguments,
    arrival: Arrival,
    before: Option<Stage>,
) -> Result<(RegisteredApp, ServedPages), CliError> {
    let name = match (&arguments.name, &arguments.organization, before) {
        (Some(name), ..) => name.clone(),
        (None, _, Some(Stage::Pending(pending))) => pending.wish.name,
        (None, Some(login), _) => format!("Loopgate {login}").chars().take(34).collect(),
        (None, None, _) => format!("Loopgate {:04x}", fastrand::u16(..)),
    };
    let owner = arguments
        .organization
        .clone()
        .map_or(Owner::Person, Owner::Organization);
    let wish = AppWish {
        name,
        owner,
        web_url: arguments.web_url.clone(),
        arrival,
    };
    let wish = wish.checked().map_err(CliError::usage)?;
    let (listener, address) = bind(&arguments.listen.to_string()).await?;
    let served = ServedPages::begin(
        &arguments.data_dir,
        wish,
        &format!("http://{address}"),
        listener,
    )?;
    let link = served.pages.link();
    let opened = !arguments.no_browser && open(&link);
    let instruction = if opened {
        "Your browser opens this page; press its button"
    } else {
        "Open this page and press its button"
    };
    output::note_line(format_args!("{instruction}:\n  {link}"));
    Ok((served.registered().await?, served))
}

/// A listener, and where it listens.
pub(super) async fn bind(address: &str) -> Result<(TcpListener, SocketAddr), CliError> {
    let taken = |error| CliError::unavailable(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    Ok((listener, address))
}

fn disk(folder: &Path, error: &std::io::Error) -> CliError {
    CliError::unavailable(format!("{}: {error}", folder.display()))
}

/// The page while it is served. The browser that returns from GitHub opens another connection for the next request.
struct ServedPages {
    pages: Arc<SetupPages>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl ServedPages {
    fn begin(
        folder: &Path,
        wish: AppWish,
        origin: &str,
        listener: TcpListener,
    ) -> Result<Self, CliError> {
        let token = setup_token(folder).map_err(|error| disk(folder, &error))?;
        let pages = Arc::new(SetupPages::new(folder, wish, origin, token));
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(Arc::clone(&pages).serve(listener, stopping));
        Ok(Self { pages, stop, task })
    }

    async fn registered(&self) -> Result<RegisteredApp, CliError> {
        self.pages
            .registered()
            .await
            .ok_or_else(|| CliError::unavailable("the page has gone"))
    }

    /// What is on its way is still sent.
    async fn end(self) {
        self.stop.send_replace(true);
        tokio::time::timeout(SENT_WITHIN, self.task).await.ok();
    }
}

/// Whether something opens web pages here.
#[expect(clippy::disallowed_methods, reason = "a browser, which gets no token")]
fn open(link: &str) -> bool {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let has_screen = cfg!(target_os = "macos")
        || std::env::var_os("DISPLAY").is_some()
        || std::env::var_os("WAYLAND_DISPLAY").is_some();
    let mut command = Command::new(opener);
    withhold(&mut command);
    command
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    has_screen && command.spawn().is_ok()
}

/// Waits until the App is installed somewhere. Reports each person who could only ask for it.
async fn installed(
    folder: &Path,
    app: &RegisteredApp,
    until: Instant,
) -> Result<InstallationProgress, CliError> {
    let github = stored_github(folder).map_err(CliError::bad_data)?;
    let github = github.ok_or_else(|| CliError::bad_data("the credentials have gone"))?;
    let client = github.client(None);
    let (mut is_shown, mut asked_by) = (false, Vec::new());
    loop {
        let problem = match InstallationProgress::of(&client).await {
            Ok(progress) if !progress.installed_on.is_empty() => return Ok(progress),
            Ok(progress) => {
                for (who, account) in progress
                    .asked_by
                    .iter()
                    .filter(|asked| !asked_by.contains(*asked))
                {
                    output::note_line(format_args!(
                        "{who} is no owner of {account} and could only ask: an owner of {account} accepts it under \
                         Settings, GitHub Apps. This waits for it."
                    ));
                }
                asked_by = progress.asked_by;
                None
            }
            Err(error) => Some(error),
        };
        if !std::mem::replace(&mut is_shown, true) {
            output::note_line(format_args!(
                "Install it on your repositories:\n  {}",
                app.installation_page()
            ));
        }
        if Instant::now() + ASK_EVERY > until {
            let reason = problem
                .map(|error| format!(": {error}"))
                .unwrap_or_default();
            return Err(CliError::waiting(format!(
                "the App is not installed yet{reason}; run it again to go on"
            )));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

fn show_installed(
    app: &RegisteredApp,
    progress: &InstallationProgress,
    arrival: &Arrival,
) -> CommandResult {
    let accounts: Vec<String> = progress
        .installed_on
        .iter()
        .map(ToString::to_string)
        .collect();
    let has_arrived = progress
        .newest_delivery
        .is_some_and(|status| (200..300).contains(&status));
    let next = match (arrival, has_arrived) {
        (Arrival::Poll, _) => {
            "Next: `loopgate serve`, which reads GitHub's log of deliveries, and `loopgate doctor`."
        }
        (_, true) => "Its webhooks arrive. Next: `loopgate init` in a repository.",
        (_, false) => {
            "Its webhooks have not arrived yet. Next: `loopgate serve`, which asks for those that failed, and \
             `loopgate doctor`."
        }
    };
    let document = json!({
        "schema": "loopgate.setup/v1", "app_id": app.id, "slug": app.slug,
        "credentials": app.file, "installed_on": accounts, "delivery_arrived": has_arrived,
    });
    output::show(&document, || {
        format!("Installed on {}.\n{next}", accounts.join(", "))
    })
}

/// Registers an App on the public listener of a server that knows none. The exit code where it was stopped meanwhile.
pub async fn on_public_listener(
    public_url: &str,
    folder: &Path,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Option<u8>, CliError> {
    let public = parse_url(public_url)
        .map_err(|error| CliError::bad_data(format!("LOOPGATE_PUBLIC_URL: {error}")))?;
    let web_url =
        given("LOOPGATE_GITHUB_WEB_URL").unwrap_or_else(|| "https://github.com".to_owned());
    let web_url = parse_url(&web_url)
        .map_err(|error| CliError::bad_data(format!("LOOPGATE_GITHUB_WEB_URL: {error}")))?;
    let (listener, _) = bind(
        given("LOOPGATE_LISTEN")
            .as_deref()
            .unwrap_or("0.0.0.0:8080"),
    )
    .await?;
    let name = format!("Loopgate {:04x}", fastrand::u16(..));
    let wish = AppWish {
        name,
        owner: Owner::Person,
        web_url,
        arrival: Arrival::Public(public.clone()),
    };
    let served = ServedPages::begin(folder, wish, public.as_str(), listener)?;
    tracing::info!(
        page = %format!("{}/setup?token=…", public.as_str().trim_end_matches('/')),
        token = %folder.join("setup-token").display(),
        "no App is known yet: register one on this page, with the token in this file"
    );
    tokio::select! {
        stopped = stop_signal() => stopped.map(|()| Some(exit::OK)).map_err(CliError::unavailable),
        app = served.registered() => {
            tracing::info!(app = app?.slug, "registered");
            tokio::time::timeout(SENT_WITHIN, served.pages.shown.notified()).await.ok();
            served.end().await;
            Ok(None)
        }
    }
}

/// The pages of a server whose App is known, for holders of the setup token, if there is one.
pub fn pages_of(config: &ServerConfig) -> Option<SetupPages> {
    let public = config.public_url.as_ref()?;
    let token = known_setup_token(&config.data_dir)?;
    let (web_url, arrival) = (
        config.github_web_url.clone(),
        Arrival::Public(public.clone()),
    );
    let wish = AppWish {
        name: "Loopgate".to_owned(),
        owner: Owner::Person,
        web_url,
        arrival,
    };
    Some(SetupPages::new(
        &config.data_dir,
        wish,
        public.as_str(),
        token,
    ))
}
