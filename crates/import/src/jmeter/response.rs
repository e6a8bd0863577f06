//! What a plan expects of answers, and what it takes from them.

use regex_lite::{Regex, escape};

use super::Reader;
use super::element::Element;
use crate::draft::{Capture, DraftOperation, Status, value_name};
use crate::masks::Masks;
use crate::text::Text;

/// Bits of an assertion's kind.
const MATCH: u32 = 1;
const CONTAINS: u32 = 2;
const NOT: u32 = 4;
const SUBSTRING: u32 = 16;
const OR: u32 = 32;

/// Variables and the names of the values that stand for them.
type Captured = Vec<(String, String)>;

impl Reader<'_> {
    /// Reads the assertions and extractors that hold for an operation.
    pub(super) fn answers(
        &mut self,
        elements: &[Element<'_>],
        operation: &mut DraftOperation,
        masks: &mut Masks,
    ) -> Captured {
        let mut captured = Vec::new();
        for element in elements {
            match element.kind() {
                _ if is_about_something_else(element) => self.left_out(element),
                "ResponseAssertion" => self.assertion(element, operation, masks),
                "JSONPostProcessor" => self.paths(element, operation, &mut captured),
                _ => match pattern(element) {
                    Some((name, pattern)) => {
                        add(name, Capture::Matches(pattern), operation, &mut captured);
                    }
                    None => self.left_out(element),
                },
            }
        }
        captured
    }

    /// The paths of an extractor from JSON. Without a number, JMeter takes any match; a capture takes the first.
    fn paths(
        &mut self,
        element: &Element<'_>,
        operation: &mut DraftOperation,
        captured: &mut Captured,
    ) {
        let list = |key: &str| element.text(key).split(';').map(str::trim);
        let names = list("JSONPostProcessor.referenceNames");
        let paths = list("JSONPostProcessor.jsonPathExprs");
        let numbers = list("JSONPostProcessor.match_numbers").chain(std::iter::repeat(""));
        for ((name, path), number) in names.zip(paths).zip(numbers) {
            if !matches!(number, "" | "0" | "1") {
                let what =
                    format!("the match {number} of {path} is left out: a capture takes the first");
                self.draft.note(element.line(), what);
                continue;
            }
            add(name, Capture::Json(path.to_owned()), operation, captured);
        }
    }

    fn assertion(
        &mut self,
        element: &Element<'_>,
        operation: &mut DraftOperation,
        masks: &mut Masks,
    ) {
        let kind = element.text("Assertion.test_type").trim().parse::<u32>().unwrap_or(CONTAINS);
        // JMeter writes the name so.
        let wanted = element.entries("Asserion.test_strings");
        if kind & NOT != 0 || (kind & OR != 0 && wanted.len() > 1) {
            return self.left_out(element);
        }
        // Without OR, an answer would have to have all of several codes.
        let is_code = element.text("Assertion.test_field") == "Assertion.response_code";
        if is_code && wanted.len() > 1 {
            return self.left_out(element);
        }
        for one in &wanted {
            let text = one.own_text();
            let expect = &mut operation.expect;
            match element.text("Assertion.test_field") {
                "Assertion.response_code" if text.parse::<u16>().is_ok() => {
                    expect.status.extend(text.parse().map(Status::Code));
                }
                "Assertion.response_data" if kind & SUBSTRING != 0 => {
                    let text = self.variables.masked(text, one.line(), masks, &mut self.draft);
                    expect.contains.push(Text::literal(&text));
                }
                "Assertion.response_data"
                    if kind & (MATCH | CONTAINS) != 0
                        && !text.contains("${")
                        && Regex::new(text).is_ok() =>
                {
                    // MATCH is about the whole answer.
                    let whole = kind & MATCH != 0;
                    expect.matches.push(if whole {
                        format!("^(?:{text})$")
                    } else {
                        text.to_owned()
                    });
                }
                _ => self.left_out(element),
            }
        }
    }
}

/// Whether an element looks at a variable, or at what was loaded with a page, and not at the answer.
fn is_about_something_else(element: &Element<'_>) -> bool {
    let scopes = ["Sample.scope", "Assertion.scope"].map(|key| element.text(key));
    scopes.iter().any(|scope| matches!(*scope, "variable" | "children"))
}

/// The variable and the pattern of an extractor from the body.
fn pattern<'d>(element: &Element<'d>) -> Option<(&'d str, String)> {
    let (name, pattern, place) = match element.kind() {
        "RegexExtractor" => {
            let is_first = matches!(element.text("RegexExtractor.template"), "" | "$1$");
            let pattern = element.text("RegexExtractor.regex").to_owned();
            let name = element.text("RegexExtractor.refname");
            (name, pattern, is_first.then(|| element.text("RegexExtractor.useHeaders"))?)
        }
        _ => {
            let bound = |side: &str| escape(element.text(side));
            let left = bound("BoundaryExtractor.lboundary");
            let right = bound("BoundaryExtractor.rboundary");
            let place = element.text("BoundaryExtractor.useHeaders");
            (element.text("BoundaryExtractor.refname"), format!("{left}(.*?){right}"), place)
        }
    };
    let number = ["RegexExtractor.match_number", "BoundaryExtractor.match_number"];
    if number.into_iter().any(|key| !matches!(element.text(key).trim(), "" | "1")) {
        return None;
    }
    let is_body = matches!(place, "" | "false");
    (is_body && !pattern.contains("${") && Regex::new(&pattern).is_ok()).then_some((name, pattern))
}

fn add(name: &str, capture: Capture, operation: &mut DraftOperation, captured: &mut Captured) {
    let value = value_name(name);
    operation.captures.push((value.clone(), capture));
    captured.push((name.to_owned(), value));
}
