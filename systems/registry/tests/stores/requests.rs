//! Short forms of the requests in these tests.

use std::sync::Arc;

use filtering::{Bounds, Filter};
use registry::api_error::{ApiError, Code};
use registry::query::{Page, Query};
use registry::store::{Registration, Store, StoredSchema};
use serde_json::{Map, Value};

/// The namespace of tests that need only one.
pub const HERE: &str = "here";

/// An identity without metadata or expiry that must not exist yet.
pub fn somebody(name: &str) -> Registration {
    Registration { name: name.into(), metadata: Map::new(), ttl_ms: None, replace: false, quota: 0 }
}

/// The same with metadata.
pub fn with(name: &str, metadata: &Value) -> Registration {
    let metadata = metadata.as_object().expect("an object").clone();
    Registration { metadata, ..somebody(name) }
}

/// The same with a time to live in milliseconds.
pub fn mortal(name: &str, ttl_ms: u64) -> Registration {
    Registration { ttl_ms: Some(ttl_ms), ..somebody(name) }
}

/// A schema with the fields that it indexes.
pub fn stored(schema: Arc<Value>, indexes: &[&str]) -> StoredSchema {
    let indexes = indexes.iter().map(ToString::to_string).collect();
    StoredSchema { schema: Some(schema), indexes }
}

pub fn filter(filter: &Value) -> Filter {
    Filter::parse(filter, Bounds::default()).unwrap()
}

pub fn query(wanted: &Value, limit: usize) -> Query {
    Query { filter: filter(wanted), sort_by: Vec::new(), limit, cursor: None }
}

pub fn names(page: &Page) -> Vec<&str> {
    page.identities.iter().map(|identity| &*identity.name).collect()
}

/// All names in a namespace, sorted.
pub async fn all_identities(store: &impl Store, namespace: &str) -> Vec<Arc<str>> {
    let mut names = store.targets(namespace, &Filter::default()).await.unwrap();
    names.sort();
    names
}

/// Whether an identity exists.
pub async fn is_there(store: &impl Store, name: &str) -> bool {
    store.get(HERE, name).await.unwrap().is_some()
}

/// The code of a result that must be an error.
pub fn code<T: std::fmt::Debug>(result: Result<T, ApiError>) -> Code {
    result.unwrap_err().code
}

/// A figure of a store's own.
pub fn figure(store: &impl Store, name: &str) -> u64 {
    let figures = store.figures();
    figures.iter().find(|figure| figure.name == name).expect("a figure of that name").value
}
