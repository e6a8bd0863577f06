//! What a terminal can show: texts are UTF-8; where the locale names another character set, they are written in ASCII.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;

/// Stands for a character that has no likeness in ASCII.
const UNKNOWN: &str = "?";

/// The text for a terminal.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_unicode() { Cow::Borrowed(text) } else { ascii(text).into() }
}

/// Whether terminals show UTF-8: all do whose locale does not name another character set.
pub fn is_unicode() -> bool {
    names_unicode(["LC_ALL", "LC_CTYPE", "LANG"].map(env::var_os))
}

/// The first that is set counts, as locale(7) says.
fn names_unicode(set: [Option<OsString>; 3]) -> bool {
    let named = set.into_iter().flatten().find(|locale| !locale.is_empty());
    let Some(locale) = named.map(|locale| locale.to_string_lossy().to_ascii_lowercase()) else {
        return true;
    };
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Says the same, though it may be longer: "at most" stays "at most".
fn ascii(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0'..='\x7f' => written.push(character),
            _ => written.push_str(likeness(character)),
        }
    }
    written
}

fn likeness(character: char) -> &'static str {
    match character {
        'µ' | 'μ' => "u",
        '–' | '—' | '−' | '‑' | '─' | '━' => "-",
        '→' => "->",
        '·' => ".",
        '…' => "...",
        '×' => "x",
        '≤' => "<=",
        '≥' => ">=",
        '≈' => "~",
        '±' => "+/-",
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        '│' | '┃' => "|",
        '•' => "*",
        '\u{a0}' | '\u{202f}' | '\u{2009}' => " ",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_is_set_decides() {
        let of = |all: &str, kind: &str, lang: &str| {
            names_unicode([all, kind, lang].map(|name| Some(name.into())))
        };
        assert!(names_unicode([None, None, None]), "as in most containers");
        assert!(of("", "", "en_US.UTF-8") && of("", "C.utf8", "C"));
        assert!(!of("C", "en_US.UTF-8", "en_US.UTF-8") && !of("", "", "de_DE.ISO-8859-1"));
        assert!(!of("", "POSIX", "en_US.UTF-8"));
    }

    #[test]
    fn what_a_text_states_stays() {
        let text = ascii("p99 434–466 µs ± 3 %, A → B, p ≤ 0.05, ≥ 400/s, größe");
        assert_eq!(text, "p99 434-466 us +/- 3 %, A -> B, p <= 0.05, >= 400/s, gr??e");
    }
}
