//! Values that pages hand to their next request: hidden fields and `meta` tags.

use std::borrow::Cow;
use std::collections::HashMap;

use regex_lite::escape;

/// Tags that may have a name and a value.
const TAGS: [&str; 4] = ["input", "meta", "button", "param"];
/// Values further behind are found by no pattern.
const MOST_ALIKE: usize = 5;

/// A value in a page.
pub struct Field<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its value as a browser sends it.
    pub value: Cow<'t, str>,
    /// A regular expression whose first group is the value as it stands in the page; `None` if many are alike.
    pub pattern: Option<String>,
    /// Whether a person types it as a password.
    pub is_password: bool,
}

struct Attribute<'t> {
    name: &'t str,
    value: &'t str,
    quote: &'static str,
}

/// All fields with a name, in order.
pub fn fields(page: &str) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut alike: HashMap<(String, String), usize> = HashMap::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let is_tag = |tag: &&str| {
            let begins = rest.get(..tag.len()).is_some_and(|text| text.eq_ignore_ascii_case(tag));
            begins && rest[tag.len()..].starts_with(|next: char| next.is_ascii_whitespace())
        };
        let Some(tag) = TAGS.into_iter().find(is_tag) else { continue };
        let (attributes, behind) = attributes(&rest[tag.len()..]);
        rest = behind;
        let value = if tag == "meta" { "content" } else { "value" };
        fields.extend(field(&attributes, value, &mut alike));
    }
    fields
}

fn field<'t>(
    attributes: &[Attribute<'t>],
    value: &str,
    alike: &mut HashMap<(String, String), usize>,
) -> Option<Field<'t>> {
    let place = |wanted: &str| {
        attributes.iter().position(|attribute| attribute.name.eq_ignore_ascii_case(wanted))
    };
    let name_at = place("name")?;
    let name = &attributes[name_at];
    let is_password =
        place("type").is_some_and(|at| attributes[at].value.eq_ignore_ascii_case("password"));
    let Some(value_at) = place(value).filter(|at| !attributes[*at].value.is_empty()) else {
        let value = Cow::Borrowed("");
        return Some(Field { name: name.value, value, pattern: None, is_password });
    };
    let value = &attributes[value_at];
    let named = format!(r"\s{}={}", escape(name.name), name.quote);
    let named = format!("{named}{}{}", escape(name.value), name.quote);
    let behind = if value.quote.is_empty() { r"\s>".to_owned() } else { value.quote.to_owned() };
    let begin = format!(r"\s{}={}", escape(value.name), value.quote);
    // The parts around the value.
    let (before, after) = match name_at < value_at {
        true => (format!("{named}[^>]*{begin}"), value.quote.to_owned()),
        false => (begin, format!("{}[^>]*{named}", value.quote)),
    };
    let number = alike.entry((before.clone(), after.clone())).or_default();
    *number += 1;
    let one = format!("{before}([^{behind}]+){after}");
    let pattern = match *number {
        1 => Some(one),
        number if number <= MOST_ALIKE => {
            let skipped = number - 1;
            Some(format!("(?s)(?:{before}[^{behind}]+{after}.*?){{{skipped}}}{one}"))
        }
        _ => None,
    };
    Some(Field { name: name.value, value: decoded(value.value), pattern, is_password })
}

/// The attributes of a tag, and what is behind it.
fn attributes(text: &str) -> (Vec<Attribute<'_>>, &str) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with(['>', '<']) {
            return (found, rest);
        }
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '<');
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let Some(value) = behind.trim_start().strip_prefix('=') else {
            rest = behind;
            continue;
        };
        let value = value.trim_start();
        let quote = if value.starts_with('"') {
            "\""
        } else if value.starts_with('\'') {
            "'"
        } else {
            ""
        };
        let inner = &value[quote.len()..];
        let end = match quote {
            "" => inner.find(|c: char| c.is_ascii_whitespace() || c == '>'),
            quote => inner.find(quote),
        };
        let end = end.unwrap_or(inner.len());
        found.push(Attribute { name, value: &inner[..end], quote });
        rest = inner[end..].strip_prefix(quote).unwrap_or_default();
    }
}

/// The text without entities, as far as `decode = "html"` undoes them.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((letter, end)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    let number = match name.strip_prefix('#') {
        Some(hex) if hex.starts_with(['x', 'X']) => u32::from_str_radix(&hex[1..], 16).ok(),
        Some(decimal) => decimal.parse().ok(),
        None => None,
    };
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => number.and_then(char::from_u32),
    }
}

#[cfg(test)]
mod tests {
    use regex_lite::Regex;

    use super::*;

    #[test]
    fn every_pattern_finds_its_value() {
        let page = r#"<p>1 < 2</p><form data-name="csrf" data-value="no"><INPUT type=hidden name="csrf" value="first1">
            <input value='sec"ond' class="a > b" type="hidden" name='a.b[]'/><input name=plain value=third3>
            <input name="csrf" id="x" value="fourth"><input name="csrf" value="fi&amp;f&#39;th"><input name="empty" value="">
            <meta content="six6" name="csrf-token"><input type="password" name="kennwort"><input name="cut" value="x"#;
        let fields = fields(page);
        let expected = ["first1", "sec\"ond", "third3", "fourth", "fi&f'th", "", "six6", "", "x"];
        let values: Vec<_> = fields.iter().map(|field| field.value.as_ref()).collect();
        assert_eq!(values, expected);
        assert!(fields[7].is_password && fields[7].name == "kennwort");
        for place in [0, 2, 3, 4, 6] {
            let pattern = fields[place].pattern.as_deref().unwrap();
            let found = Regex::new(pattern).unwrap().captures(page).unwrap();
            assert_eq!(decoded(&found[1]), fields[place].value, "{pattern}");
        }
    }

    #[test]
    fn entities_that_are_none_stay() {
        for (text, expected) in
            [("a&b", "a&b"), ("&&amp;;", "&&;"), ("&#x2F;&é;&#99999999;", "/&é;&#99999999;")]
        {
            assert_eq!(decoded(text), expected);
        }
    }
}
