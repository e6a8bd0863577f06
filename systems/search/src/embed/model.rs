//! The embedding of a static model in a folder: `config.json`, `tokenizer.json` and `model.safetensors`, as Model2Vec
//! and Sentence Transformers write them.
//!
//! A text's vector is the mean of its tokens' vectors, brought to length 1; of a long text the first 512 tokens count.
//! Nothing is ever fetched from elsewhere.

use std::path::{Path, PathBuf};

use model2vec_rs::model::StaticModel;
use serde_json::{Value, json};
// It is named in the manifest for a feature that the model's crate does not switch on by itself.
use tokenizers as _;

use super::{Embed, Embedded, no_direction, normalize};
use crate::api_error::{ApiError, Code};
use crate::guarded::guarded;

/// Embeds with a model.
#[derive(Debug, Clone)]
pub struct Model {
    model: StaticModel,
    folder: PathBuf,
}

impl Model {
    /// Loads the model of a folder.
    ///
    /// Errors: `InvalidRequest` if it is missing or cannot be read
    pub fn open(folder: &Path) -> Result<Self, ApiError> {
        if !folder.is_dir() {
            return Err(unreadable(folder, "the folder does not exist"));
        }
        // A path that exists is never taken for the name of a model elsewhere.
        let load = || StaticModel::from_pretrained(folder, None, Some(true), None);
        let model = guarded(load).map_err(|_| unreadable(folder, "it is damaged"))?;
        let model = model.map_err(|error| unreadable(folder, &format!("{error:#}")))?;
        Ok(Self { model, folder: folder.to_owned() })
    }

    fn vector(&self, text: &str) -> Result<Option<Vec<f32>>, ApiError> {
        // Tokens without a vector, as of a tokenizer that is another model's, are found out when a text has them.
        let vector = guarded(|| self.model.encode_single(text));
        let mut vector = vector
            .map_err(|_| unreadable(&self.folder, "its tokenizer does not fit its vectors"))?;
        Ok(normalize(&mut vector).then_some(vector))
    }
}

impl Embed for Model {
    fn dimension(&self) -> usize {
        self.model.dim()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Embedded, ApiError> {
        let vector =
            |(number, text): (usize, &&str)| self.vector(text)?.ok_or_else(|| no_direction(number));
        let vectors = texts.iter().enumerate().map(vector).collect::<Result<_, _>>()?;
        Ok(Embedded { vectors, hits: 0 })
    }

    fn effective(&self) -> Value {
        json!({ "embedding": "model", "model": self.folder, "dimension": self.dimension() })
    }
}

fn unreadable(folder: &Path, why: &str) -> ApiError {
    let message = format!("the model in {} cannot be used: {why}", folder.display());
    ApiError::new(Code::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
