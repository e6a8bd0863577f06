//! An embedder in another process.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Embed, Embedded};
use crate::api_error::ApiError;
use crate::parts::embedder::{Texts, Vectors};
use crate::parts::{Effective, Kind, Part};

/// A client of `serve search-embedder`.
#[derive(Debug)]
pub struct Remote(Part);

impl Remote {
    /// Connects to the embedder at `http://HOST:PORT`; every answer comes within the deadline.
    ///
    /// Errors: `Unavailable` if it does not answer
    pub async fn connect(url: &str, deadline: Duration) -> Result<Self, ApiError> {
        Ok(Self(Part::connect("embedder", url, deadline).await?))
    }

    /// Another embedder than the one that was asked at the start has taken its address.
    fn replaced(&self) -> ApiError {
        let what = format!(
            "the embedder at {} was restarted with another dimension, seed or model, so that queries would not find the rows: restore its settings",
            self.0.url
        );
        ApiError::unavailable(what, Duration::from_secs(1))
    }
}

impl Embed for Remote {
    fn dimension(&self) -> usize {
        self.0.is.dimension
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, ApiError> {
        let asked = Texts { texts: texts.iter().map(|text| (*text).to_owned()).collect() };
        let told = self.0.client.post("/v1/embed", &asked, Kind::Read, texts.len()).await;
        let Vectors { vectors, hits, identity } = told?;
        let fits = |vector: &Vec<f32>| vector.len() == self.0.is.dimension;
        let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|packed| packed.0).collect();
        let is_whole = vectors.len() == texts.len() && vectors.iter().all(fits);
        if is_whole && identity == self.0.is.identity {
            return Ok(Embedded { vectors, hits });
        }
        Err(self.replaced())
    }

    async fn ready(&self) -> Result<(), ApiError> {
        let now: Effective = self.0.client.get("/v1/effective").await?;
        let is_same = (now.dimension, now.identity) == (self.0.is.dimension, self.0.is.identity);
        if is_same { Ok(()) } else { Err(self.replaced()) }
    }

    fn effective(&self) -> Value {
        json!({ "at": self.0.url, "is": self.0.is.effective })
    }
}

#[cfg(test)]
mod tests {
    use serving::api_error::Code as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hyper::Request;
    use hyper::body::Bytes;
    use serving::http::{self, Answer, Handler};
    use serving::limits::Limits;
    use serving::metrics::Registry;
    use serving::stop::Stop;

    use super::*;
    use crate::embed::hashed::Hashed;
    use crate::embed::identity;
    use crate::parts::embedder::EmbedderServer;

    /// Embedders that take turns at one address.
    struct Turns(Vec<EmbedderServer<Hashed>>, Arc<AtomicUsize>);

    impl Handler for Turns {
        async fn handle(&self, request: Request<Bytes>) -> Answer {
            self.0[self.1.load(Ordering::SeqCst)].handle(request).await
        }
    }

    #[tokio::test]
    async fn an_embedder_that_came_back_as_another_is_refused_until_the_first_is_back() {
        let mut embedders = Vec::new();
        for (dimension, seed) in [(64, 1), (64, 2), (32, 1), (64, 1)] {
            let embed = Hashed::new(dimension, seed).unwrap();
            let identity = identity(&embed).await.unwrap();
            embedders.push(EmbedderServer::new(embed, identity));
        }
        let turn = Arc::<AtomicUsize>::default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (_stopper, stop) = Stop::pair();
        let handler = Turns(embedders, turn.clone());
        let serving = http::serve(listener, handler, Limits::default(), Registry::default(), stop);
        tokio::spawn(serving);
        let remote = Remote::connect(&url, Duration::from_secs(30)).await.unwrap();
        for (place, is_same) in [true, false, false, true].into_iter().enumerate() {
            turn.store(place, Ordering::SeqCst);
            let (ready, embedded) = (remote.ready().await, remote.embed(&["picker"]).await);
            assert_eq!((ready.is_ok(), embedded.is_ok()), (is_same, is_same), "{place}");
            if let Err(error) = embedded {
                assert_eq!(error.code.status(), 503);
                assert!(error.message.contains("another dimension, seed or model"), "{error}");
            }
        }
    }
}
