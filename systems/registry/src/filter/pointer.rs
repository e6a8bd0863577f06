//! Places in a request as they are told: JSON pointers (RFC 6901), and quoted text of bounded
//! length.

/// Longest piece of a request that a message quotes, in characters.
const LONGEST_QUOTE: usize = 60;

/// The place of a member or element below another place.
pub fn below(at: &str, step: impl AsRef<str>) -> String {
    let mut pointer = format!("{at}/");
    for c in step.as_ref().chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
    pointer
}

/// A text short enough to quote.
pub fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
