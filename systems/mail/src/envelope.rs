//! A message's envelope: sender, recipients, and the connection.

use std::net::SocketAddr;

use serde::Serialize;

/// The envelope of one message, complete when its content begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Envelope {
    /// Where the connection came from.
    pub peer: SocketAddr,
    /// What the client called itself, as in `EHLO client.example`.
    pub client: String,
    /// The user that `AUTH` proved.
    pub user: Option<String>,
    /// Protocol version of TLS, such as `TLSv1.3`; `None` in the clear.
    pub tls: Option<&'static str>,
    /// The reverse path without its brackets; empty for `<>`.
    pub from: String,
    /// The forward paths without their brackets, in the order of `RCPT`, at least one.
    pub recipients: Vec<String>,
    /// What the content may hold.
    pub content: Content,
    /// `SMTPUTF8`: addresses and header may hold UTF-8.
    pub is_utf8: bool,
    /// `SIZE=`, in bytes, as announced by the client.
    pub announced: Option<u64>,
}

/// What `BODY=` says of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Lines of seven bits; the default.
    #[default]
    SevenBit,
    /// Lines of eight bits (RFC 6152).
    EightBit,
    /// Any bytes (RFC 3030), by `BDAT` alone.
    Binary,
}
