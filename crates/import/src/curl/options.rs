//! One command of curl: its options, and the operation that they make.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::target::without_credentials;
use url::form_urlencoded;

use super::table::{
    LONG_LEFT_OUT, LONG_WITH_VALUE, SHORT_WITH_VALUE, VALUE_WITHOUT_MEANING, WITHOUT_MEANING,
};
use super::words::Word;
use crate::draft::{Body, Draft, DraftOperation, Part};
use crate::format::Options;
use crate::request;

/// Redirects that curl follows with `-L` unless it is told otherwise.
const FOLLOWED: u32 = 50;
/// The type of a body that curl sends without being told one.
const FORM: &str = "application/x-www-form-urlencoded";

/// What the options of one command say.
#[derive(Default)]
struct Request {
    address: Option<String>,
    /// Whether a shell would put something into the address.
    is_unknown: bool,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Data of a body, in order; a file by its name.
    data: Vec<Data>,
    parts: Vec<(String, Part)>,
    is_json: bool,
    /// Whether the data belong into the query.
    is_get: bool,
    is_head: bool,
    is_http2: bool,
    user: Option<String>,
    token: Option<String>,
    follows: bool,
    most_redirects: Option<u32>,
}

enum Data {
    Text(String),
    File(String),
}

/// Reads the words behind `curl`, and adds its operation.
pub(super) fn read(words: &[Word], line: usize, wanted: &Options, draft: &mut Draft) {
    let mut request = Request::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--next" || text == "-:" {
            std::mem::take(&mut request).end(line, wanted, draft);
            continue;
        }
        if !text.starts_with('-') || text == "-" {
            request.is_unknown |= word.is_expanded;
            request.name_address(text.to_owned(), word.line, draft);
            continue;
        }
        let (name, attached) = split(text);
        // Several short options without values in one word, such as `-sS`; the last may have one.
        for flag in flags(name) {
            let takes_value = takes_value(&flag);
            let value = match (takes_value, attached) {
                (false, _) => "",
                (true, Some(value)) => value,
                (true, None) => words.next().map_or("", |word| word.text.as_str()),
            };
            request.option(&flag, value, word.line, draft);
        }
    }
    request.end(line, wanted, draft);
}

/// An option and the value in the same word: `-XPOST`, `--request=POST`.
fn split(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") {
        return match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
    }
    let end = text.char_indices().skip(1).find(|(_, letter)| SHORT_WITH_VALUE.contains(*letter));
    match end.map(|(at, letter)| at + letter.len_utf8()) {
        Some(end) if end < text.len() => (&text[..end], Some(&text[end..])),
        _ => (text, None),
    }
}

fn flags(name: &str) -> Vec<String> {
    match name.starts_with("--") {
        true => vec![name.to_owned()],
        false => name.chars().skip(1).map(|letter| format!("-{letter}")).collect(),
    }
}

fn takes_value(flag: &str) -> bool {
    LONG_WITH_VALUE.contains(&flag)
        || LONG_LEFT_OUT.contains(&flag)
        || VALUE_WITHOUT_MEANING.contains(&flag)
        || (flag.len() == 2 && SHORT_WITH_VALUE.contains(&flag[1..]))
}

impl Request {
    fn name_address(&mut self, address: String, line: usize, draft: &mut Draft) {
        let shown = without_credentials(&address);
        if self.address.is_some() && !address.contains("://") {
            // Perhaps the value of an option that is not known.
            return draft.note(line, format!("{shown} beside an address is left out"));
        }
        if is_glob(&address) {
            draft.note(line, format!("curl makes several requests of {shown}; here it is one"));
        }
        if let Some(first) = self.address.replace(address) {
            // Each address of a command is a request of its own, with the same options.
            draft.note(
                line,
                format!(
                    "{} stands beside another address; give it a curl of its own",
                    without_credentials(&first)
                ),
            );
        }
    }

    fn option(&mut self, flag: &str, value: &str, line: usize, draft: &mut Draft) {
        let value = value.to_owned();
        match flag {
            "-X" | "--request" => self.method = Some(value),
            "-H" | "--header" => match value.split_once(':') {
                Some((name, content)) if !content.trim().is_empty() => {
                    self.headers.push((name.trim().to_owned(), content.trim().to_owned()));
                }
                // `Name:` takes a field away, `Name;` sends it empty.
                _ => {
                    let name: String = value
                        .chars()
                        .take_while(|c| c.is_alphanumeric() || "-_@".contains(*c))
                        .collect();
                    draft.note(line, format!("the header {name} is left out"));
                }
            },
            "-d" | "--data" | "--data-ascii" | "--data-binary" => {
                self.data.push(match value.strip_prefix('@') {
                    Some(file) => Data::File(file.to_owned()),
                    None => Data::Text(value),
                })
            }
            "--data-raw" => self.data.push(Data::Text(value)),
            "--data-urlencode" => self.data.push(Data::Text(urlencoded(&value))),
            "--json" => {
                self.is_json = true;
                self.data.push(match value.strip_prefix('@') {
                    Some(file) => Data::File(file.to_owned()),
                    None => Data::Text(value),
                });
            }
            "-F" | "--form" => self.parts.extend(part(&value, true, line, draft)),
            "--form-string" => self.parts.extend(part(&value, false, line, draft)),
            "-u" | "--user" => self.user = Some(value),
            "--oauth2-bearer" => self.token = Some(value),
            "-A" | "--user-agent" => self.headers.push(("user-agent".into(), value)),
            "-e" | "--referer" => self.headers.push(("referer".into(), value)),
            "-b" | "--cookie" if value.contains('=') => self.add_cookies(&value),
            "-I" | "--head" => self.is_head = true,
            "-G" | "--get" => self.is_get = true,
            "-L" | "--location" => self.follows = true,
            "--max-redirs" => self.most_redirects = value.parse().ok(),
            "--compressed" => {
                self.headers.push(("accept-encoding".into(), "gzip, deflate, br, zstd".into()));
            }
            "--http2" | "--http2-prior-knowledge" => self.is_http2 = true,
            "--url" => self.name_address(value, line, draft),
            known if WITHOUT_MEANING.contains(&known) || VALUE_WITHOUT_MEANING.contains(&known) => {
            }
            other => connection(other, &value, line, draft),
        }
    }

    /// Several options are one field.
    fn add_cookies(&mut self, cookies: &str) {
        match self.headers.iter_mut().find(|(name, _)| name == "cookie") {
            Some((_, earlier)) => {
                earlier.push_str("; ");
                earlier.push_str(cookies);
            }
            None => self.headers.push(("cookie".to_owned(), cookies.to_owned())),
        }
    }

    fn end(self, line: usize, wanted: &Options, draft: &mut Draft) {
        let Some(address) = &self.address else {
            return draft.note(line, "a curl without an address");
        };
        if self.is_unknown {
            let shown = without_credentials(address);
            return draft.note(line, format!("only the shell knows the address {shown}"));
        }
        let credentials = &mut draft.credentials;
        let mut operation = match request::to(address, credentials) {
            Ok(operation) => operation,
            Err(what) => return draft.note(line, what),
        };
        if !wanted.wants(&operation.origin) {
            return;
        }
        for (name, value) in &self.headers {
            request::add_header(&mut operation, name, value, credentials);
        }
        if let Some(token) = &self.token {
            request::add_header(
                &mut operation,
                "authorization",
                &format!("Bearer {token}"),
                credentials,
            );
        }
        if let Some(user) = &self.user {
            let basic = format!("Basic {}", STANDARD.encode(user));
            request::add_header(&mut operation, "authorization", &basic, credentials);
        }
        operation.is_http2 = self.is_http2;
        let most = self.most_redirects.unwrap_or(FOLLOWED).min(100);
        operation.follow = if self.follows { most } else { 0 };
        self.add_content(&mut operation, line, draft);
        operation.method = match &self.method {
            Some(method) => method.clone(),
            None if self.is_head => "HEAD".to_owned(),
            None => String::new(),
        };
        draft.add(operation);
    }

    /// The data as a query, or as a body.
    fn add_content(&self, operation: &mut DraftOperation, line: usize, draft: &mut Draft) {
        if !self.parts.is_empty() {
            operation.body = Body::Multipart(self.parts.clone());
            return;
        }
        let text = |data: &Data| match data {
            Data::Text(text) => Some(text.clone()),
            Data::File(_) => None,
        };
        let texts: Option<Vec<String>> = self.data.iter().map(text).collect();
        let separator = if self.is_json { "" } else { "&" };
        match (texts, self.data.as_slice()) {
            (_, []) => {}
            (Some(texts), _) if self.is_get => {
                let pairs = texts.join("&");
                for (name, value) in form_urlencoded::parse(pairs.as_bytes()) {
                    let value = draft.credentials.text(&name, &value);
                    operation.query.push((name.into_owned(), value));
                }
            }
            (Some(texts), _) => {
                self.add_type(operation, draft);
                request::set_body(operation, &texts.join(separator), &mut draft.credentials);
            }
            (None, [Data::File(file)]) => {
                self.add_type(operation, draft);
                operation.body = Body::File(file.clone());
            }
            (None, _) => draft.note(line, "a body of a file and something else is left out"),
        }
    }

    /// The fields that curl adds to a body.
    fn add_type(&self, operation: &mut DraftOperation, draft: &mut Draft) {
        let mut add = |name: &str, value: &str| {
            if operation.headers.iter().all(|(known, _)| known != name) {
                request::add_header(operation, name, value, &mut draft.credentials);
            }
        };
        add("content-type", if self.is_json { "application/json" } else { FORM });
        if self.is_json {
            add("accept", "application/json");
        }
    }
}

/// Whether curl takes the address for several: `{a,b}` and `[1-9]`.
fn is_glob(address: &str) -> bool {
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.find('/').map_or("", |at| &path[at..]);
    let holds = |open, close, separator| {
        let inner = path.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        inner.is_some_and(|(inner, _)| inner.contains(separator))
    };
    holds('{', '}', ',') || holds('[', ']', '-')
}

/// An option on how the target is reached; any other is left out.
fn connection(flag: &str, value: &str, line: usize, draft: &mut Draft) {
    match flag {
        "-k" | "--insecure" => target(draft, "insecure", "true".to_owned()),
        "--cacert" => target(draft, "cacert", crate::value::fixed(value)),
        "-E" | "--cert" => {
            let (file, password) = value.split_once(':').unwrap_or((value, ""));
            if !password.is_empty() {
                draft.note(line, "the password of the certificate's key is left out");
            }
            target(draft, "cert", crate::value::fixed(file));
        }
        "--key" => target(draft, "key", crate::value::fixed(value)),
        "--unix-socket" => target(draft, "unix_socket", crate::value::fixed(value)),
        "--resolve" | "--connect-to" => match connect_to(flag, value) {
            Some(address) => target(draft, "connect_to", crate::value::fixed(&address)),
            None => draft.note(line, format!("{flag} {value} is left out")),
        },
        other => draft.note(line, format!("the option {other} is left out")),
    }
}

/// A key of `[target]`, once.
fn target(draft: &mut Draft, key: &'static str, value: String) {
    if draft.target.iter().all(|(known, _)| *known != key) {
        draft.target.push((key, value));
    }
}

/// `content`, `=content`, `name=content`: the content is encoded.
fn urlencoded(value: &str) -> String {
    let encoded =
        |content: &str| form_urlencoded::byte_serialize(content.as_bytes()).collect::<String>();
    match value.split_once('=') {
        Some(("", content)) => encoded(content),
        Some((name, content)) => format!("{name}={}", encoded(content)),
        None => encoded(value),
    }
}

/// `name=text`, and with files also `name=@file;type=kind` and `name=<file`, whose part has no name of a file.
fn part(value: &str, with_files: bool, line: usize, draft: &mut Draft) -> Option<(String, Part)> {
    let (name, content) = value.split_once('=')?;
    if content.starts_with('<') && with_files {
        draft.note(
            line,
            format!("{name}: the part is sent with the name of its file, which curl leaves out"),
        );
    }
    let part = match content.strip_prefix(['@', '<']).filter(|_| with_files) {
        Some(file) => {
            let (file, rest) = file.split_once(';').unwrap_or((file, ""));
            let kind = rest.split(';').find_map(|part| part.strip_prefix("type="));
            Part::File(file.to_owned(), kind.map(str::to_owned))
        }
        None => Part::Text(draft.credentials.text(name, content)),
    };
    Some((name.to_owned(), part))
}

/// `HOST:PORT:ADDRESS` of `--resolve`, `HOST:PORT:HOST:PORT` of `--connect-to`, as `HOST:PORT`.
fn connect_to(flag: &str, value: &str) -> Option<String> {
    let mut parts = value.splitn(3, ':');
    let (_, port, rest) = (parts.next()?, parts.next()?, parts.next()?);
    match flag {
        "--resolve" => {
            let address = rest.split(',').next()?;
            let is_v6 = address.contains(':') && !address.starts_with('[');
            Some(if is_v6 { format!("[{address}]:{port}") } else { format!("{address}:{port}") })
        }
        _ => (!rest.is_empty() && !rest.starts_with(':')).then(|| rest.to_owned()),
    }
}
