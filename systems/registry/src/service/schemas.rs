//! Schemas as they were last read, so that a registration does not read its schema anew.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::api_error::ApiError;
use crate::schema::Schema;

/// One for each namespace that has one.
#[derive(Debug, Default)]
pub(super) struct SchemaCache {
    read: Mutex<HashMap<String, CachedSchema>>,
}

/// A document and what it says.
type CachedSchema = (Arc<Value>, Arc<Schema>);

impl SchemaCache {
    /// The schema that a document says; read once as long as the store gives the same document.
    ///
    /// Errors: those of [`Schema::parse`]; the store holds only what was parsed once
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
