//! The entries of a file by lines: request, sections, body, answer.

use crate::format::Unreadable;

/// Names that a section may have.
const SECTIONS: [&str; 11] = [
    "Query",
    "QueryStringParams",
    "Form",
    "FormParams",
    "Multipart",
    "MultipartFormData",
    "Cookies",
    "BasicAuth",
    "Options",
    "Captures",
    "Asserts",
];

/// A line and its number, from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// A request and what its answer must be.
#[derive(Debug, Default)]
pub(super) struct Entry<'a> {
    /// The line of the request.
    pub(super) line: usize,
    pub(super) method: &'a str,
    pub(super) address: &'a str,
    pub(super) headers: Vec<Line<'a>>,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) content: Content<'a>,
    /// The status that is expected; `None` is any.
    pub(super) status: Option<u16>,
    pub(super) captures: Vec<Line<'a>>,
    pub(super) asserts: Vec<Line<'a>>,
    /// Lines of an expected body or header.
    pub(super) expected: Vec<Line<'a>>,
}

#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Vec<Line<'a>>,
}

#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Empty,
    /// A text, and the type that its form says.
    Text(String, Option<&'static str>),
    File(&'a str),
    /// One that cannot be said, on this line.
    Unknown(usize),
}

impl<'a> Entry<'a> {
    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }
}

/// Method and address of a line that begins a request.
pub(super) fn request_line(line: &str) -> Option<(&str, &str)> {
    let (method, address) = line.split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let address = without_comment(address);
    let is_address = address.starts_with("http") || address.starts_with("{{");
    (is_method && is_address).then_some((method, address))
}

/// A line without the comment at its end, which begins outside of texts in quotes and of patterns between slashes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, letter) in line.char_indices() {
        let begins_pattern =
            || ["matches ", "regex "].iter().any(|query| line[..at].ends_with(query));
        match (quote, letter) {
            (Some(open), _) if open == letter && before != '\\' => quote = None,
            (None, '"' | '`') => quote = Some(letter),
            (None, '/') if begins_pattern() => quote = Some(letter),
            (None, '#') if before.is_whitespace() => return line[..at].trim_end(),
            _ => {}
        }
        before = letter;
    }
    line.trim_end()
}

struct Lines<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
}

/// All entries, in order.
///
/// Errors: a body that does not end
pub(super) fn entries(text: &str) -> Result<Vec<Entry<'_>>, Unreadable> {
    let lines = (1..).zip(text.lines()).map(|(number, text)| Line { number, text }).collect();
    let mut lines = Lines { lines, next: 0 };
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut is_answer = false;
    while let Some(line) = lines.take() {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some((method, address)) = request_line(text) {
            let entry = Entry { line: line.number, method, address, ..Entry::default() };
            entries.push(entry);
            is_answer = false;
            continue;
        }
        let Some(entry) = entries.last_mut() else { continue };
        if let Some(status) = status(text) {
            entry.status = status;
            is_answer = true;
        } else if let Some(name) = section(text) {
            let content = lines.section();
            match name {
                "Captures" => entry.captures = content,
                "Asserts" => entry.asserts = content,
                _ => entry.sections.push(Section { name, lines: content }),
            }
        } else if is_answer {
            entry.expected.push(line);
        } else if let Some(content) = lines.content(line)? {
            entry.content = content;
        } else {
            entry.headers.push(Line { text: without_comment(text), ..line });
        }
    }
    Ok(entries)
}

/// `HTTP 200`, `HTTP/1.1 200`, `HTTP *`
fn status(line: &str) -> Option<Option<u16>> {
    let (_, status) = line.strip_prefix("HTTP")?.split_once(' ')?;
    let status = status.split_whitespace().next()?;
    if status == "*" { Some(None) } else { status.parse().ok().map(Some) }
}

fn section(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.split_once(']')?.0;
    SECTIONS.contains(&name).then_some(name)
}

impl<'a> Lines<'a> {
    fn take(&mut self) -> Option<Line<'a>> {
        let line = self.lines.get(self.next).copied();
        self.next += usize::from(line.is_some());
        line
    }

    /// The lines of a section; they end before an empty line, another section, a body, an answer or a request.
    fn section(&mut self) -> Vec<Line<'a>> {
        let mut section = Vec::new();
        while let Some(line) = self.lines.get(self.next).copied() {
            let text = line.text.trim();
            let begins_body = text.starts_with(['{', '`', '<', '[']) && !text.starts_with("{{");
            if begins_body || status(text).is_some() || request_line(text).is_some() {
                break;
            }
            self.next += 1;
            let text = without_comment(text);
            if !text.is_empty() {
                section.push(Line { text, ..line });
            }
        }
        section
    }

    /// The body that begins on this line, if one does.
    fn content(&mut self, line: Line<'a>) -> Result<Option<Content<'a>>, Unreadable> {
        let text = line.text.trim();
        if let Some(kind) = text.strip_prefix("```") {
            let kind = match kind.split(',').next().unwrap_or_default().trim() {
                "json" | "graphql" => Some("application/json"),
                "xml" => Some("text/xml"),
                _ => None,
            };
            return self.until_fence(line.number).map(|text| Some(Content::Text(text, kind)));
        }
        if text.starts_with('{') || text.starts_with('[') {
            let json = self.balanced(line)?;
            return Ok(Some(Content::Text(json, Some("application/json"))));
        }
        Ok(match text {
            text if text.starts_with('`') => {
                let text = text.split('`').nth(1).unwrap_or_default();
                Some(Content::Text(text.to_owned(), None))
            }
            text if text.starts_with('"') => {
                Some(Content::Text(without_comment(text).to_owned(), None))
            }
            text if text.starts_with('<') => Some(Content::Text(self.until_answer(line), None)),
            text if text.starts_with("base64,") || text.starts_with("hex,") => {
                Some(Content::Unknown(line.number))
            }
            text => text
                .strip_prefix("file,")
                .map(|file| Content::File(file.split(';').next().unwrap_or_default().trim())),
        })
    }

    fn until_fence(&mut self, begin: usize) -> Result<String, Unreadable> {
        let mut text = String::new();
        while let Some(line) = self.take() {
            if line.text.trim() == "```" {
                return Ok(text);
            }
            text.push_str(line.text);
            text.push('\n');
        }
        Err(Unreadable::new(begin, "the body that begins here does not end"))
    }

    /// JSON up to the end of its outermost brackets.
    fn balanced(&mut self, first: Line<'a>) -> Result<String, Unreadable> {
        let mut text = String::new();
        let (mut depth, mut in_text, mut is_escaped) = (0_i64, false, false);
        let mut line = Some(first);
        while let Some(current) = line {
            for (at, letter) in current.text.char_indices() {
                match letter {
                    _ if is_escaped => is_escaped = false,
                    '\\' if in_text => is_escaped = true,
                    '"' => in_text = !in_text,
                    '{' | '[' if !in_text => depth += 1,
                    '}' | ']' if !in_text => depth -= 1,
                    _ => {}
                }
                // A comment may follow.
                if depth <= 0 && matches!(letter, '}' | ']') && !in_text {
                    text.push_str(&current.text[..=at]);
                    return Ok(text);
                }
            }
            text.push_str(current.text);
            text.push('\n');
            line = self.take();
        }
        Err(Unreadable::new(first.number, "the JSON that begins here does not end"))
    }

    fn until_answer(&mut self, first: Line<'a>) -> String {
        let mut text = first.text.to_owned();
        while let Some(line) = self.lines.get(self.next).copied() {
            if status(line.text.trim()).is_some() || request_line(line.text.trim()).is_some() {
                break;
            }
            self.next += 1;
            text.push('\n');
            text.push_str(line.text);
        }
        text.trim_end().to_owned()
    }
}
