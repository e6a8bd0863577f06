//! A place in a list, which the client gets and sends back; valid for the same filter and order
//! only.
//!
//! The form is base64 of a checksum and a [`Position`]. The checksum detects cursors of other lists
//! and damaged ones. It is not a signature: a forged position only lists from there, which every
//! client may do.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::Query;
use super::order::Position;
use crate::api_error::{ApiError, Code};

/// Bytes of the checksum.
const CHECK: usize = 12;

/// Encodes a place for clients.
pub fn write(query: &Query, place: &Position) -> String {
    let place = serde_json::to_vec(place).expect("keys and a name always serialize");
    let mut bytes = check(query, &place);
    bytes.extend(place);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes a place.
///
/// Errors: `INVALID_CURSOR`
pub fn read(query: &Query, cursor: &str) -> Result<Position, ApiError> {
    let place = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| {
        let (told, place) = bytes.split_at_checked(CHECK)?;
        (check(query, place) == told).then(|| serde_json::from_slice(place).ok())?
    });
    place.ok_or_else(|| {
        let message =
            "this cursor does not belong to this filter and order; start again without a cursor";
        ApiError::new(Code::InvalidCursor, message).at("/cursor")
    })
}

/// The checksum that binds a place to filter and order.
fn check(query: &Query, place: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(query.filter.text().as_bytes());
    for key in &query.sort_by {
        add(key.field.as_bytes());
        add(&[u8::from(key.is_descending)]);
    }
    add(place);
    hash.finalize()[..CHECK].to_vec()
}
