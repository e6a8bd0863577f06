//! Rows in bulk: read, embedded, kept, and then found.

mod request;

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode};
use serde::Serialize;
use serving::http::{self, Answer};
use tokio::runtime::Handle;

use super::route::Parameters;
use super::{Gateway, json};
use crate::api_error::{ApiError, Code};
use crate::embed::Embed;
use crate::index::{Index, Written};
use crate::row::{Refused, Row};
use request::{IngestOptions, IngestRequest};

/// Bytes of a body, above which it is a bulk: it waits for its turn, and keeps no searches waiting.
const BULK: usize = 8 << 10;
/// Larger bodies hold their permit until they are written: their rows take many times the memory.
const LARGE: usize = 1 << 20;
/// Texts that are embedded at a time.
const AT_ONCE: usize = 256;

/// What became of it.
#[derive(Debug, Serialize)]
struct IngestAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ApiError>,
    accepted: usize,
    deleted: u64,
    refused: &'a [Refused],
    refused_count: u64,
    index_size: u64,
    sequence: u64,
}

impl<E: Embed, I: Index> Gateway<E, I> {
    /// Answers an ingest.
    pub(super) async fn ingest(&self, request: &Request<Bytes>) -> Answer {
        self.try_ingest(request).await.unwrap_or_else(ApiError::answer)
    }

    async fn try_ingest(&self, request: &Request<Bytes>) -> Result<Answer, ApiError> {
        let parameters = Parameters::read(request.uri().query(), &["drop", "all_or_nothing"])?;
        let form = IngestOptions {
            is_lines: request.headers().get(CONTENT_TYPE).is_some_and(is_lines),
            drop: parameters.flag("drop")?,
            all_or_nothing: parameters.flag("all_or_nothing")?,
        };
        let body = request.body().clone();
        if body.len() <= BULK {
            return self.take(&body, form, ()).await;
        }
        let turn = Arc::clone(&self.0.bulks).acquire_owned().await.expect("it is never closed");
        let gateway = self.clone();
        apart(async move {
            if body.len() > LARGE {
                let answer = gateway.take(&body, form, ()).await;
                drop(turn);
                return answer;
            }
            gateway.take(&body, form, turn).await
        })
        .await
    }

    /// Reads and embeds in its turn, and writes after it.
    async fn take<T: Send>(
        &self,
        body: &[u8],
        form: IngestOptions,
        turn: T,
    ) -> Result<Answer, ApiError> {
        let mut intended = IngestRequest::read(body, form)?;
        let vectors = self.vectors(&mut intended).await?;
        drop(turn);
        let accepted = intended.rows.len();
        let figures = &self.0.figures;
        figures.refused.add(intended.refused_count);
        if let Some(error) = intended.error() {
            return self.ingested(&intended, Some(error), 0, None).await;
        }
        let (drop, delete) = (intended.drop, std::mem::take(&mut intended.delete));
        let rows =
            std::mem::take(&mut intended.rows).into_iter().map(|placed| placed.row).collect();
        let written = self.write(drop, rows, vectors, delete).await?;
        figures.accepted.add(accepted as u64);
        figures.deleted.add(written.deleted);
        self.ingested(&intended, None, accepted, Some(written)).await
    }

    /// The answer for what was written, or for a request of which nothing was.
    async fn ingested(
        &self,
        intended: &IngestRequest,
        error: Option<ApiError>,
        accepted: usize,
        written: Option<Written>,
    ) -> Result<Answer, ApiError> {
        let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        let written = match written {
            Some(written) => written,
            None => {
                let status = self.0.parts.index.status().await?;
                Written { size: status.size, deleted: 0, sequence: status.sequence }
            }
        };
        let answer = IngestAnswer {
            error,
            accepted,
            deleted: written.deleted,
            refused: &intended.refused,
            refused_count: intended.refused_count,
            index_size: written.size,
            sequence: written.sequence,
        };
        let body = serde_json::to_vec(&answer).expect("strings and numbers always serialize");
        Ok(http::json(status, body))
    }

    /// The vectors of rows, given or embedded; rows that have none are refused.
    async fn vectors(&self, intended: &mut IngestRequest) -> Result<Vec<Vec<f32>>, ApiError> {
        let dimension = self.0.parts.embed.dimension();
        intended.retain(|row| match &row.vector {
            Some(vector) => super::search_request::check_dimension(vector, dimension),
            None => Ok(()),
        });
        let mut vectors = Vec::with_capacity(intended.rows.len());
        while vectors.len() < intended.rows.len() {
            let begin = vectors.len();
            let end = intended.rows.len().min(begin + AT_ONCE);
            match self
                .some_vectors(intended.rows[begin..end].iter().map(|placed| &placed.row))
                .await
            {
                Ok(some) => vectors.extend(some),
                Err((place, error)) => match place {
                    Some(place) => intended.refuse(begin + place, error),
                    None => return Err(error),
                },
            }
        }
        Ok(vectors)
    }

    /// Errors: what is wrong, and in which row
    async fn some_vectors<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row> + Clone + Send,
    ) -> Result<Vec<Vec<f32>>, (Option<usize>, ApiError)> {
        let (mut without, mut texts) = (Vec::new(), Vec::new());
        for (place, row) in rows.clone().enumerate().filter(|(_, row)| row.vector.is_none()) {
            without.push(place);
            texts.push(&*row.text);
        }
        let mut embedded = Vec::new();
        if !texts.is_empty() {
            // Past the cache, which is for queries.
            let asked = self.0.parts.embed.inner().embed(&texts).await;
            embedded = asked.map_err(|error| misfit(error, &without))?.vectors;
        }
        let mut embedded = embedded.into_iter();
        let vector = |row: &Row| match &row.vector {
            Some(vector) => vector.clone(),
            None => embedded.next().expect("a vector for each text"),
        };
        Ok(rows.map(vector).collect())
    }

    /// The vectors of rows that were taken before.
    ///
    /// Errors: `Unavailable` where the embedder is another process
    pub(crate) async fn embed_rows(&self, rows: &[Row]) -> Result<Vec<Vec<f32>>, ApiError> {
        let mut vectors = Vec::with_capacity(rows.len());
        for some in rows.chunks(AT_ONCE) {
            vectors.extend(self.some_vectors(some.iter()).await.map_err(|(_, error)| error)?);
        }
        Ok(vectors)
    }

    /// Deletes one row; one that is not there is no error.
    pub(super) async fn delete(&self, id: String) -> Result<Answer, ApiError> {
        let written = self.write(false, Vec::new(), Vec::new(), vec![id]).await?;
        self.0.figures.deleted.add(written.deleted);
        Ok(json(&serde_json::json!({
            "deleted": written.deleted,
            "index_size": written.size,
            "sequence": written.sequence,
        })))
    }
}

/// Whether a media type means one value a line: `application/x-ndjson` and similar, in any case,
/// with any parameters.
fn is_lines(media: &HeaderValue) -> bool {
    let media = media.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    let media = String::from_utf8_lossy(media.trim_ascii()).to_ascii_lowercase();
    let kind = media.split_once('/').map_or("", |(_, kind)| kind);
    ["ndjson", "jsonl", "jsonlines"].contains(&kind.trim_start_matches("x-"))
}

/// An error of the embedder, with its row if known.
fn misfit(error: ApiError, asked: &[usize]) -> (Option<usize>, ApiError) {
    let number = error.at.as_deref().and_then(|at| at.strip_prefix('/')?.parse::<usize>().ok());
    match number.and_then(|number| asked.get(number)).filter(|_| error.code != Code::Unavailable) {
        Some(place) => (Some(*place), ApiError::new(Code::InvalidRow, error.message).at("/text")),
        None => (None, error),
    }
}

/// Runs CPU-bound work on a blocking thread.
async fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    let runtime = Handle::current();
    let ended = tokio::task::spawn_blocking(move || runtime.block_on(work)).await;
    let broken = |error: tokio::task::JoinError| {
        ApiError::unavailable(
            format!("the write was aborted: {error}"),
            std::time::Duration::from_secs(1),
        )
    };
    ended.map_err(broken)?
}
