//! A complete answer as rules see it: head, size and body.

use std::cell::OnceCell;

use serde_json::Value;

use super::json::Path;
use crate::http::head;
use crate::http::request::RenderContext;

/// A complete answer, as rules see it.
#[derive(Debug)]
pub struct AnswerView<'a> {
    /// The final head as received; empty where no rule needs it.
    pub head: &'a [u8],
    /// Bytes of the body without its framing, before decompression.
    pub size: u64,
    /// The body, decompressed; empty where no rule needs it.
    pub body: &'a [u8],
    /// For templates in rules.
    pub context: RenderContext<'a>,
    json: OnceCell<Result<Value, String>>,
}

impl<'a> AnswerView<'a> {
    /// A view of these parts.
    pub fn new(head: &'a [u8], size: u64, body: &'a [u8], context: RenderContext<'a>) -> Self {
        Self { head, size, body, context, json: OnceCell::new() }
    }

    /// The body as JSON, parsed once.
    ///
    /// Errors: why it is not JSON
    pub fn json(&self) -> Result<&Value, String> {
        let parse =
            || serde_json::from_slice(self.body).map_err(|error| format!("no JSON: {error}"));
        self.json.get_or_init(parse).as_ref().map_err(Clone::clone)
    }

    /// Reads the number at each path, where the body is JSON; what is absent is left as it is.
    pub fn read(&self, paths: &[Path], numbers: &mut [f64]) {
        if paths.is_empty() {
            return;
        }
        if let Ok(body) = self.json() {
            for (number, path) in numbers.iter_mut().zip(paths) {
                *number = path.number(body);
            }
        }
    }

    /// Every value of the field with this name, in order.
    pub fn field(&self, name: &str) -> Vec<String> {
        let values = head::with_fields(self.head, |_, response| {
            let named =
                response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            named.map(|field| String::from_utf8_lossy(field.value).into_owned()).collect()
        });
        values.ok().flatten().unwrap_or_default()
    }
}
