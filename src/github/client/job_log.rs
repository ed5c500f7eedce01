//! A job's log: a redirect to a link that lives a minute, followed by hand and read to its end in bounded memory.

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
    /// Reads a log into `kept`; whether it is longer than what is read. Its store gets no token, and is never named.
    ///
    /// # Errors
    /// [`Error::NotFound`] while GitHub has none, and when it is gone; every other kind of [`Error`].
    pub(crate) async fn read_log(&self, path: &str, kept: &mut Kept) -> Result<bool, Error> {
        let answer = self.read(&Outgoing::read(path, Accept::Json, JSON_LIMIT)).await?;
        if !answer.is_redirect() {
            kept.push(&answer.body);
            return Ok(false);
        }
        let mut address = answer.location().ok_or_else(|| unreadable(path, "a redirect to nowhere"))?.to_owned();
        for _ in 0..MOST_ADDRESSES {
            if !self.shared.hub.transport.may_be_followed(&address) {
                return Err(unreadable(path, "a redirect to an address that is not https"));
            }
            self.shared.hub.meter.read();
            let mut read = 0_u64;
            let each = |bytes: &[u8]| {
                read += bytes.len() as u64;
                kept.push(bytes);
                read <= LONGEST_LOG
            };
            let streamed = self.shared.hub.transport.stream_elsewhere(&address, each).await;
            let (status, next) = streamed.map_err(|broken| error_of(broken, path, JSON_LIMIT))?;
            match next {
                _ if status.is_success() => return Ok(read > LONGEST_LOG),
                Some(next) if status.is_redirection() => address = next,
                _ => return Err(unavailable(path, &format!("its store answered {}", status.as_u16()))),
            }
        }
        Err(unreadable(path, "more redirects than are followed"))
    }
}
