//! Determines the operation from method and path.

use hyper::Method;

use crate::api_error::{ApiError, Code};

/// The operation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub namespace: String,
    pub operation: Operation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Register,
    ParsedEnumerate,
    Multicast,
    Unregister,
    Identity(String),
    PutSchema,
    Schema,
    Subscribe(String),
    Unsubscribe,
    Acknowledge,
}

impl Route {
    /// Errors: `NO_SUCH_OPERATION` with the methods that the path allows; `INVALID_REQUEST` for a path with invalid
    /// escapes
    pub fn of(method: &Method, path: &str) -> Result<Self, ApiError> {
        let unknown = || {
            let what = "operations are /v1/{namespace}/ and register, enumerate, multicast, \
                        unregister, identities/{identity}, schema, subscribe/{pattern}, unsubscribe or ack";
            ApiError::new(Code::NoSuchOperation, what)
        };
        let rest = path.strip_prefix("/v1/").ok_or_else(unknown)?;
        let (namespace, rest) = rest.split_once('/').ok_or_else(unknown)?;
        let (word, rest) =
            rest.split_once('/').map_or((rest, None), |(word, rest)| (word, Some(rest)));
        let name = || rest.ok_or_else(unknown).and_then(|name| ApiError::decoded(name, "the path"));
        let operation = match (method.as_str(), word) {
            ("POST", "register") => Operation::Register,
            ("POST", "enumerate") => Operation::ParsedEnumerate,
            ("POST", "multicast") => Operation::Multicast,
            ("POST", "unregister") => Operation::Unregister,
            ("GET", "identities") => Operation::Identity(name()?),
            ("PUT", "schema") => Operation::PutSchema,
            ("GET", "schema") => Operation::Schema,
            ("GET", "subscribe") => Operation::Subscribe(name()?),
            ("POST", "unsubscribe") => Operation::Unsubscribe,
            ("POST", "ack") => Operation::Acknowledge,
            (_, "register" | "enumerate" | "multicast" | "unregister" | "unsubscribe" | "ack") => {
                return Err(wrong_method(word, "POST"));
            }
            (_, "identities" | "subscribe") => return Err(wrong_method(word, "GET")),
            (_, "schema") => return Err(wrong_method(word, "PUT or GET")),
            _ => return Err(unknown()),
        };
        let takes_name = matches!(operation, Operation::Identity(_) | Operation::Subscribe(_));
        if rest.is_some() && !takes_name {
            return Err(unknown());
        }
        Ok(Self { namespace: namespace.to_owned(), operation })
    }
}

fn wrong_method(word: &str, takes: &str) -> ApiError {
    ApiError::new(Code::NoSuchOperation, format!("use {takes} for {word}"))
}

/// The value of a parameter of a query string.
///
/// Errors: as [`Route::of`]
pub(super) fn query(query: Option<&str>, key: &str) -> Result<Option<String>, ApiError> {
    let pairs = query.into_iter().flat_map(|query| query.split('&'));
    let mut values = pairs.filter_map(|pair| pair.split_once('=')).filter(|(name, _)| *name == key);
    let what = format!("parameter {key:?}");
    values.next().map(|(_, value)| ApiError::decoded(value, &what)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: &str, path: &str) -> Result<Operation, Code> {
        let route = Route::of(&method.parse().unwrap(), path);
        route.map(|route| route.operation).map_err(|error| error.code)
    }

    #[test]
    fn each_operation_has_its_path() {
        assert_eq!(operation("POST", "/v1/a/register"), Ok(Operation::Register));
        assert_eq!(
            operation("GET", "/v1/a/identities/x%2Fy/z"),
            Ok(Operation::Identity("x/y/z".into()))
        );
        assert_eq!(operation("GET", "/v1/a/subscribe/u-*"), Ok(Operation::Subscribe("u-*".into())));
        for nowhere in ["/", "/v1", "/v1/a", "/v1/a/nothing", "/v1/a/register/x", "/v2/a/register"]
        {
            assert_eq!(operation("POST", nowhere), Err(Code::NoSuchOperation), "{nowhere}");
        }
        assert_eq!(operation("GET", "/v1/a/register"), Err(Code::NoSuchOperation));
        assert_eq!(query(Some("a=1&name=x%20y&name=z"), "name"), Ok(Some("x y".into())));
        assert_eq!(query(None, "name"), Ok(None));
        let error = query(Some("name=%zz"), "name").unwrap_err();
        assert_eq!(error.message, "parameter \"name\" must be percent-encoded UTF-8");
        for broken in ["%", "%2", "%zz", "%ff"] {
            let path = format!("/v1/a/identities/{broken}");
            assert_eq!(operation("GET", &path), Err(Code::InvalidRequest), "{broken}");
        }
    }
}
