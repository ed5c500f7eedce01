//! Where a call for a human is sent beside the comment on the pull request: to an incoming webhook of Slack, and by
//! e-mail.
//!
//! Addresses and passwords come from the environment alone. What a channel refuses is shown on the pull request, and
//! turns no check red.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message as Mail, Tokio1Executor,
    message::{Mailbox, Mailboxes, header::ContentType},
};
use serde_json::json;

use loopgate_core::policy::Channel;

/// Why a message did not get out. Never holds an address or a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("{variable} is not set where Loopgate runs")]
    NotSetUp { variable: &'static str },
    #[error("{variable} cannot be used: {reason}")]
    Malformed {
        variable: &'static str,
        reason: String,
    },
    #[error("{0}")]
    Refused(String),
}

/// The channels that are set up.
#[derive(Default)]
pub struct Channels {
    slack: Option<Slack>,
    email: Option<Email>,
}

impl Channels {
    /// Reads `LOOPGATE_SLACK_WEBHOOK_URL`, and `LOOPGATE_SMTP_URL` with `LOOPGATE_EMAIL_FROM` and `LOOPGATE_EMAIL_TO`.
    ///
    /// # Errors
    /// When one of them is set and cannot be used.
    pub fn from_env(read: impl Fn(&'static str) -> Option<String>) -> Result<Self, ChannelError> {
        let read = |variable| {
            read(variable)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        Ok(Self {
            slack: Slack::from_env(read)?,
            email: Email::from_env(read)?,
        })
    }

    /// Sends a short call for a human once, as plain text; the subject is one line. The comment on the pull request is
    /// written elsewhere.
    ///
    /// # Errors
    /// When the channel is not set up, or its other end does not take the message.
    pub async fn send(
        &self,
        channel: Channel,
        subject: &str,
        text: &str,
    ) -> Result<(), ChannelError> {
        match channel {
            Channel::IssueComment | Channel::Cli => Ok(()),
            Channel::Slack => match &self.slack {
                Some(slack) => slack.send(subject, text).await,
                None => Err(ChannelError::NotSetUp { variable: SLACK }),
            },
            Channel::Email => match &self.email {
                Some(email) => email.send(subject, text).await,
                None => Err(ChannelError::NotSetUp { variable: SERVER }),
            },
        }
    }
}

const SLACK: &str = "LOOPGATE_SLACK_WEBHOOK_URL";
/// Slack cuts longer texts.
const MOST_TEXT: usize = 3_000;

/// Slack's incoming webhooks: one POST of a text to a secret address.
struct Slack {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The address is the secret.
    address: http::Uri,
}

impl Slack {
    fn from_env(
        read: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, ChannelError> {
        let Some(address) = read(SLACK) else {
            return Ok(None);
        };
        let malformed = |reason: &str| ChannelError::Malformed {
            variable: SLACK,
            reason: reason.to_owned(),
        };
        let address: http::Uri = address.parse().map_err(|_| malformed("it is no address"))?;
        if !matches!(address.scheme_str(), Some("https" | "http")) || address.host().is_none() {
            return Err(malformed("it is no http address"));
        }
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|_| malformed("there is no HTTP client"))?;
        let connector = connector.https_or_http().enable_http1().build();
        Ok(Some(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            address,
        }))
    }

    async fn send(&self, subject: &str, text: &str) -> Result<(), ChannelError> {
        // Slack reads `<…>` as links and mentions (`<!channel>`), unless these three characters are escaped.
        let escaped = |text: &str| {
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
        };
        let text = format!("*{}*\n{}", escaped(subject), escaped(text));
        let body = json!({ "text": text.chars().take(MOST_TEXT).collect::<String>() }).to_string();
        let request = Request::post(self.address.clone())
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))
            .map_err(|_| ChannelError::Refused("the message could not be written".to_owned()))?;
        // Errors of the client quote the address, which is the secret: only their kind is reported.
        let answer = self.client.request(request).await;
        let answer =
            answer.map_err(|_| ChannelError::Refused("Slack did not answer".to_owned()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(ChannelError::Refused(format!(
                "Slack refused the message ({})",
                status.as_u16()
            ))),
        }
    }
}

/// `smtps://user:password@host:465`, or `smtp://host:587?tls=required`.
const SERVER: &str = "LOOPGATE_SMTP_URL";
const FROM: &str = "LOOPGATE_EMAIL_FROM";
/// Addresses, separated by commas.
const TO: &str = "LOOPGATE_EMAIL_TO";
/// Characters of a subject line.
const MOST_SUBJECT: usize = 200;

/// E-mail over SMTP.
struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Mailboxes,
}

impl Email {
    fn from_env(
        read: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, ChannelError> {
        let Some(server) = read(SERVER) else {
            return Ok(None);
        };
        // The library's message about an address may quote the password in it.
        let malformed = |variable, reason: &str| ChannelError::Malformed {
            variable,
            reason: reason.to_owned(),
        };
        let from = read(FROM).ok_or(ChannelError::NotSetUp { variable: FROM })?;
        let to = read(TO).ok_or(ChannelError::NotSetUp { variable: TO })?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(&server);
        Ok(Some(Self {
            transport: transport
                .map_err(|_| malformed(SERVER, "it is no address of an SMTP server"))?
                .build(),
            from: from
                .parse()
                .map_err(|_| malformed(FROM, "it is no e-mail address"))?,
            to: to
                .parse()
                .map_err(|_| malformed(TO, "these are no e-mail addresses"))?,
        }))
    }

    async fn send(&self, subject: &str, text: &str) -> Result<(), ChannelError> {
        let subject: String = subject
            .chars()
            .filter(|c| !c.is_control())
            .take(MOST_SUBJECT)
            .collect();
        let mut mail = Mail::builder()
            .from(self.from.clone())
            .subject(subject)
            .header(ContentType::TEXT_PLAIN);
        for to in self.to.iter() {
            mail = mail.to(to.clone());
        }
        let mail = mail.body(text.to_owned());
        let mail =
            mail.map_err(|_| ChannelError::Refused("the mail could not be written".to_owned()))?;
        let sent = self.transport.send(mail).await;
        sent.map(drop).map_err(|error| {
            let answer = error
                .status()
                .map(|code| format!(" ({code})"))
                .unwrap_or_default();
            ChannelError::Refused(format!("the mail server did not take the message{answer}"))
        })
    }
}

#[cfg(test)]
mod tests;
