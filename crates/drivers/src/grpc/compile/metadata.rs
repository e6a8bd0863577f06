//! `metadata` and `deadline`: the fields of a call.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;
use plan::operation::Operation;
use plan::template::Template;

use crate::http::compile::fields::DEFAULTS;
use crate::http::request::Piece;
use crate::http::traceparent;
use crate::http2::request::OF_A_CONNECTION;
use crate::table::values;

/// Fields that the protocol has for itself, beside those whose names begin with `grpc-`.
const OURS: [&str; 5] = ["content-type", "content-length", "te", "host", "accept-encoding"];
/// Most digits of a time in `grpc-timeout`.
const MOST_DIGITS: u128 = 99_999_999;

/// The fields of every call, and those with something of the call in them.
pub fn read(reader: &mut Reader<'_>, planned: &Operation) -> (HeaderMap, Vec<(HeaderName, Piece)>) {
    let mut fields = HeaderMap::new();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    fields.insert(TE, HeaderValue::from_static("trailers"));
    fields.insert("grpc-accept-encoding", HeaderValue::from_static("identity"));
    let (agent, version) = DEFAULTS[0];
    if let Some((deadline, span)) = reader.duration("deadline") {
        match timeout(deadline) {
            Some(value) => _ = fields.insert("grpc-timeout", value),
            None => {
                let what = "`deadline` must be more than 0, and below three years";
                reader.problem(Diagnostic::new(span, what, "expected a duration such as 200ms"));
            }
        }
    }
    let mut rendered = Vec::new();
    if let Some(table) = reader.table("metadata") {
        for (name, template) in values(reader, table, planned.scope()) {
            let span = table.get(name).map_or(table.span, |entry| entry.key_span);
            match checked(name, &template, planned.is_traced) {
                Ok((name, Some(value))) => _ = fields.append(name, value),
                Ok((name, None)) => rendered.push((name, Piece::Value(template))),
                Err(problem) => reader.problem(refused(problem, span)),
            }
        }
    }
    if !fields.contains_key(agent) && rendered.iter().all(|(name, _)| name != agent) {
        fields.insert(agent, HeaderValue::from_static(version));
    }
    (fields, rendered)
}

fn refused((what, label): (String, &str), span: Span) -> Diagnostic {
    Diagnostic::new(span, what, label)
}

/// A name, and its value unless that depends on the call.
///
/// Errors: what is wrong, and what to do
fn checked(
    text: &str,
    template: &Template,
    is_traced: bool,
) -> Result<(HeaderName, Option<HeaderValue>), (String, &'static str)> {
    let name = HeaderName::try_from(text);
    let name = name.map_err(|_| (format!("metadata {text:?}"), "no name of a field"))?;
    let is_ours = OURS.contains(&name.as_str())
        || OF_A_CONNECTION.contains(&name.as_str())
        || name.as_str().starts_with("grpc-");
    if is_ours {
        let what = format!("metadata {name} is set by the protocol");
        let instead = if name == "grpc-timeout" { "write `deadline`" } else { "remove this" };
        return Err((what, instead));
    }
    if is_traced && name == traceparent::NAME {
        let what = "both this operation and `[trace]` set `traceparent`".to_owned();
        return Err((what, "remove this, or `[trace]`"));
    }
    let Some(literal) = template.literal() else { return Ok((name, None)) };
    let is_base64 = || STANDARD.decode(literal).is_ok() || STANDARD_NO_PAD.decode(literal).is_ok();
    if name.as_str().ends_with("-bin") && !is_base64() {
        return Err((format!("metadata {name} is not base64"), "expected bytes in base64"));
    }
    let mut value = HeaderValue::from_str(literal).map_err(|_| {
        (format!("metadata {name} has bytes that are not allowed"), "expected text")
    })?;
    value.set_sensitive(name == http::header::AUTHORIZATION);
    Ok((name, Some(value)))
}

/// `grpc-timeout`: at most eight digits and the finest unit that they allow; rounded up.
fn timeout(deadline: Duration) -> Option<HeaderValue> {
    const UNITS: [(u128, char); 4] =
        [(1, 'n'), (1_000, 'u'), (1_000_000, 'm'), (1_000_000_000, 'S')];
    let nanoseconds = deadline.as_nanos();
    let fits = |(size, _): &&(u128, char)| nanoseconds.div_ceil(*size) <= MOST_DIGITS;
    let (size, unit) = UNITS.iter().find(fits).filter(|_| nanoseconds > 0)?;
    HeaderValue::try_from(format!("{}{unit}", nanoseconds.div_ceil(*size))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_the_finest_unit_that_eight_digits_allow() {
        for (deadline, text) in [
            (Duration::from_nanos(1), "1n"),
            (Duration::from_millis(99), "99000000n"),
            (Duration::from_millis(200), "200000u"),
            (Duration::from_nanos(99_999_999_001), "100000m"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(99_999_999), "99999999S"),
        ] {
            assert_eq!(timeout(deadline).expect("it fits"), text);
        }
        assert_eq!(timeout(Duration::ZERO), None);
        assert_eq!(timeout(Duration::from_secs(100_000_000)), None);
    }
}
