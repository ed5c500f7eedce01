//! The only room that speaks to GitHub: client, observe, act, webhook payloads, artifacts.
