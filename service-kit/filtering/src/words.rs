//! A request's places and words as messages show them: JSON pointers (RFC 6901), quotes of bounded
//! length, near misses.

use quantities::near_miss;

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

/// The error for an unknown word, with the known word that was probably meant.
pub fn unknown<K: AsRef<str>>(what: &str, word: &str, known: &[K]) -> String {
    let word = clip(word);
    let names: Vec<&str> = known.iter().map(K::as_ref).collect();
    match near_miss(&word.to_lowercase(), &names) {
        Some(near) => format!("unknown {what} `{word}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{word}`; there are {}", names.join(", ")),
    }
}
