//! Blocks of pages: what stands between lines of three backticks.

/// A block.
pub struct Fence<'a> {
    /// What it is written in, such as `sh`.
    pub language: &'a str,
    /// The file that it shows, if it is one: the second word of its first line.
    pub file: Option<&'a str>,
    /// Its first line after the backticks, counted from 1.
    pub line: usize,
    /// As it stands there.
    pub text: &'a str,
}

/// The blocks of a page, in order.
pub fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for (number, line) in page.split_inclusive('\n').enumerate() {
        if let Some(words) = line.trim_start().strip_prefix("```") {
            open = match open {
                None => Some((words.trim(), number + 2, at + line.len())),
                Some((words, line, from)) => {
                    let (language, file) = words.split_once(' ').unzip();
                    let text = &page[from..at];
                    fences.push(Fence { language: language.unwrap_or(words), file, line, text });
                    None
                }
            };
        }
        at += line.len();
    }
    fences
}

/// What the blocks of a page in this language hold, in order.
pub fn blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    fences(page).into_iter().filter(move |fence| fence.language == language).map(|fence| fence.text)
}

#[test]
fn a_block_has_a_language_a_file_and_a_place() {
    let page = "# x\n```sh\na\nb\n```\n\n- item\n  ```toml own.toml\n  c = 1\n  ```\n```\nd\n```\n";
    let found: Vec<_> =
        fences(page).into_iter().map(|one| (one.language, one.file, one.line, one.text)).collect();
    let expected = [
        ("sh", None, 3, "a\nb\n"),
        ("toml", Some("own.toml"), 9, "  c = 1\n"),
        ("", None, 12, "d\n"),
    ];
    assert_eq!(found, expected);
}
