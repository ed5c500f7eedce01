//! Job logs and archives: a redirect to a link that lives a minute, followed by hand and read to its end in bounded
//! memory. Their store gets no token, and is never named.

use bytes::Bytes;
use http::Method;

use super::{Client, JSON_LIMIT, error_of, unavailable, unreadable};
use crate::github::{
    Error,
    transport::{Accept, Outgoing},
};
use loopgate_reports::joblog::Kept;

/// Bytes of a log that are read at most.
pub(in crate::github) const LONGEST_LOG: u64 = 256 << 20;
/// Addresses outside the API that are asked for one log.
const MOST_ADDRESSES: usize = 2;

impl Client {
    /// Reads a log into `kept`; whether it is longer than what is read.
    ///
    /// # Errors
    /// [`Error::NotFound`] while GitHub has none, and when it is gone; every other kind of [`Error`].
    pub(crate) async fn read_log(&self, path: &str, kept: &mut Kept) -> Result<bool, Error> {
        let mut read = 0_u64;
        let each = |bytes: &[u8]| {
            read += bytes.len() as u64;
            kept.push(bytes);
            read <= LONGEST_LOG
        };
        self.stream(path, JSON_LIMIT, each).await?;
        Ok(read > LONGEST_LOG)
    }

    /// Reads an archive.
    ///
    /// # Errors
    /// Every kind of [`Error`]; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn download(&self, path: &str, limit: usize) -> Result<Bytes, Error> {
        let mut archive = Vec::new();
        let each = |bytes: &[u8]| {
            archive.extend_from_slice(bytes);
            archive.len() <= limit
        };
        self.stream(path, limit, each).await?;
        if archive.len() > limit {
            return Err(Error::TooLarge { path: path.to_owned(), limit });
        }
        Ok(archive.into_boxed_slice().into())
    }

    /// Reads what a path redirects to piece by piece, until its end or until `each` wants no more. What the API answers
    /// itself has at most `limit` bytes.
    async fn stream(&self, path: &str, limit: usize, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
        let answer = self.read(&Outgoing::read(path, Accept::Json, limit)).await?;
        if !answer.is_redirect() {
            each(&answer.body);
            return Ok(());
        }
        let mut address =
            answer.header("location").ok_or_else(|| unreadable(path, "a redirect to nowhere"))?.to_owned();
        for _ in 0..MOST_ADDRESSES {
            if !self.shared.hub.transport.may_be_followed(&address) {
                return Err(unreadable(path, "a redirect to an address that is not https"));
            }
            self.shared.hub.meter.sent(&Method::GET);
            let streamed = self.shared.hub.transport.stream_elsewhere(&address, &mut each).await;
            let (status, next) = streamed.map_err(|broken| error_of(broken, path, limit))?;
            match next {
                _ if status.is_success() => return Ok(()),
                Some(next) if status.is_redirection() => address = next,
                _ => return Err(unavailable(path, &format!("its store answered {}", status.as_u16()))),
            }
        }
        Err(unreadable(path, "more redirects than are followed"))
    }
}
