//! Handles one request: parse, fetch, decode, encode, answer.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use serving::http::{self, Answer, Handler};
use serving::metrics::{Counter, Registry};
use serving::supervisor::ChildState;
use serving::timing::SERVER_TIMING;
use serving::watch::Watch;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::api_error::{self, ApiError};
use super::request::{self, NonceGenerator, Route};
use super::times::Times;
use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::{DataRequest, Wanted};
use crate::transport::Transport;

/// The outcome of a request that went well.
const ANSWERED: &str = "answered";
/// How long a producer has to answer a question after its health.
const HEALTH: Duration = Duration::from_secs(1);
/// At least as long as a user's record in JSON, in bytes; only to foresee what an answer will hold.
const RECORD: u64 = 4096;

/// How a front answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerPolicy {
    /// Users of an answer where the request does not say.
    pub users: u32,
    /// The producer answers within this time.
    pub deadline: Duration,
    /// Whether the JSON is decoded and encoded anew, and not passed on as it came.
    pub reencodes: bool,
    /// Bytes of all answers that are held at a time.
    pub room: u64,
}

/// The three transports to the producer.
#[derive(Debug)]
pub(super) struct Transports<H, U, S> {
    pub http: H,
    pub unix: U,
    pub shm: S,
}

/// What answers requests.
#[derive(Debug)]
pub(super) struct UsersHandler<H, U, S> {
    transports: Transports<H, U, S>,
    policy: AnswerPolicy,
    producer: Arc<ChildState>,
    nonces: NonceGenerator,
    room: Arc<Semaphore>,
    counts: Vec<((Option<Route>, &'static str), Counter)>,
}

impl<H: Transport, U: Transport, S: Transport> UsersHandler<H, U, S> {
    /// A handler over these transports; its metrics are registered in `registry`.
    pub fn new(
        transports: Transports<H, U, S>,
        policy: AnswerPolicy,
        producer: Arc<ChildState>,
        registry: &Registry,
    ) -> Self {
        let room = usize::try_from(policy.room).unwrap_or(usize::MAX);
        let room = Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS)));
        let counts = counts(registry);
        Self { transports, policy, producer, nonces: NonceGenerator::default(), room, counts }
    }

    /// Asks, decodes, encodes; `times` is set once the producer was asked.
    async fn ask(
        &self,
        route: Route,
        query: Option<&str>,
        times: &mut Option<Times>,
    ) -> Result<Bytes, ApiError> {
        let ask = request::read(query, self.policy.users, &self.nonces)?;
        let permit = self.take(ask.what)?;
        let mut watch = Watch::start();
        let fetched = self.fetch(route, &ask).await;
        let times = times.insert(Times { exchange: watch.lap(), ..Times::default() });
        let payload = fetched?;
        if !self.policy.reencodes {
            return Ok(Bytes::from_owner(HeldBytes { bytes: payload, _room: permit }));
        }
        let decoded: Value = serde_json::from_slice(&payload)
            .map_err(|error| Failure::Damaged(format!("it is not JSON: {error}")))?;
        drop(payload);
        times.decode = watch.lap();
        let bytes = serde_json::to_vec(&decoded).expect("what was JSON always serializes");
        times.encode = watch.lap();
        Ok(Bytes::from_owner(HeldBytes { bytes, _room: permit }))
    }

    async fn fetch(&self, route: Route, ask: &DataRequest) -> Result<Payload, Failure> {
        let deadline = self.policy.deadline;
        match route {
            Route::Http => self.transports.http.fetch(ask, deadline).await,
            Route::Unix => self.transports.unix.fetch(ask, deadline).await,
            Route::Shm => self.transports.shm.fetch(ask, deadline).await,
        }
    }

    /// Reserves space for the answer until it is sent.
    fn take(&self, what: Wanted) -> Result<OwnedSemaphorePermit, ApiError> {
        let bytes = match what {
            Wanted::Users(count) => u64::from(count) * RECORD,
            Wanted::Bytes(size) => size,
        };
        let bytes = u32::try_from(bytes).map_err(|_| Failure::Crowded)?;
        let permit = Arc::clone(&self.room).try_acquire_many_owned(bytes);
        Ok(permit.map_err(|_| Failure::Crowded)?)
    }

    fn count(&self, route: Option<Route>, outcome: &'static str) {
        let counter = self.counts.iter().find(|(key, _)| *key == (route, outcome));
        if let Some((_, counter)) = counter {
            counter.one();
        }
    }
}

impl<H: Transport, U: Transport, S: Transport> Handler for UsersHandler<H, U, S> {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        let watch = Watch::start();
        let route = Route::of(request.uri().path());
        let mut times = None;
        let answered = match (route, request.method()) {
            (Some(route), &Method::GET) => self.ask(route, request.uri().query(), &mut times).await,
            (Some(_), _) => Err(ApiError::method_not_allowed()),
            (None, _) => Err(ApiError::not_found()),
        };
        let (outcome, mut answer) = match answered {
            Ok(bytes) => (ANSWERED, http::json(StatusCode::OK, bytes)),
            Err(error) => (error.code, error.answer()),
        };
        if let Some(mut times) = times {
            times.front = watch.total();
            answer.headers_mut().insert(SERVER_TIMING, times.header());
        }
        self.count(route, outcome);
        answer
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        let error = ApiError::unread(status, reason);
        self.count(None, error.code);
        error.answer()
    }

    /// 200 if the producer answers, and what is known of it in any case.
    async fn health(&self) -> Answer {
        let ask = DataRequest { what: Wanted::Users(1), nonce: self.nonces.draw() };
        let asked = self.transports.http.fetch(&ask, self.policy.deadline.min(HEALTH)).await;
        let (status, state) = match &asked {
            Ok(_) => (StatusCode::OK, "serving"),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "away"),
        };
        let mut producer = self.producer.report();
        producer["state"] = json!(state);
        if let Err(failure) = asked {
            producer["why"] = json!(failure.to_string());
        }
        http::json(status, json!({ "producer": producer }).to_string())
    }
}

/// An answer's bytes with their reservation, which is released once they are sent.
struct HeldBytes<B> {
    bytes: B,
    _room: OwnedSemaphorePermit,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for HeldBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// A counter for each way and outcome.
fn counts(registry: &Registry) -> Vec<((Option<Route>, &'static str), Counter)> {
    let help = "Requests by transport and outcome.";
    let transports = Route::ALL.into_iter().map(Some).chain([None]);
    let outcomes = || api_error::codes().chain([ANSWERED]);
    transports
        .flat_map(|way| outcomes().map(move |outcome| (way, outcome)))
        .map(|(way, outcome)| {
            let labels = [("way", way.map_or("none", Route::name)), ("outcome", outcome)];
            (
                (way, outcome),
                registry.labelled_counter("exchange_front_requests_total", help, &labels),
            )
        })
        .collect()
}
