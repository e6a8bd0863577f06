//! The recall observer, served as `search-judge`: gets sampled answers of a gateway, repeats each
//! search exactly, and compares.
//!
//! It works on request (`GET /observed`), after the load, so that it does not disturb the
//! measurement. Samples are compared with the rows of their time (`as_of`) that still exist.

mod compare;
mod planted;
mod recall;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serving::error::{BadOptions, ServeError};
use serving::http::{self, Answer};
use serving::limits::Limits;
use serving::listener;
use serving::metrics::Registry;
use serving::observed::Observed;
use serving::options::Options;
use serving::ready::Ready;
use serving::settings::Settings;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::task::JoinSet;

use crate::api_error::ApiError;
use crate::gateway::samples::{Sample, Sampled};
use crate::index::Near;
use crate::parts::{Client, Kind};
use planted::PlantedQueries;
pub use recall::COUNTS;
use recall::RecallSums;

/// Samples that are judged at a time.
const ABREAST: usize = 4;
/// The client waits ten seconds; comparing ends before, with what it has.
const WITHIN_NS: u64 = 8_000_000_000;
/// Rows that a gateway answers with at most.
const MOST_RESULTS: usize = 1_000;

/// How a judge is set.
#[derive(Debug)]
struct Configuration {
    /// Where the gateway is.
    search: String,
    /// Which row each query was made for.
    planted: PlantedQueries,
    within: Duration,
    limits: Limits,
}

fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let search = settings.text("search", "");
    if search.is_empty() {
        settings.wrong("search", "expected the gateway's address, such as http://127.0.0.1:8080");
    }
    let queries = settings.text("queries", "");
    let planted = PlantedQueries::open(&queries).unwrap_or_else(|problem| {
        settings.wrong("queries", problem);
        PlantedQueries::default()
    });
    let within = Duration::from_nanos(settings.positive_time("within", WITHIN_NS));
    let limits = Limits::read_with_bodies(&settings);
    settings.finish("the judge")?;
    Ok(Configuration { search, planted, within, limits })
}

/// A judge, which asks the gateway when it is asked.
pub const SYSTEM: System = System {
    name: "search-judge",
    about: "an observer of a search service's recall",
    page: "systems/search/README.md",
    surface: |_| Surface { counts: COUNTS.into(), ..Surface::default() },
    check: |options| read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = read(options)?;
        Ok((1, (configuration, listener::bind(options.listen)?)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        let address = listener::address(&listener)?;
        let effective = json!({
            "search": configuration.search,
            "planted_queries": configuration.planted.len(),
            "within_ns": configuration.within.as_nanos() as u64,
        });
        announce(&Ready::new(SYSTEM.name, effective).listening("http", address));
        let limits = configuration.limits;
        let judge = Arc::new(RecallObserver::new(configuration));
        let answers = move |request| answer(Arc::clone(&judge), request);
        let served = http::serve(listener, answers, limits, Registry::default(), stop).await;
        served.map_err(ServeError::while_doing("serve"))
    })
}

async fn answer(judge: Arc<RecallObserver>, request: Request<Bytes>) -> Answer {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/observed") => match judge.observe().await {
            Ok(observed) => http::json(StatusCode::OK, observed.body()),
            Err(error) => error.answer(),
        },
        _ => http::text(StatusCode::NOT_FOUND, "use /observed, /healthz or /metrics\n"),
    }
}

#[derive(Debug)]
struct RecallObserver {
    client: Arc<Client>,
    planted: PlantedQueries,
    within: Duration,
}

/// An exact search for what a sample was for.
#[derive(Debug, Serialize)]
struct ExactSearch {
    vector: Vec<f32>,
    k: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<Value>,
    exact: bool,
    as_of: u64,
    include_metadata: bool,
}

#[derive(Debug, Deserialize)]
struct ExactAnswer {
    results: Vec<Near>,
}

impl RecallObserver {
    fn new(configuration: Configuration) -> Self {
        let Configuration { search, planted, within, .. } = configuration;
        Self { client: Arc::new(Client::new("gateway", &search, within)), planted, within }
    }

    /// Judges what there is to judge, as far as the time allows.
    ///
    /// Errors: the gateway does not answer, or refuses a search that it had answered
    async fn observe(&self) -> Result<Observed, ApiError> {
        let end = Instant::now() + self.within;
        let sampled: Sampled = self.client.get("/v1/samples").await?;
        let mut verdict = RecallSums::default();
        let mut waiting = spread(sampled.samples);
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < ABREAST && Instant::now() < end {
                let Some(sample) = waiting.pop() else { break };
                asked.spawn(exact(Arc::clone(&self.client), sample));
            }
            let Some(ended) = asked.join_next().await else { break };
            let (sample, exact) = ended.expect("it is neither ended nor panics")?;
            verdict.add(&sample, &exact, &self.planted);
        }
        let unjudged = waiting.len() as u64;
        let counts =
            [("samples", sampled.taken), ("searches", sampled.seen), ("unjudged", unjudged)];
        Ok(verdict.observed(&counts))
    }
}

async fn exact(client: Arc<Client>, sample: Sample) -> Result<(Sample, Vec<Near>), ApiError> {
    let asked = ExactSearch {
        vector: sample.vector.clone(),
        k: sample.k.min(MOST_RESULTS),
        filter: sample.filter.clone(),
        exact: true,
        as_of: sample.sequence,
        include_metadata: false,
    };
    let observed: ExactAnswer = client.post("/v1/matrix/search", &asked, Kind::Read, 0).await?;
    Ok((sample, observed.results))
}

/// The same in an order of which every prefix is spread over the whole, so that samples compared in
/// limited time cover the whole run.
fn spread(samples: Vec<Sample>) -> Vec<Sample> {
    let bits = usize::BITS - samples.len().leading_zeros();
    let place = |number: usize| number.reverse_bits().unbounded_shr(usize::BITS - bits);
    let mut placed: Vec<(usize, Sample)> =
        samples.into_iter().enumerate().map(|(number, sample)| (place(number), sample)).collect();
    placed.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    placed.into_iter().map(|(_, sample)| sample).collect()
}

#[cfg(test)]
mod tests;
