//! Calls of `k6/http` as operations.

use super::{Converter, DraftStep, Expr, MOST_STEPS, Value};
use crate::draft::{Body, DraftOperation, Part};
use crate::request;
use crate::text::Text;

/// Redirects that k6 follows unless it is told otherwise.
const FOLLOWED: u32 = 10;
/// Operations of a step.
const MOST_AT_ONCE: usize = 6;

/// A request of a script.
struct Call<'v, 't> {
    method: &'v str,
    address: Value<'t>,
    body: Value<'t>,
    params: Value<'t>,
    at: &'v super::At,
}

impl<'t> Converter<'t, '_> {
    pub(super) fn http(&mut self, name: &str, one: &'t Expr, arguments: &'t [Expr]) -> Value<'t> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument));
        }
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(Value::Nothing);
        let (method, address, body, params) = match name {
            "get" | "head" => (name.to_ascii_uppercase(), next(), Value::Nothing, next()),
            "post" | "put" | "patch" | "options" => {
                (name.to_ascii_uppercase(), next(), next(), next())
            }
            "del" => ("DELETE".to_owned(), next(), next(), next()),
            "request" | "asyncRequest" => {
                let method = next();
                let method = self.text(&method).unwrap_or_default().to_ascii_uppercase();
                (method, next(), next(), next())
            }
            "batch" => {
                let list = next();
                return self.batch(one, list);
            }
            "file" => {
                return Value::Object(vec![
                    ("file".to_owned(), next()),
                    ("name".to_owned(), next()),
                    ("type".to_owned(), next()),
                ]);
            }
            "expectedStatuses" | "setResponseCallback" => return Value::Nothing,
            _ => {
                self.left_out(one);
                return Value::Unknown;
            }
        };
        let call = Call { method: &method, address, body, params, at: &one.at };
        match self.operation(call) {
            Some(place) => {
                let step = match self.share {
                    Some(share) => DraftStep::Share(place, share),
                    None => DraftStep::Do(vec![place]),
                };
                self.step(step, &one.at);
                Value::Answer(place)
            }
            None if self.is_setup => Value::Outside("value".to_owned()),
            None => Value::Unknown,
        }
    }

    /// Requests at the same time; their answers under the same names or numbers.
    fn batch(&mut self, one: &'t Expr, list: Value<'t>) -> Value<'t> {
        let (is_list, entries) = match list {
            Value::List(items) => {
                (true, items.into_iter().map(|item| (String::new(), item)).collect())
            }
            Value::Object(entries) => (false, entries),
            _ => (true, Vec::new()),
        };
        if entries.is_empty() {
            self.left_out(one);
        }
        let mut answers = Vec::new();
        let mut places = Vec::new();
        let most = (MOST_STEPS - self.steps.len().min(MOST_STEPS)) * MOST_AT_ONCE;
        for (name, item) in entries.into_iter().take(most) {
            let mut parts = match item {
                Value::List(parts) => parts,
                Value::Object(_) => ["method", "url", "body", "params"]
                    .map(|key| item.get(key).cloned().unwrap_or(Value::Nothing))
                    .to_vec(),
                address => vec![Value::Text("GET".to_owned()), address],
            }
            .into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nothing);
            let method = next();
            let method = self.text(&method).unwrap_or("GET".to_owned()).to_ascii_uppercase();
            let call = Call {
                method: &method,
                address: next(),
                body: next(),
                params: next(),
                at: &one.at,
            };
            let place = self.operation(call);
            answers.push((name, place.map_or(Value::Unknown, Value::Answer)));
            places.extend(place);
        }
        for at_once in places.chunks(MOST_AT_ONCE) {
            self.step(DraftStep::Do(at_once.to_vec()), &one.at);
        }
        match is_list {
            true => Value::List(answers.into_iter().map(|(_, answer)| answer).collect()),
            false => Value::Object(answers),
        }
    }

    /// The place of the operation for a request.
    fn operation(&mut self, call: Call<'_, 't>) -> Option<usize> {
        if self.is_setup {
            let what = "setup() performs requests, which are left out: what it answers becomes variables of the environment";
            self.note(call.at, what);
            return None;
        }
        if self.is_full(call.at) {
            return None;
        }
        let Some(address) = self.text(&call.address) else {
            let what = format!("{} is left out: its address is not known", self.quoted(call.at));
            self.note(call.at, what);
            return None;
        };
        let mut operation = match request::to(&address, &mut self.draft.credentials) {
            Ok(operation) => operation,
            Err(what) => {
                self.note(call.at, what);
                return None;
            }
        };
        let shown = self.masks.unmask(&operation.origin);
        if !self.wanted.wants(&shown) {
            return None;
        }
        operation.method = call.method.to_owned();
        operation.follow = self.followed();
        self.params(&call, &mut operation);
        self.user_agent(&mut operation);
        self.body(&call, &mut operation);
        let has_scheme = address.contains("://");
        if let Some(host) = self.masks.lift(&mut operation) {
            operation.origin = match has_scheme {
                true => format!("{}://{host}", address.split("://").next().unwrap_or("http")),
                false => host,
            };
        }
        Some(self.place(call.at, operation))
    }

    /// The option `userAgent`, which a header of the request overrides.
    fn user_agent(&self, operation: &mut DraftOperation) {
        let options = self.script.options.as_ref();
        let agent = options.and_then(|options| options.get("userAgent")?.text());
        let has_own = operation.headers.iter().any(|(name, _)| name == "user-agent");
        if let Some(agent) = agent.filter(|_| !has_own) {
            operation.headers.push(("user-agent".to_owned(), Text::literal(agent)));
        }
    }

    fn followed(&self) -> u32 {
        let options = self.script.options.as_ref();
        let most = options.and_then(|options| options.get("maxRedirects")?.number());
        most.map_or(FOLLOWED, |most| most.clamp(0.0, 100.0) as u32)
    }

    /// The place of an operation: that of the same call, if it sends the same.
    fn place(&mut self, at: &super::At, operation: DraftOperation) -> usize {
        let is_same = |known: &DraftOperation| {
            let DraftOperation { name, expect, captures, rows, comments, .. } = known.clone();
            known.method == operation.method
                && DraftOperation { name, expect, captures, rows, comments, ..operation.clone() }
                    == *known
        };
        let same = self.places.iter().filter(|(start, _)| *start == at.start);
        let same =
            same.map(|(_, place)| *place).find(|place| is_same(&self.draft.operations[*place]));
        let place = same.unwrap_or_else(|| self.draft.add(operation));
        if same.is_none() {
            self.places.push((at.start, place));
        }
        let groups = self.open_groups.iter().map(|group| (group.clone(), place));
        self.groups.extend(groups);
        place
    }

    fn params(&mut self, call: &Call<'_, 't>, operation: &mut DraftOperation) {
        let Value::Object(params) = &call.params else { return };
        for (name, value) in params {
            match (name.as_str(), value) {
                ("headers", Value::Object(headers)) => {
                    for (name, value) in headers {
                        self.header(call, operation, name, value);
                    }
                }
                ("tags", Value::Object(_)) => {
                    if let Some(name) = value.get("name").cloned().and_then(|name| self.text(&name))
                    {
                        operation.name = name;
                    }
                }
                ("cookies", Value::Object(cookies)) => {
                    let mut pairs = Vec::new();
                    for (name, value) in cookies {
                        let value = value.get("value").unwrap_or(value).clone();
                        let Some(value) = self.text(&value) else { continue };
                        pairs.push(format!(
                            "{name}={}",
                            self.draft.credentials.text(name, &value).as_str()
                        ));
                    }
                    operation.headers.push(("cookie".to_owned(), Text::template(pairs.join("; "))));
                }
                ("redirects", Value::Number(most)) => {
                    operation.follow = most.clamp(0.0, 100.0) as u32
                }
                ("timeout", value) => self.timeout(call, value),
                ("responseType" | "responseCallback" | "tags" | "headers", _) => {}
                (name, _) => self.note(call.at, format!("the parameter {name} is left out")),
            }
        }
    }

    fn header(
        &mut self,
        call: &Call<'_, 't>,
        operation: &mut DraftOperation,
        name: &str,
        value: &Value<'t>,
    ) {
        let Some(text) = self.text(value) else {
            self.note(call.at, format!("the header {name} is left out: its value is not known"));
            return;
        };
        request::add_header(operation, name, &text, &mut self.draft.credentials);
    }

    /// One time-out is that of all operations.
    fn timeout(&mut self, call: &Call<'_, 't>, value: &Value<'t>) {
        let text = match value {
            Value::Number(milliseconds) => format!("{}ms", super::value::plain(*milliseconds)),
            other => self.text(other).unwrap_or_default(),
        };
        let is_time = quantities::parse_duration(&text).is_some_and(|time| !time.is_zero());
        let known = self.draft.pace.iter().find(|(key, _)| *key == "timeout");
        match known {
            None if is_time => self.draft.pace.push(("timeout", crate::value::fixed(&text))),
            Some((_, known)) if *known == crate::value::fixed(&text) => {}
            _ => self.note(call.at, format!("the time-out {text} is left out")),
        }
    }

    fn body(&mut self, call: &Call<'_, 't>, operation: &mut DraftOperation) {
        match &call.body {
            Value::Nothing => {}
            Value::Object(entries) => {
                let is_file = |value: &Value<'t>| value.get("file").is_some();
                operation.body = match entries.iter().any(|(_, value)| is_file(value)) {
                    true => Body::Multipart(
                        entries
                            .iter()
                            .filter_map(|(name, value)| {
                                Some((name.clone(), self.part(name, value)?))
                            })
                            .collect(),
                    ),
                    false => self.form(call, entries),
                };
                operation.headers.retain(|(name, value)| {
                    name != "content-type"
                        || !value.as_str().starts_with("application/x-www-form-urlencoded")
                });
            }
            Value::File(file) => {
                operation.body = Body::File(file.trim_start_matches("./").to_owned())
            }
            other => match self.text(other) {
                Some(text) => request::set_body(operation, &text, &mut self.draft.credentials),
                None => self.note(call.at, "the body is left out: it is not known"),
            },
        }
    }

    /// A form of the fields that are known; one without any is no body.
    fn form(&mut self, call: &Call<'_, 't>, entries: &[(String, Value<'t>)]) -> Body {
        let mut fields = Vec::new();
        for (name, value) in entries {
            match self.text(value) {
                Some(text) => {
                    fields.push((name.clone(), self.draft.credentials.text(name, &text)));
                }
                None => {
                    let what = format!("the field {name} of the form is left out: it is no text");
                    self.note(call.at, what);
                }
            }
        }
        if fields.is_empty() { Body::Empty } else { Body::Form(fields) }
    }

    fn part(&mut self, name: &str, value: &Value<'t>) -> Option<Part> {
        if let Some(Value::File(file)) = value.get("file") {
            let kind = value.get("type").cloned().and_then(|kind| self.text(&kind));
            return Some(Part::File(file.trim_start_matches("./").to_owned(), kind));
        }
        let text = self.text(value)?;
        Some(Part::Text(self.draft.credentials.text(name, &text)))
    }
}
