//! Conditions of steps as text: `login.token`, `list.count > 0`, `$.state == 'done'`.
//!
//! Not here: which capture the left side is (see `step`).

use crate::criterion::meant;
use crate::diagnostic::{Diagnostic, Span};
use crate::journey::Test;
use crate::printable::shortened;

const EXAMPLE: &str = "a condition such as login.token, list.count > 0 or login.role == 'admin'";
/// Characters that operators are made of.
const SIGNS: [char; 4] = ['<', '>', '=', '!'];

/// A condition whose left side is not looked up yet.
#[derive(Debug, PartialEq)]
pub(super) struct WrittenCondition<'t> {
    /// What is looked at.
    pub(super) left: &'t str,
    pub(super) span: Span,
    pub(super) test: Test,
}

/// Reads a condition that stands at `span`.
///
/// Errors: an unknown operator; a side that is missing or is no value
pub(super) fn parse(text: &str, span: Span) -> Result<WrittenCondition<'_>, Diagnostic> {
    let (start, end) = operator(text).unwrap_or((text.len(), text.len()));
    let (left, sign, right) = (text[..start].trim(), &text[start..end], text[end..].trim());
    let at = text.len() - text.trim_start().len();
    let left_span = span.within(text, at, at + left.len());
    if left.is_empty() || (sign.is_empty() && !left.starts_with('$') && left.contains(' ')) {
        let message = format!("expected {EXAMPLE}, got \"{}\"", shortened(text));
        return Err(Diagnostic::new(span, message, "no condition"));
    }
    let problem = |message: String, label: String| {
        let (from, to) = if right.is_empty() { (start, end) } else { (start, text.len()) };
        Diagnostic::new(span.within(text, from, to), message, label)
    };
    let test = match sign {
        "" => Test::Present,
        "==" | "!=" => {
            let value = value(right).ok_or_else(|| {
                let label = "write a text in quotes, such as 'done'".to_owned();
                problem(format!("expected a text, a number, true or false after `{sign}`"), label)
            })?;
            if sign == "==" { Test::Is(value) } else { Test::IsNot(value) }
        }
        "<" | "<=" | ">" | ">=" => {
            let number = right.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| {
                let label = "texts are compared by == and !=".to_owned();
                problem(format!("expected a number after `{sign}`"), label)
            })?;
            match sign {
                "<" => Test::Below(number),
                "<=" => Test::AtMost(number),
                ">" => Test::Above(number),
                _ => Test::AtLeast(number),
            }
        }
        other => {
            let label = match meant(other) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "one of ==, !=, <, <=, >, >=".to_owned(),
            };
            let span = span.within(text, start, end);
            return Err(Diagnostic::new(span, format!("unknown operator `{other}`"), label));
        }
    };
    Ok(WrittenCondition { left, span: left_span, test })
}

/// Where the operator begins and ends: the first that stands in no bracket of a JSONPath.
fn operator(text: &str) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match character {
            _ if quote.is_some() => quote = quote.filter(|open| *open != character),
            '\'' | '"' => quote = Some(character),
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && SIGNS.contains(&character) => {
                let length = text[at..].find(|c| !SIGNS.contains(&c)).unwrap_or(text.len() - at);
                return Some((at, at + length));
            }
            _ => {}
        }
    }
    None
}

/// A text in quotes, or what JSON writes without them.
fn value(text: &str) -> Option<String> {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let bare = || {
        let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
        (is_number || matches!(text, "true" | "false")).then_some(text)
    };
    quoted('\'').or_else(|| quoted('"')).or_else(bare).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(&str, Test), String> {
        let span = Span::new(0, text.len());
        let parsed = parse(text, span).map_err(|problem| problem.message)?;
        assert_eq!(&text[parsed.span.start..parsed.span.end], parsed.left);
        Ok((parsed.left, parsed.test))
    }

    #[test]
    fn conditions_of_every_form() {
        for (text, left, test) in [
            ("login.token", "login.token", Test::Present),
            ("list.count > 0", "list.count", Test::Above(0.0)),
            ("list.count>=1.5", "list.count", Test::AtLeast(1.5)),
            ("list.ids < 3", "list.ids", Test::Below(3.0)),
            ("list.ids <= 3", "list.ids", Test::AtMost(3.0)),
            ("login.role == 'admin'", "login.role", Test::Is("admin".into())),
            ("login.role != \"a b\"", "login.role", Test::IsNot("a b".into())),
            ("$.done == true", "$.done", Test::Is("true".into())),
            ("$.left == 0", "$.left", Test::Is("0".into())),
            (
                "$[?@.n == 'a=b'].state == 'x > y'",
                "$[?@.n == 'a=b'].state",
                Test::Is("x > y".into()),
            ),
            ("$['a <b']", "$['a <b']", Test::Present),
            (" $.ready ", "$.ready", Test::Present),
        ] {
            assert_eq!(read(text), Ok((left, test)), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_says_why() {
        for (text, message) in [
            ("", "expected a condition such as"),
            ("== 'x'", "expected a condition such as"),
            ("login token", "expected a condition such as"),
            ("login.role = 'x'", "unknown operator `=`"),
            ("login.role == admin", "expected a text, a number, true or false after `==`"),
            ("login.role ==", "expected a text, a number, true or false after `==`"),
            ("login.role < 'b'", "expected a number after `<`"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(message), "{text}: {refused}");
        }
    }
}
