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

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a part is, as it says itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Effective {
    /// Length of its vectors.
    pub dimension: usize,
    /// What tells an embedding from others; an index has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<u32>,
    /// The configuration in force.
    pub effective: Value,
}

/// A body of an answer.
fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("numbers, strings and JSON values always serialize")
}
