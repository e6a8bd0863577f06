//! A run of one address with flags, as the equivalent experiment file.

use std::fmt::Write;

use url::{Position, Url};

use crate::criterion::{Criterion, Names};
use crate::diagnostic::Span;
use crate::plan::Plan;
use crate::secret::{is_authorising, variable};
use crate::target::{has_credentials, without_credentials};
use crate::toml_text::{key, text};
use crate::trace;
use crate::units;

/// Default length of the measure phase for a run of one address.
const DURATION: &str = "10s";

/// The values of the flags as written, not checked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UrlRun {
    /// The address with its path.
    pub url: String,
    /// `--rate`.
    pub rate: Option<String>,
    /// `--duration`.
    pub duration: Option<String>,
    /// `--requests`.
    pub requests: Option<String>,
    /// `--connections`.
    pub connections: Option<String>,
    /// `--users`.
    pub users: Option<String>,
    /// `--spawn-rate`.
    pub spawn_rate: Option<String>,
    /// `--think`.
    pub think: Option<String>,
    /// `--arrivals`.
    pub arrivals: Option<String>,
    /// `--method`.
    pub method: Option<String>,
    /// `--header`, each as `Name: value`.
    pub headers: Vec<String>,
    /// `--body`.
    pub body: Option<String>,
    /// `--body-file`.
    pub body_file: Option<String>,
    /// `--timeout`.
    pub timeout: Option<String>,
    /// `--warm-up`.
    pub warm_up: Option<String>,
    /// `--new-connections`.
    pub new_connections: bool,
    /// `--unix-socket`.
    pub unix_socket: Option<String>,
    /// `--connect-to`.
    pub connect_to: Option<String>,
    /// `--cacert`.
    pub cacert: Option<String>,
    /// `--cert`.
    pub cert: Option<String>,
    /// `--key`.
    pub key: Option<String>,
    /// `--insecure`.
    pub insecure: bool,
    /// `--traceparent`.
    pub traceparent: Option<String>,
    /// `--trace-url`.
    pub trace_url: Option<String>,
    /// `--criterion`, each.
    pub criteria: Vec<String>,
    /// Whether the rate is only the first of a search.
    pub is_search: bool,
}

/// The purpose of the equivalent file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// For parsing: header values as given.
    Plain,
    /// For people: header values with credentials are left out.
    Shown,
}

impl UrlRun {
    /// The problems of the flags, by name: `--rate: expected a rate such as 500/s, got "500"`.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |flag: &str, value: &Option<String>, expected: &str, good: Check| {
            if let Some(value) = value.as_ref().filter(|value| !good(value)) {
                problems.push(format!("--{flag}: expected {expected}, got \"{value}\""));
            }
        };
        let (positive, duration): (Check, Check) = (is_positive, is_duration);
        check("rate", &self.rate, units::RATE, is_rate);
        check("duration", &self.duration, units::DURATION, duration);
        check("requests", &self.requests, "a whole number above 0", positive);
        check("connections", &self.connections, "a whole number above 0", positive);
        check("users", &self.users, "a whole number above 0", positive);
        check("spawn-rate", &self.spawn_rate, units::RATE, is_rate);
        check("think", &self.think, units::PAUSE, is_think);
        check("arrivals", &self.arrivals, "poisson or constant", is_spacing);
        check("timeout", &self.timeout, units::DURATION, duration);
        check("warm-up", &self.warm_up, "a duration such as 5s, or auto", is_warm_up);
        check("traceparent", &self.traceparent, "a share such as 25%, at most 100%", is_share);
        // Not quoted: it may hold a password.
        let wrong = self.trace_url.as_deref().and_then(trace::problem);
        problems.extend(wrong.map(|what| {
            format!(
                "--trace-url {what}: write one such as https://traces.example/trace/{{trace_id}}"
            )
        }));
        let headers = self.headers.iter().filter(|header| split_header(header).is_none());
        problems.extend(headers.map(|header| {
            // The text after a space may be a credential.
            let shown = match header.trim().split_once(' ') {
                Some((first, _)) => format!("{first} …"),
                None => header.clone(),
            };
            format!("--header: expected a header such as \"Accept: */*\", got \"{shown}\"")
        }));
        problems.extend(self.conflicts());
        problems.extend(self.criteria.iter().flat_map(|text| bad_criterion(text)));
        problems.extend(self.bad_url());
        problems
    }

    fn conflicts(&self) -> Vec<String> {
        let pairs = [
            ("rate", self.rate.is_some(), "users", self.users.is_some()),
            ("duration", self.duration.is_some(), "requests", self.requests.is_some()),
            ("body", self.body.is_some(), "body-file", self.body_file.is_some()),
            ("users", self.users.is_some(), "connections", self.connections.is_some()),
        ];
        let companions = [
            ("spawn-rate", self.spawn_rate.is_some(), "users", self.users.is_some()),
            ("think", self.think.is_some(), "users", self.users.is_some()),
            ("arrivals", self.arrivals.is_some(), "rate", self.rate.is_some()),
            ("cert", self.cert.is_some(), "key", self.key.is_some()),
            ("key", self.key.is_some(), "cert", self.cert.is_some()),
        ];
        let clash = pairs.into_iter().filter(|(_, a, _, b)| *a && *b);
        let orphan = companions.into_iter().filter(|(_, a, _, b)| *a && !*b);
        clash
            .map(|(a, _, b, _)| format!("--{a} and --{b} exclude each other"))
            .chain(orphan.map(|(a, _, b, _)| format!("--{a} needs --{b}")))
            .collect()
    }

    fn bad_url(&self) -> Option<String> {
        match self.parsed_url() {
            Some(url) if has_credentials(&url) => Some(
                "credentials go into a header, such as --header \"Authorization: …\"".to_owned(),
            ),
            Some(_) => None,
            None => {
                let shown = without_credentials(&self.url);
                Some(format!("expected an address such as http://127.0.0.1:8080/, got \"{shown}\""))
            }
        }
    }

    fn parsed_url(&self) -> Option<Url> {
        let url = Url::parse(&self.url).ok()?;
        (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
    }

    /// The text of the equivalent experiment file: valid, with only the given values, aligned.
    ///
    /// Errors: all that [`UrlRun::problems`] finds
    pub fn equivalent(&self, secrecy: Secrecy) -> Result<String, Vec<String>> {
        let problems = self.problems();
        let Some(url) = self.parsed_url().filter(|_| problems.is_empty()) else {
            return Err(problems);
        };
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let origin = &url[..Position::BeforePath];
        let mut out = String::new();
        section(&mut out, "", &self.head(&url));
        section(&mut out, "[target]", &self.target(origin));
        section(&mut out, "[load]", &self.load());
        let trace = given(&[("share", &self.traceparent), ("url", &self.trace_url)]);
        if !trace.is_empty() {
            section(&mut out, "[trace]", &trace);
        }
        section(&mut out, "[[operation]]", &[("http", self.operation(path, secrecy))]);
        Ok(out)
    }

    /// Keeps header values with credentials out of all output about this plan, which was made from
    /// the equivalent file in its plain form.
    pub fn protect(&self, plan: &mut Plan) {
        for (name, value) in self.headers.iter().filter_map(|header| split_header(header)) {
            if authorises(name, value) {
                let variable = variable(name);
                plan.secrets.add_header(name, value);
                plan.secrets.add_text(value, &format!("{{{{env.{variable}}}}}"));
            }
        }
    }

    fn head(&self, url: &Url) -> Vec<(&'static str, String)> {
        let host = url.host_str().unwrap_or_default();
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        let title = match (&self.rate, &self.users) {
            _ if self.is_search => format!("Capacity of {host}{port}"),
            (Some(rate), _) => format!("{host}{port} at {rate}"),
            (None, Some(users)) => format!("{host}{port} with {users} users"),
            (None, None) => format!("{host}{port} in a closed loop"),
        };
        let mut lines = vec![("title", text(&title))];
        if !self.criteria.is_empty() {
            let criteria: Vec<String> = self.criteria.iter().map(|one| text(one)).collect();
            lines.push(("criteria", format!("[{}]", criteria.join(", "))));
        }
        lines
    }

    fn target(&self, origin: &str) -> Vec<(&'static str, String)> {
        let mut lines = vec![("url", text(origin))];
        let settings = [
            ("unix_socket", &self.unix_socket),
            ("connect_to", &self.connect_to),
            ("cacert", &self.cacert),
            ("cert", &self.cert),
            ("key", &self.key),
        ];
        lines.extend(given(&settings));
        if self.insecure {
            lines.push(("insecure", "true".to_owned()));
        }
        lines
    }

    fn load(&self) -> Vec<(&'static str, String)> {
        let mut lines = given(&[("rate", &self.rate), ("arrivals", &self.arrivals)]);
        lines.extend(number("users", &self.users));
        lines.extend(given(&[("spawn_rate", &self.spawn_rate), ("think", &self.think)]));
        lines.extend(number("connections", &self.connections));
        if self.rate.is_none() && self.users.is_none() && self.connections.is_none() {
            lines.push(("connections", "50".to_owned()));
        }
        lines.extend(number("operations", &self.requests));
        if self.requests.is_none() {
            let duration = self.duration.as_deref().unwrap_or(DURATION);
            lines.push(("duration", text(duration)));
        }
        lines.extend(given(&[("warm_up", &self.warm_up), ("timeout", &self.timeout)]));
        if self.new_connections {
            lines.push(("new_connections", "true".to_owned()));
        }
        lines
    }

    /// The operation's `http` table.
    fn operation(&self, path: &str, secrecy: Secrecy) -> String {
        let mut fields = Vec::new();
        let has_body = self.body.is_some() || self.body_file.is_some();
        let method = self.method.clone().or_else(|| has_body.then(|| "POST".to_owned()));
        fields.extend(method.map(|method| format!("method = {}", text(&method))));
        fields.push(format!("path = {}", text(path)));
        let headers: Vec<String> =
            self.headers.iter().filter_map(|header| header_field(header, secrecy)).collect();
        if !headers.is_empty() {
            fields.push(format!("header = {{ {} }}", headers.join(", ")));
        }
        fields.extend(self.body.iter().map(|body| format!("body = {}", text(body))));
        fields.extend(self.body_file.iter().map(|file| format!("body_file = {}", text(file))));
        format!("{{ {} }}", fields.join(", "))
    }
}

type Check = fn(&str) -> bool;

fn is_rate(text: &str) -> bool {
    units::parse_rate(text).is_some_and(|rate| rate > 0.0)
}

fn is_duration(text: &str) -> bool {
    units::parse_duration(text).is_some_and(|length| !length.is_zero())
}

fn is_positive(text: &str) -> bool {
    text.parse().is_ok_and(|number: u32| number > 0)
}

fn is_spacing(text: &str) -> bool {
    matches!(text, "poisson" | "constant")
}

fn is_warm_up(text: &str) -> bool {
    text == "auto" || units::parse_duration(text).is_some()
}

fn is_share(text: &str) -> bool {
    units::parse_percentage(text).is_some_and(|share| share > 0.0 && share <= 1.0)
}

fn is_think(text: &str) -> bool {
    units::parse_think(text).is_some()
}

/// The problems of a criterion, apart from names, which are known only once the file is read.
fn bad_criterion(criterion: &str) -> Vec<String> {
    let span = Span::new(0, criterion.len());
    let problems = Criterion::parse(criterion, span, &Names::default()).err().unwrap_or_default();
    let form = problems.iter().filter(|problem| !problem.message.starts_with("unknown operation"));
    form.map(|problem| format!("--criterion {criterion:?}: {}", problem.message)).collect()
}

fn split_header(header: &str) -> Option<(&str, &str)> {
    let (name, value) = header.split_once(':')?;
    let name = name.trim();
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some((name, value.trim()))
}

fn header_field(header: &str, secrecy: Secrecy) -> Option<String> {
    let (name, value) = split_header(header)?;
    let value = match secrecy {
        Secrecy::Shown if authorises(name, value) => format!("{{{{env.{}}}}}", variable(name)),
        _ => value.to_owned(),
    };
    Some(format!("{} = {}", key(name), text(&value)))
}

/// Whether this value is a credential; a template has no value yet.
fn authorises(name: &str, value: &str) -> bool {
    is_authorising(name) && !value.contains("{{")
}

fn given(settings: &[(&'static str, &Option<String>)]) -> Vec<(&'static str, String)> {
    settings.iter().filter_map(|(key, value)| Some((*key, text(value.as_ref()?)))).collect()
}

fn number(key: &'static str, value: &Option<String>) -> Option<(&'static str, String)> {
    value.clone().map(|value| (key, value))
}

/// Lines `key = value` with aligned equals signs.
fn section(out: &mut String, head: &str, lines: &[(&'static str, String)]) {
    if !out.is_empty() {
        out.push('\n');
    }
    if !head.is_empty() {
        writeln!(out, "{head}").expect("text grows");
    }
    let width = lines.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in lines {
        writeln!(out, "{key:<width$} = {value}").expect("text grows");
    }
}

#[cfg(test)]
mod tests;
