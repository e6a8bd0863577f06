//! From method and path to what is asked for.

use hyper::Method;

use crate::api_error::{ApiError, Code};

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Search,
    Ingest,
    Worker(String),
    Delete(String),
    Playbook,
    PutPlaybook,
    Snapshot,
    Samples,
}

impl Operation {
    /// Its name among the metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Ingest => "ingest",
            Self::Worker(_) => "get",
            Self::Delete(_) => "delete",
            Self::Playbook => "playbook",
            Self::PutPlaybook => "put_playbook",
            Self::Snapshot => "snapshot",
            Self::Samples => "samples",
        }
    }

    /// The parameters that its path may carry.
    pub fn parameters(&self) -> &'static [&'static str] {
        if *self == Self::Ingest { &["drop", "all_or_nothing"] } else { &[] }
    }

    /// Reads method and path.
    ///
    /// Errors: `NO_SUCH_OPERATION` naming the methods that the path takes; `INVALID_REQUEST` for a
    /// path that is not properly escaped
    pub fn of(method: &Method, path: &str) -> Result<Self, ApiError> {
        if let Some(id) = path.strip_prefix("/v1/workers/").filter(|id| !id.is_empty()) {
            return match *method {
                Method::GET => Ok(Self::Worker(ApiError::decoded(id, "the path")?)),
                Method::DELETE => Ok(Self::Delete(ApiError::decoded(id, "the path")?)),
                _ => Err(takes(path, "GET or DELETE")),
            };
        }
        match (method.as_str(), path) {
            ("POST", "/v1/matrix/search") => Ok(Self::Search),
            ("POST", "/v1/workers") => Ok(Self::Ingest),
            ("GET", "/v1/playbook") => Ok(Self::Playbook),
            ("PUT", "/v1/playbook") => Ok(Self::PutPlaybook),
            ("POST", "/v1/snapshot") => Ok(Self::Snapshot),
            ("GET", "/v1/samples") => Ok(Self::Samples),
            (_, "/v1/matrix/search" | "/v1/workers" | "/v1/snapshot") => Err(takes(path, "POST")),
            (_, "/v1/playbook") => Err(takes(path, "GET or PUT")),
            (_, "/v1/samples") => Err(takes(path, "GET")),
            _ => {
                let what = "operations are POST /v1/matrix/search, POST /v1/workers, GET and DELETE \
                            /v1/workers/{id}, GET and PUT /v1/playbook, POST /v1/snapshot, GET /v1/samples";
                Err(ApiError::new(Code::NoSuchOperation, what))
            }
        }
    }
}

fn takes(path: &str, methods: &str) -> ApiError {
    ApiError::new(Code::NoSuchOperation, format!("use {methods} for {path}"))
}

/// The parameters of a query string: known ones only, each at most once.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    /// Errors: `INVALID_REQUEST` for a parameter that is unknown, repeated, or not properly escaped
    pub fn read(query: Option<&str>, known: &[&'static str]) -> Result<Self, ApiError> {
        let mut read: Vec<(&'static str, String)> = Vec::new();
        let pairs = query.unwrap_or("").split('&').filter(|pair| !pair.is_empty());
        for (name, value) in pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            let bad = |what: String| ApiError::new(Code::InvalidRequest, what);
            let Some(key) = known.iter().find(|key| **key == name) else {
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(bad(format!("unknown parameter {name:?}; use {known}")));
            };
            if read.iter().any(|(read, _)| read == key) {
                return Err(bad(format!("parameter {name:?} is given twice")));
            }
            read.push((key, ApiError::decoded(value, &format!("parameter {name:?}"))?));
        }
        Ok(Self(read))
    }

    /// The value of one.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str())
    }

    /// Whether one is `true`; absent it is not.
    ///
    /// Errors: `INVALID_REQUEST` for anything but `true` and `false`
    pub fn flag(&self, key: &str) -> Result<bool, ApiError> {
        let bad = |value: &str| {
            let what = format!("parameter {key:?} must be true or false (got {value:?})");
            ApiError::new(Code::InvalidRequest, what)
        };
        self.get(key).map_or(Ok(false), |value| value.parse().map_err(|_| bad(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: &str, path: &str) -> Result<Operation, Code> {
        Operation::of(&method.parse().unwrap(), path).map_err(|error| error.code)
    }

    #[test]
    fn each_operation_has_its_method_and_path() {
        assert_eq!(operation("POST", "/v1/matrix/search"), Ok(Operation::Search));
        assert_eq!(operation("POST", "/v1/workers"), Ok(Operation::Ingest));
        assert_eq!(operation("GET", "/v1/workers/a%2Fb"), Ok(Operation::Worker("a/b".into())));
        assert_eq!(operation("DELETE", "/v1/workers/a"), Ok(Operation::Delete("a".into())));
        for (method, path) in [
            ("GET", "/v1/matrix/search"),
            ("PUT", "/v1/workers/a"),
            ("GET", "/v1/workers/"),
            ("POST", "/"),
            ("POST", "/v1/matrix/search/x"),
            ("DELETE", "/v1/playbook"),
        ] {
            assert_eq!(operation(method, path), Err(Code::NoSuchOperation), "{method} {path}");
        }
        assert_eq!(operation("GET", "/v1/workers/%ff"), Err(Code::InvalidRequest));
    }

    #[test]
    fn parameters_are_known_and_stand_once() {
        let known = ["drop", "all_or_nothing"];
        let read = Parameters::read(Some("drop=true&all_or_nothing=false"), &known).unwrap();
        assert_eq!((read.flag("drop"), read.flag("all_or_nothing")), (Ok(true), Ok(false)));
        assert_eq!(Parameters::read(None, &known).unwrap().flag("drop"), Ok(false));
        for (bad, name) in [("drp=true", "drp"), ("drop=1&drop=1", "drop"), ("drop=%zz", "drop")] {
            let error = Parameters::read(Some(bad), &known).unwrap_err();
            assert_eq!(error.code, Code::InvalidRequest, "{bad}");
            assert!(error.message.contains(&format!("parameter {name:?}")), "{error:?}");
        }
        let read = Parameters::read(Some("drop=yes"), &known).unwrap();
        assert!(read.flag("drop").unwrap_err().message.contains("\"yes\""));
    }
}
