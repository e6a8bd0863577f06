//! Checks: what they say of an answer, as expectations.

use regex_lite::Regex;

use super::value::{Part, plain};
use super::{Converter, Expr, Function, HashMap, Kind, Stmt, StmtKind, Value};
use crate::draft::{Capture, HeaderValue, Status};
use crate::text::Text;

/// A statement about a status, for each from 100 to 599, and the operation that has it.
type Statuses = (usize, Vec<bool>);

impl<'t> Converter<'t, '_> {
    /// Takes the conditions of a check over.
    pub(super) fn check(&mut self, answer: Value<'t>, conditions: &'t Expr) {
        let Value::Object(entries) = self.value(conditions) else {
            let what = format!("the conditions {} are left out", self.quoted(&conditions.at));
            return self.note(&conditions.at, what);
        };
        for (name, condition) in entries {
            let Value::Function(function) = condition else { continue };
            self.frames.push(HashMap::new());
            if let Some(parameter) = function.parameters.first() {
                self.destructure(parameter, answer.clone());
            }
            let is_said = matches!(&answer, Value::Answer(_) | Value::Part(..))
                && self.returned(&function.body);
            self.frames.pop();
            if !is_said && !self.is_setup {
                self.note_check(function, &name);
            }
        }
    }

    fn note_check(&mut self, function: &'t Function, name: &str) {
        self.note(&function.at, format!("the check \"{name}\" is left out"));
    }

    /// Takes over what a function returns.
    fn returned(&mut self, body: &'t [Stmt]) -> bool {
        for statement in body {
            match &statement.kind {
                StmtKind::Return(Some(value)) => return self.expect(value),
                StmtKind::Block(inner) => return self.returned(inner),
                StmtKind::Let(_) => {
                    self.statement(statement);
                }
                _ => return false,
            }
        }
        false
    }

    /// Takes a condition over; whether it can be said.
    pub(super) fn expect(&mut self, test: &'t Expr) -> bool {
        if let Some((place, statuses)) = self.statuses(test) {
            return self.expect_statuses(place, &statuses);
        }
        match &test.kind {
            Kind::Binary("&&", left, right) => {
                let left = self.expect(left);
                self.expect(right) && left
            }
            Kind::Binary(operator, left, right) => self.compared(operator, left, right),
            Kind::Call(callee, arguments) => self.called_in_check(test, callee, arguments),
            Kind::Unary("!", inner) => match &inner.kind {
                Kind::Unary("!", inner) => self.expect(inner),
                _ => false,
            },
            Kind::Bool(is) => *is,
            _ => {
                let value = self.value(test);
                self.exists(value)
            }
        }
    }

    /// A part of an answer must be there.
    fn exists(&mut self, value: Value<'t>) -> bool {
        match value {
            Value::Part(place, Part::Json(path)) if path != "$" => self.must_have(place, &path),
            Value::Part(place, Part::Json(_) | Part::Body | Part::Length(None)) => {
                self.not_empty(place)
            }
            Value::Part(place, Part::Length(Some(path))) => {
                self.must_have(place, &format!("{path}[0]"))
            }
            Value::Part(place, Part::Header(name)) => {
                self.captured(place, Capture::Header(name, None));
            }
            Value::Part(place, Part::Cookie(name)) => {
                self.captured(place, Capture::Cookie(name));
            }
            Value::Answer(_) => {}
            _ => return false,
        }
        true
    }

    fn not_empty(&mut self, place: usize) {
        self.matches(place, r"[\s\S]");
    }

    fn matches(&mut self, place: usize, pattern: &str) {
        let matches = &mut self.draft.operations[place].expect.matches;
        if !matches.iter().any(|known| known == pattern) {
            matches.push(pattern.to_owned());
        }
    }

    fn contains(&mut self, place: usize, text: &str) {
        let text = Text::template(self.masks.unmask(Text::literal(text).as_str()));
        let contains = &mut self.draft.operations[place].expect.contains;
        if !contains.contains(&text) {
            contains.push(text);
        }
    }

    fn compared(&mut self, operator: &str, left: &'t Expr, right: &'t Expr) -> bool {
        if let (Kind::Unary("typeof", inner), "===" | "==") = (&left.kind, operator) {
            let value = self.value(inner);
            return self.exists(value);
        }
        if operator == "in" {
            let (name, of) = (self.value(left), self.value(right));
            let Some(name) = self.text(&name) else { return false };
            let part = self.member(of, &name);
            return self.exists(part);
        }
        // `body.indexOf(text) !== -1`
        if let (Kind::Call(callee, arguments), Some(bound)) =
            (&left.kind, self.value(right).number())
            && let Kind::Member(_, method) = &callee.kind
            && (method == "indexOf" || method == "search")
        {
            let is_found = matches!((operator, bound as i64), ("!==" | "!=" | ">", -1) | (">=", 0));
            return is_found && self.called_in_check(left, callee, arguments);
        }
        let (left, right) = (self.value(left), self.value(right));
        match (operator, left, right) {
            ("===" | "==", Value::Part(place, part), other)
            | ("===" | "==", other, Value::Part(place, part)) => self.equal(place, part, &other),
            ("!==" | "!=", part @ Value::Part(..), Value::Nothing) => self.exists(part),
            ("!==" | "!=", part @ Value::Part(..), Value::Text(text)) if text.is_empty() => {
                self.exists(part)
            }
            (">", part @ Value::Part(_, Part::Length(_)), Value::Number(0.0)) => self.exists(part),
            (">=", part @ Value::Part(_, Part::Length(_)), Value::Number(1.0)) => self.exists(part),
            ("<" | "<=", Value::Part(place, Part::Time(name)), Value::Number(most)) => {
                self.within(place, &name, most)
            }
            _ => false,
        }
    }

    fn equal(&mut self, place: usize, part: Part, other: &Value<'t>) -> bool {
        let known = match other {
            Value::Text(text) => {
                serde_json::Value::from(self.masks.unmask(Text::literal(text).as_str()))
            }
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                serde_json::Value::from(*number as i64)
            }
            Value::Number(number) => serde_json::Value::from(*number),
            Value::Bool(is) => serde_json::Value::from(*is),
            _ => return false,
        };
        match (part, other) {
            (Part::Json(path), _) => self.json_is(place, path, known),
            (Part::Length(Some(path)), Value::Number(_)) => {
                self.json_is(place, format!("{path}.length()"), known)
            }
            (Part::Header(name), Value::Text(text)) => {
                self.header_is(place, name, HeaderValue::Is(Text::literal(text)))
            }
            (Part::Body, Value::Text(text)) => self.contains(place, text),
            _ => return false,
        }
        true
    }

    fn json_is(&mut self, place: usize, path: String, value: serde_json::Value) {
        let json = &mut self.draft.operations[place].expect.json;
        if !json.iter().any(|(known, _)| *known == path) {
            json.push((path, value));
        }
    }

    fn header_is(&mut self, place: usize, name: String, value: HeaderValue) {
        let headers = &mut self.draft.operations[place].expect.headers;
        if !headers.iter().any(|(known, _)| *known == name) {
            headers.push((name, value));
        }
    }

    fn called_in_check(&mut self, one: &'t Expr, callee: &'t Expr, arguments: &'t [Expr]) -> bool {
        let Some(first) = arguments.first() else {
            let value = self.value(one);
            return self.exists(value);
        };
        if callee.path().as_deref() == Some(&["Array", "isArray"]) {
            return match self.value(first) {
                Value::Part(place, Part::Json(path)) if path == "$" => {
                    self.matches(place, r"^\s*\[");
                    true
                }
                value => self.exists(value),
            };
        }
        let Kind::Member(of, method) = &callee.kind else { return false };
        if let (Kind::Regex(pattern), "test") = (&of.kind, method.as_str()) {
            let Value::Part(place, Part::Body) = self.value(first) else { return false };
            let is_sound = Regex::new(pattern).is_ok();
            if is_sound {
                self.matches(place, pattern);
            }
            return is_sound;
        }
        let of = self.value(of);
        let text = self.value(first);
        match (of, method.as_str(), text) {
            (
                Value::Part(place, Part::Body),
                "includes" | "indexOf" | "search",
                Value::Text(text),
            ) => self.contains(place, &text),
            (
                Value::Part(place, Part::Header(name)),
                "includes" | "indexOf" | "startsWith",
                Value::Text(text),
            ) => {
                self.header_is(place, name, HeaderValue::Contains(Text::literal(&text)));
            }
            (Value::Answer(place), "json", Value::Text(_)) => {
                let value = self.value(one);
                return matches!(value, Value::Part(of, _) if of == place) && self.exists(value);
            }
            _ => return false,
        }
        true
    }

    /// A limit on the time of one answer is a criterion where checks decide; otherwise it is yours to say.
    fn within(&mut self, place: usize, name: &str, most: f64) -> bool {
        let span = match name {
            "duration" => "",
            "waiting" => "first_byte ",
            _ => return false,
        };
        let operation = &mut self.draft.operations[place];
        let comment = format!(
            "A check expects answers within {0} ms: say so in criteria, such as \"{1} {span}p95 < {0}ms\".",
            plain(most),
            operation.name
        );
        if !operation.comments.contains(&comment) {
            operation.comments.push(comment);
        }
        true
    }

    fn statuses(&mut self, test: &'t Expr) -> Option<Statuses> {
        match &test.kind {
            Kind::Unary("!", inner) => {
                let (place, mut statuses) = self.statuses(inner)?;
                statuses.iter_mut().for_each(|is| *is = !*is);
                Some((place, statuses))
            }
            Kind::Binary(operator @ ("&&" | "||"), left, right) => {
                let (place, mut one) = self.statuses(left)?;
                let (_, other) = self.statuses(right)?;
                for (is, other) in one.iter_mut().zip(other) {
                    *is = if *operator == "&&" { *is && other } else { *is || other };
                }
                Some((place, one))
            }
            Kind::Binary(operator, left, right) => {
                if !is_status(left) && !is_status(right) {
                    return None;
                }
                let (left, right) = (self.value(left), self.value(right));
                let (place, number, turned) = match (left, right) {
                    (Value::Part(place, Part::Status), other) => (place, other.number()?, false),
                    (other, Value::Part(place, Part::Status)) => (place, other.number()?, true),
                    _ => return None,
                };
                let holds = |code: f64| {
                    let (one, other) = if turned { (number, code) } else { (code, number) };
                    Some(match *operator {
                        "===" | "==" => one == other,
                        "!==" | "!=" => one != other,
                        "<" => one < other,
                        "<=" => one <= other,
                        ">" => one > other,
                        ">=" => one >= other,
                        _ => return None,
                    })
                };
                let statuses: Option<Vec<bool>> =
                    (100..600).map(|code| holds(f64::from(code))).collect();
                Some((place, statuses?))
            }
            // `[200, 201].includes(r.status)`
            Kind::Call(callee, arguments) => {
                let (Kind::Member(of, method), [one]) = (&callee.kind, arguments.as_slice()) else {
                    return None;
                };
                if method != "includes" || !is_status(one) {
                    return None;
                }
                let Value::Part(place, Part::Status) = self.value(one) else { return None };
                let Value::List(codes) = self.value(of) else { return None };
                let codes: Vec<f64> = codes.iter().filter_map(Value::number).collect();
                Some((place, (100..600).map(|code| codes.contains(&f64::from(code))).collect()))
            }
            _ => None,
        }
    }

    fn expect_statuses(&mut self, place: usize, statuses: &[bool]) -> bool {
        let mut said = Vec::new();
        for (digit, class) in (1..).zip(statuses.chunks(100)) {
            if class.iter().all(|is| *is) {
                said.push(Status::Class(digit));
            } else {
                let codes = (digit * 100..).zip(class).filter(|(_, is)| **is);
                said.extend(codes.map(|(code, _)| Status::Code(code)));
            }
        }
        let is_sayable = !said.is_empty() && said.len() <= 10;
        if is_sayable {
            let known = &mut self.draft.operations[place].expect.status;
            *known = said;
        }
        is_sayable
    }
}

fn is_status(one: &Expr) -> bool {
    matches!(&one.kind, Kind::Member(_, name) if name == "status")
        || matches!(&one.kind, Kind::Name(_))
}
