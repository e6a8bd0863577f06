//! A draft as the text of an experiment file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use plan::toml_text::text;
use quantities::format_duration;

use crate::draft::{
    Capture, Draft, DraftJourney, DraftOperation, DraftStep, Expect, HeaderValue, Replay, Rows,
    Status,
};
use crate::value::{Inline, fixed, http};

/// The load of a draft that has none: little, since whoever imports has not yet said whom it may hurt.
const CAREFUL: &str =
    "rate     = \"1/s\"                        # yours: how many a second\nduration = \"60s\"";

/// The text of an experiment file, with a comment wherever something is left to decide.
pub fn write(draft: &Draft, source: &str) -> String {
    let mut parts = String::new();
    let file = Writer { draft, origin: most_common_origin(draft) };
    for operation in &draft.operations {
        file.operation(&mut parts, operation);
    }
    for journey in &draft.journeys {
        file.journey(&mut parts, journey);
    }
    // The address of the target may be a variable as well.
    let named = format!("{}\n{parts}", file.origin);
    file.head(source, &variables(&named)) + &parts
}

/// The environment variables of an experiment file, in order of appearance.
pub fn variables(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    // Behind four braces there is no placeholder.
    for (at, begin) in text.match_indices("{{env.") {
        let name = text[at + begin.len()..].split_once("}}").map_or("", |(name, _)| name);
        if !text[..at].ends_with('{') && !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

struct Writer<'a> {
    draft: &'a Draft,
    origin: &'a str,
}

/// The origin that most operations go to, the first of them where it is a tie.
fn most_common_origin(draft: &Draft) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in &draft.operations {
        *counts.entry(&operation.origin).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or_default();
    let origins = draft.operations.iter().map(|one| one.origin.as_str());
    origins.into_iter().find(|origin| counts[origin] == most).unwrap_or_default()
}

impl Writer<'_> {
    fn head(&self, source: &str, variables: &[&str]) -> String {
        let draft = self.draft;
        let mut head = String::new();
        let out = &mut head;
        comment(out, &format!("Imported from {source} by `proofload import`."));
        if !variables.is_empty() {
            comment(out, &format!("Set before a run: {}.", variables.join(", ")));
        }
        if !draft.notes.is_empty() {
            comment(out, "Not taken over:");
        }
        for note in &draft.notes {
            let place = note.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            comment(out, &format!("- {place}{}", draft.credentials.redact(&note.what)));
        }
        let title = draft.credentials.redact(&draft.title);
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(out, "\ntitle    = {}\n", fixed(&title));
        out.push_str(
            "question = \"\"                           # yours: what is to be found out\n",
        );
        out.push_str(&criteria(&draft.criteria));
        let _ = write!(out, "\n[target]\nurl = {}\n", text(self.origin));
        for (key, value) in &draft.target {
            let _ = writeln!(out, "{key} = {value}");
        }
        let _ = write!(out, "\n[load]\n{}\n", load(draft));
        head
    }

    fn operation(&self, out: &mut String, operation: &DraftOperation) {
        out.push('\n');
        for line in &operation.comments {
            comment(out, &self.draft.credentials.redact(line));
        }
        let _ = write!(out, "[[operation]]\nname   = {}\n", text(&operation.name));
        if let Some(weight) = operation.weight.filter(|weight| *weight != 1.0) {
            let _ = writeln!(out, "weight = {weight}");
        }
        let protocol = if operation.is_http2 { "http2 " } else { "http  " };
        let _ = writeln!(out, "{protocol} = {}", http(operation));
        if let Some(targets) = &operation.targets {
            let _ = writeln!(out, "targets = {{ file = {}, format = \"vegeta\" }}", fixed(targets));
        }
        if operation.origin != self.origin {
            let _ = writeln!(out, "target = {}", text(&operation.origin));
        }
        rows(out, operation.rows.as_ref());
        if let Some(expect) = expect(&operation.expect) {
            let _ = writeln!(out, "expect = {expect}");
        }
        if !operation.captures.is_empty() {
            let mut captures = Inline::default();
            for (name, capture) in &operation.captures {
                captures.entry(name, capture_of(capture));
            }
            let _ = writeln!(out, "capture = {}", captures.end());
        }
    }

    fn journey(&self, out: &mut String, journey: &DraftJourney) {
        let _ = write!(out, "\n[[journey]]\nname   = {}\n", text(&journey.name));
        if let Some(weight) = journey.weight.filter(|weight| *weight != 1.0) {
            let _ = writeln!(out, "weight = {weight}");
        }
        rows(out, journey.rows.as_ref());
        if let Some(sessions) = &journey.sessions {
            let _ = writeln!(out, "sessions = {}", fixed(sessions));
            out.push_str(
                "after_failure = \"continue\"              # a recorded client went on, too\n",
            );
        }
        out.push_str("steps  = [\n");
        let name = |place: &usize| text(&self.draft.operations[*place].name);
        for step in &journey.steps {
            let written = match step {
                DraftStep::Do(places) => match places.as_slice() {
                    [one] => name(one),
                    several => {
                        let names: Vec<String> = several.iter().map(name).collect();
                        format!("[{}]", names.join(", "))
                    }
                },
                DraftStep::Share(place, share) => {
                    let percent = (share * 1e6).round() / 1e4;
                    format!("{{ do = {}, share = \"{percent}%\" }}", name(place))
                }
                DraftStep::Think(seconds) => text(&format!("think {}", pause(*seconds))),
                DraftStep::ThinkBetween(low, high) => {
                    text(&format!("think {}..{}", pause(*low), pause(*high)))
                }
            };
            let _ = writeln!(out, "  {written},");
        }
        out.push_str("]\n");
    }
}

/// A comment, on as many lines as its text has.
fn comment(out: &mut String, line: &str) {
    for line in line.lines() {
        let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(out, "# {}", clean.trim_end());
    }
}

fn pause(seconds: f64) -> String {
    format_duration(Duration::from_secs_f64(seconds))
}

fn rows(out: &mut String, rows: Option<&Rows>) {
    if let Some(Rows { file, order }) = rows {
        let order = if *order == "round_robin" {
            String::new()
        } else {
            format!(", order = {}", text(order))
        };
        let _ = writeln!(out, "rows   = {{ file = {}{order} }}", fixed(file));
    }
}

/// The criteria of a draft, or one that is little to ask for.
fn criteria(criteria: &[String]) -> String {
    match criteria {
        [] => "criteria = [\"failed == 0\"]               # yours: such as \"p95 < 500ms\"\n"
            .to_owned(),
        several => {
            let listed: Vec<String> = several.iter().map(|one| text(one)).collect();
            format!("criteria = [{}]\n", listed.join(", "))
        }
    }
}

fn load(draft: &Draft) -> String {
    let Some(Replay { offsets, requests, sessions, length, resolution }) = &draft.load else {
        let keys: Vec<String> =
            draft.pace.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        return if keys.is_empty() { CAREFUL.to_owned() } else { keys.join("\n") };
    };
    let rounded = Duration::from_secs(length.as_secs_f64().round() as u64);
    let resolution = resolution.map(format_duration).map(|one| {
        format!("resolution = {:<24}  # within this, instants are drawn at random\n", text(&one))
    });
    let (what, count) = match sessions {
        Some(sessions) => ("sessions", format!("sessions: {sessions}, requests: {requests}")),
        None => ("requests", format!("requests: {requests}")),
    };
    // Else the phase would end where the last session begins.
    let until = Duration::from_secs(length.as_secs() + 1);
    let duration = sessions.map(|_| format!("duration = {}\n", text(&format_duration(until))));
    format!(
        "replay  = {}           # {count}, in {}\n{}{}\
         # scale = 0.1                             # a tenth of the {what}; 2 for twice as many\n\
         warm_up = \"0s\"\n\
         steady_state = \"reported\"               # the traffic is as it was",
        fixed(offsets),
        format_duration(rounded),
        duration.unwrap_or_default(),
        resolution.unwrap_or_default()
    )
}

fn expect(expect: &Expect) -> Option<String> {
    let mut inline = Inline::default();
    let status = |status: &Status| match status {
        Status::Code(code) => code.to_string(),
        Status::Class(digit) => text(&format!("{digit}xx")),
    };
    match expect.status.as_slice() {
        [] => {}
        [one] => inline.entry("status", status(one)),
        several => inline.list("status", several.iter().map(status)),
    }
    let contains: Vec<String> = expect.contains.iter().map(|one| text(one.as_str())).collect();
    inline.one_or_more("contains", contains);
    inline.one_or_more("matches", expect.matches.iter().map(|one| fixed(one)).collect());
    if !expect.headers.is_empty() {
        let mut headers = Inline::default();
        for (name, value) in &expect.headers {
            headers.entry(
                name,
                match value {
                    HeaderValue::Is(value) => text(value.as_str()),
                    HeaderValue::Contains(part) => {
                        format!("{{ contains = {} }}", text(part.as_str()))
                    }
                },
            );
        }
        inline.entry("header", headers.end());
    }
    if !expect.json.is_empty() {
        let mut json = Inline::default();
        for (path, value) in &expect.json {
            json.entry(path, crate::value::json(value));
        }
        inline.entry("json", json.end());
    }
    (!inline.is_empty()).then(|| inline.end())
}

fn capture_of(capture: &Capture) -> String {
    if let Capture::Json(path) = capture {
        return fixed(path);
    }
    let mut inline = Inline::default();
    add_capture(capture, &mut inline);
    inline.end()
}

fn add_capture(capture: &Capture, inline: &mut Inline) {
    match capture {
        Capture::Json(path) => inline.entry("json", fixed(path)),
        Capture::Header(name, pattern) => {
            inline.entry("header", fixed(name));
            if let Some(pattern) = pattern {
                inline.entry("matches", fixed(pattern));
            }
        }
        Capture::Cookie(name) => inline.entry("cookie", fixed(name)),
        Capture::Matches(pattern) => inline.entry("matches", fixed(pattern)),
        Capture::Body => inline.entry("body", "true".to_owned()),
        Capture::Decoded(inner, decode) => {
            add_capture(inner, inline);
            inline.entry("decode", text(decode));
        }
    }
}
