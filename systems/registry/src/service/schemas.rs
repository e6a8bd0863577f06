//! Caches parsed schemas, so that registrations need not parse them again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::api_error::ApiError;
use crate::schema::Schema;

/// One entry for each namespace with a schema.
#[derive(Debug, Default)]
pub(super) struct SchemaCache {
    read: Mutex<HashMap<String, CachedSchema>>,
}

/// A document and its parsed schema.
type CachedSchema = (Arc<Value>, Arc<Schema>);

impl SchemaCache {
    /// The parsed schema of a document; parsed once for as long as the store returns the same
    /// document.
    ///
    /// Errors: those of [`Schema::parse`]; the store contains only documents that were parsed
    /// before
    pub fn of(&self, namespace: &str, document: Arc<Value>) -> Result<Arc<Schema>, ApiError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, schema)) = read.get(namespace)
            && Arc::ptr_eq(known, &document)
        {
            return Ok(Arc::clone(schema));
        }
        let schema = Arc::new(Schema::parse(&document)?);
        read.insert(namespace.to_owned(), (document, Arc::clone(&schema)));
        Ok(schema)
    }
}
