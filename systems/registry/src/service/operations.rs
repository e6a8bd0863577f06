//! The operations: their checks, and their use of store and bus.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Map, Value};

use super::Service;
use crate::api_error::{ApiError, Code};
use crate::bus::{Bus, Outcome, Status};
use crate::identity::{self, Identity};
use crate::message::{Message, Semantics};
use crate::query::{Page, Query};
use crate::schema::{self, Schema};
use crate::store::{Registration, Store, StoredSchema};
use filtering::Filter;

/// The arguments of `register`.
#[derive(Debug, Clone, PartialEq)]
pub struct Register {
    /// Name of the identity.
    pub identity: String,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// Time to live in milliseconds; 0 is for ever, `None` the registry's default.
    pub ttl_ms: Option<u64>,
    /// Whether an existing identity may be replaced.
    pub replace: bool,
}

/// The arguments of `multicast`.
#[derive(Debug, Clone, PartialEq)]
pub struct Multicast {
    /// The filter that selects the recipients.
    pub filter: Filter,
    /// The payload; the caller checks
    /// [`Quotas::max_payload_bytes`](super::Quotas::max_payload_bytes).
    pub payload: Bytes,
    /// Media type of the payload.
    pub content_type: String,
    /// The delivery guarantee.
    pub semantics: Semantics,
    /// How long to wait for acknowledgements, in milliseconds.
    pub timeout_ms: u64,
}

/// The result of a multicast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastResult {
    /// Its id, which every delivery contains.
    pub message: String,
    /// One outcome for each target.
    pub outcomes: Vec<Outcome>,
}

impl MulticastResult {
    /// Number of targets with this status.
    pub fn count(&self, status: Status) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.status == status).count()
    }
}

impl<S: Store, B: Bus> Service<S, B> {
    /// Registers an identity; the namespace's schema must allow its metadata.
    ///
    /// Errors: `INVALID_IDENTITY`, `INVALID_METADATA`, `QUOTA_EXCEEDED`, `ALREADY_EXISTS`
    pub async fn register(
        &self,
        namespace: &str,
        asked: Register,
    ) -> Result<Arc<Identity>, ApiError> {
        identity::check_name(&asked.identity).map_err(|error| error.at("/identity"))?;
        let ttl_ms = self.quotas.ttl_ms(asked.ttl_ms)?;
        let metadata = self.check_quotas(namespace, asked.metadata).await?;
        let registration = Registration {
            name: asked.identity.into(),
            metadata,
            ttl_ms,
            replace: asked.replace,
            quota: self.quotas.max_identities,
        };
        let registered = self.store.register(namespace, registration).await?;
        self.metrics.registrations.one();
        Ok(registered)
    }

    /// Checks quotas; returns the metadata after the schema's check.
    async fn check_quotas(
        &self,
        namespace: &str,
        metadata: Map<String, Value>,
    ) -> Result<Map<String, Value>, ApiError> {
        let most = usize::try_from(self.quotas.max_metadata_bytes).unwrap_or(usize::MAX);
        schema::check_size(&metadata, most)?;
        let metadata = match self.store.schema(namespace).await? {
            Some(document) => {
                let schema = self.schemas.of(namespace, document)?;
                schema.apply(metadata, identity::now())?
            }
            None => metadata,
        };
        // Defaults may have made the metadata larger.
        schema::check_size(&metadata, most)?;
        Ok(metadata)
    }

    /// Removes an identity with its subscription; `false` if it did not exist.
    pub async fn unregister(&self, namespace: &str, name: &str) -> Result<bool, ApiError> {
        let was_there = self.store.unregister(namespace, name).await?;
        if was_there {
            self.bus.forget(namespace, name).await;
        }
        Ok(was_there)
    }

    /// The identity with this name.
    ///
    /// Errors: `NOT_FOUND`
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Arc<Identity>, ApiError> {
        let found = self.store.get(namespace, name).await?;
        found.ok_or_else(|| {
            ApiError::new(Code::NotFound, format!("{name:?} is not registered in this namespace"))
        })
    }

    /// One page of matching identities.
    pub async fn enumerate(&self, namespace: &str, query: &Query) -> Result<Page, ApiError> {
        let begun = std::time::Instant::now();
        let mut page = self.store.find(namespace, query).await;
        if self.opens(namespace, page.as_ref().err()).await? {
            page = self.store.find(namespace, query).await;
        }
        let page = page?;
        self.metrics.enumerate_seconds.record(begun.elapsed().as_secs_f64());
        Ok(page)
    }

    /// Sends one message to all that match, and returns the outcome of each.
    ///
    /// Errors: `QUOTA_EXCEEDED`, `UNKNOWN_NAMESPACE`, `UNAVAILABLE` of the store; failures of the
    /// bus are outcomes
    pub async fn multicast(
        &self,
        namespace: &str,
        asked: Multicast,
    ) -> Result<MulticastResult, ApiError> {
        let _place = self.limiter.acquire()?;
        let mut targets = self.store.targets(namespace, &asked.filter).await;
        if self.opens(namespace, targets.as_ref().err()).await? {
            targets = self.store.targets(namespace, &asked.filter).await;
        }
        let targets = targets?;
        let id = self.next_message();
        let message = Message {
            id: id.clone(),
            namespace: namespace.into(),
            content_type: asked.content_type,
            payload: asked.payload,
            sent_at: identity::now(),
        };
        let timeout = Duration::from_millis(asked.timeout_ms.min(self.quotas.max_timeout_ms));
        let outcomes = self.bus.multicast(message, targets, asked.semantics, timeout).await;
        let result = MulticastResult { message: id, outcomes };
        self.metrics.count(&result.outcomes);
        Ok(result)
    }

    /// Creates a namespace for a receiver that subscribes before the first registration.
    pub async fn open(&self, namespace: &str) -> Result<(), ApiError> {
        self.store.open(namespace).await
    }

    /// Creates an unknown namespace if it has receivers; returns whether it did. Receivers on NATS
    /// do not ask the registry to subscribe, so the first request creates their namespace.
    async fn opens(&self, namespace: &str, error: Option<&ApiError>) -> Result<bool, ApiError> {
        let is_unknown = error.is_some_and(|error| error.code == Code::UnknownNamespace);
        if !is_unknown || !self.bus.serves(namespace) {
            return Ok(false);
        }
        self.open(namespace).await.map(|()| true)
    }

    /// Replaces the schema of a namespace; earlier registrations stay unchanged.
    ///
    /// Errors: `INVALID_SCHEMA`
    pub async fn put_schema(&self, namespace: &str, document: Value) -> Result<(), ApiError> {
        let indexes = Schema::parse(&document)?.indexes();
        let schema = StoredSchema { schema: Some(Arc::new(document)), indexes };
        self.store.put_schema(namespace, schema).await
    }

    /// The schema of a namespace.
    ///
    /// Errors: `NOT_FOUND` if none was put
    pub async fn schema(&self, namespace: &str) -> Result<Arc<Value>, ApiError> {
        let schema = self.store.schema(namespace).await?;
        schema.ok_or_else(|| ApiError::new(Code::NotFound, "this namespace has no schema"))
    }
}
