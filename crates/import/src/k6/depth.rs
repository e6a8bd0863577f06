//! How deeply a script nests at most, told from its letters before it is parsed: a parser that calls itself for each level
//! needs a stack for all of them.
//!
//! Not a parser: brackets, operators and words that may nest are counted, more of them rather than fewer.

/// Words behind which a line end ends no statement, and behind which `/` begins a regular expression.
const OPEN: [&str; 30] = [
    "abstract",
    "as",
    "asserts",
    "async",
    "case",
    "class",
    "declare",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "function",
    "if",
    "in",
    "infer",
    "instanceof",
    "is",
    "keyof",
    "new",
    "readonly",
    "return",
    "satisfies",
    "throw",
    "typeof",
    "unique",
    "void",
    "while",
    "for",
];
/// Words whose parentheses are followed by a statement.
const HEADS: [&str; 4] = ["if", "for", "while", "with"];
/// Words that are names in some places: what `/` behind them means, cannot be told.
const UNCLEAR: [&str; 3] = ["await", "yield", "of"];

/// What comes before.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// A value: `/` divides it.
    Value,
    /// A word of the language, or an operator: `/` begins a regular expression.
    Open,
    /// The parentheses of `if` and its like.
    Head,
    /// Anything behind which `/` may be either.
    Unclear,
}

struct Level {
    opener: u8,
    is_head: bool,
    /// What may nest within the current statement.
    count: usize,
    /// The count of the statement before, which `else` continues.
    earlier: usize,
    /// Whether `<` came, within which a comma ends nothing.
    has_angle: bool,
}

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    levels: Vec<Level>,
    depth: usize,
    before: Before,
    /// Whether a word came before.
    is_word: bool,
    is_member: bool,
    is_new_line: bool,
    /// Whether `}` came before.
    is_block_end: bool,
}

/// The place at which the script nests more deeply than this, if it does.
pub(super) fn deeper(text: &str, most: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scan = Scan {
        bytes,
        at: 0,
        levels: Vec::new(),
        depth: 0,
        before: Before::Open,
        is_word: false,
        is_member: false,
        is_new_line: false,
        is_block_end: false,
    };
    scan.open(b'{', false);
    while scan.at < bytes.len() {
        if scan.depth > most {
            return Some(scan.at);
        }
        if !scan.step() {
            // From here on, all that may nest counts, and nothing ends it.
            let is_nesting = |byte: &u8| byte.is_ascii_punctuation();
            let mut rest = (scan.at..).zip(&bytes[scan.at..]).filter(|(_, byte)| is_nesting(byte));
            return rest.nth(most - scan.depth).map(|(at, _)| at);
        }
    }
    None
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn open(&mut self, opener: u8, is_head: bool) {
        self.levels.push(Level { opener, is_head, count: 0, earlier: 0, has_angle: false });
        self.depth += 1;
    }

    fn close(&mut self) -> (u8, bool) {
        // The script itself is a level.
        let Some(level) = (self.levels.len() > 1).then(|| self.levels.pop()).flatten() else {
            return (0, false);
        };
        self.depth -= level.count + 1;
        (level.opener, level.is_head)
    }

    fn count(&mut self, more: usize) {
        if let Some(level) = self.levels.last_mut() {
            level.count += more;
            self.depth += more;
        }
    }

    /// A statement or an entry ends.
    fn reset(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.depth -= level.count;
            level.earlier = level.count;
            level.count = 0;
            level.has_angle = false;
        }
    }

    /// Takes one thing; `false` where it cannot be told what comes.
    fn step(&mut self) -> bool {
        let byte = self.peek(0);
        match byte {
            b'\n' | b'\r' => {
                self.is_new_line = true;
                self.at += 1;
            }
            _ if byte.is_ascii_whitespace() => self.at += 1,
            b'/' => return self.slash(),
            b'"' | b'\'' => self.quoted(byte),
            b'`' => {
                self.at += 1;
                self.count(usize::from(self.before != Before::Open));
                self.template();
            }
            _ if byte.is_ascii_alphanumeric() || b"_$\\#@".contains(&byte) || byte >= 0x80 => {
                self.word();
            }
            _ => self.punctuation(byte),
        }
        true
    }

    fn value(&mut self) {
        self.before = Before::Value;
        (self.is_word, self.is_member, self.is_new_line) = (false, false, false);
        self.is_block_end = false;
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\\' => self.at += 1,
                b'\n' => break,
                end if end == quote => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        self.value();
    }

    /// The text of a template, up to its end or to a place for a value.
    fn template(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 1,
                (b'`', _) => break,
                (b'$', b'{') => {
                    self.at += 2;
                    self.count(1);
                    self.open(b'$', false);
                    self.before = Before::Open;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        self.value();
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"_$\\#@".contains(byte) || *byte >= 0x80;
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let word = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        self.at += length;
        let is_known = |words: &[&str]| !self.is_member && words.contains(&word);
        let (is_open, is_head, is_unclear) =
            (is_known(&OPEN), is_known(&HEADS), is_known(&UNCLEAR));
        if is_known(&["else"]) {
            let earlier = self.levels.last().map_or(0, |level| level.earlier);
            self.count(earlier + 1);
        } else if (self.before == Before::Value && self.is_new_line) || self.is_block_end {
            self.reset();
        }
        self.count(usize::from(
            self.is_word || self.before == Before::Head || is_open || is_unclear,
        ));
        self.before = match () {
            () if is_unclear => Before::Unclear,
            () if is_open || is_head => Before::Open,
            () => Before::Value,
        };
        (self.is_word, self.is_member, self.is_new_line) = (true, false, false);
        self.is_block_end = false;
    }

    fn punctuation(&mut self, byte: u8) {
        let was = self.before;
        let after_head_word = self.is_word && was == Before::Open;
        self.at += 1;
        (self.is_word, self.is_member) = (false, byte == b'.' && self.peek(0) != b'.');
        match byte {
            b'(' | b'[' | b'{' => {
                self.count(1);
                self.open(byte, after_head_word && byte == b'(' && self.is_behind_head());
                self.before = Before::Open;
            }
            b')' | b']' | b'}' => {
                let (opener, is_head) = self.close();
                if byte == b'}' && opener == b'$' {
                    return self.template();
                }
                self.before = match byte {
                    b')' if is_head => Before::Head,
                    b'}' => Before::Unclear,
                    _ => Before::Value,
                };
            }
            b';' => {
                self.reset();
                self.before = Before::Open;
            }
            b',' => {
                if !self.levels.last().is_some_and(|level| level.has_angle) {
                    self.reset();
                }
                self.before = Before::Open;
            }
            _ => {
                if let (b'<', Some(level)) = (byte, self.levels.last_mut()) {
                    level.has_angle = true;
                }
                self.count(1);
                let is_arrow = byte == b'>' && self.bytes[..self.at - 1].ends_with(b"=");
                let is_step =
                    matches!(byte, b'+' | b'-') && self.bytes[..self.at - 1].ends_with(&[byte]);
                self.before = match byte {
                    b'!' if was != Before::Open => Before::Unclear,
                    b'>' if !is_arrow => Before::Unclear,
                    _ if is_step => Before::Unclear,
                    _ => Before::Open,
                };
            }
        }
        self.is_new_line = false;
        self.is_block_end = byte == b'}';
    }

    /// Whether the word before the parenthesis that was just taken begins a statement with a head.
    fn is_behind_head(&self) -> bool {
        let text = self.bytes[..self.at - 1].trim_ascii_end();
        HEADS.iter().any(|word| text.ends_with(word.as_bytes()))
    }

    /// A comment, a regular expression or a division; `false` if it may be one or the other and that matters.
    fn slash(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"//") {
            self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            return true;
        }
        if rest.starts_with(b"/*") {
            let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
            self.is_new_line |= rest[..end.unwrap_or(rest.len())].contains(&b'\n');
            self.at += end.map_or(rest.len(), |end| end + 4);
            return true;
        }
        let end = regex_end(rest);
        match (self.before, end) {
            (Before::Unclear, Some(end)) => {
                let is_quiet = |byte: &u8| !b"\"'`/*()[]{}".contains(byte);
                if !rest[1..end].iter().all(is_quiet)
                    || matches!(rest.get(end + 1), Some(b'/' | b'*'))
                {
                    return false;
                }
                self.at += end + 1;
                self.count(2);
                self.value();
            }
            (Before::Open | Before::Head, Some(end)) => {
                self.at += end + 1;
                self.value();
            }
            _ => self.punctuation(b'/'),
        }
        true
    }
}

/// Where the regular expression ends that begins here, if one can.
fn regex_end(text: &[u8]) -> Option<usize> {
    let (mut is_class, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'\n' => return None,
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => is_class = true,
            b']' => is_class = false,
            b'/' if !is_class => return Some(at),
            _ => {}
        }
    }
    None
}
