//! An embedder in another process.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Embed, Embedded};
use crate::fault::Fault;
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

impl Remote {
    /// Another embedder than the one that was asked at the start has taken its address.
    fn replaced(&self) -> Fault {
        let what = format!(
            "the embedder at {} has come back with another dimension, seed or model: rows are not where it would look for them",
            self.url
        );
        Fault::unavailable(what, Duration::from_secs(1))
    }
}

impl Embed for Remote {
    fn dimension(&self) -> usize {
        self.is.dimension
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, Fault> {
        let asked = Texts { texts: texts.iter().map(|text| (*text).to_owned()).collect() };
        let told = self.client.post("/v1/embed", &asked, Kind::Read, texts.len()).await;
        let Vectors { vectors, hits, identity } = told?;
        let fits = |vector: &Vec<f32>| vector.len() == self.is.dimension;
        let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|packed| packed.0).collect();
        let is_whole = vectors.len() == texts.len() && vectors.iter().all(fits);
        if is_whole && identity == self.is.identity {
            return Ok(Embedded { vectors, hits });
        }
        Err(self.replaced())
    }

    async fn ready(&self) -> Result<(), Fault> {
        let now: Effective = self.client.get("/v1/effective").await?;
        let is_same = (now.dimension, now.identity) == (self.is.dimension, self.is.identity);
        if is_same { Ok(()) } else { Err(self.replaced()) }
    }

    fn effective(&self) -> Value {
        json!({ "at": self.url, "is": self.is.effective })
    }
}

#[cfg(test)]
mod tests {
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
    use crate::parts::embedder::Embedder;

    /// Embedders that take turns at one address.
    struct Turns(Vec<Embedder<Hashed>>, Arc<AtomicUsize>);

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
            embedders.push(Embedder::new(embed, identity));
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
            if let Err(fault) = embedded {
                assert_eq!(fault.code.status(), 503);
                assert!(fault.message.contains("another dimension, seed or model"), "{fault}");
            }
        }
    }
}
