//! Lists over several pages.

use serde::{Deserialize, de::DeserializeOwned};

use crate::github::client::{Client, Page, error::Result, parse};
use loopgate_core::observed::Listing;

/// The entries of a page, which may stand in an object.
fn entries<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<Vec<T>> {
    #[derive(Deserialize)]
    struct Wrapped<T> {
        #[serde(
            alias = "artifacts",
            alias = "check_runs",
            alias = "check_suites",
            alias = "commits"
        )]
        #[serde(
            alias = "installations",
            alias = "jobs",
            alias = "repositories",
            alias = "statuses",
            alias = "workflow_runs"
        )]
        entries: Vec<T>,
    }
    match body.trim_ascii_start() {
        [b'[', ..] => parse(path, body),
        _ => parse(path, body).map(|Wrapped { entries }| entries),
    }
}

/// Entries of a page, the largest the platform gives.
const PER_PAGE: usize = 100;
/// Further pages asked for at the same time.
const AT_ONCE: usize = 6;

impl Client {
    /// Reads a list whole, or its first `most` pages: then it is not complete.
    ///
    /// `path` must not set `per_page` or `page` itself.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error), when any of the pages has one.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
    ) -> Result<Listing<T>> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = &format!("{path}{joint}per_page={PER_PAGE}");
        let Page {
            mut links,
            content: mut items,
        } = self.get_page(path, entries).await?;
        let mut read = 1;
        // The number of pages is in the first one's links: the others can be asked for side by side.
        if let Some(last) = link(links.as_deref(), "last").and_then(page_number) {
            for batch in (2..=last.min(most)).collect::<Vec<_>>().chunks(AT_ONCE) {
                let asked = batch.iter().map(|page| async move {
                    let path = format!("{path}&page={page}");
                    self.get_page(&path, entries).await
                });
                for page in futures::future::try_join_all(asked).await? {
                    items.extend(page.content);
                    links = page.links;
                    read += 1;
                }
            }
        }
        loop {
            // A page answered 304 may carry the links it had when it was the last one, so a page that is exactly full
            // is never taken to be the end.
            let next = match link(links.as_deref(), "next") {
                Some(next) => next.to_owned(),
                None if items.len() == read * PER_PAGE => format!("{path}&page={}", read + 1),
                None => return Ok(Listing::complete(items)),
            };
            if read >= most {
                return Ok(Listing {
                    items,
                    is_complete: false,
                });
            }
            let page = self.get_page(&next, entries).await?;
            if page.content.is_empty() {
                return Ok(Listing::complete(items));
            }
            items.extend(page.content);
            links = page.links;
            read += 1;
        }
    }

    /// Reads a list page after page until an item is `past` what is asked for, or `most` pages are read: then it is not
    /// complete. Nothing of it is kept.
    ///
    /// # Errors
    /// As there.
    pub(crate) async fn list_until<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
        is_past: impl Fn(&T) -> bool,
    ) -> Result<Listing<T>> {
        let (mut items, mut next) = (Vec::new(), format!("{path}?per_page={PER_PAGE}"));
        for _ in 0..most {
            let page = self.fetch_page(&next, entries).await?;
            for item in page.content {
                if is_past(&item) {
                    return Ok(Listing::complete(items));
                }
                items.push(item);
            }
            match link(page.links.as_deref(), "next") {
                Some(link) => next = link.to_owned(),
                None => return Ok(Listing::complete(items)),
            }
        }
        Ok(Listing {
            items,
            is_complete: false,
        })
    }

    /// [`list`](Self::list), with what we created there and the list does not show yet, and without what is gone and it
    /// still shows: lists may lag behind, what was posted must not be posted again, and what was deleted must be.
    ///
    /// # Errors
    /// As there.
    pub(crate) async fn list_with_created<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
        id: impl Fn(&T) -> u64,
    ) -> Result<Listing<T>> {
        let mut listing = self.list(path, most).await?;
        listing
            .items
            .retain(|item| !self.is_gone_from(path, id(item)));
        let unlisted = self.unlisted(path, |created| {
            listing.items.iter().any(|item| id(item) == created)
        });
        listing.items.extend(unlisted);
        Ok(listing)
    }
}

/// The target of one relation of a `Link` header: `<https://…?page=2>; rel="next", …`.
fn link<'l>(links: Option<&'l str>, relation: &str) -> Option<&'l str> {
    let wanted = format!("rel=\"{relation}\"");
    links?.split(',').find_map(|part| {
        let (target, attributes) = part.trim().strip_prefix('<')?.split_once('>')?;
        attributes.contains(&wanted).then_some(target)
    })
}

/// The number in a link's `page` parameter; links by cursor have none.
fn page_number(link: &str) -> Option<usize> {
    let (_, query) = link.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("page=")?.parse().ok())
}
