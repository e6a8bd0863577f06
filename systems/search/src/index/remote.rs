//! An index in another process.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Batch, Found, Index, Query, Status, Written};
use crate::fault::Fault;
use crate::parts::{Client, Effective, Kind};

/// A client of `serve search-index`.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    url: String,
    is: Effective,
}

impl Remote {
    /// Asks the index at `http://HOST:PORT` what it is; every answer comes within the deadline.
    ///
    /// Errors: `Unavailable` where nobody answers there
    pub async fn connect(url: &str, deadline: Duration) -> Result<Self, Fault> {
        let client = Client::new("index", url, deadline);
        let is = client.get("/v1/effective").await?;
        Ok(Self { client, url: url.to_owned(), is })
    }

    /// Length of its vectors.
    pub fn dimension(&self) -> usize {
        self.is.dimension
    }
}

impl Index for Remote {
    async fn search(&self, query: Query) -> Result<Found, Fault> {
        self.client.post("/v1/search", &query, Kind::Read, 0).await
    }

    async fn write(&self, batch: Batch) -> Result<Written, Fault> {
        let rows = batch.rows.len() + batch.delete.len();
        self.client.post("/v1/write", &batch, Kind::Write, rows).await
    }

    async fn snapshot(&self) -> Result<Value, Fault> {
        let rows = self.status().await?.size as usize;
        self.client.post("/v1/snapshot", &json!({}), Kind::Write, rows).await
    }

    async fn status(&self) -> Result<Status, Fault> {
        self.client.get("/v1/status").await
    }

    fn effective(&self) -> Value {
        json!({ "at": self.url, "is": self.is.effective })
    }
}
