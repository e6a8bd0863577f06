//! Reads whole requests from files of other tools: vegeta targets in both forms, and plain lists of
//! addresses.
//!
//! Source: vegeta's README, sections `-format`, `http format` and `json format`

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Position, Url};

use crate::experiment::Inputs;
use crate::operation::Request;

/// Form of a target file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFormat {
    /// Blocks of request line, header lines and `@body-file`.
    Vegeta,
    /// One JSON object a line, body in base64.
    VegetaJson,
    /// One address a line.
    Urls,
}

impl ListFormat {
    /// The form with this name in the experiment file.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "vegeta" => Some(Self::Vegeta),
            "vegeta-json" => Some(Self::VegetaJson),
            "urls" => Some(Self::Urls),
            _ => None,
        }
    }

    /// The form that the first non-empty line suggests.
    fn guess(text: &str) -> Self {
        let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
        match first {
            Some(line) if line.starts_with('{') => Self::VegetaJson,
            Some(line) if is_request_line(line) => Self::Vegeta,
            _ => Self::Urls,
        }
    }
}

/// A request and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    /// Scheme, host and port; none of a path alone, which goes to the operation's own target.
    pub origin: Option<String>,
    /// The request itself.
    pub request: Request,
}

/// Reads a target file.
///
/// Errors: one sentence with file and line
pub fn read(
    file: &str,
    format: Option<ListFormat>,
    inputs: &dyn Inputs,
) -> Result<Vec<ListedRequest>, String> {
    let text = inputs.text(file)?;
    let list = match format.unwrap_or_else(|| ListFormat::guess(&text)) {
        ListFormat::Vegeta => vegeta(&text, inputs),
        ListFormat::VegetaJson => vegeta_json(&text, inputs),
        ListFormat::Urls => urls(&text),
    };
    match list {
        Ok(list) if list.is_empty() => Err(format!("{file} holds no target")),
        Ok(list) => Ok(list),
        Err(problem) => Err(format!("{file} {problem}")),
    }
}

/// `METHOD address`, method in capitals.
fn is_request_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(method, _)| is_method(method))
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn listed(method: &str, address: &str) -> Result<ListedRequest, String> {
    let address = address.trim();
    let is_path = address.starts_with('/');
    let url = match is_path {
        true => Url::parse(&format!("http://host{address}")),
        false => Url::parse(address),
    };
    let url = url.ok().filter(Url::has_host).ok_or_else(|| {
        format!("expected an address such as http://host/path or /path, got \"{address}\"")
    })?;
    let request = Request {
        method: method.to_owned(),
        path: url[Position::BeforePath..Position::AfterQuery].to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let origin = (!is_path).then(|| url[..Position::BeforePath].to_owned());
    Ok(ListedRequest { origin, request })
}

fn urls(text: &str) -> Result<Vec<ListedRequest>, String> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line): (u64, _)| {
            listed("GET", line).map_err(|problem| format!("line {number}: {problem}"))
        })
        .collect()
}

/// A target of vegeta as its file says it: its body file is not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VegetaTarget {
    /// The line that it begins at, from 1.
    pub line: u64,
    /// The method, in capitals.
    pub method: String,
    /// The address, as it stands there.
    pub address: String,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// What it sends.
    pub body: VegetaBody,
}

/// The body of a target of vegeta.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum VegetaBody {
    /// None.
    #[default]
    Empty,
    /// A file and the line that names it.
    File(String, u64),
    /// Bytes of the JSON form.
    Bytes(Vec<u8>),
}

/// A line that is no part of a target, and why.
pub type BadLine = (u64, String);

/// A block ends at an empty line, after its body line, or at the next request line. What is wrong stands with its line,
/// in the order of the text.
pub fn vegeta_targets(text: &str) -> Vec<Result<VegetaTarget, BadLine>> {
    let mut found: Vec<Result<VegetaTarget, BadLine>> = Vec::new();
    // The place of the target that is not complete yet.
    let mut open: Option<usize> = None;
    for (line, text) in (1_u64..).zip(text.lines().map(str::trim)) {
        if text.is_empty() {
            open = None;
        } else if text.starts_with('#') {
            continue;
        } else if is_request_line(text) {
            let (method, address) = text.split_once(' ').unwrap_or_default();
            open = Some(found.len());
            let (method, address) = (method.to_owned(), address.trim().to_owned());
            found.push(Ok(VegetaTarget {
                line,
                method,
                address,
                headers: Vec::new(),
                body: VegetaBody::Empty,
            }));
        } else if let Some(Ok(current)) = open.and_then(|place| found.get_mut(place)) {
            if let Some(path) = text.strip_prefix('@') {
                current.body = VegetaBody::File(path.to_owned(), line);
                open = None;
            } else {
                match header(text) {
                    Ok(field) => current.headers.push(field),
                    Err(problem) => found.push(Err((line, problem))),
                }
            }
        } else {
            found.push(Err((line, format!("expected METHOD and address, got \"{text}\""))));
        }
    }
    found
}

fn vegeta(text: &str, inputs: &dyn Inputs) -> Result<Vec<ListedRequest>, String> {
    vegeta_targets(text).into_iter().map(|target| request(target, inputs)).collect()
}

/// The request of a target, with its body.
///
/// Errors: one sentence with the line
fn request(
    target: Result<VegetaTarget, BadLine>,
    inputs: &dyn Inputs,
) -> Result<ListedRequest, String> {
    let at = |(line, problem): BadLine| format!("line {line}: {problem}");
    let target = target.map_err(at)?;
    let mut entry =
        listed(&target.method, &target.address).map_err(|problem| at((target.line, problem)))?;
    entry.request.headers = target.headers;
    entry.request.body = match target.body {
        VegetaBody::Empty => Vec::new(),
        VegetaBody::Bytes(bytes) => bytes,
        VegetaBody::File(path, line) => {
            let body = inputs.read(Path::new(&path));
            body.map_err(|error| at((line, format!("cannot read {path}: {error}"))))?
        }
    };
    Ok(entry)
}

fn header(line: &str) -> Result<(String, String), String> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected a header such as Accept: */*".to_owned()),
    }
}

/// One object of vegeta's JSON form.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonTarget {
    method: String,
    url: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    header: Option<std::collections::BTreeMap<String, Vec<String>>>,
}

/// The same for the form of one JSON object a line.
pub fn vegeta_json_targets(text: &str) -> Vec<Result<VegetaTarget, BadLine>> {
    let lines = (1_u64..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    lines
        .map(|(number, line)| json_target(number, line).map_err(|problem| (number, problem)))
        .collect()
}

fn vegeta_json(text: &str, inputs: &dyn Inputs) -> Result<Vec<ListedRequest>, String> {
    vegeta_json_targets(text).into_iter().map(|target| request(target, inputs)).collect()
}

fn json_target(line: u64, text: &str) -> Result<VegetaTarget, String> {
    let target: JsonTarget = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if !is_method(&target.method) {
        return Err(format!("expected a method such as GET, got \"{}\"", target.method));
    }
    let encoded = target.body.unwrap_or_default();
    let body =
        STANDARD.decode(encoded).map_err(|error| format!("the body is not base64: {error}"))?;
    let fields = target.header.unwrap_or_default().into_iter();
    let headers =
        fields.flat_map(|(name, values)| values.into_iter().map(move |one| (name.clone(), one)));
    Ok(VegetaTarget {
        line,
        method: target.method,
        address: target.url,
        headers: headers.collect(),
        body: if body.is_empty() { VegetaBody::Empty } else { VegetaBody::Bytes(body) },
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    struct Files(Vec<(&'static str, &'static str)>);

    impl Inputs for Files {
        fn env(&self, _name: &str) -> Option<String> {
            None
        }

        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            let found = self.0.iter().find(|(name, _)| path == Path::new(name));
            found.map(|(_, text)| text.as_bytes().to_vec()).ok_or(io::ErrorKind::NotFound.into())
        }
    }

    fn read_text(text: &'static str) -> Result<Vec<ListedRequest>, String> {
        read("t", None, &Files(vec![("t", text), ("body.json", "{\"a\":1}")]))
    }

    #[test]
    fn vegeta_blocks() {
        let list = read_text(
            "# two\nGET http://a:1/x?y=1\nGET https://b/\nX-One: 1\nX-One: 2\n\n\
             POST http://a:1/p\nContent-Type: application/json\n@body.json\nGET http://c/\nGET /d/../e?f=g#h",
        );
        let list = list.unwrap();
        let seen: Vec<(&str, &str, &str)> = list
            .iter()
            .map(|l| {
                let origin = l.origin.as_deref().unwrap_or_default();
                (origin, l.request.method.as_str(), l.request.path.as_str())
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("http://a:1", "GET", "/x?y=1"),
                ("https://b", "GET", "/"),
                ("http://a:1", "POST", "/p"),
                ("http://c", "GET", "/"),
                ("", "GET", "/e?f=g"),
            ]
        );
        assert_eq!(list[1].request.headers.len(), 2);
        assert_eq!(list[2].request.body, b"{\"a\":1}");
    }

    #[test]
    fn vegeta_json_lines() {
        let list = read_text(
            "{\"method\":\"POST\",\"url\":\"http://a/b\",\"body\":\"aGk=\",\
             \"header\":{\"X\":[\"1\",\"2\"]}}\n\n{\"method\":\"GET\",\"url\":\"http://a/\"}\n",
        );
        let list = list.unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].request.body, b"hi");
        assert_eq!(list[0].request.headers[1], ("X".to_owned(), "2".to_owned()));
    }

    #[test]
    fn plain_addresses() {
        let list = read_text("http://a/1\n# no\n\nhttp://a/2#part\n").unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].request.path, "/2");
    }

    #[test]
    fn problems_name_file_and_line() {
        let problem = |text| read_text(text).unwrap_err();
        assert_eq!(
            problem("http://a/1\nnonsense\n"),
            "t line 2: expected an address such as http://host/path or /path, got \"nonsense\""
        );
        assert_eq!(problem("GET http://a/\n@none"), "t line 2: cannot read none: entity not found");
        assert_eq!(problem("\n"), "t holds no target");
        assert!(problem("{\"method\":\"GET\",\"url\":\"http://a\",\"x\":1}").contains("`x`"));
    }
}
