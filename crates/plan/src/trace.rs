//! Trace ids on requests: how many carry one, what one request carries, and where a trace is shown.

use std::num::{NonZeroU64, NonZeroU128};

use serde::Serialize;
use url::Url;

use crate::target::has_credentials;

/// What stands for the trace id in an address.
pub const PLACEHOLDER: &str = "{trace_id}";

/// The table `[trace]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// The part of the operations that carry a trace id: above 0, at most 1.
    pub share: f64,
    /// Where a trace is shown: an address with [`PLACEHOLDER`] in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What the requests of one operation carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace.
    pub trace_id: NonZeroU128,
    /// The id of the operation in it, under which servers place their spans: the second half of the trace id, so that a
    /// list of trace ids has both.
    pub parent_id: NonZeroU64,
}

impl TraceContext {
    /// Of this trace; `None` where the operation would have no valid id.
    pub fn of(trace_id: NonZeroU128) -> Option<Self> {
        let parent_id = NonZeroU64::new(u128::from(trace_id) as u64)?;
        Some(Self { trace_id, parent_id })
    }
}

/// The address at which the trace with this id is shown.
///
/// `None`: the template has no placeholder, or does not make an address of the web without credentials.
pub fn link(template: &str, trace_id: &str) -> Option<String> {
    if problem(template).is_some() {
        return None;
    }
    let url = Url::parse(&template.replace(PLACEHOLDER, trace_id)).ok()?;
    is_web(&url).then(|| url.into())
}

/// What is wrong with a template of addresses, in words that follow its name.
pub(crate) fn problem(template: &str) -> Option<&'static str> {
    if !template.contains(PLACEHOLDER) {
        return Some("lacks `{trace_id}`");
    }
    if template.contains("{{") {
        return Some("may hold no placeholder but `{trace_id}`");
    }
    let filled = template.replace(PLACEHOLDER, "4bf92f3577b34da6a3ce929d0e0e4736");
    match Url::parse(&filled) {
        Ok(url) if has_credentials(&url) => Some("may not hold user and password"),
        Ok(url) if is_web(&url) => None,
        _ => Some("is not an address that begins with http:// or https://"),
    }
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host() && !has_credentials(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn the_id_takes_the_place_of_its_name() {
        for (template, expected) in [
            ("https://t.example/trace/{trace_id}", format!("https://t.example/trace/{ID}")),
            (
                "http://[::1]:16686/{trace_id}?a={trace_id}#x",
                format!("http://[::1]:16686/{ID}?a={ID}#x"),
            ),
            (
                "https://t.example/a b\"<>/{trace_id}",
                format!("https://t.example/a%20b%22%3C%3E/{ID}"),
            ),
        ] {
            assert_eq!(link(template, ID), Some(expected), "{template}");
        }
    }

    #[test]
    fn nothing_but_an_address_of_the_web_is_a_link() {
        for template in [
            "",
            "https://t.example/",
            "https://t.example/{traceid}",
            "javascript:alert('{trace_id}')",
            "JavaScript://t.example/%0Aalert({trace_id})",
            "data:text/html,{trace_id}",
            "file:///etc/{trace_id}",
            "//t.example/{trace_id}",
            "/trace/{trace_id}",
            "https:///{trace_id}@",
            "https://ada:secret@t.example/{trace_id}",
            "https://t.example/{{env.TOKEN}}/{trace_id}",
            "{trace_id}://t.example/",
            "https://",
        ] {
            assert!(problem(template).is_some(), "{template}");
            assert_eq!(link(template, ID), None, "{template}");
        }
    }
}
