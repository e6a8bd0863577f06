//! One search: embed, find, boost, join, tell.

use std::sync::Arc;

use filtering::{Bounds, Filter};
use hyper::StatusCode;
use hyper::header::HeaderName;
use serde_json::Value;
use serving::http::{self, Answer};
use serving::watch::Watch;

use super::render::{AnswerContext, Hit, render};
use super::samples::Sample;
use super::search_request::{self, SearchRequest, Target};
use super::times::{Times, nanoseconds};
use super::{Gateway, Inner};
use crate::api_error::{ApiError, Code};
use crate::embed::{Embed, cosine, normalize};
use crate::index::{Found, Index, Near, Query};
use crate::metadata::Record;
use crate::playbook::{Boosts, Ranked, rank};

/// W3C Server Timing.
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

impl<E: Embed, I: Index> Gateway<E, I> {
    /// Answers a search.
    pub(super) async fn search(&self, body: &[u8]) -> Answer {
        let watch = Watch::start();
        let asked = match search_request::read(body, self.0.parts.embed.dimension()) {
            Ok(asked) => asked,
            Err(mut errors) => {
                let first = errors.remove(0);
                return first.answer_with(errors);
            }
        };
        match self.0.find(asked, watch).await {
            Ok(answer) => answer,
            Err(error) => error.answer(),
        }
    }
}

/// Where a query is, and whether that was known.
struct QueryVector {
    text: Option<String>,
    vector: Vec<f32>,
    was_known: Option<bool>,
}

impl<E: Embed, I: Index> Inner<E, I> {
    async fn find(&self, asked: SearchRequest<'_>, mut watch: Watch) -> Result<Answer, ApiError> {
        let mut times = Times::default();
        let SearchRequest { target, k, filter, use_playbook, exact, as_of, include_metadata } =
            asked;
        watch.lap();
        let place = self.place(target).await?;
        times.embed = nanoseconds(watch.lap());
        let boosts = place.text.as_deref().filter(|_| use_playbook);
        let boosts = boosts.and_then(|text| self.parts.playbook.boosts(text));
        let is_sampled = !exact && self.samples.is_due();
        let kept = (is_sampled || boosts.is_some()).then(|| (place.vector.clone(), filter.clone()));
        let wanted = k + boosts.as_ref().map_or(0, |boosts| boosts.len());
        let query = Query { vector: place.vector, k: wanted, filter, exact, as_of };
        let _reading = self.versions.read();
        let found = self.parts.index.search(query).await?;
        times.search = nanoseconds(watch.lap());
        let (vector, filter) = kept.unwrap_or_default();
        let ranked = match boosts {
            Some(boosts) => {
                let near = self.with_boosted(&found, &boosts, &vector, filter.as_ref()).await?;
                rank(near, &boosts, k)
            }
            None => found.nearest.iter().map(plain).collect(),
        };
        let (hits, gone) = self.join(ranked, include_metadata)?;
        let context = AnswerContext {
            size: found.size,
            sequence: found.sequence,
            exact: found.exact,
            was_known: place.was_known,
            gone,
        };
        times.join = nanoseconds(watch.lap());
        if is_sampled {
            self.samples.keep(Sample::of(place.text, vector, filter, wanted, found));
        }
        let json = render(&hits, &context, &mut times, &watch);
        self.figures.record(&times);
        let mut answer = http::json(StatusCode::OK, json);
        answer.headers_mut().insert(SERVER_TIMING, times.header());
        Ok(answer)
    }

    async fn place(&self, target: Target<'_>) -> Result<QueryVector, ApiError> {
        let text = match target {
            Target::Vector(vector) => {
                return Ok(QueryVector { text: None, vector, was_known: None });
            }
            Target::Text(text) => text,
        };
        let embedded =
            self.parts.embed.embed(&[&*text]).await.map_err(|error| match error.code {
                Code::Unavailable => error,
                _ => ApiError::new(Code::InvalidQuery, error.message).at("/query"),
            })?;
        let was_known = embedded.hits > 0;
        if was_known {
            self.figures.hits.one()
        } else {
            self.figures.misses.one()
        }
        let vector = embedded.vectors.into_iter().next().expect("a vector for each text");
        Ok(QueryVector { text: Some(text.into_owned()), vector, was_known: Some(was_known) })
    }

    /// The nearest rows and those of `boosts` that were not among them.
    async fn with_boosted(
        &self,
        found: &Found,
        boosts: &Boosts,
        vector: &[f32],
        filter: Option<&Value>,
    ) -> Result<Vec<Near>, ApiError> {
        let has = |id: &str| found.nearest.iter().any(|near| &*near.id == id);
        let missing: Vec<Arc<str>> = boosts.keys().filter(|id| !has(id)).cloned().collect();
        let mut records = self.parts.metadata.get(&missing)?;
        // Those that came no later than what was found.
        let born = found.sequence;
        self.versions.look_back(missing.iter().map(|id| (&**id, born)), &mut records);
        let filter = filter.map(|filter| Filter::parse(filter, Bounds::default())).transpose();
        let filter = filter.map_err(|refusal| {
            ApiError::new(Code::InvalidFilter, refusal.message).at(refusal.at)
        })?;
        let mut near = found.nearest.clone();
        for (id, record) in missing.into_iter().zip(records) {
            let Some(record) = record.filter(|record| admits(filter.as_ref(), record)) else {
                continue;
            };
            let own = match &record.vector {
                Some(given) => {
                    let mut own = given.to_vec();
                    normalize(&mut own);
                    own
                }
                None => {
                    let mut embedded = self.parts.embed.inner().embed(&[&*record.text]).await?;
                    embedded.vectors.pop().expect("a vector for each text")
                }
            };
            near.push(Near { id, score: cosine(vector, &own), born });
        }
        Ok(near)
    }

    /// Puts beside rows what was known about them when they were as they were found, and counts those left out: of a
    /// drop meanwhile, which leaves nothing to show.
    fn join(
        &self,
        ranked: Vec<Ranked>,
        include_metadata: bool,
    ) -> Result<(Vec<Hit>, usize), ApiError> {
        if !include_metadata {
            return Ok((
                ranked.into_iter().map(|ranked| Hit { ranked, record: None }).collect(),
                0,
            ));
        }
        let ids: Vec<&str> = ranked.iter().map(|ranked| &*ranked.id).collect();
        let mut records = self.parts.metadata.get(&ids)?;
        let found = ranked.iter().map(|ranked| (&*ranked.id, ranked.born));
        self.versions.look_back(found, &mut records);
        let all = ranked.len();
        let hits = ranked.into_iter().zip(records);
        let hits = hits.filter_map(|(ranked, record)| Some(Hit { ranked, record: Some(record?) }));
        let hits: Vec<Hit> = hits.collect();
        let gone = all - hits.len();
        Ok((hits, gone))
    }
}

fn plain(near: &Near) -> Ranked {
    Ranked { id: Arc::clone(&near.id), score: near.score, boost: None, born: near.born }
}

/// Whether a filter that the index has taken admits a row.
fn admits(filter: Option<&Filter>, record: &Record) -> bool {
    filter.is_none_or(|filter| {
        serde_json::from_str(record.metadata.get()).is_ok_and(|metadata| filter.matches(&metadata))
    })
}
