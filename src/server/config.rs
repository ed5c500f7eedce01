//! The environment contract of `loopgate serve` (server.md has the table of variables).

use std::{fmt, fs, net::SocketAddr, path::PathBuf, str::FromStr as _};

use chrono::TimeDelta;
use sqlx::postgres::PgConnectOptions;
use url::Url;

use crate::{
    github::{AppCredentials, AppName, Secret},
    proof::Signer,
};
use loopgate_refs::Seal;

/// A file that holds a secret is never larger; a larger one is something else.
const SECRET_FILE_BYTES: u64 = 64 * 1024;

/// The default folder of a server's own data.
pub const DATA_DIR: &str = "./loopgate-data";

/// What the server needs to know at start. Its `Debug` shows no secret.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerConfig {
    pub app_id: AppName,
    /// RSA, PEM; parsed once, so it is known to be a key.
    pub private_key: Secret,
    pub webhook_secret: Secret,
    /// Accepted too, while the secret is being rotated.
    pub webhook_secret_previous: Option<Secret>,
    /// Signs a statement about each merge; `None`: nothing is signed.
    pub signer: Option<Signer>,
    /// With it, and an address, people sign in with GitHub.
    pub client_secret: Option<Secret>,
    pub github_api_url: Url,
    pub github_web_url: Url,
    /// Where webhooks are received.
    pub listen: SocketAddr,
    /// Where operators look. Never the same as `listen`.
    pub admin_listen: SocketAddr,
    pub data_dir: PathBuf,
    /// Where GitHub, and people, reach the server; `None` where it is not known.
    pub public_url: Option<Url>,
    /// A channel that webhooks are read from.
    pub webhook_proxy: Option<Url>,
    /// Whether no webhook arrives, and GitHub's log of deliveries is read instead.
    pub polling: bool,
    /// A PostgreSQL server that several processes share, with its password; `None`: one process, on `data_dir`.
    pub database_url: Option<Secret>,
    /// How often all open pull requests are compared with what is known of them; `None`: when a person asks for it.
    pub resync_every: Option<TimeDelta>,
}

/// Everything that is wrong with the configuration: of each variable what is wrong and what to do, without its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the configuration does not allow a start:\n  {}", .0.join("\n  "))]
pub struct ServerConfigError(pub Vec<String>);

impl ServerConfig {
    /// What marks the loop states that this App wrote.
    pub fn state_seal(&self) -> Option<Seal> {
        Seal::derived_from(
            self.webhook_secrets()
                .iter()
                .map(|secret| secret.expose().as_bytes()),
        )
    }

    /// All that sign webhooks, the current one first: each line of what is given is one.
    pub fn webhook_secrets(&self) -> Vec<Secret> {
        let given = [
            Some(&self.webhook_secret),
            self.webhook_secret_previous.as_ref(),
        ];
        let lines = given
            .into_iter()
            .flatten()
            .flat_map(|secret| secret.expose().lines());
        lines
            .filter(|line| !line.is_empty())
            .map(Secret::new)
            .collect()
    }

    /// Whether the other has the same keys and secrets.
    pub fn has_secrets_of(&self, other: &Self) -> bool {
        self.private_key == other.private_key
            && self.webhook_secret == other.webhook_secret
            && self.webhook_secret_previous == other.webhook_secret_previous
            && self.client_secret == other.client_secret
    }

    /// Reads the variables through `lookup`, which decides where they come from (file, then environment, then flags;
    /// later ones win). An empty value counts as none. Every secret may also be given as the path of a file, in the
    /// variable of the same name with `_FILE`.
    ///
    /// # Errors
    /// [`ServerConfigError`] with every problem at once.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ServerConfigError> {
        let mut reader = SettingsReader {
            lookup,
            problems: Vec::new(),
        };
        if reader.text("LOOPGATE_APP_ID").is_none() {
            let hint = "is not set: the number on the App's settings page, or its client id";
            reader.problem("LOOPGATE_APP_ID", hint);
        }
        // Beside a problem a field may have any value: then there is no configuration.
        let config = Self {
            app_id: reader
                .given("LOOPGATE_APP_ID", str::parse)
                .unwrap_or(AppName::ClientId(String::new())),
            private_key: reader.private_key(),
            webhook_secret: reader.secret(
                "LOOPGATE_WEBHOOK_SECRET",
                "the secret of the App's webhook, on its settings page",
            ),
            webhook_secret_previous: reader.optional_secret("LOOPGATE_WEBHOOK_SECRET_PREVIOUS"),
            client_secret: reader.optional_secret("LOOPGATE_CLIENT_SECRET"),
            signer: reader.signer(),
            github_api_url: reader.or(
                "LOOPGATE_GITHUB_API_URL",
                "https://api.github.com",
                parse_url,
            ),
            github_web_url: reader.or("LOOPGATE_GITHUB_WEB_URL", "https://github.com", parse_url),
            listen: reader.or("LOOPGATE_LISTEN", "0.0.0.0:8080", parse_address),
            admin_listen: reader.or("LOOPGATE_ADMIN_LISTEN", "127.0.0.1:9090", parse_address),
            data_dir: reader.or("LOOPGATE_DATA_DIR", DATA_DIR, |text| {
                Ok(PathBuf::from(text))
            }),
            resync_every: reader.or("LOOPGATE_RESYNC", "6", parse_resync),
            database_url: reader.optional_secret("DATABASE_URL"),
            public_url: reader.given("LOOPGATE_PUBLIC_URL", parse_url),
            webhook_proxy: reader.given("LOOPGATE_WEBHOOK_PROXY", parse_url),
            polling: reader.or("LOOPGATE_POLL", "off", parse_polling),
        };
        let is_postgres = |url: &Secret| {
            let text = url.expose().trim();
            let scheme = text.split_once("://").map(|(scheme, _)| scheme);
            matches!(scheme, Some("postgres" | "postgresql"))
                && PgConnectOptions::from_str(text).is_ok()
        };
        if config
            .database_url
            .as_ref()
            .is_some_and(|url| !is_postgres(url))
        {
            let hint = "is no address of a PostgreSQL server, such as postgres://user:password@host/database";
            reader.problem("DATABASE_URL", hint);
        }
        if config.listen == config.admin_listen && config.listen.port() != 0 {
            let hint = "is LOOPGATE_LISTEN too; the admin pages need an address of their own";
            reader.problem("LOOPGATE_ADMIN_LISTEN", hint);
        }
        if reader.problems.is_empty() {
            Ok(config)
        } else {
            Err(ServerConfigError(reader.problems))
        }
    }
}

struct SettingsReader<L> {
    lookup: L,
    problems: Vec<String>,
}

impl<L: Fn(&str) -> Option<String>> SettingsReader<L> {
    fn text(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).filter(|text| !text.trim().is_empty())
    }

    fn problem(&mut self, variable: &str, message: impl fmt::Display) {
        self.problems.push(format!("{variable}: {message}"));
    }

    /// What is set, unless it is wrong.
    fn given<T>(&mut self, variable: &str, parse: fn(&str) -> Result<T, String>) -> Option<T> {
        parse(self.text(variable)?.trim())
            .map_err(|message| self.problem(variable, message))
            .ok()
    }

    fn or<T>(&mut self, variable: &str, default: &str, parse: fn(&str) -> Result<T, String>) -> T {
        let given = self.given(variable, parse);
        given.unwrap_or_else(|| {
            parse(default).expect("each default is of its kind: every start reads them")
        })
    }

    fn secret(&mut self, variable: &str, hint: &str) -> Secret {
        let before = self.problems.len();
        let secret = self.optional_secret(variable);
        if secret.is_none() && self.problems.len() == before {
            self.problem(
                variable,
                format!("is not set (nor {variable}_FILE): {hint}"),
            );
        }
        secret.unwrap_or_else(|| Secret::new(""))
    }

    fn signer(&mut self) -> Option<Signer> {
        let text = self.optional_secret("LOOPGATE_SIGNING_KEY")?;
        let refused = |message| self.problem("LOOPGATE_SIGNING_KEY", message);
        Signer::parse(text.expose()).map_err(refused).ok()
    }

    fn optional_secret(&mut self, variable: &str) -> Option<Secret> {
        let in_file = format!("{variable}_FILE");
        let secret = match (self.text(variable), self.text(&in_file)) {
            (text, None) => Secret::new(text?),
            (None, Some(path)) => read_secret(&path)
                .map_err(|message| self.problem(&in_file, message))
                .ok()?,
            (Some(_), Some(_)) => {
                self.problem(
                    variable,
                    format!("is set, and {in_file} too; keep one of them"),
                );
                return None;
            }
        };
        // Environment files often cannot hold line breaks, and people write `\n`.
        let text = secret.expose().trim();
        let is_one_line = text.starts_with("-----BEGIN") && !text.contains('\n');
        Some(if is_one_line {
            Secret::new(text.replace("\\n", "\n"))
        } else {
            secret
        })
    }

    fn private_key(&mut self) -> Secret {
        let before = self.problems.len();
        let key = self.secret(
            "LOOPGATE_PRIVATE_KEY",
            "generate one on the App's settings page, Private keys",
        );
        if self.problems.len() > before
            || AppCredentials::new(loopgate_core::AppId::new(0), &key).is_ok()
        {
            return key;
        }
        let message = if key.expose().contains("-----BEGIN") {
            "is in PEM form, but holds no RSA private key that can be read; generate a new one on the App's settings \
             page (Private keys) and give the whole file, from -----BEGIN to -----END"
        } else {
            "is not a private key in PEM form (it starts with -----BEGIN RSA PRIVATE KEY-----); if it is the path of \
             the key file, use LOOPGATE_PRIVATE_KEY_FILE"
        };
        self.problem("LOOPGATE_PRIVATE_KEY", message);
        key
    }
}

fn read_secret(path: &str) -> Result<Secret, String> {
    let size = fs::metadata(path)
        .map_err(|error| format!("{path} cannot be read: {error}"))?
        .len();
    if size > SECRET_FILE_BYTES {
        return Err(format!("{path} is {size} bytes long; a secret is not"));
    }
    let text =
        fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let text = zeroize::Zeroizing::new(text);
    // Editors and `echo` end the file with a line break that is not part of the secret.
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(format!("{path} is empty")),
        secret => Ok(Secret::new(secret)),
    }
}

/// Reads an address that browsers and GitHub can be sent to.
///
/// # Errors
/// What is wrong with it, as the end of a sentence, where it is no http or https URL.
pub fn parse_url(text: &str) -> Result<Url, String> {
    let url: Url = text
        .parse()
        .map_err(|error| format!("is not a URL: {error}"))?;
    match url.scheme() {
        "https" | "http" if url.host().is_some() => Ok(url),
        _ => Err("is not an http or https URL".to_owned()),
    }
}

fn parse_resync(text: &str) -> Result<Option<TimeDelta>, String> {
    match text.parse::<u8>() {
        Ok(hours @ 1..=24) => Ok(Some(TimeDelta::hours(hours.into()))),
        _ if text == "off" => Ok(None),
        _ => Err("is neither a number of hours from 1 to 24 nor `off`".to_owned()),
    }
}

fn parse_polling(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("is neither `on` nor `off`".to_owned()),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "is not an address and port, like 0.0.0.0:8080 or [::1]:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use loopgate_core::AppId;

    /// A key made for these tests with `openssl genrsa -traditional 2048`; it opens nothing.
    const KEY: &str = include_str!("testdata/not-a-secret.pem");

    fn read(variables: &[(&str, &str)]) -> Result<ServerConfig, ServerConfigError> {
        let mut all: HashMap<_, _> = [
            ("LOOPGATE_APP_ID", "42"),
            ("LOOPGATE_PRIVATE_KEY", KEY),
            ("LOOPGATE_WEBHOOK_SECRET", "s3cret"),
        ]
        .into();
        all.extend(variables.iter().copied());
        ServerConfig::from_env(|name| all.get(name).map(ToString::to_string))
    }

    fn problems(variables: &[(&str, &str)]) -> String {
        read(variables).unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_the_contract() {
        let config = read(&[]).unwrap();
        assert_eq!(config.app_id, AppName::Number(AppId::new(42)));
        assert_eq!(config.listen.to_string(), "0.0.0.0:8080");
        assert_eq!(config.admin_listen.to_string(), "127.0.0.1:9090");
        assert_eq!(config.github_api_url.as_str(), "https://api.github.com/");
        assert_eq!(config.data_dir, PathBuf::from("./loopgate-data"));
        assert!(config.webhook_secret_previous.is_none());
        assert_eq!(config.resync_every, Some(TimeDelta::hours(6)));
        assert_eq!(
            read(&[("LOOPGATE_RESYNC", "off")]).unwrap().resync_every,
            None
        );
    }

    #[test]
    fn secrets_come_from_files_too_and_show_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (secret, key) = (path("secret", "hunter2\n"), path("key", KEY));
        let config = read(&[
            ("LOOPGATE_WEBHOOK_SECRET", ""),
            ("LOOPGATE_WEBHOOK_SECRET_FILE", &secret),
            ("LOOPGATE_WEBHOOK_SECRET_PREVIOUS", "older"),
            ("LOOPGATE_PRIVATE_KEY", " "),
            ("LOOPGATE_PRIVATE_KEY_FILE", &key),
        ])
        .unwrap();
        assert_eq!(config.webhook_secret.expose(), "hunter2");
        let both = path("both", "new\n\nhunter2\n");
        let rotating = read(&[
            ("LOOPGATE_WEBHOOK_SECRET", ""),
            ("LOOPGATE_WEBHOOK_SECRET_FILE", &both),
        ])
        .unwrap();
        assert_eq!(
            rotating.webhook_secrets(),
            ["new", "hunter2"].map(Secret::new)
        );
        assert!(!rotating.has_secrets_of(&config) && rotating.has_secrets_of(&rotating.clone()));
        let shown = format!("{config:?}");
        for hidden in ["hunter2", "older", "BEGIN"] {
            assert!(!shown.contains(hidden), "{shown}");
        }
        assert!(
            problems(&[("LOOPGATE_WEBHOOK_SECRET_FILE", &secret)]).contains("keep one of them")
        );
        let empty = path("empty", "\n");
        let error = problems(&[
            ("LOOPGATE_WEBHOOK_SECRET", ""),
            ("LOOPGATE_WEBHOOK_SECRET_FILE", &empty),
        ]);
        assert!(
            error.contains("LOOPGATE_WEBHOOK_SECRET_FILE: ") && error.contains("is empty"),
            "{error}"
        );
    }

    #[test]
    fn keys_written_with_backslash_n_are_understood() {
        let one_line = KEY.trim().replace('\n', "\\n");
        assert!(read(&[("LOOPGATE_PRIVATE_KEY", &one_line)]).is_ok());
    }

    #[test]
    fn every_problem_is_told_at_once_with_what_to_do() {
        insta::assert_snapshot!(ServerConfig::from_env(|_| None).unwrap_err(), @"
        the configuration does not allow a start:
          LOOPGATE_APP_ID: is not set: the number on the App's settings page, or its client id
          LOOPGATE_PRIVATE_KEY: is not set (nor LOOPGATE_PRIVATE_KEY_FILE): generate one on the App's settings page, Private keys
          LOOPGATE_WEBHOOK_SECRET: is not set (nor LOOPGATE_WEBHOOK_SECRET_FILE): the secret of the App's webhook, on its settings page
        ");
        insta::assert_snapshot!(problems(&[
            ("LOOPGATE_APP_ID", "loopgate"),
            ("LOOPGATE_PRIVATE_KEY", "/etc/loopgate/key.pem"),
            ("LOOPGATE_GITHUB_API_URL", "ftp://x"),
            ("LOOPGATE_LISTEN", "8080"),
            ("LOOPGATE_RESYNC", "25"),
            ("DATABASE_URL", "mysql://root:s3cret@x"),
        ]), @"
        the configuration does not allow a start:
          LOOPGATE_APP_ID: is neither the App ID, a number, nor the client id, which begins with Iv; it is not the slug
          LOOPGATE_PRIVATE_KEY: is not a private key in PEM form (it starts with -----BEGIN RSA PRIVATE KEY-----); if it is the path of the key file, use LOOPGATE_PRIVATE_KEY_FILE
          LOOPGATE_GITHUB_API_URL: is not an http or https URL
          LOOPGATE_LISTEN: is not an address and port, like 0.0.0.0:8080 or [::1]:8080
          LOOPGATE_RESYNC: is neither a number of hours from 1 to 24 nor `off`
          DATABASE_URL: is no address of a PostgreSQL server, such as postgres://user:password@host/database
        ");
        let hollow = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----";
        assert!(problems(&[("LOOPGATE_PRIVATE_KEY", hollow)]).contains("holds no RSA private key"));
        let cut = &KEY[..KEY.len() / 2];
        insta::assert_snapshot!(problems(&[
            ("LOOPGATE_PRIVATE_KEY", cut),
            ("LOOPGATE_LISTEN", "127.0.0.1:9090"),
        ]), @"
        the configuration does not allow a start:
          LOOPGATE_PRIVATE_KEY: is in PEM form, but holds no RSA private key that can be read; generate a new one on the App's settings page (Private keys) and give the whole file, from -----BEGIN to -----END
          LOOPGATE_ADMIN_LISTEN: is LOOPGATE_LISTEN too; the admin pages need an address of their own
        ");
    }
}
