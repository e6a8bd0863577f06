//! Credentials in texts of any form, told by the names before them.

use std::ops::Range;

use crate::credentials::is_secret;

/// A value behind the name of a credential.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<'t> {
    pub(crate) key: &'t str,
    /// Where its value is.
    pub(crate) at: Range<usize>,
}

/// Every such value: `password=S`, `"token": "S"`, `<pwd>S</pwd>`, and `name="pwd"` before an empty line.
pub(crate) fn values(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(is_name).map(|next| at + next) {
        let end = text[begin..].find(|c| !is_name(c)).map_or(text.len(), |length| begin + length);
        at = end;
        let key = &text[begin..end];
        if let Some(value) = is_secret(key).then(|| value(text, end)).flatten() {
            at = value.end;
            found.push(Found { key, at: value });
        }
    }
    found
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The value that begins behind a name, if one does.
fn value(text: &str, behind: usize) -> Option<Range<usize>> {
    let rest = &text[behind..];
    let unquoted = rest.trim_start_matches(['\\', '"', '\'']);
    // A part of a form: its name in quotes, and an empty line.
    if let Some(content) = ["\r\n\r\n", "\n\n"].iter().find_map(|gap| unquoted.strip_prefix(gap)) {
        let length = content.find(['\r', '\n']).unwrap_or(content.len());
        let begin = text.len() - content.len();
        return (length > 0).then_some(begin..begin + length);
    }
    let content = unquoted.trim_start_matches(' ').strip_prefix([':', '=', '>'])?;
    let content = content.trim_start_matches(' ');
    let bare = content.trim_start_matches('\\');
    let quote = bare.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (content, length) = match quote {
        Some(quote) => {
            let content = &bare[1..];
            (content, end_of_quoted(content, quote))
        }
        None => {
            let ends = |c: char| c.is_whitespace() || "&;,<>{}()[]\"'".contains(c);
            (content, content.find(ends).unwrap_or(content.len()))
        }
    };
    let begin = text.len() - content.len();
    let is_word = matches!(&content[..length], "" | "null" | "true" | "false");
    (!is_word).then_some(begin..begin + length)
}

/// Where a text in quotes ends; a backslash before a quote that was itself escaped ends it, too.
fn end_of_quoted(content: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in content.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            end if end == quote => return at,
            _ => {}
        }
    }
    content.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_behind_names_in_any_form() {
        for (text, expected) in [
            ("user=a&password=S1&x=y", "S1"),
            ("{\"id\": x, \"password\": \"S\\\"2\", }", "S\\\"2"),
            ("login(password: \"S3\", n: 1)", "S3"),
            ("<password>S4</password>", "S4"),
            ("--b\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\nS5\r\n--b--", "S5"),
            ("http://h/?access_token=S6#x", "S6#x"),
            ("{'token': 'S7'}", "S7"),
        ] {
            let found: Vec<&str> = values(text).into_iter().map(|one| &text[one.at]).collect();
            assert_eq!(found.first(), Some(&expected), "{text}");
        }
        for text in
            ["the password is long", "password", "\"token\": null", "é=password:", "csrf_token=a"]
        {
            assert_eq!(values(text), [], "{text}");
        }
    }
}
