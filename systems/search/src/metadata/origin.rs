//! Which embedding the kept rows came from: another one would look for them where they are not.

use super::Metadata;
use super::disk::{ORIGIN, Write};
use crate::api_error::{ApiError, Code};
use crate::embed::{Embed, PROBE, cosine};

/// Vectors of one embedding agree to more than this; those of two seeds are all but at right angles.
const AGREED: f32 = 0.999;

/// Holds the embedding against that of the rows in the folder, or notes it where there are none yet.
///
/// Errors: `InvalidVector` if the rows came from another seed, model or dimension; `Unavailable` if the file or the
///         embedder cannot be had
pub async fn check(metadata: &Metadata, embed: &impl Embed) -> Result<(), ApiError> {
    let Some(disk) = metadata.disk() else { return Ok(()) };
    let now = embed.embed(&[PROBE]).await?.vectors.pop().expect("a vector for each text");
    let kept = disk.all(ORIGIN)?.pop().map(|(_, bytes)| numbers(&bytes));
    match kept.filter(|_| metadata.size().is_ok_and(|size| size > 0)) {
        Some(then) if then.len() == now.len() && cosine(&then, &now) > AGREED => Ok(()),
        Some(_) => {
            let file = disk.path().display();
            let message = format!("the rows in {file} came from another seed, dimension or model");
            Err(ApiError::new(Code::InvalidVector, message))
        }
        None => {
            let bytes = now.iter().flat_map(|number| number.to_le_bytes()).collect();
            let put = vec![(PROBE.to_owned(), bytes)];
            disk.write(Write { table: ORIGIN, drop: true, put, delete: Vec::new() }).await
        }
    }
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let number = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
    bytes.as_chunks().0.iter().map(number).collect()
}
