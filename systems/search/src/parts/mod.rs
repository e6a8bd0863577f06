//! Embedder and index as processes of their own, over HTTP and JSON: what serves them, and what asks them.
//!
//! | part | request | answer |
//! |---|---|---|
//! | embedder | `POST /v1/embed` `{"texts": […]}` | `{"vectors": ["base64", …], "hits": n, "identity": n}` |
//! | index | `POST /v1/search`, `/v1/write`, `/v1/snapshot`, `GET /v1/status` | as the trait [`Index`](crate::index::Index) says |
//! | both | `GET /v1/effective` | `{"dimension": n, "identity": n, "effective": {…}}`, the identity an embedder's |

mod client;
pub mod embedder;
pub mod index;
pub mod packed;

pub(crate) use client::{Client, Kind};

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api_error::ApiError;

/// What a part is, as it says itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Effective {
    /// Length of its vectors.
    pub dimension: usize,
    /// The embedding's identity; an index has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<u32>,
    /// The configuration in force.
    pub effective: Value,
}

/// A part in another process: a client of it and its configuration at the start.
#[derive(Debug)]
pub(crate) struct Part {
    pub client: Client,
    pub url: String,
    pub is: Effective,
}

impl Part {
    /// Connects and reads the configuration; `part` names it in errors.
    pub async fn connect(
        part: &'static str,
        url: &str,
        deadline: Duration,
    ) -> Result<Self, ApiError> {
        let client = Client::new(part, url, deadline);
        let is = client.get("/v1/effective").await?;
        Ok(Self { client, url: url.to_owned(), is })
    }
}

/// A body of an answer.
fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("numbers, strings and JSON values always serialize")
}
