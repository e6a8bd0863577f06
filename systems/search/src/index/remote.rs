//! An index in another process.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Batch, Found, Index, Query, Status, Written};
use crate::api_error::ApiError;
use crate::parts::{Kind, Part};

/// A client of `serve search-index`.
#[derive(Debug)]
pub struct Remote(Part);

impl Remote {
    /// Connects to the index at `http://HOST:PORT`; every answer comes within the deadline.
    ///
    /// Errors: `Unavailable` if it does not answer
    pub async fn connect(url: &str, deadline: Duration) -> Result<Self, ApiError> {
        Ok(Self(Part::connect("index", url, deadline).await?))
    }

    /// Length of its vectors.
    pub fn dimension(&self) -> usize {
        self.0.is.dimension
    }
}

impl Index for Remote {
    async fn search(&self, query: Query) -> Result<Found, ApiError> {
        self.0.client.post("/v1/search", &query, Kind::Read, 0).await
    }

    async fn write(&self, batch: Batch) -> Result<Written, ApiError> {
        let rows = batch.rows.len() + batch.delete.len();
        self.0.client.post("/v1/write", &batch, Kind::Write, rows).await
    }

    async fn snapshot(&self) -> Result<Value, ApiError> {
        let rows = self.status().await?.size as usize;
        self.0.client.post("/v1/snapshot", &json!({}), Kind::Write, rows).await
    }

    async fn status(&self) -> Result<Status, ApiError> {
        self.0.client.get("/v1/status").await
    }

    fn effective(&self) -> Value {
        json!({ "at": self.0.url, "is": self.0.is.effective })
    }
}
