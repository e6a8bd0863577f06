//! Serves an embedder to other processes.

use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde::{Deserialize, Serialize};
use serving::http::{self, Answer, Handler};

use super::Effective;
use super::packed::Packed;
use crate::embed::Embed;
use crate::fault::{Code, Fault};
use crate::gateway::{reading, refusal};

/// Texts to embed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    pub texts: Vec<String>,
}

/// Their vectors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Vectors {
    pub vectors: Vec<Packed>,
    pub hits: u64,
}

/// An embedder that is asked over HTTP.
#[derive(Debug)]
pub struct Embedder<E> {
    embed: E,
}

impl<E: Embed> Embedder<E> {
    /// Over this one.
    pub fn new(embed: E) -> Self {
        Self { embed }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Vec<u8>, Fault> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/embed") => {
                let asked: Texts = reading::read(request.body())?;
                let texts: Vec<&str> = asked.texts.iter().map(String::as_str).collect();
                let embedded = self.embed.embed(&texts).await?;
                let vectors = embedded.vectors.into_iter().map(Packed).collect();
                Ok(super::json(&Vectors { vectors, hits: embedded.hits }))
            }
            (&Method::GET, "/v1/effective") => Ok(super::json(&Effective {
                dimension: self.embed.dimension(),
                effective: self.embed.effective(),
            })),
            _ => {
                let what = "operations are POST /v1/embed and GET /v1/effective";
                Err(Fault::new(Code::NoSuchOperation, what))
            }
        }
    }
}

impl<E: Embed> Handler for Embedder<E> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match self.try_answer(request).await {
            Ok(json) => http::json(StatusCode::OK, json),
            Err(fault) => refusal::refusal(fault),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        refusal::unread(status, reason)
    }
}
