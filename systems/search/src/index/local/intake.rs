//! What comes in, checked: vectors of the right length, of numbers, with a direction.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code};
use crate::index::Batch;

/// Longest name of a row, in bytes.
const LONGEST_NAME: usize = 1_024;

/// A row that can be taken.
#[derive(Debug, Clone)]
pub(super) struct CheckedRow {
    pub(super) id: Arc<str>,
    /// Of length 1.
    pub(super) vector: Arc<[f32]>,
    pub(super) attributes: Arc<Map<String, Value>>,
}

/// A batch that can be taken.
#[derive(Debug, Default)]
pub(super) struct CheckedBatch {
    pub(super) drop: bool,
    pub(super) rows: Vec<CheckedRow>,
    pub(super) delete: Vec<String>,
}

/// Checks a batch, all of it or nothing.
///
/// Errors: the first row that does not fit, with its place (`/rows/17/vector/3`)
pub(super) fn fit(batch: Batch, dimension: usize) -> Result<CheckedBatch, ApiError> {
    let rows = batch.rows.into_iter().enumerate().map(|(at, entry)| {
        check_name(&entry.id).map_err(|error| error.at(format!("/rows/{at}/id")))?;
        let vector = direction(&entry.vector, dimension, &format!("/rows/{at}/vector"))?;
        Ok(CheckedRow { id: entry.id.into(), vector, attributes: Arc::new(entry.attributes) })
    });
    let mut rows = rows.collect::<Result<Vec<CheckedRow>, ApiError>>()?;
    keep_last(&mut rows);
    Ok(CheckedBatch { drop: batch.drop, rows, delete: batch.delete })
}

/// Of rows of one name in one batch, the last one counts.
fn keep_last(rows: &mut Vec<CheckedRow>) {
    let mut last = HashMap::with_capacity(rows.len());
    last.extend(rows.iter().enumerate().map(|(at, row)| (row.id.clone(), at)));
    if last.len() < rows.len() {
        let mut at = 0..;
        rows.retain(|row| at.next() == last.get(&row.id).copied());
    }
}

fn check_name(id: &str) -> Result<(), ApiError> {
    match id.len() {
        1..=LONGEST_NAME => Ok(()),
        length => {
            let message = format!("a name must have 1 to {LONGEST_NAME} bytes (got {length})");
            Err(ApiError::new(Code::InvalidRow, message))
        }
    }
}

/// A vector of length 1 in the same direction.
///
/// Errors: another dimension; an invalid number, with its place; no direction
pub(super) fn direction(
    vector: &[f32],
    dimension: usize,
    at: &str,
) -> Result<Arc<[f32]>, ApiError> {
    let refuse =
        |message: String, at: String| Err(ApiError::new(Code::InvalidVector, message).at(at));
    if vector.len() != dimension {
        let message = format!("a vector must have {dimension} numbers (got {})", vector.len());
        return refuse(message, at.to_owned());
    }
    if let Some(place) = vector.iter().position(|number| !number.is_finite()) {
        let message = format!("{} is not a finite number", vector[place]);
        return refuse(message, format!("{at}/{place}"));
    }
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    if square == 0.0 {
        return refuse("a vector of zeros has no direction".into(), at.to_owned());
    }
    let length = square.sqrt();
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(vector: &[f32]) -> (String, String) {
        let error = direction(vector, 4, "/vector").unwrap_err();
        assert_eq!(error.code, Code::InvalidVector);
        (error.at.unwrap(), error.message)
    }

    #[test]
    fn vectors_are_brought_to_length_one() {
        assert_eq!(direction(&[3.0, 0.0, 4.0, 0.0], 4, "").unwrap()[..], [0.6, 0.0, 0.8, 0.0]);
        for extreme in [f32::MAX, f32::MIN_POSITIVE, 1e-45] {
            let vector = direction(&[extreme, 0.0, 0.0, -extreme], 4, "").unwrap();
            let half = std::f32::consts::FRAC_1_SQRT_2;
            assert_eq!(vector[..], [half, 0.0, 0.0, -half], "{extreme}");
        }
    }

    #[test]
    fn what_has_no_direction_is_refused_at_its_place() {
        assert_eq!(refused(&[1.0, 0.0, 0.0, f32::NAN]).0, "/vector/3");
        assert_eq!(refused(&[1.0, f32::INFINITY, 0.0, f32::NAN]).0, "/vector/1");
        assert_eq!(refused(&[0.0; 4]).0, "/vector");
        assert_eq!(refused(&[-0.0; 4]).0, "/vector");
        assert_eq!(
            refused(&[1.0; 5]),
            ("/vector".into(), "a vector must have 4 numbers (got 5)".into())
        );
        assert_eq!(refused(&[]).0, "/vector");
    }
}
