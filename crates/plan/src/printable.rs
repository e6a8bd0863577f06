//! Makes untrusted texts safe to show.

use std::borrow::Cow;

/// The text on one line, without control characters and marks that reverse the direction of writing.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() || steers(c)) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if c.is_whitespace() => ' ',
        c if c.is_control() || steers(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// The same for a text of several lines, which stay separate.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text, for a message.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len())),
        None => Cow::Borrowed(text),
    }
}

/// Line and paragraph separators, marks that reverse the text after them, and characters that are not seen.
fn steers(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::{printable, printable_lines, shortened};

    #[test]
    fn nothing_that_steers_is_left() {
        assert_eq!(printable("größer als 3 µs"), "größer als 3 µs");
        assert_eq!(printable("a\u{1b}[2Jb\r\nc\td"), "a\u{fffd}[2Jb  c d");
        assert_eq!(printable("evil\u{202e}gpj.exe\u{2028}x"), "evil\u{fffd}gpj.exe x");
        assert_eq!(
            printable("a\u{61c}b\u{2060}c\u{ad}d\u{e0041}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}"
        );
        assert_eq!(printable_lines("a\u{1b}[2J\n  b\rc\n"), "a\u{fffd}[2J\n  b c\n");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shortened("größer"), "größer");
        let long = "ü".repeat(201);
        assert_eq!(shortened(&long), format!("{}… (402 bytes)", "ü".repeat(200)));
    }
}
