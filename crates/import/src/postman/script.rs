//! What can be told from a test script without running it.

use std::collections::HashMap;

use serde_json::Value;

use crate::draft::{Capture, Status};

/// What a script does.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Variables that it sets from the answer.
    pub sets: Vec<(String, Capture)>,
    /// The status that it expects.
    pub status: Vec<Status>,
    /// Lines of consequence that are left out.
    pub left: usize,
}

/// Calls that set a variable.
const SETTERS: [&str; 8] = [
    "pm.environment.set(",
    "pm.collectionVariables.set(",
    "pm.globals.set(",
    "pm.variables.set(",
    "postman.setEnvironmentVariable(",
    "postman.setGlobalVariable(",
    "pm.environment.values.set(",
    "pm.vault.set(",
];
/// What comes before an expected status.
const STATUSES: [&str; 8] = [
    "to.have.status(",
    "pm.response.code).to.eql(",
    "pm.response.code).to.equal(",
    "pm.response.code).to.eq(",
    "pm.response.code).to.be.eql(",
    "pm.response.code).to.be.equal(",
    "pm.response.code).to.be.oneOf(",
    "responseCode.code ===",
];

/// The lines of the script of an event, as Postman keeps them.
fn text(event: &Value) -> Vec<&str> {
    match &event["script"]["exec"] {
        Value::String(text) => text.lines().collect(),
        Value::Array(lines) => {
            lines.iter().filter_map(Value::as_str).flat_map(str::lines).collect()
        }
        _ => Vec::new(),
    }
}

/// How many lines of a script say something.
pub(super) fn lines(event: &Value) -> usize {
    text(event).into_iter().map(str::trim).filter(|line| !is_frame(line)).count()
}

/// Whether a line only holds others together.
fn is_frame(line: &str) -> bool {
    let is_call = line.starts_with("pm.test(") || line.starts_with("describe(");
    line.is_empty()
        || line.starts_with("//")
        || line.starts_with("/*")
        || line.starts_with('*')
        || line.starts_with("console.")
        || line.chars().all(|letter| "(){};,".contains(letter))
        || (is_call && line.ends_with('{'))
}

/// What the test script among events does.
pub(super) fn read(event: &Value) -> Script {
    let mut script = Script::default();
    let mut known: HashMap<&str, Capture> = HashMap::new();
    for line in text(event) {
        let mut is_left = false;
        for statement in line.split(';') {
            let statement = statement.trim();
            is_left |= !(is_frame(statement) || understood(statement, &mut known, &mut script));
        }
        script.left += usize::from(is_left);
    }
    script
}

/// Takes a statement over if it is understood.
fn understood<'s>(
    statement: &'s str,
    known: &mut HashMap<&'s str, Capture>,
    script: &mut Script,
) -> bool {
    if let Some((_, call)) = SETTERS.iter().find_map(|setter| statement.split_once(setter)) {
        let Some((name, value)) = call.split_once(',') else { return false };
        let Some(name) = quoted(name.trim()) else { return false };
        let value = value.trim().strip_suffix(')').unwrap_or(value);
        let Some(capture) = expression(value, known) else { return false };
        // A setter in a condition is taken over; the condition is not.
        script.sets.push((name.to_owned(), capture));
        return SETTERS.iter().any(|setter| statement.starts_with(setter))
            || statement.starts_with("pm.test(");
    }
    if let Some((_, rest)) = STATUSES.iter().find_map(|before| statement.split_once(before)) {
        let codes = rest.trim_start_matches(['=', ' ', '[']).split([')', ']']).next();
        let codes: Option<Vec<u16>> = codes
            .map(|codes| codes.split(',').map_while(|code| code.trim().parse().ok()).collect());
        let codes = codes.unwrap_or_default();
        let is_sound = !codes.is_empty() && codes.iter().all(|code| (100..600).contains(code));
        if is_sound {
            script.status = codes.into_iter().map(Status::Code).collect();
        }
        return is_sound;
    }
    if statement.contains("pm.response.to.be.ok") || statement.contains("pm.response.to.be.success")
    {
        script.status = vec![Status::Class(2)];
        return true;
    }
    let words = ["var ", "let ", "const "];
    let binding = words.iter().find_map(|word| statement.strip_prefix(word));
    let Some((name, value)) = binding.and_then(|binding| binding.split_once('=')) else {
        return false;
    };
    let Some(capture) = expression(value, known) else { return false };
    known.insert(name.trim(), capture);
    true
}

/// What an expression takes from the answer.
fn expression(text: &str, known: &HashMap<&str, Capture>) -> Option<Capture> {
    let text = text.trim();
    for root in ["pm.response.json()", "JSON.parse(responseBody)", "JSON.parse(pm.response.text())"]
    {
        if let Some(rest) = text.strip_prefix(root) {
            return Some(Capture::Json(format!("${}", members(rest)?)));
        }
    }
    for call in ["pm.response.headers.get(", "postman.getResponseHeader("] {
        if let Some(rest) = text.strip_prefix(call) {
            let name = quoted(rest.strip_suffix(')')?.trim())?;
            return Some(Capture::Header(name.to_ascii_lowercase(), None));
        }
    }
    if let Some(rest) = text.strip_prefix("pm.cookies.get(") {
        return Some(Capture::Cookie(quoted(rest.strip_suffix(')')?.trim())?.to_owned()));
    }
    if matches!(text, "pm.response.text()" | "responseBody") {
        return Some(Capture::Body);
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    match (known.get(&text[..end])?, &text[end..]) {
        (Capture::Json(path), rest) => Some(Capture::Json(format!("{path}{}", members(rest)?))),
        (other, "") => Some(other.clone()),
        _ => None,
    }
}

/// `.a["b"][0]` as the end of a JSONPath.
fn members(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = rest.strip_prefix('?').unwrap_or(rest);
        if let Some(after) = rest.strip_prefix('[') {
            let (inner, after) = after.split_once(']')?;
            let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
            let inner = match (is_number, quoted(inner.trim())) {
                (true, _) => inner.to_owned(),
                (false, Some(name)) if !name.contains(['\\', '\'']) => format!("'{name}'"),
                _ => return None,
            };
            out.push_str(&format!("[{inner}]"));
            rest = after;
            continue;
        }
        let after = rest.strip_prefix('.')?;
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
        if end == 0 || after.starts_with(|first: char| first.is_numeric()) {
            return None;
        }
        out.push_str(&format!(".{}", &after[..end]));
        rest = &after[end..];
        // A call is no member.
        if rest.starts_with('(') {
            return None;
        }
    }
    Some(out)
}

/// What stands in quotes.
fn quoted(text: &str) -> Option<&str> {
    ['"', '\'', '`'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    })
}
