//! Keeps who is registered.
//!
//! A store is the truth about a registry's namespaces: what one coordinator registers, every
//! coordinator on the same store finds, and an acknowledged registration is there after a restart
//! as far as the store is durable. What has expired is gone at that instant, whether it has been
//! cleaned up or not.

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

/// What `register` asks for, checked but for what only the store can see.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Who.
    pub name: Arc<str>,
    /// With what properties.
    pub metadata: Map<String, Value>,
    /// For how long, in milliseconds; `None` for ever.
    pub ttl_ms: Option<u64>,
    /// Whether an identity of that name may be there already (a heartbeat, a change).
    pub replace: bool,
    /// How many identities the namespace may hold; 0 is no limit.
    pub quota: u64,
}

/// A namespace's schema as stores keep it, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredSchema {
    /// An opaque document to the store; `None` before one was put.
    pub schema: Option<Arc<Value>>,
    /// Which fields to index.
    pub indexes: Vec<String>,
}

/// Who is gone because their time was over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expired {
    /// Where.
    pub namespace: Arc<str>,
    /// Who.
    pub name: Arc<str>,
}

/// One figure of a kind of store, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// As metrics are named; a counter's ends in `_total`.
    pub name: &'static str,
    /// What it counts, in a sentence.
    pub help: &'static str,
    /// Since the start for a counter, else now.
    pub value: u64,
}

/// Where identities are kept.
///
/// A namespace that is new may be one too many, wherever it would come to be: `QUOTA_EXCEEDED`.
/// Every method may fail with `UNAVAILABLE` when the store is away; nothing is half done then.
pub trait Store: Send + Sync + 'static {
    /// Registers, atomically. A namespace comes to be with its first registration or schema, or by
    /// [`Store::open`].
    ///
    /// Errors: `ALREADY_EXISTS` without `replace`, `QUOTA_EXCEEDED`
    fn register(
        &self,
        namespace: &str,
        registration: Registration,
    ) -> impl Future<Output = Result<Arc<Identity>, ApiError>> + Send;

    /// Takes an identity out; `false` if it was not there.
    fn unregister(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<bool, ApiError>> + Send;

    /// Who goes by this name.
    fn get(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Arc<Identity>>, ApiError>> + Send;

    /// One page of those that a query matches.
    ///
    /// Errors: `UNKNOWN_NAMESPACE`, `INVALID_CURSOR`
    fn find(
        &self,
        namespace: &str,
        query: &Query,
    ) -> impl Future<Output = Result<Page, ApiError>> + Send;

    /// The names of all that a filter matches, in no order.
    ///
    /// Errors: `UNKNOWN_NAMESPACE`
    fn targets(
        &self,
        namespace: &str,
        filter: &Filter,
    ) -> impl Future<Output = Result<Vec<Arc<str>>, ApiError>> + Send;

    /// Makes a namespace be, empty if it is new.
    fn open(&self, namespace: &str) -> impl Future<Output = Result<(), ApiError>> + Send;

    /// Replaces the namespace's schema, and makes the namespace if need be.
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

    /// The time by which identities expire here.
    fn now(&self) -> Millis;

    /// Removes and returns the identities that expired up to `now`; called about twenty times a
    /// second.
    fn expire(&self, now: Millis) -> impl Future<Output = Result<Vec<Expired>, ApiError>> + Send;

    /// How many are registered, by namespace.
    fn counts(&self) -> Vec<(Arc<str>, u64)>;

    /// What there is to say about this store beside [`Store::counts`].
    fn figures(&self) -> Vec<Figure>;

    /// What is in force, for the ready line: kind, durability, version of the server, …
    fn effective(&self) -> Value;
}

/// Longest life that is kept as it was asked for, in milliseconds: some 140,000 years, so that no
/// instant is beyond what a floating-point number holds exactly.
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
