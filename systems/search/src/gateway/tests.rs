//! The gateway as its clients meet it, over an index that compares everything with everything.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http_body_util::BodyExt;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::*;
use crate::corpus;
use crate::embed::cosine;
use crate::embed::hashed::Hashed;
use crate::index::{Batch, Found, Near, Query, Status, Written};

mod ingest;
mod playbook;
mod search;
mod states;

/// An index without a thought; it can be told to be away or full, to stop on its way, and to lose everything.
#[derive(Debug, Default)]
pub(crate) struct BruteForceIndex {
    rows: Mutex<BTreeMap<String, StoredRow>>,
    writes: Mutex<u64>,
    pub(crate) is_away: Mutex<bool>,
    is_full: Mutex<bool>,
    gate: Mutex<Option<StopGate>>,
}

/// Where an index stops once, reports it, and continues on a signal.
#[derive(Debug)]
struct StopGate {
    at: StopPoint,
    reached: oneshot::Sender<()>,
    go: oneshot::Receiver<()>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StopPoint {
    /// It has found what it will answer.
    Found,
    /// Nothing is written yet.
    Asked,
    /// It has written, and its caller does not know.
    Written,
}

/// The write that put a row there, where it is, and what filters may ask about.
type StoredRow = (u64, Vec<f32>, Map<String, Value>);

impl BruteForceIndex {
    fn look(&self) -> Result<(), ApiError> {
        if *self.is_away.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(ApiError::unavailable(
                "the index is away",
                std::time::Duration::from_secs(1),
            ));
        }
        Ok(())
    }

    fn stop(&self, at: StopPoint) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let ((reached, stopped), (on, go)) = (oneshot::channel(), oneshot::channel());
        *self.gate.lock().unwrap() = Some(StopGate { at, reached, go });
        (stopped, on)
    }

    async fn pass(&self, at: StopPoint) {
        let gate = self.gate.lock().unwrap().take_if(|gate| gate.at == at);
        if let Some(StopGate { reached, go, .. }) = gate {
            reached.send(()).unwrap();
            go.await.unwrap();
        }
    }

    fn lose_everything(&self) {
        self.rows.lock().unwrap().clear();
        *self.writes.lock().unwrap() = 0;
    }

    fn found(&self, query: &Query) -> Found {
        let rows = self.rows.lock().unwrap();
        let admits = |attributes: &Map<String, Value>| {
            let filter = query.filter.iter().flat_map(|filter| filter.as_object().unwrap());
            filter.clone().all(|(key, value)| attributes.get(key) == Some(value))
        };
        let mut nearest: Vec<Near> = rows
            .iter()
            .filter(|(_, (written, _, attributes))| {
                query.as_of.is_none_or(|last| *written <= last) && admits(attributes)
            })
            .map(|(id, (born, vector, _))| Near {
                id: id.as_str().into(),
                score: cosine(&query.vector, vector),
                born: *born,
            })
            .collect();
        nearest.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        nearest.truncate(query.k);
        let sequence = *self.writes.lock().unwrap();
        Found { nearest, size: rows.len() as u64, sequence, exact: true }
    }

    fn put(&self, batch: Batch) -> Written {
        let (mut rows, mut writes) = (self.rows.lock().unwrap(), self.writes.lock().unwrap());
        *writes += 1;
        if batch.drop {
            rows.clear();
        }
        for entry in batch.rows {
            let mut vector = entry.vector;
            crate::embed::normalize(&mut vector);
            rows.insert(entry.id, (*writes, vector, entry.attributes));
        }
        let deleted = batch.delete.iter().filter(|id| rows.remove(*id).is_some()).count();
        Written { size: rows.len() as u64, deleted: deleted as u64, sequence: *writes }
    }
}

impl Index for BruteForceIndex {
    async fn search(&self, query: Query) -> Result<Found, ApiError> {
        self.look()?;
        let found = self.found(&query);
        self.pass(StopPoint::Found).await;
        Ok(found)
    }

    async fn write(&self, batch: Batch) -> Result<Written, ApiError> {
        self.pass(StopPoint::Asked).await;
        self.look()?;
        if *self.is_full.lock().unwrap() {
            return Err(ApiError::new(Code::TooLarge, "it is full").at("/rows"));
        }
        let written = self.put(batch);
        self.pass(StopPoint::Written).await;
        Ok(written)
    }

    async fn snapshot(&self) -> Result<Value, ApiError> {
        self.look()?;
        Ok(json!({ "rows": self.rows.lock().unwrap().len() }))
    }

    async fn status(&self) -> Result<Status, ApiError> {
        self.look()?;
        let (size, sequence) =
            (self.rows.lock().unwrap().len() as u64, *self.writes.lock().unwrap());
        Ok(Status { size, tombstones: 0, sequence })
    }

    fn effective(&self) -> Value {
        json!("naive")
    }
}

/// A gateway in memory, and how it is asked; clones are the same.
#[derive(Clone)]
struct TestGateway {
    gateway: Gateway<Hashed, BruteForceIndex>,
    registry: Registry,
}

impl TestGateway {
    fn new() -> Self {
        let metadata = Metadata::open(None).unwrap();
        let parts = Parts {
            embed: Cached::new(Hashed::new(64, 1).unwrap(), 100),
            index: BruteForceIndex::default(),
            playbook: Playbook::open(&metadata).unwrap(),
            metadata,
        };
        let registry = Registry::default();
        let tuning = Tuning { sample_every: 2, samples: 10, bulks: 1 };
        Self { gateway: Gateway::new(parts, tuning, &registry), registry }
    }

    /// With rows of the generator.
    async fn with_rows(count: u64) -> Self {
        let stand = Self::new();
        let (status, told) = stand.ingest("", &lines(corpus::rows(1, 0..count))).await;
        assert_eq!((status, &told["accepted"]), (200, &json!(count)));
        stand
    }

    async fn answer(&self, method: &str, path: &str, media: &str, body: &str) -> (Answer, Value) {
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media);
        let request = request.body(Bytes::from(body.to_owned())).unwrap();
        let mut answer = self.gateway.handle(request).await;
        let body = answer.body_mut().collect().await.unwrap().to_bytes();
        (answer, serde_json::from_slice(&body).unwrap())
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (answer, body) = self.answer(method, path, "application/json", body).await;
        (answer.status().as_u16(), body)
    }

    async fn search(&self, body: Value) -> (u16, Value) {
        self.ask("POST", "/v1/matrix/search", &body.to_string()).await
    }

    async fn ingest(&self, parameters: &str, lines: &str) -> (u16, Value) {
        let path = format!("/v1/workers{parameters}");
        let (answer, body) = self.answer("POST", &path, "application/x-ndjson", lines).await;
        (answer.status().as_u16(), body)
    }
}

/// Rows one a line.
fn lines(rows: impl Iterator<Item = crate::row::Row>) -> String {
    rows.map(|row| serde_json::to_string(&row).unwrap() + "\n").collect()
}

fn ids(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

fn error(told: &Value) -> (&str, &str) {
    (told["error"]["code"].as_str().unwrap(), told["error"]["at"].as_str().unwrap_or("none"))
}
