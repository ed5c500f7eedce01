//! E-mail over SMTP.

use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message as Mail, Tokio1Executor,
    message::{Mailbox, Mailboxes, header::ContentType},
};

use super::{ChannelError, Message};

/// `smtps://user:password@host:465`, or `smtp://host:587?tls=required`.
pub(super) const SERVER: &str = "LOOPGATE_SMTP_URL";
const FROM: &str = "LOOPGATE_EMAIL_FROM";
/// Addresses, separated by commas.
const TO: &str = "LOOPGATE_EMAIL_TO";
/// Characters of a subject line.
const MOST_SUBJECT: usize = 200;

pub(super) struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Mailboxes,
}

impl Email {
    pub(super) fn from_env(read: impl Fn(&'static str) -> Option<String>) -> Result<Option<Self>, ChannelError> {
        let Some(server) = read(SERVER) else { return Ok(None) };
        // What the library says of an address may quote the password in it.
        let malformed = |variable, reason: &str| ChannelError::Malformed { variable, reason: reason.to_owned() };
        let from = read(FROM).ok_or(ChannelError::NotSetUp { variable: FROM })?;
        let to = read(TO).ok_or(ChannelError::NotSetUp { variable: TO })?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(&server);
        Ok(Some(Self {
            transport: transport.map_err(|_| malformed(SERVER, "it is no address of an SMTP server"))?.build(),
            from: from.parse().map_err(|_| malformed(FROM, "it is no e-mail address"))?,
            to: to.parse().map_err(|_| malformed(TO, "these are no e-mail addresses"))?,
        }))
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), ChannelError> {
        let subject: String = message.subject.chars().filter(|c| !c.is_control()).take(MOST_SUBJECT).collect();
        let mut mail = Mail::builder().from(self.from.clone()).subject(subject).header(ContentType::TEXT_PLAIN);
        for to in self.to.iter() {
            mail = mail.to(to.clone());
        }
        let mail = mail.body(message.text.clone());
        let mail = mail.map_err(|_| ChannelError::Refused("the mail could not be written".to_owned()))?;
        let sent = self.transport.send(mail).await;
        sent.map(drop).map_err(|error| {
            let answer = error.status().map(|code| format!(" ({code})")).unwrap_or_default();
            ChannelError::Refused(format!("the mail server did not take the message{answer}"))
        })
    }
}
