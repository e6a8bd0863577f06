//! Methods: of answers, lists and texts.

use super::value::Part;
use super::{Converter, Expr, Kind, Value};

impl<'t> Converter<'t, '_> {
    /// The value of a call of this method of a value.
    pub(super) fn method(&mut self, one: &'t Expr, value: Value<'t>, name: &str) -> Value<'t> {
        let Kind::Call(callee, arguments) = &one.kind else { return Value::Unknown };
        let first = arguments.first();
        match (value, name) {
            (Value::Answer(place), "json") => {
                let path = first.map(|first| self.value(first));
                let path = match path {
                    None => Some("$".to_owned()),
                    Some(path) => self.text(&path).as_deref().and_then(json_path),
                };
                Value::Part(place, path.map_or(Part::Other, Part::Json))
            }
            (Value::Answer(place), _) => Value::Part(place, Part::Other),
            (Value::Part(place, Part::Body), "json") => {
                Value::Part(place, Part::Json("$".to_owned()))
            }
            (Value::Outside(_), "json") => {
                let path = first.map(|first| self.value(first));
                let path = path.and_then(|path| self.text(&path)).unwrap_or_default();
                Value::Outside(path.rsplit('.').next().unwrap_or_default().to_owned())
            }
            (Value::Outside(name), _) => Value::Outside(name),
            (Value::List(items), name) => self.list_method(items, name, callee, arguments),
            (value @ (Value::Text(_) | Value::Number(_)), name) => self.text_method(value, name),
            // What `new Date()` gives.
            (value @ (Value::Numeric(_) | Value::Whole(..)), _) => value,
            (Value::Drawn(..), "toString") => self.drawn_number(0.0, 999_999_999.0),
            // Some text of letters and digits.
            (Value::Unknown, "substring" | "substr" | "slice")
                if self.quoted(&one.at).contains("Math.random()") =>
            {
                Value::Text(self.mask("{{token}}"))
            }
            _ => {
                arguments
                    .iter()
                    .filter(|one| one.function().is_none())
                    .for_each(|one| drop(self.value(one)));
                Value::Unknown
            }
        }
    }

    fn list_method(
        &mut self,
        mut items: Vec<Value<'t>>,
        name: &str,
        callee: &'t Expr,
        arguments: &'t [Expr],
    ) -> Value<'t> {
        let first = arguments.first();
        match name {
            "forEach" | "map" => {
                let Some(Value::Function(function)) = first.map(|first| self.value(first)) else {
                    return Value::Unknown;
                };
                let mut made = Vec::new();
                for (at, item) in items.into_iter().take(100).enumerate() {
                    made.push(self.call(function, vec![item, Value::Number(at as f64)]));
                }
                Value::List(made)
            }
            "push" => {
                for argument in arguments {
                    items.push(self.value(argument));
                }
                if let Kind::Member(of, _) = &callee.kind
                    && let Kind::Name(variable) = &of.kind
                {
                    self.assign(variable, Value::List(items));
                }
                Value::Nothing
            }
            "join" => {
                let separator =
                    first.map_or(Value::Text(",".to_owned()), |first| self.value(first));
                let separator = self.text(&separator).unwrap_or_default();
                let mut texts = Vec::new();
                for item in &items {
                    texts.push(self.text(item));
                }
                let texts: Option<Vec<String>> = texts.into_iter().collect();
                texts.map_or(Value::Unknown, |texts| Value::Text(texts.join(&separator)))
            }
            _ => Value::Unknown,
        }
    }

    fn text_method(&mut self, value: Value<'t>, name: &str) -> Value<'t> {
        match (value, name) {
            (Value::Text(text), "trim") => Value::Text(text.trim().to_owned()),
            (Value::Text(text), "toUpperCase" | "toLowerCase")
                if !crate::masks::is_masked(&text) =>
            {
                Value::Text(if name == "toUpperCase" {
                    text.to_uppercase()
                } else {
                    text.to_lowercase()
                })
            }
            (value @ (Value::Text(_) | Value::Number(_)), "toString" | "toFixed" | "valueOf") => {
                match value {
                    Value::Number(_) => self.text(&value).map_or(Value::Unknown, Value::Text),
                    text => text,
                }
            }
            _ => Value::Unknown,
        }
    }
}

/// A JSONPath of `a.b.0.c`, as k6 writes it.
fn json_path(path: &str) -> Option<String> {
    if path.is_empty()
        || path.contains(['#', '*', '?', '|', '@', '\\'])
        || crate::masks::is_masked(path)
    {
        return None;
    }
    Some(path.split('.').fold("$".to_owned(), |path, name| super::value::member(&path, name)))
}
