//! JSON bodies, read quickly where they are right and with the place where they are not.

use serde::Deserialize;

use crate::api_error::{ApiError, Code};
use crate::row::pointer;

/// Reads a body, which is an object: fields have names, and no order that could stand for them.
///
/// Errors: `INVALID_REQUEST` with the place, or line and column where it is no JSON
pub(crate) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice(body).map_err(|error| explained::<T>(body, &error)),
        Some(_) => Err(ApiError::new(Code::InvalidRequest, "the body is not a JSON object").at("")),
        None => Err(ApiError::new(Code::InvalidRequest, "the body is empty").at("")),
    }
}

/// The same again, for its place: keeping track of it would cost every request that is right.
fn explained<'a, T: Deserialize<'a>>(body: &'a [u8], error: &serde_json::Error) -> ApiError {
    let mut reader = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(error) => {
            let message = error.inner().to_string();
            ApiError::new(Code::InvalidRequest, message).at(pointer(error.path()))
        }
        Ok(_) => ApiError::new(Code::InvalidRequest, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        #[serde(default)]
        numbers: Vec<f32>,
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let good: Body = read(b" {\"numbers\":[1,2.5]}").unwrap();
        assert_eq!(good.numbers, [1.0, 2.5]);
        for (body, at, part) in [
            (r#"{"numbers":[1,null]}"#, Some("/numbers/1"), "null"),
            (r#"{"numbers":[NaN]}"#, Some("/numbers/0"), "line 1 column 13"),
            (r#"{"numbrs":[]}"#, Some("/numbrs"), "unknown field `numbrs`"),
            (r#"{"numbers":[1]} x"#, None, "trailing characters at line 1 column 17"),
            (r#"{"numbers":[1],"numbers":[]}"#, Some(""), "duplicate field"),
            (r#"[[1]]"#, Some(""), "not a JSON object"),
            ("", Some(""), "empty"),
        ] {
            let error = read::<Body>(body.as_bytes()).unwrap_err();
            assert_eq!(error.code, Code::InvalidRequest, "{body}");
            assert!(error.message.contains(part), "{body}: {error:?}");
            assert_eq!(error.at.as_deref(), at, "{body}: {error:?}");
        }
    }
}
