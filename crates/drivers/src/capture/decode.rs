//! Undoes how a text is written in HTML or in a URL.

use std::borrow::Cow;

use plan::journey::Decode;

/// Characters of the longest reference that is understood, without `&` and `;`.
const LONGEST_REFERENCE: usize = 10;

/// The text as it was before it was written so.
pub fn decoded(how: Option<Decode>, text: Cow<'_, str>) -> Cow<'_, str> {
    match how {
        Some(Decode::Html) if text.contains('&') => Cow::Owned(html(&text)),
        Some(Decode::Url) if text.contains('%') => Cow::Owned(url(text.as_bytes())),
        _ => text,
    }
}

/// Replaces character references; what is none of those below stays as it is.
fn html(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.bytes().take(LONGEST_REFERENCE + 1).position(|byte| byte == b';');
        match end.and_then(|end| Some((reference(&rest[..end])?, end))) {
            Some((letter, end)) => {
                decoded.push(letter);
                rest = &rest[end + 1..];
            }
            None => decoded.push('&'),
        }
    }
    decoded.push_str(rest);
    decoded
}

fn reference(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return numeric(name.strip_prefix('#')?),
    })
}

/// A number that is no character becomes U+FFFD, as in a browser.
fn numeric(digits: &str) -> Option<char> {
    let (digits, radix) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = u32::from_str_radix(digits, radix).unwrap_or(0);
    Some(char::from_u32(number).filter(|letter| *letter != '\0').unwrap_or('\u{fffd}'))
}

/// Replaces `%` and two digits; a `%` without them stays as it is.
fn url(text: &[u8]) -> String {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
