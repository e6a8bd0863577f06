//! Serves an embedder to other processes.

use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde::{Deserialize, Serialize};
use serving::http::{self, Answer, Handler};

use super::Effective;
use super::packed::Packed;
use crate::api_error::{ApiError, Code};
use crate::embed::Embed;
use crate::gateway::reading;

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
    /// Of the embedding that they come from.
    #[serde(default)]
    pub identity: Option<u32>,
}

/// An embedder that is asked over HTTP.
#[derive(Debug)]
pub struct EmbedderServer<E> {
    embed: E,
    identity: u32,
}

impl<E: Embed> EmbedderServer<E> {
    /// A server over this embedding, with its [`identity`](crate::embed::identity).
    pub fn new(embed: E, identity: u32) -> Self {
        Self { embed, identity }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Vec<u8>, ApiError> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/embed") => {
                let asked: Texts = reading::read(request.body())?;
                let texts: Vec<&str> = asked.texts.iter().map(String::as_str).collect();
                let embedded = self.embed.embed(&texts).await?;
                let vectors = embedded.vectors.into_iter().map(Packed).collect();
                let identity = Some(self.identity);
                Ok(super::json(&Vectors { vectors, hits: embedded.hits, identity }))
            }
            (&Method::GET, "/v1/effective") => Ok(super::json(&Effective {
                dimension: self.embed.dimension(),
                identity: Some(self.identity),
                effective: self.embed.effective(),
            })),
            _ => {
                let what = "operations are POST /v1/embed and GET /v1/effective";
                Err(ApiError::new(Code::NoSuchOperation, what))
            }
        }
    }
}

impl<E: Embed> Handler for EmbedderServer<E> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match self.try_answer(request).await {
            Ok(json) => http::json(StatusCode::OK, json),
            Err(error) => error.answer(),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        ApiError::unread(status, reason)
    }
}
