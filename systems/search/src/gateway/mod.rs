//! The public face: HTTP and JSON over an embedder, an index and what is known about rows.
//!
//! | request | does |
//! |---|---|
//! | `POST /v1/matrix/search` | embeds a query, finds the nearest rows, joins their metadata |
//! | `POST /v1/workers` | takes rows in bulk, as lines or as one object |
//! | `GET /v1/workers/{id}`, `DELETE /v1/workers/{id}` | one row |
//! | `GET /v1/playbook`, `PUT /v1/playbook` | learned boosts |
//! | `POST /v1/snapshot` | has the index write itself to the disk |
//! | `GET /v1/samples` | sampled answers, for the recall observer |
//!
//! Errors are `{"error":{"code":…,"message":…,"at":…}}` with the status of their code, and `others` where more is wrong.

mod ingest;
mod metrics;
pub(crate) mod progress;
pub(crate) mod reading;
mod render;
mod route;
mod row_locks;
pub mod samples;
mod search;
mod search_request;
pub(crate) mod times;
mod versions;
mod writing;

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serving::http::{self, Answer, Handler};
use serving::metrics::Registry;
use tokio::sync::Semaphore;

use crate::api_error::{ApiError, Code};
use crate::embed::Embed;
use crate::embed::cache::Cached;
use crate::index::Index;
use crate::metadata::Metadata;
use crate::playbook::{Entry, Playbook};
use metrics::GatewayMetrics;
use progress::IndexProgress;
use route::{Operation, Parameters};
use row_locks::RowLocks;
use samples::Samples;
use versions::Versions;

/// The parts of a gateway.
#[derive(Debug)]
pub struct Parts<E, I> {
    /// Text to vector, for queries with what it remembers, for rows without.
    pub embed: Cached<E>,
    /// Vector to rows.
    pub index: I,
    /// What is known about rows.
    pub metadata: Metadata,
    /// What was learned about queries.
    pub playbook: Playbook,
}

/// How a gateway is set.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// One in so many searches is sampled; 0 for none.
    pub sample_every: u64,
    /// Samples that are kept.
    pub samples: usize,
    /// Bulks that are read and embedded at a time; others wait for their turn.
    pub bulks: usize,
}

/// What answers requests; clones are the same gateway.
#[derive(Debug)]
pub struct Gateway<E, I>(Arc<Inner<E, I>>);

impl<E, I> Clone for Gateway<E, I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Inner<E, I> {
    parts: Parts<E, IndexProgress<I>>,
    versions: Versions,
    samples: Samples,
    figures: GatewayMetrics,
    turns: RowLocks,
    bulks: Arc<Semaphore>,
}

impl<E: Embed, I: Index> Gateway<E, I> {
    /// A gateway over these parts, with its figures among those of `registry`.
    pub fn new(parts: Parts<E, I>, tuning: Tuning, registry: &Registry) -> Self {
        let Parts { embed, index, metadata, playbook } = parts;
        Self(Arc::new(Inner {
            parts: Parts { embed, index: IndexProgress::new(index), metadata, playbook },
            versions: Versions::default(),
            samples: Samples::new(tuning.sample_every, tuning.samples),
            figures: GatewayMetrics::new(registry),
            turns: RowLocks::default(),
            bulks: Arc::new(Semaphore::new(tuning.bulks.max(1))),
        }))
    }

    /// Its parts.
    pub(crate) fn parts(&self) -> &Parts<E, IndexProgress<I>> {
        &self.0.parts
    }

    async fn answer(&self, operation: Operation, request: &Request<Bytes>) -> Answer {
        let ended = match operation {
            Operation::Search => return self.search(request.body()).await,
            Operation::Ingest => return self.ingest(request).await,
            Operation::Worker(id) => self.worker(&id),
            Operation::Delete(id) => self.delete(id).await,
            Operation::Playbook => Ok(self.playbook()),
            Operation::PutPlaybook => self.learn(request.body()).await,
            Operation::Snapshot => {
                self.0.parts.index.index.snapshot().await.map(|told| json(&told))
            }
            Operation::Samples => Ok(json(&self.0.samples.sampled())),
        };
        ended.unwrap_or_else(ApiError::answer)
    }

    fn worker(&self, id: &str) -> Result<Answer, ApiError> {
        #[derive(Serialize)]
        struct Worker<'a> {
            id: &'a str,
            text: &'a str,
            metadata: &'a serde_json::value::RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            vector: Option<&'a [f32]>,
        }
        let now = self.0.parts.metadata.get(&[id])?.pop().flatten();
        let found = self.0.versions.acknowledged(id).unwrap_or(now);
        let record = found
            .ok_or_else(|| ApiError::new(Code::NotFound, format!("row {id:?} does not exist")))?;
        let (text, metadata) = (&*record.text, &*record.metadata);
        Ok(json(&Worker { id, text, metadata, vector: record.vector.as_deref() }))
    }

    fn playbook(&self) -> Answer {
        let entries = self.0.parts.playbook.entries();
        json(&json!({ "size": entries.len(), "entries": entries }))
    }

    async fn learn(&self, body: &[u8]) -> Result<Answer, ApiError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            entries: Vec<Entry>,
            #[serde(default)]
            replace: bool,
        }
        let Body { entries, replace } = reading::read(body)?;
        let learned = self.0.parts.playbook.learn(&entries, replace).await;
        let size = learned.map_err(|error| match &error.at {
            Some(at) => {
                let at = format!("/entries{at}");
                error.at(at)
            }
            None => error,
        })?;
        Ok(json(&json!({ "size": size })))
    }
}

impl<E: Embed, I: Index> Handler for Gateway<E, I> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        let (name, answer) = match Operation::of(request.method(), request.uri().path()) {
            Ok(operation) => {
                let known = operation.parameters();
                let name = operation.name();
                match Parameters::read(request.uri().query(), known) {
                    Ok(_) => (name, self.answer(operation, &request).await),
                    Err(error) => (name, error.answer()),
                }
            }
            Err(error) => ("none", error.answer()),
        };
        self.0.figures.count(name, answer.status().as_u16());
        answer
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        ApiError::unread(status, reason)
    }

    async fn health(&self) -> Answer {
        let parts = &self.0.parts;
        let (embed, index) = tokio::join!(parts.embed.ready(), parts.index.status());
        let metadata = parts.metadata.size();
        let errors = [embed.err(), index.err(), metadata.err()];
        let mut errors: Vec<ApiError> = errors.into_iter().flatten().collect();
        if errors.is_empty() {
            return http::text(StatusCode::OK, "ok\n");
        }
        let first = errors.remove(0);
        first.answer_with(errors)
    }

    async fn measure(&self) {
        if let Ok(status) = self.0.parts.index.status().await {
            self.0.figures.show(&status);
        }
        let learned = self.0.parts.playbook.entries().len();
        self.0.figures.learned.set(i64::try_from(learned).unwrap_or(i64::MAX));
    }
}

fn json(body: &impl Serialize) -> Answer {
    let json = serde_json::to_vec(body).expect("numbers, strings and JSON values always serialize");
    http::json(StatusCode::OK, json)
}

#[cfg(test)]
pub(crate) mod tests;
