//! Lines of access logs.
//!
//! Source: Apache's `mod_log_config`, "Common" and "Combined Log Format", and Debian's `vhost_combined`; Envoy, "Default
//! format string"; AWS, "Access log entries" of Application and Classic Load Balancers; Caddy, "How Logging Works"

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use crate::stamp::{Stamp, common, iso, number_since_1970};

/// A request of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) stamp: Stamp,
    pub(super) method: Cow<'a, str>,
    /// A path with its query, or a whole address.
    pub(super) target: Cow<'a, str>,
    /// The host, if the log has it.
    pub(super) host: Option<Cow<'a, str>>,
    /// What a load tool calls it.
    pub(super) label: Option<String>,
}

/// Why a line is no request.
pub(super) type Reason = &'static str;

/// Keys of a time in logs of JSON.
const TIMES: [&str; 10] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
    "start_time",
    "StartUTC",
    "msec",
    "datetime",
];
const METHODS: [&str; 5] = ["method", "request_method", "http_method", "RequestMethod", "verb"];
const TARGETS: [&str; 8] = [
    "uri",
    "request_uri",
    "path",
    "url",
    "RequestPath",
    "request_path",
    "x_envoy_original_path",
    "target",
];
const HOSTS: [&str; 6] = ["host", "http_host", "authority", "RequestHost", "server_name", "vhost"];

/// Reads a line of any of the formats.
///
/// Errors: why it is none
pub(super) fn read(line: &str) -> Result<Request<'_>, Reason> {
    if line.starts_with('{') {
        return json(line);
    }
    let (request, before) = quoted_request(line).ok_or("it has no request in quotes")?;
    let stamp = match bracketed(before) {
        Some(text) => common(text).or_else(|| iso(text)),
        // Load balancers of AWS begin with the time, or with it behind the kind of the connection.
        None => before.split(' ').take(2).find_map(iso),
    };
    let stamp = stamp.ok_or("it has no time that is understood")?;
    let (method, target) = words(request).ok_or("its request is no method and address")?;
    let host = virtual_host(before).map(Cow::Borrowed);
    Ok(Request { stamp, method: method.into(), target: unescaped(target), host, label: None })
}

/// The host that stands before address, identity and user: `example.org:80 192.0.2.7 - - [`.
pub(super) fn virtual_host(before: &str) -> Option<&str> {
    let words: Vec<&str> = before.split('[').next()?.split_whitespace().collect();
    let [first, second, _, _] = words.as_slice() else { return None };
    let (host, port) = first.rsplit_once(':')?;
    // An address in the first place is that of a client, whose user may have two names.
    let is_client = first.parse::<IpAddr>().is_ok() || first.parse::<SocketAddr>().is_ok();
    let is_host = !host.is_empty() && port.parse::<u16>().is_ok() && *second != "-";
    (is_host && !is_client).then_some(*first)
}

/// What servers write with a backslash, as it can be sent: `\x22` of nginx and `\"` of Apache are `%22`.
fn unescaped(target: &str) -> Cow<'_, str> {
    if !target.contains('\\') {
        return Cow::Borrowed(target);
    }
    let (mut out, mut rest) = (String::new(), target);
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let code = escape.strip_prefix('x').and_then(|code| code.get(..2));
        rest = match (code.filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit())), escape) {
            (Some(code), _) => {
                out.push('%');
                out.push_str(code);
                &escape[3..]
            }
            (None, quote) if quote.starts_with('"') => {
                out.push_str("%22");
                &escape[1..]
            }
            (None, slash) => {
                out.push_str("%5C");
                slash.strip_prefix('\\').unwrap_or(slash)
            }
        };
    }
    Cow::Owned(out + rest)
}

/// The first text in quotes, and what stands before it.
fn quoted_request(line: &str) -> Option<(&str, &str)> {
    let begin = line.find('"')?;
    let bytes = line.as_bytes();
    let mut end = begin + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end < bytes.len()).then(|| (&line[begin + 1..end], &line[..begin]))
}

fn bracketed(text: &str) -> Option<&str> {
    let begin = text.find('[')?;
    let end = text[begin..].find(']')?;
    Some(&text[begin + 1..begin + end])
}

/// `GET /path HTTP/1.1`
fn words(request: &str) -> Option<(&str, &str)> {
    let (method, rest) = request.split_once(' ')?;
    let target = rest.rsplit_once(" HTTP/").map_or(rest, |(target, _)| target).trim();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_target = target.starts_with('/') || target.starts_with("http");
    (is_method && is_target).then_some((method, target))
}

/// The value of the first of these keys, or of one within `request`, where Caddy has most of them.
pub(super) fn found<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    let within = |value: &'a Value| keys.iter().find_map(|key| value.get(key));
    let found = within(value).or_else(|| within(value.get("request")?));
    found.filter(|one| !one.is_null())
}

fn json(line: &str) -> Result<Request<'static>, Reason> {
    let value: Value = serde_json::from_str(line).map_err(|_| "it is no JSON")?;
    let find = |keys: &[&str]| found(&value, keys);
    let stamp = find(&TIMES).and_then(|time| match time {
        Value::Number(number) => number_since_1970(&number.to_string()),
        Value::String(text) => {
            iso(text).or_else(|| common(text)).or_else(|| number_since_1970(text))
        }
        _ => None,
    });
    let stamp = stamp.ok_or("it has no time that is understood")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let line = value.get("request").and_then(Value::as_str).and_then(words);
    let line = line.map(|(method, target)| (method.to_owned(), target.to_owned()));
    let apart = || {
        let target = find(&TARGETS).and_then(text)?;
        let method = find(&METHODS).and_then(text).unwrap_or_else(|| "GET".to_owned());
        (target.starts_with('/') || target.starts_with("http")).then_some((method, target))
    };
    let (method, target) = line.or_else(apart).ok_or("its request is no method and address")?;
    let host =
        find(&HOSTS).and_then(text).filter(|host| !host.is_empty() && host != "-" && host != "_");
    // Caddy says that a request came over TLS by what was agreed on.
    let is_secure = value.pointer("/request/tls").is_some_and(Value::is_object);
    let host = host.map(|host| if is_secure { format!("https://{host}") } else { host });
    Ok(Request {
        stamp,
        method: method.into(),
        target: target.into(),
        host: host.map(Cow::Owned),
        label: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, method: &str, target: &str, host: Option<&str>, seconds: i128) {
        let read = read(line).unwrap_or_else(|reason| panic!("{line}: {reason}"));
        assert_eq!(
            (&*read.method, &*read.target, read.host.as_deref()),
            (method, target, host),
            "{line}"
        );
        assert_eq!(read.stamp.at / 1_000_000_000, seconds, "{line}");
    }

    #[test]
    fn lines_of_every_format() {
        let combined = "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif?a=b HTTP/1.0\" 200 2326 \
            \"http://www.example.com/start.html\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"";
        check(combined, "GET", "/apache_pb.gif?a=b", None, 971_211_336);
        let envoy = "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28\" \
            \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \"tcp://10.0.2.1:80\"";
        check(envoy, "POST", "/api/v1/locations", None, 1_460_751_420);
        let alb = "http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 \
            0.000 0.001 0.000 200 200 34 366 \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.46.0\" - -";
        check(alb, "GET", "http://www.example.com:80/", None, 1_530_570_180);
        let elb = "2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 \
            0.000057 200 200 0 29 \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.38.0\" - -";
        check(elb, "GET", "http://www.example.com:80/", None, 1_431_560_383);
        check(
            "{\"time_iso8601\":\"2024-02-29T00:00:00+00:00\",\"request\":\"HEAD /a HTTP/1.1\",\"host\":\"h\"}",
            "HEAD",
            "/a",
            Some("h"),
            1_709_164_800,
        );
        check(
            "{\"ts\":1709164800.123,\"method\":\"GET\",\"uri\":\"/a?b\"}",
            "GET",
            "/a?b",
            None,
            1_709_164_800,
        );
        check(
            "- - - [10/Oct/2000:13:55:36 -0700] \"GET /a \\\"b\\\" HTTP/1.1\" 200 1",
            "GET",
            "/a %22b%22",
            None,
            971_211_336,
        );
        let hosts = "example.org:8080 ::1 - ann [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 1 \"-\" \"x\"";
        check(hosts, "GET", "/a", Some("example.org:8080"), 971_211_336);
        for before in ["a:80 - ann", "10.0.0.5:51234 10.0.0.9 - -", "2001:db8::1 - John Smith"] {
            let line = format!("{before} [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 1");
            check(&line, "GET", "/a", None, 971_211_336);
        }
        let caddy = "{\"level\":\"info\",\"ts\":1646861401.5241024,\"logger\":\"http.log.access\",\"request\":\
            {\"client_ip\":\"127.0.0.1\",\"method\":\"HEAD\",\"host\":\"localhost\",\"uri\":\"/c?d\",\"headers\":{},\
            \"tls\":{\"proto\":\"h2\"}},\"status\":200}";
        check(caddy, "HEAD", "/c?d", Some("https://localhost"), 1_646_861_401);
        check(&caddy.replace("tls", "x"), "HEAD", "/c?d", Some("localhost"), 1_646_861_401);
    }

    #[test]
    fn escapes_of_a_server_are_sent_as_what_they_stand_for() {
        for (target, sent) in [
            ("/a", "/a"),
            (r"/?q=\x22a\x22", "/?q=%22a%22"),
            (r"/\\\x5Cb", "/%5C%5Cb"),
            (r"/\xé\x2", "/%5Cxé%5Cx2"),
            (r#"/\""#, "/%22"),
            ("/\\", "/%5C"),
        ] {
            assert_eq!(unescaped(target), sent, "{target}");
        }
    }

    #[test]
    fn other_lines_are_refused_with_a_reason() {
        for (line, reason) in [
            ("", "it has no request in quotes"),
            ("a [10/Oct/2000:13:55:36 -0700] \"GET /", "it has no request in quotes"),
            ("a [then] \"GET / HTTP/1.1\" 200", "it has no time that is understood"),
            (
                "a [10/Oct/2000:13:55:36 -0700] \"\\x16\\x03\\x01\" 400",
                "its request is no method and address",
            ),
            ("a [10/Oct/2000:13:55:36 -0700] \"-\" 408", "its request is no method and address"),
            ("{\"a\":", "it is no JSON"),
            ("{\"uri\":\"/\"}", "it has no time that is understood"),
            ("{\"ts\":1,\"uri\":\"a\"}", "its request is no method and address"),
        ] {
            assert_eq!(read(line), Err(reason), "{line}");
        }
    }
}
