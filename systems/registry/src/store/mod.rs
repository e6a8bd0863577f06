//! Stores registered identities.
//!
//! A store has the authoritative state of a registry's namespaces: every coordinator on the same
//! store finds what another one registers, and an acknowledged registration survives a restart if
//! the store is durable. An expired identity is gone at that instant, whether it has been cleaned
//! up or not.

pub mod embedded;
pub mod redis;
pub mod view;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code};
use crate::identity::{Identity, Millis};
use crate::query::{Page, Query};
use filtering::Filter;

/// The arguments of `register`; everything is checked that does not depend on the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Name of the identity.
    pub name: Arc<str>,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// Time to live in milliseconds; `None` is for ever.
    pub ttl_ms: Option<u64>,
    /// Whether an identity with that name may already exist (a heartbeat, a change).
    pub replace: bool,
    /// Most identities in the namespace; 0 is unlimited.
    pub quota: u64,
}

/// A namespace's schema in a store, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredSchema {
    /// The document, opaque to the store; `None` until one is put.
    pub schema: Option<Arc<Value>>,
    /// The fields to index.
    pub indexes: Vec<String>,
}

/// An expired identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expired {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// A figure of a store, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// The name of the metric; a counter's name ends in `_total`.
    pub name: &'static str,
    /// A sentence that says what it counts.
    pub help: &'static str,
    /// For a counter since the start, otherwise the current value.
    pub value: u64,
}

/// A store of identities.
///
/// Every method that creates a namespace may fail with `QUOTA_EXCEEDED` because there are too many.
/// Every method may fail with `UNAVAILABLE` when the store is unavailable; then nothing is half
/// done.
pub trait Store: Send + Sync + 'static {
    /// Registers an identity, atomically. The first registration or schema creates a namespace, and
    /// so does [`Store::open`].
    ///
    /// Errors: `ALREADY_EXISTS` without `replace`, `QUOTA_EXCEEDED`
    fn register(
        &self,
        namespace: &str,
        registration: Registration,
    ) -> impl Future<Output = Result<Arc<Identity>, ApiError>> + Send;

    /// Removes an identity; `false` if it did not exist.
    fn unregister(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<bool, ApiError>> + Send;

    /// The identity with this name.
    fn get(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Arc<Identity>>, ApiError>> + Send;

    /// One page of identities that match a query.
    ///
    /// Errors: `UNKNOWN_NAMESPACE`, `INVALID_CURSOR`
    fn find(
        &self,
        namespace: &str,
        query: &Query,
    ) -> impl Future<Output = Result<Page, ApiError>> + Send;

    /// The names of all that match a filter, in no particular order.
    ///
    /// Errors: `UNKNOWN_NAMESPACE`
    fn targets(
        &self,
        namespace: &str,
        filter: &Filter,
    ) -> impl Future<Output = Result<Vec<Arc<str>>, ApiError>> + Send;

    /// Creates a namespace, empty if it is new.
    fn open(&self, namespace: &str) -> impl Future<Output = Result<(), ApiError>> + Send;

    /// Replaces the namespace's schema; creates the namespace if necessary.
    fn put_schema(
        &self,
        namespace: &str,
        schema: StoredSchema,
    ) -> impl Future<Output = Result<(), ApiError>> + Send;

    /// The namespace's schema, if one was put.
    fn schema(
        &self,
        namespace: &str,
    ) -> impl Future<Output = Result<Option<Arc<Value>>, ApiError>> + Send;

    /// The current time on the clock for expiry.
    fn now(&self) -> Millis;

    /// Removes and returns the identities that expired up to `now`; called about twenty times a
    /// second.
    fn expire(&self, now: Millis) -> impl Future<Output = Result<Vec<Expired>, ApiError>> + Send;

    /// Number of registered identities, by namespace.
    fn counts(&self) -> Vec<(Arc<str>, u64)>;

    /// Figures of this store, in addition to [`Store::counts`].
    fn figures(&self) -> Vec<Figure>;

    /// The effective configuration, for the ready line: kind, durability, version of the server, …
    fn effective(&self) -> Value;
}

/// Longest time to live that is stored unchanged, in milliseconds: about 140,000 years. Longer
/// instants would not fit exactly into a floating-point number.
const LONGEST_LIFE: u64 = 1 << 52;

fn already_registered(name: &str) -> ApiError {
    let what = format!("{name:?} is already registered; set `replace` to replace it");
    ApiError::new(Code::AlreadyExists, what).at("/identity")
}

fn full(alive: u64) -> ApiError {
    ApiError::new(Code::QuotaExceeded, format!("the namespace is full ({alive} identities)"))
}

fn too_many_namespaces(namespaces: u64) -> ApiError {
    let what = format!("the limit of {namespaces} namespaces is reached");
    ApiError::new(Code::QuotaExceeded, what)
}

fn unknown(namespace: &str) -> ApiError {
    ApiError::new(Code::UnknownNamespace, format!("there is no namespace {namespace:?}"))
}
