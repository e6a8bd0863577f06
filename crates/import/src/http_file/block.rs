//! The requests of a file, and what is written about each.

/// A request.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    /// The line of its address, from 1.
    pub(super) line: usize,
    /// What it is called, for its answer.
    pub(super) name: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) address: String,
    pub(super) is_http2: bool,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) content: Content<'a>,
    /// Variables that a script sets from the answer.
    pub(super) sets: Vec<Set<'a>>,
    /// Lines of scripts that are not understood.
    pub(super) left_out: Vec<usize>,
}

/// A variable that a script sets.
#[derive(Debug)]
pub(super) struct Set<'a> {
    pub(super) name: &'a str,
    /// The path into the answer's JSON.
    pub(super) path: &'a str,
}

#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Empty,
    Text(String),
    File(&'a str),
    /// Texts and files in their order.
    Mixed(Vec<Piece>),
}

/// A line of a body, or a file that stands in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Line(String),
    File(String),
}

/// Methods that begin a line of a request; without one it is GET.
const METHODS: [&str; 9] =
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"];

/// All requests, in order.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut parts: Vec<Vec<(usize, &str)>> = vec![Vec::new()];
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("###") {
            parts.push(Vec::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push((number, line));
        }
    }
    parts.into_iter().filter_map(|lines| block(&lines))
}

fn block<'a>(lines: &[(usize, &'a str)]) -> Option<Block<'a>> {
    let mut block = Block::default();
    let mut lines = lines.iter().copied().peekable();
    loop {
        let (number, line) = lines.next()?;
        let trimmed = line.trim();
        if let Some(name) = comment(trimmed) {
            block.name = name.or(block.name);
        } else if !trimmed.is_empty() && !trimmed.starts_with('@') && !trimmed.starts_with('<') {
            block.line = number;
            block.read_request_line(trimmed)?;
            break;
        }
    }
    while let Some((_, line)) = lines.next_if(|(_, line)| line.trim_start().starts_with(['?', '&']))
    {
        block.address.push_str(line.trim());
    }
    while let Some((_, line)) = lines.next_if(|(_, line)| !line.trim().is_empty()) {
        match line.split_once(':') {
            Some(_) if comment(line.trim()).is_some() => {}
            Some((name, value)) => block.headers.push((name.trim(), value.trim())),
            None => {}
        }
    }
    block.read_content(lines);
    block.complete_address();
    Some(block)
}

/// What a comment calls the request, if it is one.
fn comment(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("//").or_else(|| line.strip_prefix('#'))?;
    let words = rest.trim_start_matches(['#', '/']).trim();
    let name = words.strip_prefix("@name").map(|name| name.trim_start_matches(['=', ' ']).trim());
    Some(name.filter(|name| !name.is_empty()))
}

impl<'a> Block<'a> {
    /// `METHOD address version`, of which the address alone must be there.
    fn read_request_line(&mut self, line: &'a str) -> Option<()> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let address = match METHODS.contains(&first) {
            true => {
                self.method = first;
                rest.trim()
            }
            false => line,
        };
        let (address, version) = match address.rsplit_once(' ') {
            Some((address, version)) if version.starts_with("HTTP/") => (address.trim(), version),
            _ => (address, ""),
        };
        self.is_http2 = version.starts_with("HTTP/2");
        self.address = address.to_owned();
        (!address.is_empty()).then_some(())
    }

    /// A path alone goes to the host of the header fields.
    fn complete_address(&mut self) {
        let is_host = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case("host");
        let host = self.headers.iter().find(is_host).map(|(_, value)| *value);
        if let Some(host) = host.filter(|_| self.address.starts_with('/')) {
            let scheme = if host.ends_with(":443") { "https" } else { "http" };
            self.address = format!("{scheme}://{host}{}", self.address);
        }
    }

    fn read_content(&mut self, lines: impl Iterator<Item = (usize, &'a str)>) {
        let (mut text, mut files): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut pieces = Vec::new();
        let mut is_script = false;
        for (number, line) in lines {
            let trimmed = line.trim();
            let begins = trimmed.starts_with("> {%") || trimmed.starts_with("< {%");
            if begins || is_script {
                is_script = !trimmed.ends_with("%}");
                self.read_script(number, trimmed);
            } else if let Some(file) = trimmed.strip_prefix("< ") {
                files.push(file.trim());
                pieces.push(Piece::File(file.trim().to_owned()));
            } else if !trimmed.starts_with("<> ")
                && !trimmed.starts_with(">> ")
                && !trimmed.starts_with("> ")
            {
                text.push(line);
                pieces.push(Piece::Line(line.to_owned()));
            }
        }
        let text = text.join("\n").trim().to_owned();
        self.content = match files.as_slice() {
            [] if text.is_empty() => Content::Empty,
            [] => Content::Text(text),
            [file] if text.is_empty() => Content::File(file),
            _ => Content::Mixed(pieces),
        };
    }

    /// `client.global.set("name", response.body.path);`
    fn read_script(&mut self, number: usize, line: &'a str) {
        let line = line.trim_start_matches(['>', '<', ' ']).trim_start_matches("{%");
        let line = line.trim_end_matches("%}").trim().trim_end_matches(';');
        let inner = line.strip_prefix("client.global.set(").and_then(|rest| rest.strip_suffix(')'));
        let set = inner.and_then(|inner| inner.split_once(',')).and_then(|(name, value)| {
            let path = value.trim().strip_prefix("response.body.")?;
            let is_path = |letter: char| letter.is_alphanumeric() || "._[]".contains(letter);
            path.chars()
                .all(is_path)
                .then(|| Set { name: name.trim().trim_matches(['"', '\'']), path })
        });
        match set {
            Some(set) => self.sets.push(set),
            None if line.is_empty() => {}
            None => self.left_out.push(number),
        }
    }
}
