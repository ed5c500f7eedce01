//! The tokens of the person who signed in.

use schemars::JsonSchema;
use serde::Serialize;

use super::Page;

/// What people make for programs that act for them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokensPage {
    pub schema: &'static str,
    /// Where a program shows its token.
    pub address: String,
    /// The token that was just made; it is not shown again.
    pub made: Option<String>,
    /// The newest first.
    pub tokens: Vec<TokenRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenRow {
    /// The token's SHA-256.
    pub id: String,
    pub name: String,
    pub made: String,
    /// None where it was never used.
    pub last_used: Option<String>,
    pub ends: String,
}

impl Page for TokensPage {
    const TEMPLATE: &'static str = "dashboard/tokens.html";
}
