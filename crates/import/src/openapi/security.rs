//! The credentials that an operation wants, as variables.

use serde_json::Value;

use super::document::Document;
use crate::credentials::Credentials;
use crate::draft::{Auth, DraftOperation};
use crate::request;

/// Adds the first way to be let in; what cannot be said.
pub(super) fn add(
    document: &Document,
    source: &Value,
    operation: &mut DraftOperation,
    credentials: &mut Credentials,
) -> Vec<String> {
    let own = source.get("security").or_else(|| document.root.get("security"));
    let ways = own.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let schemes = document.root.get("components").and_then(|all| all.get("securitySchemes"));
    let scheme = |name: &str| document.resolve(schemes?.get(name)?);
    let known = |way: &&Value| {
        let mut names = way.as_object().into_iter().flatten().map(|(name, _)| name);
        names.all(|name| scheme(name).is_some_and(is_known))
    };
    let mut wanted = ways.iter().filter(|way| way.as_object().is_some_and(|way| !way.is_empty()));
    let first = wanted.clone().next();
    let Some(way) = wanted.find(known).or(first).and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for (name, scopes) in way {
        match scheme(name) {
            Some(found) if is_known(found) => add_one(found, scopes, operation, credentials),
            Some(found) => {
                let kind = found["scheme"].as_str().or_else(|| found["type"].as_str());
                notes.push(format!(
                    "the security {name:?} of type {:?} is left out",
                    kind.unwrap_or_default()
                ));
            }
            None => notes.push(format!("the security {name:?} is not described")),
        }
    }
    notes
}

fn is_known(scheme: &Value) -> bool {
    match scheme["type"].as_str().unwrap_or_default() {
        "http" => matches!(http_scheme(scheme).as_str(), "bearer" | "basic"),
        "apiKey" => {
            let name = scheme["name"].as_str().unwrap_or_default();
            scheme["in"] == "query" || request::is_field_name(name)
        }
        "oauth2" | "openIdConnect" => true,
        _ => false,
    }
}

fn http_scheme(scheme: &Value) -> String {
    scheme["scheme"].as_str().unwrap_or_default().to_ascii_lowercase()
}

fn add_one(
    scheme: &Value,
    scopes: &Value,
    operation: &mut DraftOperation,
    credentials: &mut Credentials,
) {
    match scheme["type"].as_str().unwrap_or_default() {
        "apiKey" => {
            let name = scheme["name"].as_str().unwrap_or_default();
            let value = credentials.variable(name);
            match scheme["in"].as_str().unwrap_or_default() {
                "query" => operation.query.push((name.to_owned(), value)),
                "cookie" => {
                    let text = format!("{name}={}", value.as_str());
                    operation
                        .headers
                        .push(("cookie".to_owned(), crate::text::Text::template(text)));
                }
                _ => operation.headers.push((name.to_ascii_lowercase(), value)),
            }
        }
        "http" if http_scheme(scheme) == "basic" => {
            let user = credentials.variable("user");
            operation.auth = Some(Auth::Basic(user, credentials.variable("password")));
        }
        "http" => operation.auth = Some(Auth::Bearer(credentials.variable("token"))),
        _ => {
            let names: Vec<&str> =
                scopes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let scopes = match names.is_empty() {
                true => String::new(),
                false => format!(" with {}", names.join(", ")),
            };
            operation
                .comments
                .push(format!("TOKEN is an access token{scopes}: get one before a run"));
            operation.auth = Some(Auth::Bearer(credentials.variable("token")));
        }
    }
}
