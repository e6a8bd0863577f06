//! Expressions: what is known of their values.

use super::value::{Part, member, plain};
use super::{At, Converter, Expr, Kind, MOST_LOOKED_AT, Value};
use crate::credentials::environment;
use crate::draft::{Capture, value_name};

/// Longer texts are not known.
const LONGEST: usize = 1 << 20;
/// Values of more parts are not known.
const LARGEST: usize = 20_000;

impl<'t> Converter<'t, '_> {
    /// The value of an expression; what it performs becomes steps.
    pub(super) fn value(&mut self, one: &'t Expr) -> Value<'t> {
        self.looked_at += 1;
        if self.looked_at >= MOST_LOOKED_AT {
            if self.looked_at == MOST_LOOKED_AT {
                self.note(&one.at, "the script is too long to be followed from here on");
            }
            return Value::Unknown;
        }
        match &one.kind {
            Kind::Null => Value::Nothing,
            Kind::Bool(is) => Value::Bool(*is),
            Kind::Number(number) => Value::Number(*number),
            Kind::Text(text) => Value::Text(text.clone()),
            Kind::Template(texts, between) => self.template(texts, between),
            Kind::Name(name) => self.named(name, one),
            Kind::List(items) => self.list(items),
            Kind::Object(entries) => self.object(entries),
            Kind::Function(function) => Value::Function(function),
            Kind::Member(of, name) => {
                if let Some(value) = one.path().and_then(|path| self.known_member(&path)) {
                    return value;
                }
                let of = self.value(of);
                self.member(of, name)
            }
            Kind::Index(of, at) => {
                let of = self.value(of);
                self.indexed(of, at)
            }
            Kind::Call(callee, arguments) => self.called(one, callee, arguments),
            Kind::New(class, arguments) => self.made(class, arguments),
            Kind::Unary(operator, inner) => self.unary(operator, inner),
            Kind::Binary(operator, left, right) => {
                let left = self.value(left);
                // What stands behind may not be performed.
                if let ("&&" | "||" | "??", Some(is)) = (*operator, left.truth())
                    && is == (*operator != "&&")
                {
                    return left;
                }
                let right = self.value(right);
                self.binary(&one.at, operator, left, right)
            }
            Kind::Conditional(test, then, otherwise) => self.conditional(test, then, otherwise),
            Kind::Assign(name, operator, value) => self.assigned(name, operator, value),
            Kind::Other(parts) => {
                let mut last = Value::Unknown;
                for part in parts {
                    last = self.value(part);
                }
                last
            }
            Kind::Regex(_) | Kind::Spread(_) => Value::Unknown,
        }
    }

    fn unary(&mut self, operator: &str, inner: &'t Expr) -> Value<'t> {
        let inner = self.value(inner);
        match (operator, inner.truth(), inner.number()) {
            ("!", Some(is), _) => Value::Bool(!is),
            ("-", _, Some(number)) => Value::Number(-number),
            ("+", _, Some(number)) => Value::Number(number),
            ("+", _, None) => inner,
            _ => Value::Unknown,
        }
    }

    fn conditional(&mut self, test: &'t Expr, then: &'t Expr, otherwise: &'t Expr) -> Value<'t> {
        match self.value(test).truth() {
            Some(true) => self.value(then),
            Some(false) => self.value(otherwise),
            // A choice by the environment has its other value.
            None => match self.value(otherwise) {
                Value::Unknown | Value::Nothing => self.value(then),
                otherwise => otherwise,
            },
        }
    }

    fn assigned(&mut self, name: &str, operator: &str, value: &'t Expr) -> Value<'t> {
        let at = &value.at;
        let mut value = self.value(value);
        if operator != "=" {
            let before = self.variable(name).cloned().unwrap_or(Value::Unknown);
            value = self.binary(at, operator.trim_end_matches('='), before, value);
        }
        self.assign(name, value.clone());
        value
    }

    fn template(&mut self, texts: &'t [String], between: &'t [Expr]) -> Value<'t> {
        let mut out = texts.first().cloned().unwrap_or_default();
        for (one, text) in between.iter().zip(texts.iter().skip(1)) {
            let value = self.value(one);
            let Some(value) = self.text(&value) else { return Value::Unknown };
            out.push_str(&value);
            out.push_str(text);
            if out.len() > LONGEST {
                return Value::Unknown;
            }
        }
        Value::Text(out)
    }

    fn named(&mut self, name: &str, one: &'t Expr) -> Value<'t> {
        if let Some(value) = self.variable(name) {
            // A value that holds itself several times may have more parts than fit anywhere.
            return if value.size() <= LARGEST { value.clone() } else { Value::Unknown };
        }
        match name {
            "__ENV" => Value::Environment,
            "__ITER" => {
                self.note(
                    &one.at,
                    "the count of a user's iterations becomes that of all operations of this name",
                );
                Value::Numeric(self.mask("{{sequence}}"))
            }
            "__VU" => {
                self.note(
                    &one.at,
                    "the number of the user becomes a number that is drawn from 1 to 1000",
                );
                Value::Numeric(self.mask("{{random 1..1000}}"))
            }
            "undefined" => Value::Nothing,
            name => match self.script.functions.get(name) {
                Some(function) => Value::Function(function),
                None => Value::Unknown,
            },
        }
    }

    /// Members of modules that stand for something.
    fn known_member(&mut self, path: &[&'t str]) -> Option<Value<'t>> {
        let (module, _) = self.script.imported(path.get(..1)?)?;
        let is_execution = module == "k6/execution";
        let rest = path.get(1..)?.join(".");
        let counts = [
            "scenario.iterationInTest",
            "scenario.iterationInInstance",
            "vu.iterationInScenario",
            "vu.iterationInInstance",
        ];
        (is_execution && counts.contains(&rest.as_str()))
            .then(|| Value::Numeric(self.mask("{{sequence}}")))
    }

    fn list(&mut self, items: &'t [Expr]) -> Value<'t> {
        let mut list = Vec::new();
        for item in items {
            match &item.kind {
                Kind::Spread(inner) => match self.value(inner) {
                    Value::List(inner) => list.extend(inner),
                    _ => return Value::Unknown,
                },
                _ => list.push(self.value(item)),
            }
        }
        Value::List(list)
    }

    fn object(&mut self, entries: &'t [super::super::tree::Entry]) -> Value<'t> {
        let mut object: Vec<(String, Value<'t>)> = Vec::new();
        for entry in entries {
            let value = self.value(&entry.value);
            let name = match entry.name.as_ref().map(|name| &name.text) {
                None => {
                    if let Value::Object(inner) = value {
                        object.extend(inner);
                    }
                    continue;
                }
                Some(Ok(name)) => Some(name.clone()),
                Some(Err(computed)) => {
                    let name = self.value(computed);
                    self.text(&name)
                }
            };
            object.retain(|(known, _)| Some(known) != name.as_ref());
            object.extend(name.map(|name| (name, value)));
        }
        Value::Object(object)
    }

    /// `of.name`
    pub(super) fn member(&mut self, of: Value<'t>, name: &str) -> Value<'t> {
        match of {
            Value::Object(_) => of.get(name).cloned().unwrap_or(Value::Nothing),
            Value::List(items) => match (name, name.parse::<usize>()) {
                ("length", _) => Value::Number(items.len() as f64),
                (_, Ok(at)) => items.into_iter().nth(at).unwrap_or(Value::Nothing),
                _ => Value::Unknown,
            },
            Value::Environment => Value::Text(self.mask(&environment(name))),
            Value::Row(at) => {
                self.use_rows(at);
                Value::Text(self.mask(&format!("{{{{row.{name}}}}}")))
            }
            // Rows are drawn, not counted: the number of them picks one.
            Value::Data(at) if name != "length" => Value::Row(at),
            Value::Outside(_) => Value::Outside(name.to_owned()),
            Value::Answer(place) => match name {
                "status" => Value::Part(place, Part::Status),
                "body" => Value::Part(place, Part::Body),
                "headers" => Value::Part(place, Part::Headers),
                "cookies" => Value::Part(place, Part::Cookies),
                "timings" => Value::Part(place, Part::Timings),
                "error" | "error_code" => Value::Nothing,
                _ => Value::Part(place, Part::Other),
            },
            Value::Part(place, part) => match part {
                Part::Json(path) if name == "length" => {
                    Value::Part(place, Part::Length(Some(path)))
                }
                Part::Json(path) => Value::Part(place, Part::Json(member(&path, name))),
                Part::Body if name == "length" => Value::Part(place, Part::Length(None)),
                Part::Headers => Value::Part(place, Part::Header(name.to_ascii_lowercase())),
                Part::Cookies => Value::Part(place, Part::Cookie(name.to_owned())),
                Part::Cookie(_) if name == "0" || name == "value" => Value::Part(place, part),
                Part::Timings => Value::Part(place, Part::Time(name.to_owned())),
                _ => Value::Part(place, Part::Other),
            },
            _ => Value::Unknown,
        }
    }

    /// `of[at]`
    fn indexed(&mut self, of: Value<'t>, at: &'t Expr) -> Value<'t> {
        if let Value::Data(number) = of {
            let is_drawn = self.quoted(&at.at).contains("andom");
            if is_drawn {
                self.data[number].order = "random";
            }
            return Value::Row(number);
        }
        let index = self.value(at);
        match (self.text(&index), &of, index.number()) {
            (Some(name), _, _) if !crate::masks::is_masked(&name) => self.member(of, &name),
            (_, Value::List(items), None) => {
                let first = items.first().cloned().unwrap_or(Value::Nothing);
                let what = format!(
                    "{} is drawn while the script runs: its first value is taken",
                    self.quoted(&at.at)
                );
                self.note(&at.at, what);
                first
            }
            // One of the values of an answer.
            (_, Value::Part(_, Part::Json(_)), None) => {
                let what = format!(
                    "{} is drawn while the script runs: the first is taken",
                    self.quoted(&at.at)
                );
                self.note(&at.at, what);
                self.member(of, "0")
            }
            _ => Value::Unknown,
        }
    }

    /// From now on the journey uses the rows of this file.
    pub(super) fn use_rows(&mut self, at: usize) {
        if self.is_setup {
            return;
        }
        match self.rows {
            None => self.rows = Some(at),
            Some(before) if before != at => {
                let what =
                    format!("a journey has one file of rows: {} is left out", self.data[at].file);
                self.draft.note(None, what);
            }
            Some(_) => {}
        }
    }

    pub(super) fn binary(
        &mut self,
        at: &At,
        operator: &str,
        left: Value<'t>,
        right: Value<'t>,
    ) -> Value<'t> {
        if let (Some(one), Some(other)) = (&left.number(), &right.number())
            && !(operator == "+"
                && matches!((&left, &right), (Value::Text(_), _) | (_, Value::Text(_))))
        {
            return numbers(operator, *one, *other);
        }
        match (operator, left, right) {
            ("+", Value::Drawn(low, high), Value::Number(more))
            | ("+", Value::Number(more), Value::Drawn(low, high)) => {
                Value::Drawn(low + more, high + more)
            }
            ("+", Value::Whole(low, high), Value::Number(more))
            | ("+", Value::Number(more), Value::Whole(low, high))
                if more.fract() == 0.0 =>
            {
                Value::Whole(low + more, high + more)
            }
            ("*", Value::Drawn(low, high), Value::Number(times))
            | ("*", Value::Number(times), Value::Drawn(low, high)) => {
                Value::Drawn(low * times, high * times)
            }
            ("||" | "??", Value::Text(masked), Value::Text(otherwise))
                if crate::masks::is_masked(&masked) =>
            {
                Value::Text(otherwise)
            }
            ("||" | "??", Value::Text(masked), Value::Number(otherwise))
                if crate::masks::is_masked(&masked) =>
            {
                Value::Number(otherwise)
            }
            ("||" | "??", Value::Unknown | Value::Nothing, right) => right,
            ("||" | "??", left, _) => left,
            ("&&", _, right) => right,
            ("+", left, right) => match (self.text(&left), self.text(&right)) {
                (Some(left), Some(right)) if left.len() + right.len() <= LONGEST => {
                    Value::Text(left + &right)
                }
                _ => Value::Unknown,
            },
            ("%", Value::Whole(low, high), Value::Number(by)) => remainder(low, high, by),
            ("%" | "-", Value::Numeric(mask), _) => {
                let what = format!("{} becomes {mask} alone", self.quoted(at));
                self.note(at, what);
                Value::Numeric(mask)
            }
            ("===" | "==", Value::Text(left), Value::Text(right))
                if !crate::masks::is_masked(&left) =>
            {
                Value::Bool(left == right)
            }
            ("!==" | "!=", Value::Text(left), Value::Text(right))
                if !crate::masks::is_masked(&left) =>
            {
                Value::Bool(left != right)
            }
            _ => Value::Unknown,
        }
    }

    /// The value as it stands in a text; a value of an answer is captured for it.
    pub(super) fn text(&mut self, value: &Value<'t>) -> Option<String> {
        match value {
            Value::Text(text) | Value::Numeric(text) => Some(text.clone()),
            Value::Number(number) => Some(plain(*number)),
            Value::Bool(is) => Some(is.to_string()),
            Value::Whole(low, high) => match self.drawn_number(*low, *high) {
                Value::Numeric(mask) => Some(mask),
                _ => None,
            },
            Value::Outside(name) => {
                Some(self.mask(&environment(&crate::credentials::variable(name))))
            }
            Value::Part(place, part) => {
                let (place, capture) = (*place, capture(part)?);
                let placeholder = self.captured(place, capture);
                Some(self.mask(&placeholder))
            }
            _ => None,
        }
    }

    /// The placeholder of a captured value.
    pub(super) fn captured(&mut self, place: usize, capture: Capture) -> String {
        let operation = &mut self.draft.operations[place];
        if let Some((name, _)) = operation.captures.iter().find(|(_, known)| *known == capture) {
            return format!("{{{{{}.{name}}}}}", operation.name);
        }
        let wanted = value_name(&named_after(&capture));
        let mut name = wanted.clone();
        let mut number = 1;
        while operation.captures.iter().any(|(known, _)| *known == name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        operation.captures.push((name.clone(), capture));
        format!("{{{{{}.{name}}}}}", operation.name)
    }
}

/// What a captured value is called.
fn named_after(capture: &Capture) -> String {
    match capture {
        Capture::Json(path) => {
            let words = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
            words.rev().find(is_name).unwrap_or("answer").to_owned()
        }
        Capture::Header(name, _) | Capture::Cookie(name) => name.clone(),
        _ => "body".to_owned(),
    }
}

fn capture(part: &Part) -> Option<Capture> {
    Some(match part {
        Part::Json(path) => Capture::Json(path.clone()),
        Part::Header(name) => Capture::Header(name.clone(), None),
        Part::Cookie(name) => Capture::Cookie(name.clone()),
        Part::Body => Capture::Body,
        _ => return None,
    })
}

/// The remainder of a whole number drawn from `low` to `high`, if each of its values is as likely.
fn remainder<'t>(low: f64, high: f64, by: f64) -> Value<'t> {
    let is_whole = by.fract() == 0.0 && by >= 1.0 && low >= 0.0;
    match is_whole {
        true if (high - low + 1.0) % by == 0.0 => Value::Whole(0.0, by - 1.0),
        true if (low / by).floor() == (high / by).floor() => Value::Whole(low % by, high % by),
        _ => Value::Unknown,
    }
}

fn numbers<'t>(operator: &str, one: f64, other: f64) -> Value<'t> {
    match operator {
        "+" => Value::Number(one + other),
        "-" => Value::Number(one - other),
        "*" => Value::Number(one * other),
        "/" => Value::Number(one / other),
        "%" => Value::Number(one % other),
        "<" => Value::Bool(one < other),
        "<=" => Value::Bool(one <= other),
        ">" => Value::Bool(one > other),
        ">=" => Value::Bool(one >= other),
        "===" | "==" => Value::Bool(one == other),
        "!==" | "!=" => Value::Bool(one != other),
        _ => Value::Unknown,
    }
}
