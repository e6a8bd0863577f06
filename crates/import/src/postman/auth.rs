//! The credentials of a request.

use serde_json::Value;

use super::variables::Variables;
use crate::draft::{Auth, Draft, DraftOperation};
use crate::text::Text;

/// Adds credentials; what cannot be said.
pub(super) fn add(
    auth: &Value,
    operation: &mut DraftOperation,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Option<String> {
    let kind = auth["type"].as_str()?;
    let field = |key: &str| value(&auth[kind], key);
    match kind {
        "noauth" => {}
        "bearer" => {
            let token = field("token");
            let token = or_variable("token", &token, variables, draft);
            operation.auth = Some(Auth::Bearer(token));
        }
        "basic" => {
            let user = variables.text("", &field("username"), draft);
            let password = or_variable("password", &field("password"), variables, draft);
            operation.auth = Some(Auth::Basic(user, password));
        }
        "apikey" => {
            let key = field("key");
            let key =
                if key.is_empty() { "x-api-key".to_owned() } else { variables.expanded(&key) };
            let value = or_variable(&key, &field("value"), variables, draft);
            match field("in").as_str() {
                "query" => operation.query.push((key, value)),
                _ if !crate::request::is_field_name(&key) => {
                    return Some(format!("{key:?} is no name of a header field, and is left out"));
                }
                _ => operation.headers.push((key.to_ascii_lowercase(), value)),
            }
        }
        "oauth2" => {
            operation.comments.push("an access token: get one before a run".to_owned());
            let token = or_variable("token", &field("accessToken"), variables, draft);
            operation.auth = Some(Auth::Bearer(token));
        }
        other => return Some(format!("the authorization {other:?} is left out")),
    }
    None
}

/// A credential, or a variable if there is none.
fn or_variable(key: &str, text: &str, variables: &mut Variables, draft: &mut Draft) -> Text {
    match text.is_empty() {
        true => draft.credentials.variable(key),
        false => variables.credential(key, text, draft),
    }
}

/// A value of a list of keys and values (2.1), or of a table (2.0).
fn value(fields: &Value, key: &str) -> String {
    let found = match fields {
        Value::Array(fields) => {
            fields.iter().find(|one| one["key"] == key).map(|one| &one["value"])
        }
        fields => fields.get(key),
    };
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}
