//! `INFO`: what the server is and wants.

use serde::Deserialize;

use super::frame::FrameError;

/// What is used of `INFO`.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq, Default)]
#[serde(default)]
pub struct Info {
    /// The server, unique in its cluster.
    pub server_id: String,
    /// The connection, unique on the server.
    pub client_id: Option<u64>,
    /// Bytes of the longest payload, headers included, that it takes.
    pub max_payload: Option<u64>,
    /// Whether TLS must follow.
    pub tls_required: bool,
    /// Whether TLS may follow.
    pub tls_available: bool,
    /// Whether it knows headers.
    pub headers: bool,
}

impl Info {
    /// Reads the JSON after `INFO`.
    ///
    /// Errors: it has another form
    pub fn parse(json: &[u8]) -> Result<Self, FrameError> {
        // A list would be read as the fields of the object in order.
        match json.starts_with(b"{") {
            true => serde_json::from_slice(json).map_err(|_| FrameError::Info),
            false => Err(FrameError::Info),
        }
    }

    /// Whether it speaks TLS.
    pub fn offers_tls(&self) -> bool {
        self.tls_required || self.tls_available
    }
}
