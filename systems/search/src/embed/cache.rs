//! A cache before an embedding: the texts asked for last, and their vectors.
//!
//! It forgets exactly the text that was not asked for the longest, so that the share of hits of a plan can be
//! computed: n texts in turn hit always where n fit, and never where they do not.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use serde_json::{Value, json};

use super::{Embed, Embedded};
use crate::api_error::ApiError;

/// Texts to their vectors.
type KnownVectors = LruCache<Box<str>, Arc<[f32]>>;

/// An embedding, and the vectors of the texts that it was asked for last.
#[derive(Debug)]
pub struct Cached<E> {
    inner: E,
    /// None if nothing is kept.
    known: Option<Mutex<KnownVectors>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl<E> Cached<E> {
    /// Keeps at most so many vectors; 0: none, and every text is a miss.
    pub fn new(inner: E, entries: usize) -> Self {
        let known = NonZeroUsize::new(entries).map(|entries| Mutex::new(LruCache::new(entries)));
        Self { inner, known, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// How many texts were known so far.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How many texts had to be embedded so far.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// How many texts are known now.
    pub fn entries(&self) -> usize {
        self.with(|known| known.len()).unwrap_or(0)
    }

    /// The embedding whose vectors are cached.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    fn with<T>(&self, look: impl FnOnce(&mut KnownVectors) -> T) -> Option<T> {
        let known = self.known.as_ref()?;
        Some(look(&mut known.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<E: Embed> Embed for Cached<E> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    /// Embeds what is not known, all of it at once.
    ///
    /// Two that ask for the same unknown text at the same time both embed it, and both are misses.
    async fn embed(&self, texts: &[&str]) -> Result<Embedded, ApiError> {
        let mut vectors: Vec<Option<Vec<f32>>> = texts
            .iter()
            .map(|text| self.with(|known| known.get(*text).cloned()).flatten())
            .map(|known| known.map(|vector| vector.to_vec()))
            .collect();
        let unknown: Vec<usize> = (0..texts.len()).filter(|&n| vectors[n].is_none()).collect();
        let hits = (texts.len() - unknown.len()) as u64;
        if !unknown.is_empty() {
            let asked: Vec<&str> = unknown.iter().map(|&number| texts[number]).collect();
            let embedded =
                self.inner.embed(&asked).await.map_err(|error| renumbered(error, &unknown))?;
            for (&number, vector) in unknown.iter().zip(embedded.vectors) {
                let kept: Arc<[f32]> = vector.as_slice().into();
                self.with(|known| known.put(texts[number].into(), kept));
                vectors[number] = Some(vector);
            }
        }
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.misses.fetch_add(unknown.len() as u64, Ordering::Relaxed);
        Ok(Embedded { vectors: vectors.into_iter().flatten().collect(), hits })
    }

    async fn ready(&self) -> Result<(), ApiError> {
        self.inner.ready().await
    }

    fn effective(&self) -> Value {
        let mut effective = self.inner.effective();
        if let Some(effective) = effective.as_object_mut() {
            let entries = self.with(|known| known.cap().get()).unwrap_or(0);
            effective.insert("cache".into(), json!(entries));
        }
        effective
    }
}

/// The error, with the text's number in the request.
fn renumbered(mut error: ApiError, asked: &[usize]) -> ApiError {
    let number = error.at.as_deref().and_then(|at| at.strip_prefix('/')?.parse::<usize>().ok());
    if let Some(number) = number.and_then(|number| asked.get(number)) {
        error.at = Some(format!("/{number}"));
    }
    error
}

#[cfg(test)]
mod tests;
