//! What a terminal can show: texts are UTF-8, and where the locale names another character set, they are ASCII.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;

/// Stands for a character that has no likeness in ASCII.
const UNKNOWN: char = '?';

/// The text as a terminal shows it.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_unicode() || text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(ascii).collect())
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

/// A character of the same width, so that tables stay aligned.
fn ascii(character: char) -> char {
    match character {
        '\0'..='\x7f' => character,
        'µ' | 'μ' => 'u',
        '–' | '—' | '−' | '‑' | '─' | '━' => '-',
        '→' | '›' => '>',
        '·' | '…' => '.',
        '×' => 'x',
        '≤' => '<',
        '≥' => '>',
        '≈' | '±' => '~',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '│' | '┃' | '├' | '┤' => '|',
        '•' => '*',
        '█' | '▇' | '▆' | '▅' => '#',
        '\u{a0}' | '\u{202f}' | '\u{2009}' => ' ',
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
    fn a_character_keeps_its_width() {
        let text: String = "p99 434–466 µs → ≤ 1 %, größe".chars().map(ascii).collect();
        assert_eq!(text, "p99 434-466 us > < 1 %, gr??e");
    }
}
