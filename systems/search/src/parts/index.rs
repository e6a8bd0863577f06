//! Serves an index to other processes.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serving::http::{self, Answer, Handler};

use super::Effective;
use crate::api_error::{ApiError, Code};
use crate::gateway::reading;
use crate::index::Index;

/// An index that is asked over HTTP.
#[derive(Debug)]
pub struct IndexServer<I> {
    index: Arc<I>,
    dimension: usize,
}

impl<I: Index> IndexServer<I> {
    /// A server over this index, with its dimension.
    pub fn new(index: Arc<I>, dimension: usize) -> Self {
        Self { index, dimension }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Vec<u8>, ApiError> {
        let (index, body) = (&self.index, request.body());
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/search") => {
                Ok(super::json(&index.search(reading::read(body)?).await?))
            }
            (&Method::POST, "/v1/write") => {
                Ok(super::json(&index.write(reading::read(body)?).await?))
            }
            (&Method::POST, "/v1/snapshot") => Ok(super::json(&index.snapshot().await?)),
            (&Method::GET, "/v1/status") => Ok(super::json(&index.status().await?)),
            (&Method::GET, "/v1/effective") => {
                let effective = index.effective();
                Ok(super::json(&Effective { dimension: self.dimension, identity: None, effective }))
            }
            _ => {
                let what = "operations are POST /v1/search, /v1/write, /v1/snapshot, GET /v1/status, /v1/effective";
                Err(ApiError::new(Code::NoSuchOperation, what))
            }
        }
    }
}

impl<I: Index> Handler for IndexServer<I> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match self.try_answer(request).await {
            Ok(json) => http::json(StatusCode::OK, json),
            Err(error) => error.answer(),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        ApiError::unread(status, reason)
    }

    async fn health(&self) -> Answer {
        match self.index.status().await {
            Ok(_) => http::text(StatusCode::OK, "ok\n"),
            Err(error) => error.answer(),
        }
    }
}
