//! What a search asks for, within its bounds.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::reading;
use crate::api_error::{ApiError, Code};
use crate::embed::normalize;
use crate::row::LONGEST_TEXT;

/// Bytes of a query.
pub(super) const LONGEST_QUERY: usize = LONGEST_TEXT;
/// Rows of an answer.
pub(super) const MOST_RESULTS: u64 = 1_000;
/// Default number of rows of an answer.
const RESULTS: u64 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    #[serde(borrow)]
    query: Option<Cow<'a, str>>,
    vector: Option<Vec<f32>>,
    #[serde(default = "results")]
    k: u64,
    filter: Option<Value>,
    #[serde(default)]
    use_playbook: bool,
    #[serde(default)]
    exact: bool,
    as_of: Option<u64>,
    #[serde(default = "yes")]
    include_metadata: bool,
}

fn results() -> u64 {
    RESULTS
}

fn yes() -> bool {
    true
}

/// A validated search request.
#[derive(Debug, PartialEq)]
pub(super) struct SearchRequest<'a> {
    pub target: Target<'a>,
    pub k: usize,
    pub filter: Option<Value>,
    pub use_playbook: bool,
    pub exact: bool,
    pub as_of: Option<u64>,
    pub include_metadata: bool,
}

/// Where it looks.
#[derive(Debug, PartialEq)]
pub(super) enum Target<'a> {
    /// Where this text is.
    Text(Cow<'a, str>),
    /// Here; of length 1.
    Vector(Vec<f32>),
}

/// Reads a search.
///
/// Errors: everything that is wrong; only the first thing where the body has not the right shape
pub(super) fn read(body: &[u8], dimension: usize) -> Result<SearchRequest<'_>, Vec<ApiError>> {
    let body: Body<'_> = reading::read(body).map_err(|error| vec![error])?;
    let mut errors = Vec::new();
    let target = target(body.query, body.vector, dimension).map_err(|error| errors.push(error));
    if !(1..=MOST_RESULTS).contains(&body.k) {
        let what = format!("k must be 1 to {MOST_RESULTS} (got {})", body.k);
        errors.push(ApiError::new(Code::InvalidRequest, what).at("/k"));
    }
    if body.as_of.is_some() && !body.exact {
        let what = "as_of needs exact=true";
        errors.push(ApiError::new(Code::InvalidRequest, what).at("/as_of"));
    }
    if body.filter.as_ref().is_some_and(|filter| !filter.is_object()) {
        errors.push(ApiError::new(Code::InvalidFilter, "filter must be an object").at("/filter"));
    }
    match target {
        Ok(target) if errors.is_empty() => Ok(SearchRequest {
            target,
            k: usize::try_from(body.k).unwrap_or(usize::MAX),
            filter: body.filter,
            use_playbook: body.use_playbook,
            exact: body.exact,
            as_of: body.as_of,
            include_metadata: body.include_metadata,
        }),
        _ => Err(errors),
    }
}

fn target<'a>(
    query: Option<Cow<'a, str>>,
    vector: Option<Vec<f32>>,
    dimension: usize,
) -> Result<Target<'a>, ApiError> {
    match (query, vector) {
        (Some(_), Some(_)) => {
            let what = "give either query or vector, not both";
            Err(ApiError::new(Code::InvalidQuery, what).at("/vector"))
        }
        (None, None) => Err(ApiError::new(Code::InvalidQuery, "give a query or a vector").at("")),
        (Some(query), None) => text(query).map(Target::Text),
        (None, Some(vector)) => unit(vector, dimension).map(Target::Vector),
    }
}

fn text(query: Cow<'_, str>) -> Result<Cow<'_, str>, ApiError> {
    let what = match query.len() {
        bytes if bytes > LONGEST_QUERY => {
            format!("query must have at most {LONGEST_QUERY} bytes (got {bytes})")
        }
        _ if query.trim().is_empty() => "the query is empty".to_owned(),
        _ => return Ok(query),
    };
    Err(ApiError::new(Code::InvalidQuery, what).at("/query"))
}

/// The same direction at length 1.
///
/// Errors: `INVALID_VECTOR` for another dimension, or no direction
fn unit(mut vector: Vec<f32>, dimension: usize) -> Result<Vec<f32>, ApiError> {
    check_dimension(&vector, dimension)?;
    if normalize(&mut vector) {
        return Ok(vector);
    }
    let what = "a vector whose numbers are all 0 has no direction";
    Err(ApiError::new(Code::InvalidVector, what).at("/vector"))
}

/// Whether a vector is of the length that all have here.
///
/// Errors: `INVALID_VECTOR`
pub(super) fn check_dimension(vector: &[f32], dimension: usize) -> Result<(), ApiError> {
    if vector.len() == dimension {
        return Ok(());
    }
    let what = format!("vector must have {dimension} numbers (got {})", vector.len());
    Err(ApiError::new(Code::InvalidVector, what).at("/vector"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(body: &str) -> Vec<(Code, String)> {
        let errors = read(body.as_bytes(), 3).unwrap_err();
        errors.into_iter().map(|error| (error.code, error.at.unwrap_or("?".into()))).collect()
    }

    #[test]
    fn everything_has_a_default_but_where_to_look() {
        let asked = read(br#"{"query":"forklift driver"}"#, 3).unwrap();
        assert_eq!(asked.target, Target::Text("forklift driver".into()));
        assert_eq!((asked.k, asked.exact, asked.use_playbook), (10, false, false));
        assert!(asked.include_metadata && asked.filter.is_none() && asked.as_of.is_none());
        let asked = read(br#"{"vector":[3,0,4],"k":1000,"exact":true,"as_of":7}"#, 3).unwrap();
        assert_eq!(asked.target, Target::Vector(vec![0.6, 0.0, 0.8]));
        assert_eq!((asked.k, asked.as_of), (1_000, Some(7)));
    }

    #[test]
    fn each_bad_input_has_its_code_and_place() {
        use Code::{InvalidFilter, InvalidQuery, InvalidRequest, InvalidVector};
        let long = format!(r#"{{"query":"{}"}}"#, "a".repeat(LONGEST_QUERY + 1));
        for (body, code, at) in [
            ("{}", InvalidQuery, ""),
            (r#"{"query":""}"#, InvalidQuery, "/query"),
            (r#"{"query":" \t\n"}"#, InvalidQuery, "/query"),
            (&*long, InvalidQuery, "/query"),
            (r#"{"query":"a","vector":[1,0,0]}"#, InvalidQuery, "/vector"),
            (r#"{"query":7}"#, InvalidRequest, "/query"),
            (r#"{"query":"a","k":0}"#, InvalidRequest, "/k"),
            (r#"{"query":"a","k":1000000000}"#, InvalidRequest, "/k"),
            (r#"{"query":"a","k":-1}"#, InvalidRequest, "/k"),
            (r#"{"query":"a","k":2.5}"#, InvalidRequest, "/k"),
            (r#"{"vector":[1,0]}"#, InvalidVector, "/vector"),
            (r#"{"vector":[1,0,0,0]}"#, InvalidVector, "/vector"),
            (r#"{"vector":[0,0,0]}"#, InvalidVector, "/vector"),
            (r#"{"vector":[0,1e39,0]}"#, InvalidRequest, "/vector/1"),
            (r#"{"vector":[0,NaN,0]}"#, InvalidRequest, "/vector/1"),
            (r#"{"vector":[0,null,0]}"#, InvalidRequest, "/vector/1"),
            (r#"{"query":"a","filter":[]}"#, InvalidFilter, "/filter"),
            (r#"{"query":"a","as_of":3}"#, InvalidRequest, "/as_of"),
            (r#"{"query":"a","quary":"b"}"#, InvalidRequest, "/quary"),
        ] {
            let shown: String = body.chars().take(60).collect();
            assert_eq!(errors(body), [(code, at.to_owned())], "{shown}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let told = errors(r#"{"query":"","k":0,"as_of":1,"filter":3}"#);
        let places: Vec<&str> = told.iter().map(|(_, at)| at.as_str()).collect();
        assert_eq!(places, ["/query", "/k", "/as_of", "/filter"]);
    }

    #[test]
    fn a_vector_keeps_its_direction_however_long_it_is() {
        for length in [1e-30_f32, 1.0, 1e30] {
            let unit = unit(vec![3.0 * length, 0.0, 4.0 * length], 3).unwrap();
            assert!((unit[0] - 0.6).abs() < 1e-6 && (unit[2] - 0.8).abs() < 1e-6, "{unit:?}");
        }
    }
}
