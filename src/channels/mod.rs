//! Where a call for a human is sent beside the comment on the pull request: to an incoming webhook of Slack, and by
//! e-mail.
//!
//! Addresses and passwords come from the environment alone. What a channel refuses is said on the pull request, and
//! turns no check red.

mod email;
mod slack;

use self::{email::Email, slack::Slack};
use loopgate_core::policy::Channel;

/// A short call for a human, as plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// One line.
    pub subject: String,
    pub text: String,
}

/// Why a message did not get out. Never holds an address or a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("{variable} is not set where Loopgate runs")]
    NotSetUp { variable: &'static str },
    #[error("{variable} cannot be used: {reason}")]
    Malformed { variable: &'static str, reason: String },
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
        let read = |variable| read(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        Ok(Self { slack: Slack::from_env(read)?, email: Email::from_env(read)? })
    }

    /// Sends a message once. The comment on the pull request is written elsewhere.
    ///
    /// # Errors
    /// When the channel is not set up, or its other end does not take the message.
    pub async fn send(&self, channel: Channel, message: &Message) -> Result<(), ChannelError> {
        match channel {
            Channel::IssueComment | Channel::Cli => Ok(()),
            Channel::Slack => match &self.slack {
                Some(slack) => slack.send(message).await,
                None => Err(ChannelError::NotSetUp { variable: slack::VARIABLE }),
            },
            Channel::Email => match &self.email {
                Some(email) => email.send(message).await,
                None => Err(ChannelError::NotSetUp { variable: email::SERVER }),
            },
        }
    }
}

#[cfg(test)]
mod tests;
