//! A message's envelope: sender, recipients, and the connection.

use std::net::SocketAddr;

use serde::Serialize;

/// The envelope of one message, complete when its content starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Envelope {
    /// Where the connection came from.
    pub peer: SocketAddr,
    /// The client's name for itself, as in `EHLO client.example`.
    pub client: String,
    /// The authenticated user.
    pub user: Option<String>,
    /// Protocol version of TLS, such as `TLSv1.3`; `None` without TLS.
    pub tls: Option<&'static str>,
    /// The reverse path without its brackets; empty for `<>`.
    pub from: String,
    /// The forward paths without their brackets, in the order of `RCPT`, at least one.
    pub recipients: Vec<String>,
    /// The kind of content.
    pub content: Content,
    /// `SMTPUTF8`: addresses and header may contain UTF-8.
    pub is_utf8: bool,
    /// `SIZE=`, in bytes, as announced by the client.
    pub announced: Option<u64>,
}

/// The kind of content, from `BODY=`.
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
