//! An embedder in another process.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Embed, Embedded};
use crate::fault::{Code, Fault};
use crate::parts::embedder::{Texts, Vectors};
use crate::parts::{Client, Effective, Kind};

/// A client of `serve search-embedder`.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    url: String,
    is: Effective,
}

impl Remote {
    /// Asks the embedder at `http://HOST:PORT` what it is; every answer comes within the deadline.
    ///
    /// Errors: `Unavailable` where nobody answers there
    pub async fn connect(url: &str, deadline: Duration) -> Result<Self, Fault> {
        let client = Client::new("embedder", url, deadline);
        let is = client.get("/v1/effective").await?;
        Ok(Self { client, url: url.to_owned(), is })
    }
}

impl Embed for Remote {
    fn dimension(&self) -> usize {
        self.is.dimension
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, Fault> {
        let asked = Texts { texts: texts.iter().map(|text| (*text).to_owned()).collect() };
        let told = self.client.post("/v1/embed", &asked, Kind::Read, texts.len()).await;
        let Vectors { vectors, hits } = told?;
        let fits = |vector: &Vec<f32>| vector.len() == self.is.dimension;
        let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|packed| packed.0).collect();
        if vectors.len() == texts.len() && vectors.iter().all(fits) {
            return Ok(Embedded { vectors, hits });
        }
        // Another embedder than the one that was asked at the start has taken its address.
        let what = format!("the embedder at {} gives vectors of another shape", self.url);
        Err(Fault {
            retry_after: Some(Duration::from_secs(1)),
            ..Fault::new(Code::Unavailable, what)
        })
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.client.get::<Effective>("/v1/effective").await.map(|_| ())
    }

    fn effective(&self) -> Value {
        json!({ "at": self.url, "is": self.is.effective })
    }
}
