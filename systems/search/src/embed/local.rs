//! The embedding of this process, whichever it is.

use std::path::Path;

use serde_json::Value;

use super::hashed::Hashed;
use super::model::Model;
use super::{Embed, Embedded};
use crate::api_error::ApiError;

/// By hashing, or by a model.
#[derive(Debug)]
pub enum Local {
    /// By hashing.
    Hashed(Hashed),
    /// By a model, which decides the dimension.
    Model(Model),
}

impl Local {
    /// The model of a folder, or hashing without one.
    ///
    /// Errors: as [`Model::open`] and [`Hashed::new`]
    pub fn open(model: Option<&Path>, dimension: usize, seed: u64) -> Result<Self, ApiError> {
        match model {
            Some(folder) => Model::open(folder).map(Self::Model),
            None => Hashed::new(dimension, seed).map(Self::Hashed),
        }
    }
}

impl Embed for Local {
    fn dimension(&self) -> usize {
        match self {
            Self::Hashed(hashed) => hashed.dimension(),
            Self::Model(model) => model.dimension(),
        }
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, ApiError> {
        match self {
            Self::Hashed(hashed) => hashed.embed(texts).await,
            Self::Model(model) => model.embed(texts).await,
        }
    }

    fn effective(&self) -> Value {
        match self {
            Self::Hashed(hashed) => hashed.effective(),
            Self::Model(model) => model.effective(),
        }
    }
}
