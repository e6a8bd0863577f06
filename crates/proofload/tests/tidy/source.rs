//! Three views of a Rust file: its code, its comments, and which lines are tests.
//!
//! A view keeps every line and column and replaces everything else with spaces, so that positions
//! stay valid. This is no parser: it only knows comments, strings and character literals.

use super::tree::Tree;

/// A parsed file.
pub struct Source<'a> {
    pub path: &'a str,
    pub raw: &'a str,
    /// The code, without comments and the contents of literals.
    pub code: String,
    /// The comments alone.
    pub comments: String,
    /// For each line, whether it is test code.
    test: Vec<bool>,
}

/// Every Rust file of the tree.
pub fn sources(tree: &Tree) -> impl Iterator<Item = Source<'_>> {
    tree.ending(".rs").map(|(path, text)| Source::new(path, text))
}

impl<'a> Source<'a> {
    pub fn new(path: &'a str, raw: &'a str) -> Self {
        let (code, comments) = split(raw);
        let test = test_lines(path, &code);
        Self { path, raw, code, comments, test }
    }

    /// Code lines with their numbers, tests left out.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.code.lines().enumerate();
        numbered.filter(|(index, _)| !self.test[*index]).map(|(index, line)| (index + 1, line))
    }

    /// Code lines with their numbers, tests included.
    pub fn all_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether this line (from 1) is test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.test.get(line - 1).copied().unwrap_or(false)
    }

    /// The folder of the crate: `crates/engine`, or `systems/search/hnsw` within that of another.
    pub fn folder(&self) -> &str {
        let ends = ["/src/", "/tests/", "/examples/"].map(|kind| self.path.find(kind));
        ends.into_iter().flatten().min().map_or("", |end| &self.path[..end])
    }
}

/// Whether `word` occurs in `line` and is not part of a longer word.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Text,
    RawText(usize),
}

/// The code and the comments of a text, each with the other replaced by spaces.
fn split(text: &str) -> (String, String) {
    let characters: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let (mut state, mut at) = (State::Code, 0);
    while at < characters.len() {
        let before = state;
        let length = step(&characters, at, &mut state);
        for &c in &characters[at..(at + length).min(characters.len())] {
            let comment = |s| matches!(s, State::LineComment | State::BlockComment(_));
            let blank = if c == '\n' { '\n' } else { ' ' };
            let in_comment = comment(before) || comment(state);
            let in_code = before == State::Code && !in_comment && length < 3;
            code.push(if in_code { c } else { blank });
            comments.push(if in_comment { c } else { blank });
        }
        at += length;
    }
    (code, comments)
}

/// The number of characters that belong together at `at`; updates the state.
fn step(text: &[char], at: usize, state: &mut State) -> usize {
    let next = text.get(at + 1).copied();
    match (*state, text[at]) {
        (State::Code, '/') if next == Some('/') => enter(state, State::LineComment, 2),
        (State::Code, '/') if next == Some('*') => enter(state, State::BlockComment(1), 2),
        (State::Code, '"') => enter(state, State::Text, 1),
        (State::Code, 'r') if raw_hashes(text, at).is_some() => {
            let hashes = raw_hashes(text, at).unwrap_or(0);
            enter(state, State::RawText(hashes), hashes + 2)
        }
        (State::Code, '\'') => character_length(text, at),
        (State::LineComment, '\n') => enter(state, State::Code, 1),
        (State::BlockComment(depth), '/') if next == Some('*') => {
            enter(state, State::BlockComment(depth + 1), 2)
        }
        (State::BlockComment(depth), '*') if next == Some('/') => {
            let outer = if depth > 1 { State::BlockComment(depth - 1) } else { State::Code };
            enter(state, outer, 2)
        }
        (State::Text, '\\') => 2,
        (State::Text, '"') => enter(state, State::Code, 1),
        (State::RawText(hashes), '"') if closes(text, at, hashes) => {
            enter(state, State::Code, hashes + 1)
        }
        _ => 1,
    }
}

fn enter(state: &mut State, next: State, length: usize) -> usize {
    *state = next;
    length
}

/// The number of `#` of a raw string that starts at `at`, if there is one.
fn raw_hashes(text: &[char], at: usize) -> Option<usize> {
    let word = |c: &char| c.is_alphanumeric() || *c == '_';
    let inside_word = at > 0 && word(&text[at - 1]) && text[at - 1] != 'b';
    let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
    (!inside_word && text.get(at + 1 + hashes) == Some(&'"')).then_some(hashes)
}

fn closes(text: &[char], at: usize, hashes: usize) -> bool {
    text[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
}

/// Length of the character literal at `at`; 1 when the quote begins a lifetime.
fn character_length(text: &[char], at: usize) -> usize {
    if text.get(at + 1) == Some(&'\\') {
        let end = text[at + 3..].iter().position(|c| *c == '\'');
        end.map_or(1, |length| length + 4)
    } else if text.get(at + 2) == Some(&'\'') {
        3
    } else {
        1
    }
}

/// Which lines are tests: whole files under `tests`, and what follows a `#[cfg(test)]`.
fn test_lines(path: &str, code: &str) -> Vec<bool> {
    let whole = path.contains("/tests/") || path.ends_with("/tests.rs");
    let mut inside = false;
    let mut lines = Vec::new();
    for line in code.lines() {
        inside |= line.trim_start().starts_with("#[cfg(test)]");
        lines.push(whole || inside);
        let declared = line.starts_with("mod ") || line.starts_with("use ");
        inside &= !(line.starts_with('}') || declared && line.ends_with(';'));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = Source::new(
            "crates/x/src/lib.rs",
            "let a = \"b // c\"; // d\nlet e = r#\"f\"g\"#; /* h */ 'i: loop { '\"'; '\\''; j }\n",
        );
        let words: Vec<&str> = source.code.split_whitespace().collect();
        assert_eq!(words.join(" "), "let a = \" ; let e = ; 'i: loop { ; ; j }");
        assert_eq!(
            source.comments.split_whitespace().collect::<Vec<_>>().join(" "),
            "// d /* h */"
        );
        assert_eq!(source.code.len(), source.raw.len());
    }

    #[test]
    fn tests_are_told_from_the_rest() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("crates/x/src/lib.rs", text);
        let lines: Vec<usize> = source.lines().map(|(number, _)| number).collect();
        assert_eq!(lines, [1, 6]);
        assert_eq!(source.folder(), "crates/x");
        assert_eq!(Source::new("systems/x/y/tests/src/a.rs", text).folder(), "systems/x/y");
        assert_eq!(Source::new("crates/x/tests/a.rs", text).lines().count(), 0);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe { x }", "unsafe"));
        assert!(!has_word("expect(unsafe_code)", "unsafe"));
    }
}
