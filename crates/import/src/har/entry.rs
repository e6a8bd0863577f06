//! One entry of a recording.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::Url;

use crate::draft::Draft;
use crate::stamp;

/// A request and its answer, with times in milliseconds.
pub struct Entry<'a> {
    /// When it began.
    pub start: f64,
    /// When its answer was complete.
    pub end: f64,
    /// In capitals.
    pub method: String,
    /// Its address.
    pub url: Url,
    /// The status; 0 without an answer.
    pub status: u16,
    /// What the browser wanted it for, such as `xhr`; empty if it does not say.
    pub purpose: String,
    /// Whether the browser had the answer itself.
    pub is_cached: bool,
    request: &'a Value,
    response: &'a Value,
}

/// All entries in the order in which they began; entries without what is needed are noted.
pub fn all<'a>(log: &'a Value, draft: &mut Draft) -> Vec<Entry<'a>> {
    let list = log["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_firefox = log["creator"]["name"].as_str() == Some("Firefox");
    let mut entries: Vec<Entry<'a>> = Vec::with_capacity(list.len());
    for (number, value) in (1..).zip(list) {
        let before = entries.last().map(|entry| entry.end);
        match read(value, is_firefox) {
            Ok((mut entry, has_time)) => {
                if !has_time {
                    let what = format!("entry {number} has no valid startedDateTime; it follows");
                    draft.note(None, format!("{what} the entry before it"));
                    let start = before.unwrap_or_default();
                    (entry.start, entry.end) = (start, start + entry.end - entry.start);
                }
                entries.push(entry);
            }
            Err(what) => draft.note(None, format!("entry {number} is left out: {what}")),
        }
    }
    entries.sort_by(|one, other| one.start.total_cmp(&other.start));
    entries
}

/// An entry, and whether it says when it began.
fn read(value: &Value, is_firefox: bool) -> Result<(Entry<'_>, bool), &'static str> {
    let (request, response) = (&value["request"], &value["response"]);
    let address = request["url"].as_str().ok_or("it has no request.url")?;
    let url = Url::parse(address).map_err(|_| "its request.url is no address")?;
    let method = request["method"].as_str().unwrap_or("GET").to_ascii_uppercase();
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err("its request.method is no method");
    }
    let start = value["startedDateTime"].as_str().and_then(|text| stamp::iso(text.trim()));
    let start = start.map(|stamp| stamp.at as f64 / 1e6);
    let time = value["time"].as_f64().filter(|time| time.is_finite()).unwrap_or_default();
    let purpose = value["_resourceType"].as_str().unwrap_or_default().to_ascii_lowercase();
    // Firefox has the key for answers from its cache only; other browsers say so in fields of their own.
    let is_cached = value["_fromCache"].is_string()
        || value["_fromCache"].as_bool() == Some(true)
        || value["_fetchType"].as_str().is_some_and(|kind| kind.contains("Cache"))
        || (is_firefox && value["cache"].get("afterRequest").is_some());
    let status = response["status"].as_u64().and_then(|status| status.try_into().ok());
    let entry = Entry {
        start: start.unwrap_or_default(),
        end: start.unwrap_or_default() + time.max(0.0),
        method,
        url,
        status: status.unwrap_or(0),
        purpose,
        // The server was asked whether the answer in the cache is still right.
        is_cached: is_cached && status != Some(304),
        request,
        response,
    };
    Ok((entry, start.is_some()))
}

/// Whether a name in HTTP may have this letter.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Name and value of each object in a list.
fn pairs(list: &Value) -> impl Iterator<Item = (&str, &str)> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| Some((one["name"].as_str()?, one["value"].as_str()?)))
}

impl<'a> Entry<'a> {
    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Header fields of the request.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        // HTTP/2 has `:path` and others, which are no header fields.
        pairs(&self.request["headers"])
            .filter(|(name, _)| !name.is_empty() && name.bytes().all(is_token))
    }

    /// The first header field of the request with this name.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Header fields of the answer.
    pub fn answer_headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        pairs(&self.response["headers"])
    }

    /// The first header field of the answer with this name.
    pub fn answer_header(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.answer_headers();
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Cookies that were sent.
    pub fn sent_cookies(&self) -> Vec<(&'a str, &'a str)> {
        let fields = self.headers().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let written = fields.flat_map(|(_, value)| value.split(';')).filter_map(cookie);
        written.chain(pairs(&self.request["cookies"])).collect()
    }

    /// Cookies that the answer sets.
    pub fn set_cookies(&self) -> Vec<(&'a str, &'a str)> {
        let is_cookie = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("set-cookie");
        let fields = self.answer_headers().filter(is_cookie);
        // Chrome writes several fields as one, a line each.
        let lines = fields.flat_map(|(_, value)| value.lines());
        let first = |line: &'a str| line.split(';').next().and_then(cookie);
        lines.filter_map(first).chain(pairs(&self.response["cookies"])).collect()
    }

    /// The type of the answer, without its parameters.
    pub fn mime(&self) -> String {
        let content = self.response["content"]["mimeType"].as_str().unwrap_or_default();
        content.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The body of the answer, if it was recorded and is a text.
    pub fn answer(&self) -> Option<Cow<'a, str>> {
        let content = &self.response["content"];
        let text = content["text"].as_str().filter(|text| !text.is_empty())?;
        if content["encoding"].as_str() != Some("base64") {
            return Some(Cow::Borrowed(text));
        }
        let plain: String = text.chars().filter(|one| !one.is_ascii_whitespace()).collect();
        String::from_utf8(STANDARD.decode(plain).ok()?).ok().map(Cow::Owned)
    }

    /// Where the answer leads to, if it is a redirect.
    pub fn redirect(&self) -> Option<Url> {
        let target = self.response["redirectURL"].as_str().filter(|target| !target.is_empty());
        let target = target.or_else(|| self.answer_header("location"))?;
        let mut url = self.url.join(target).ok()?;
        url.set_fragment(None);
        matches!(self.status, 301 | 302 | 303 | 307 | 308).then_some(url)
    }

    /// Whether a page was opened: its requests come after it.
    pub fn is_document(&self) -> bool {
        match self.purpose.as_str() {
            "" => {
                let mode = self.header("sec-fetch-mode");
                let accepts = self.header("accept").is_some_and(|kind| kind.contains("text/html"));
                mode.map_or(accepts, |mode| mode == "navigate")
            }
            purpose => purpose == "document",
        }
    }

    /// The version of HTTP that was spoken, in small letters.
    pub fn version(&self) -> String {
        self.request["httpVersion"].as_str().unwrap_or_default().to_ascii_lowercase()
    }

    /// The body of the request.
    pub fn post_data(&self) -> PostData<'a> {
        let posted = &self.request["postData"];
        PostData {
            mime: posted["mimeType"].as_str().unwrap_or_default(),
            text: posted["text"].as_str().unwrap_or_default(),
            params: posted["params"].as_array().map(Vec::as_slice).unwrap_or_default(),
            size: self.request["bodySize"].as_i64().unwrap_or_default(),
        }
    }
}

fn cookie(text: &str) -> Option<(&str, &str)> {
    text.trim().split_once('=')
}

/// The body of a request.
pub struct PostData<'a> {
    /// Its type with its parameters.
    pub mime: &'a str,
    /// As it was sent.
    pub text: &'a str,
    /// Fields of a form.
    pub params: &'a [Value],
    /// Its size in bytes; 0 or less if it is unknown.
    pub size: i64,
}

impl PostData<'_> {
    /// The type in small letters, without its parameters.
    pub fn essence(&self) -> String {
        self.mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}
