//! The page on which people make tokens for their programs, see when each was used, and revoke them.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

use super::{
    PageError, Reply,
    operations::field,
    reply_with,
    visitors::{MOST_BYTES, Visitors},
};
use crate::{
    github::registration::nonce,
    server::{
        Admin,
        storage::{AccessToken, Change, ChangeOutcome, TokenChange, TokenDigest},
    },
};
use loopgate_core::{Login, UserId};
use loopgate_render::{Frame, Notice, Refused, TokenRow, TokensPage, moment, plain_line};

/// The first characters of a token, by which secret scanners find it; 64 hexadecimal digits follow.
pub(super) const PREFIX: &str = "lg_";
/// How long a token is good for.
const LIFE: TimeDelta = TimeDelta::days(90);
/// Characters of a name.
const NAME: usize = 60;

pub(super) type Tokens = (Arc<Admin>, Arc<Visitors>);

pub(super) fn routes(tokens: Tokens) -> Router {
    Router::new()
        .route("/tokens", get(list).post(make))
        .route("/tokens.json", get(list))
        .route("/tokens/revoke", post(revoke))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(tokens)
}

/// The visitor whose page it is; operators and strangers have none.
fn owner(reply: &Reply) -> Result<(UserId, &Login, &str), PageError> {
    match (&reply.reader.visitor, &reply.reader.frame) {
        (Some((id, login)), Frame::Visitor { token, .. }) => Ok((*id, login, token)),
        _ => Err(PageError::Absent("page of that name")),
    }
}

async fn list(State((admin, visitors)): State<Tokens>, reply: Reply) -> Response {
    let page = page(&admin, &visitors, &reply, None).await;
    reply_with(&reply, page)
}

async fn page(
    admin: &Admin,
    visitors: &Visitors,
    reply: &Reply,
    made: Option<String>,
) -> Result<TokensPage, PageError> {
    let (owner, ..) = owner(reply)?;
    let tokens = admin
        .services
        .store
        .tokens_of(owner, admin.services.clock.now())
        .await?;
    let row = |it: AccessToken| TokenRow {
        id: it.digest.0,
        name: plain_line(&it.name),
        made: moment(it.made_at),
        last_used: it.used_at.map(moment),
        ends: moment(it.ends_at),
    };
    let (address, tokens) = (
        format!("{}/mcp", visitors.origin),
        tokens.into_iter().map(row).collect(),
    );
    Ok(TokensPage {
        schema: "loopgate.tokens/v1",
        address,
        made,
        tokens,
    })
}

/// Makes one, of 256 random bits, of which only the digest is kept.
async fn make(
    State((admin, visitors)): State<Tokens>,
    reply: Reply,
    headers: HeaderMap,
    form: String,
) -> Response {
    let made = async {
        let (owner, login, of_page) = owner(&reply)?;
        if !visitors.is_ours(&headers, &form, of_page) {
            return Ok(reply.with(
                StatusCode::FORBIDDEN,
                &Notice::refused(Refused::ForeignForm),
            ));
        }
        let name = field(&form, "name")
            .unwrap_or_default()
            .trim()
            .chars()
            .take(NAME)
            .collect();
        let (chance, now) = (
            [nonce(), nonce(), nonce()].concat(),
            admin.services.clock.now(),
        );
        let token = format!("{PREFIX}{}", hex::encode(Sha256::digest(chance)));
        let (digest, login) = (TokenDigest::of(&token), login.clone());
        let new = AccessToken {
            digest,
            owner,
            login,
            name,
            made_at: now,
            used_at: None,
            ends_at: now + LIFE,
        };
        match admin
            .services
            .inbox
            .apply(Change::Tokens(TokenChange::Make(new)))
            .await?
        {
            ChangeOutcome::Rows(0) => Ok(reply.with(
                StatusCode::CONFLICT,
                &Notice::refused(Refused::TooManyTokens),
            )),
            _ => Ok(reply.with(
                StatusCode::OK,
                &page(&admin, &visitors, &reply, Some(token)).await?,
            )),
        }
    };
    let mut response = made
        .await
        .unwrap_or_else(|refused: PageError| refused.response(&reply));
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn revoke(
    State((admin, visitors)): State<Tokens>,
    reply: Reply,
    headers: HeaderMap,
    form: String,
) -> Response {
    let revoked = async {
        let (owner, _, of_page) = owner(&reply)?;
        let Some(id) = field(&form, "id").filter(|_| visitors.is_ours(&headers, &form, of_page))
        else {
            return Ok(reply.with(
                StatusCode::FORBIDDEN,
                &Notice::refused(Refused::ForeignForm),
            ));
        };
        let change = TokenChange::Revoke(owner, TokenDigest(id));
        admin.services.inbox.apply(Change::Tokens(change)).await?;
        Ok(Redirect::to("/tokens").into_response())
    };
    revoked
        .await
        .unwrap_or_else(|refused: PageError| refused.response(&reply))
}
