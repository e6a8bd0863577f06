//! Calls: of k6's modules, of functions of the script, and of constructors.

use super::value::{Part, plain};
use super::{Converter, DraftStep, Expr, Kind, Rows, Value};
use crate::draft::Capture;

/// Files of data that are remembered.
const MOST_FILES: usize = 100;

impl<'t> Converter<'t, '_> {
    pub(super) fn called(
        &mut self,
        one: &'t Expr,
        callee: &'t Expr,
        arguments: &'t [Expr],
    ) -> Value<'t> {
        let path = callee.path().unwrap_or_default();
        if let Some((module, name)) = self.script.imported(&path) {
            return self.of_module((module, name), one, arguments);
        }
        match path.as_slice() {
            ["open"] => {
                let name = arguments.first().map_or(Value::Unknown, |first| self.value(first));
                self.text(&name).map_or(Value::Unknown, Value::File)
            }
            [
                "String" | "Number" | "parseInt" | "parseFloat" | "Boolean" | "encodeURIComponent"
                | "encodeURI",
            ] => {
                let value = arguments.first().map_or(Value::Unknown, |first| self.value(first));
                match (path[0], value.number()) {
                    ("Number" | "parseInt" | "parseFloat", Some(number)) => Value::Number(number),
                    _ => value,
                }
            }
            ["Math", name] => self.math(name, arguments),
            ["JSON", "stringify"] => {
                let value = arguments.first().map_or(Value::Unknown, |first| self.value(first));
                self.json(&value, 0).map_or(Value::Unknown, Value::Text)
            }
            ["JSON", "parse"] => {
                let value = arguments.first().map_or(Value::Unknown, |first| self.value(first));
                match value {
                    Value::Part(place, Part::Body) => {
                        Value::Part(place, Part::Json("$".to_owned()))
                    }
                    Value::File(file) => self.rows_of(Value::File(file), one),
                    other => other,
                }
            }
            ["Date", "now"] => self.clock(one),
            ["Object", "assign"] => {
                let mut merged = Vec::new();
                for argument in arguments {
                    if let Value::Object(entries) = self.value(argument) {
                        merged.extend(entries);
                    }
                }
                Value::Object(merged)
            }
            ["console", _] => Value::Nothing,
            [name]
                if self.variable(name).is_none() && !self.script.functions.contains_key(name) =>
            {
                Value::Unknown
            }
            _ => self.own(one, callee, arguments),
        }
    }

    /// A function of a module.
    fn of_module(
        &mut self,
        (module, name): (&str, &str),
        one: &'t Expr,
        arguments: &'t [Expr],
    ) -> Value<'t> {
        match (module, name) {
            ("k6/http", name) => self.http(name, one, arguments),
            ("k6", name) => self.k6(name, one, arguments),
            ("k6/encoding", "b64encode") => self.encoded(one, arguments),
            (module, name) if module.contains("k6-utils") => self.util(name, one, arguments),
            (module, "parse") if module.contains("papaparse") => {
                let file = arguments.first().map_or(Value::Unknown, |first| self.value(first));
                Value::Object(vec![("data".to_owned(), self.rows_of(file, one))])
            }
            (module, "uuidv4" | "v4") if module.contains("uuid") => {
                Value::Text(self.mask("{{uuid}}"))
            }
            _ => {
                arguments.iter().for_each(|argument| drop(self.value(argument)));
                self.left_out(one);
                Value::Unknown
            }
        }
    }

    /// A function of the script, or a method.
    fn own(&mut self, one: &'t Expr, callee: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        if let Kind::Member(of, name) = &callee.kind {
            let value = self.value(of);
            if !matches!(value.get(name), Some(Value::Function(_))) {
                return self.method(one, value, name);
            }
        }
        let Value::Function(function) = self.value(callee) else { return Value::Unknown };
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument));
        }
        self.call(function, values)
    }

    /// Notes a call that nothing stands for.
    pub(super) fn left_out(&mut self, one: &'t Expr) {
        let what = format!("{} is left out", self.quoted(&one.at));
        self.note(&one.at, what);
    }

    fn k6(&mut self, name: &str, one: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        match (name, arguments) {
            ("sleep", [pause, ..]) => {
                self.sleep(one, pause);
                Value::Nothing
            }
            ("group", [title, function, ..]) => {
                let title = self.value(title);
                let title = self.text(&title).unwrap_or_default();
                let Value::Function(function) = self.value(function) else { return Value::Unknown };
                self.open_groups.push(title);
                let value = self.call(function, Vec::new());
                self.open_groups.pop();
                value
            }
            ("check", [answer, conditions, ..]) => {
                let answer = self.value(answer);
                self.check(answer, conditions);
                Value::Unknown
            }
            // The step has failed already, which ends the journey.
            _ => Value::Nothing,
        }
    }

    fn sleep(&mut self, one: &'t Expr, pause: &'t Expr) {
        let value = self.value(pause);
        let step = match (&value, value.number()) {
            (_, Some(seconds)) if seconds <= 0.0 || !seconds.is_finite() => return,
            (_, Some(seconds)) => DraftStep::Think(seconds.min(86_400.0)),
            (Value::Drawn(low, high) | Value::Whole(low, high), _)
                if *low >= 0.0 && *high > *low && *high < 86_400.0 =>
            {
                DraftStep::ThinkBetween(*low, *high)
            }
            _ => {
                let what =
                    format!("{} is left out: how long it is, is not known", self.quoted(&one.at));
                return self.note(&one.at, what);
            }
        };
        self.step(step, &one.at);
    }

    fn util(&mut self, name: &str, one: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument));
        }
        match (name, values.as_slice()) {
            ("uuidv4", _) => Value::Text(self.mask("{{uuid}}")),
            ("randomString", _) => {
                self.note(
                    &one.at,
                    "a random text becomes 16 hexadecimal digits, however long it was",
                );
                Value::Text(self.mask("{{token}}"))
            }
            ("randomIntBetween", [low, high]) => match (low.number(), high.number()) {
                (Some(low), Some(high)) if low < high => Value::Whole(low, high),
                _ => Value::Unknown,
            },
            ("randomItem", [Value::Data(at)]) => {
                self.data[*at].order = "random";
                Value::Row(*at)
            }
            ("randomItem", [Value::List(items)]) if !items.is_empty() => {
                let what = format!(
                    "{} is drawn while the script runs: its first value is taken",
                    self.quoted(&one.at)
                );
                self.note(&one.at, what);
                items[0].clone()
            }
            _ => {
                self.left_out(one);
                Value::Unknown
            }
        }
    }

    fn math(&mut self, name: &str, arguments: &'t [Expr]) -> Value<'t> {
        let value = arguments.first().map_or(Value::Unknown, |first| self.value(first));
        match (name, &value, value.number()) {
            ("random", _, _) => Value::Drawn(0.0, 1.0),
            ("floor" | "trunc", Value::Drawn(low, high), _) => {
                Value::Whole(low.floor(), high.ceil() - 1.0)
            }
            ("round", Value::Drawn(low, high), _) => Value::Whole(low.round(), high.round()),
            ("ceil", Value::Drawn(low, high), _) => Value::Whole(low.floor() + 1.0, high.ceil()),
            (_, Value::Whole(..), _) => value,
            ("floor" | "trunc", _, Some(number)) => Value::Number(number.floor()),
            ("round", _, Some(number)) => Value::Number(number.round()),
            ("ceil", _, Some(number)) => Value::Number(number.ceil()),
            _ => Value::Unknown,
        }
    }

    /// A whole number drawn evenly.
    pub(super) fn drawn_number(&mut self, low: f64, high: f64) -> Value<'t> {
        match low <= high && low >= 0.0 && high < 1e15 {
            true => Value::Numeric(self.mask(&format!(
                "{{{{random {}..{}}}}}",
                plain(low),
                plain(high)
            ))),
            false => Value::Unknown,
        }
    }

    /// The time is a number that differs each time.
    pub(super) fn clock(&mut self, one: &Expr) -> Value<'t> {
        self.note(&one.at, "the time becomes a random number of 13 digits");
        self.drawn_number(1_700_000_000_000.0, 1_999_999_999_999.0)
    }

    fn encoded(&mut self, one: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        use base64::Engine as _;
        let value = arguments.first().map_or(Value::Unknown, |first| self.value(first));
        match self.text(&value) {
            Some(text) if !crate::masks::is_masked(&text) => {
                Value::Text(base64::engine::general_purpose::STANDARD.encode(text))
            }
            Some(text) => Value::Object(vec![("base64".to_owned(), Value::Text(text))]),
            None => {
                self.left_out(one);
                Value::Unknown
            }
        }
    }

    /// Rows of a file of data.
    fn rows_of(&mut self, file: Value<'t>, one: &'t Expr) -> Value<'t> {
        let Value::File(file) = file else { return Value::Unknown };
        let file = file.trim_start_matches("./").to_owned();
        let name = match file.strip_suffix(".json") {
            None => file,
            Some(stem) => {
                let what = format!("rows are lines of JSON: jq -c '.[]' {file} > {stem}.jsonl");
                self.note(&one.at, what);
                format!("{stem}.jsonl")
            }
        };
        let known = self.data.iter().position(|data| data.file == name);
        let at = known.unwrap_or(self.data.len()).min(MOST_FILES);
        if at == self.data.len() {
            self.data.push(Rows { file: name, order: "round_robin" });
        }
        Value::Data(at)
    }

    pub(super) fn made(&mut self, class: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        let path = class.path().unwrap_or_default();
        match (self.script.imported(&path), path.as_slice()) {
            (Some(("k6/data", "SharedArray")), _) => {
                match arguments.get(1).map(|second| self.value(second)) {
                    Some(Value::Function(function)) => self.call(function, Vec::new()),
                    _ => Value::Unknown,
                }
            }
            (None, ["Date"]) => self.clock(class),
            (None, ["URL"]) => arguments.first().map_or(Value::Unknown, |first| self.value(first)),
            _ => Value::Unknown,
        }
    }

    /// The value as JSON; numbers that are placeholders stand without quotes.
    pub(super) fn json(&mut self, value: &Value<'t>, depth: usize) -> Option<String> {
        if depth > 60 {
            return None;
        }
        Some(match value {
            Value::Nothing => "null".to_owned(),
            Value::Numeric(mask) => mask.clone(),
            Value::Number(number) => plain(*number),
            Value::Bool(is) => is.to_string(),
            Value::Whole(..) => self.text(value)?,
            Value::List(items) => {
                let mut parts = Vec::new();
                for item in items {
                    parts.push(self.json(item, depth + 1)?);
                }
                format!("[{}]", parts.join(","))
            }
            Value::Object(entries) => {
                let mut parts = Vec::new();
                for (name, value) in entries {
                    let name = serde_json::Value::from(name.as_str()).to_string();
                    parts.push(format!("{name}:{}", self.json(value, depth + 1)?));
                }
                format!("{{{}}}", parts.join(","))
            }
            other => serde_json::Value::from(self.text(other)?).to_string(),
        })
    }

    /// An answer's value must be there.
    pub(super) fn must_have(&mut self, place: usize, path: &str) {
        self.captured(place, Capture::Json(path.to_owned()));
    }
}
