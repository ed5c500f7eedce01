//! What can go wrong between us and GitHub, distinguished by what to do about it.

use loopgate_core::{Timestamp, observed::ObservationProblem};
use loopgate_refs::Retry;

/// An answer of GitHub's, or what follows from answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A request that did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// 404: it does not exist, or GitHub does not show it to us; the two are not distinguishable.
    #[error("GitHub shows no {path} to Loopgate (404)")]
    NotFound { path: String },
    /// 403 that is no rate limit: a permission is missing. `needs` is GitHub's own list, such as `checks=write`.
    #[error("not permitted: {path} ({}){}", message, needs.as_ref().map(|needs| format!(" — it needs {needs}")).unwrap_or_default())]
    Forbidden {
        path: String,
        needs: Option<String>,
        message: String,
    },
    /// Any other 4xx: the request was understood and refused.
    #[error("GitHub refused {path} ({status}: {message})")]
    Rejected {
        path: String,
        status: u16,
        message: String,
    },
    /// A primary or secondary rate limit; nothing more is sent for this installation before `until`.
    #[error("GitHub's rate limit is used up until {}", until.format("%Y-%m-%d %H:%M:%S UTC"))]
    RateLimited { until: Timestamp },
    /// What is left of the hour's quota is kept for people.
    #[error("the rest of GitHub's quota is kept for people until {}", until.format("%Y-%m-%d %H:%M:%S UTC"))]
    KeptForPeople { until: Timestamp },
    /// Something more needed is created first. This concerns one request, and stops no other.
    #[error("something more needed is created first, this at {}", until.format("%Y-%m-%d %H:%M:%S UTC"))]
    Paced { until: Timestamp },
    /// The credentials are not accepted, also after a renewal.
    #[error("GitHub does not accept the credentials ({message})")]
    Unauthorized { message: String },
    /// The App was uninstalled or suspended there. No request is sent until an event lifts this, or until a first
    /// refusal is confirmed.
    #[error("the App may ask nothing there any more ({message})")]
    NotInstalled {
        message: String,
        until: Option<Timestamp>,
    },
    /// A 5xx or a broken connection, after the retries that were safe.
    #[error("GitHub did not answer {path} ({message})")]
    Unavailable {
        path: String,
        message: String,
        retry_at: Option<Timestamp>,
    },
    /// The answer is not what the documentation promises.
    #[error("GitHub's answer to {path} could not be read ({message})")]
    Unreadable { path: String, message: String },
    /// The answer is larger than what is asked for can be.
    #[error("GitHub's answer to {path} is larger than {limit} bytes")]
    TooLarge { path: String, limit: usize },
    /// The client could not be set up: a key or an address that is none.
    #[error("{0}")]
    Setup(String),
}

impl Error {
    /// Whether it is expected, and shown to the people concerned. Repeating the request changes nothing.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::Forbidden { .. }
                | Self::Rejected { .. }
                | Self::TooLarge { .. }
        )
    }

    /// Whether GitHub did not answer, or its answer could not be read. It passes by itself.
    pub const fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unreadable { .. })
    }

    /// Whether this request, or every request, has to wait.
    pub const fn is_wait(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. } | Self::KeptForPeople { .. } | Self::Paced { .. }
        )
    }

    /// When what failed may be tried again. A key that GitHub does not take any more concerns no single target, so
    /// nothing is given up for it.
    pub const fn retry(&self) -> Retry {
        match self {
            Self::NotInstalled { until: None, .. } => Retry::OnEvent,
            Self::Paced { until } => Retry::Paced(*until),
            Self::NotInstalled {
                until: Some(at), ..
            }
            | Self::Unavailable {
                retry_at: Some(at), ..
            }
            | Self::RateLimited { until: at }
            | Self::KeptForPeople { until: at } => Retry::At(*at),
            Self::Unauthorized { .. }
            | Self::Unreadable { .. }
            | Self::Unavailable { retry_at: None, .. } => Retry::WhenAnswered,
            _ => Retry::Later,
        }
    }

    /// The error, if it is a refusal.
    ///
    /// # Errors
    /// Gives back what is no refusal: faults and waits end whatever is under way.
    pub fn refusal(self) -> Result<Self, Self> {
        if self.is_refusal() {
            Ok(self)
        } else {
            Err(self)
        }
    }
}

/// Turns "not found" into `None`.
pub(crate) trait OrAbsent<T> {
    /// # Errors
    /// Every error but [`Error::NotFound`].
    fn or_absent(self) -> Result<Option<T>>;

    /// # Errors
    /// Every error that is no refusal: what is refused is as good as absent.
    fn or_refused(self) -> Result<Option<T>>;

    /// The answer, or why it is refused in a sentence.
    ///
    /// # Errors
    /// Every error that is no refusal.
    fn or_reason(self) -> Result<Result<T, String>>;

    /// As [`or_refused`](Self::or_refused); why it is refused becomes a problem.
    ///
    /// # Errors
    /// Every error that is no refusal.
    fn or_noted(self, what: &str, problems: &mut Vec<ObservationProblem>) -> Result<Option<T>>;
}

impl<T> OrAbsent<T> for Result<T> {
    fn or_absent(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn or_refused(self) -> Result<Option<T>> {
        Ok(self.or_reason()?.ok())
    }

    fn or_reason(self) -> Result<Result<T, String>> {
        match self {
            Ok(value) => Ok(Ok(value)),
            Err(error) => error.refusal().map(|error| Err(error.to_string())),
        }
    }

    fn or_noted(self, what: &str, problems: &mut Vec<ObservationProblem>) -> Result<Option<T>> {
        let answer = self.or_reason()?.map_err(|reason| {
            problems.push(ObservationProblem {
                what: what.to_owned(),
                reason,
            })
        });
        Ok(answer.ok())
    }
}
