//! From JSON to a filter, within bounds, with the place of every error.

use serde_json::{Map, Value};

use crate::node::Node;
use crate::path::{self, Path};
use crate::test::{OPERATORS, Operator};
use crate::value::is_nested_within;
use crate::words::{self, below, clip};
use crate::{Bounds, FilterError};

/// The place of the filter in a request.
const PLACE: &str = "/filter";

/// How deep its JSON may be nested: checked first.
const DEEPEST: usize = 32;

/// Forms that join filters.
const LOGICAL: &[&str] = &["$and", "$or", "$not", "not"];

/// Reads a filter; with the fields that it asks about, each with its place.
pub fn read(filter: &Value, bounds: Bounds) -> Result<(Node, Vec<(Path, String)>), FilterError> {
    if !is_nested_within(filter, DEEPEST) {
        return Err(refuse(PLACE, format!("nested deeper than {DEEPEST} levels")));
    }
    let mut reader = Reader { bounds, clauses: 0, fields: Vec::new() };
    let root = match filter {
        Value::Null => Node::All(Vec::new()),
        Value::Object(members) => reader.object(members, PLACE, 0)?,
        _ => return Err(refuse(PLACE, "a filter is an object, or null for everybody".to_owned())),
    };
    Ok((root, reader.fields))
}

fn refuse(at: &str, message: String) -> FilterError {
    FilterError { at: at.to_owned(), message }
}

/// Reads with a count of what it has read.
struct Reader {
    bounds: Bounds,
    clauses: usize,
    fields: Vec<(Path, String)>,
}

impl Reader {
    /// All members of an object, joined by and.
    fn object(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Node, FilterError> {
        let mut parts = Vec::with_capacity(members.len().min(self.bounds.clauses));
        for (key, value) in members {
            parts.push(self.member(key, value, at, depth)?);
        }
        Ok(Node::all(parts))
    }

    fn member(
        &mut self,
        key: &str,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<Node, FilterError> {
        let at = below(at, key);
        match (key, value) {
            ("$and", _) => self.list(value, &at, depth + 1).map(Node::All),
            ("$or", _) => self.list(value, &at, depth + 1).map(Node::Any),
            ("$not" | "not", Value::Object(_)) => self.negated(value, &at, depth + 1),
            ("$not" | "not", _) => Err(refuse(
                &at,
                "`not` takes a filter, an object; a field of that name is `not.eq`".to_owned(),
            )),
            ("and" | "or", Value::Array(_)) => Err(refuse(
                &at,
                format!("did you mean `${key}`? a field of that name is `{key}.eq`"),
            )),
            _ if key.starts_with('$') => Err(unknown_form(key, &at)),
            _ => self.condition(key, value, &at, depth),
        }
    }

    fn list(&mut self, value: &Value, at: &str, depth: usize) -> Result<Vec<Node>, FilterError> {
        self.descend(at, depth)?;
        let Some(parts) = value.as_array().filter(|parts| !parts.is_empty()) else {
            return Err(refuse(at, "takes an array of at least one filter".to_owned()));
        };
        let mut nodes = Vec::with_capacity(parts.len().min(self.bounds.clauses));
        for (index, part) in parts.iter().enumerate() {
            let at = below(at, index.to_string());
            nodes.push(self.part(part, &at, depth)?);
        }
        Ok(nodes)
    }

    fn negated(&mut self, value: &Value, at: &str, depth: usize) -> Result<Node, FilterError> {
        self.descend(at, depth)?;
        self.part(value, at, depth).map(|part| Node::Not(Box::new(part)))
    }

    /// A filter within a logical form; an empty one counts as a clause.
    fn part(&mut self, part: &Value, at: &str, depth: usize) -> Result<Node, FilterError> {
        match part {
            Value::Object(members) if members.is_empty() => {
                self.count(at)?;
                Ok(Node::All(Vec::new()))
            }
            Value::Object(members) => self.object(members, at, depth),
            _ => Err(refuse(at, "a filter is an object".to_owned())),
        }
    }

    fn descend(&self, at: &str, depth: usize) -> Result<(), FilterError> {
        let deepest = self.bounds.depth;
        match depth > deepest {
            true => Err(refuse(at, format!("logical forms nest at most {deepest} deep"))),
            false => Ok(()),
        }
    }

    fn count(&mut self, at: &str) -> Result<(), FilterError> {
        self.clauses += 1;
        let most = self.bounds.clauses;
        match self.clauses > most {
            true => Err(refuse(at, format!("a filter has at most {most} clauses"))),
            false => Ok(()),
        }
    }

    /// `{"path": value}`, `{"path.operator": operand}`, or `{"path": {"$operator": operand, …}}`.
    fn condition(
        &mut self,
        key: &str,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<Node, FilterError> {
        if let Value::Object(operators) = value
            && operators.keys().any(|key| key.starts_with('$'))
        {
            let path = Path::read(key).map_err(|message| refuse(at, message))?;
            return self.operators(&path, operators, at, depth);
        }
        let mut steps = path::split(key).map_err(|message| refuse(at, message))?;
        let operator = match steps.last().filter(|_| steps.len() > 1) {
            Some(last) => operator(last, key, at)?,
            None => None,
        };
        if operator.is_some() {
            steps.pop();
        }
        let path = Path::of(steps).map_err(|message| refuse(at, message))?;
        self.field(path, operator.unwrap_or(Operator::Equal), value, at)
    }

    /// `{"$operator": operand, …}` for one field, joined by and.
    fn operators(
        &mut self,
        path: &Path,
        operators: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Node, FilterError> {
        let mut parts = Vec::new();
        for (key, operand) in operators {
            let at = below(at, key);
            parts.push(match (key.as_str(), operand) {
                ("$not", Value::Object(operators)) if !operators.is_empty() => {
                    self.descend(&at, depth + 1)?;
                    let inner = self.operators(path, operators, &at, depth + 1)?;
                    Node::Not(Box::new(inner))
                }
                ("$not", _) => {
                    return Err(refuse(&at, "takes an object of operators".to_owned()));
                }
                _ => match key.strip_prefix('$').and_then(known) {
                    Some(operator) => self.field(path.clone(), operator, operand, &at)?,
                    None => return Err(unknown_operator(key, &at)),
                },
            });
        }
        Ok(Node::all(parts))
    }

    fn field(
        &mut self,
        path: Path,
        operator: Operator,
        operand: &Value,
        at: &str,
    ) -> Result<Node, FilterError> {
        self.count(at)?;
        let test = operator.with(operand).map_err(|(message, element)| match element {
            Some(element) => refuse(&below(at, element.to_string()), message),
            None => refuse(at, message),
        })?;
        self.fields.push((path.clone(), at.to_owned()));
        Ok(Node::Field(path, test))
    }
}

fn known(word: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(name, _)| *name == word).map(|(_, operator)| *operator)
}

/// The operator in a key's last name, if any. A name that is nearly an operator is refused: taken
/// as a field, it would silently match nothing.
fn operator(word: &str, key: &str, at: &str) -> Result<Option<Operator>, FilterError> {
    if let Some(operator) = known(word) {
        return Ok(Some(operator));
    }
    match nearly(word) {
        Some(name) => Err(refuse(
            at,
            format!(
                "did you mean the operator `{name}`? a field called `{}` is tested with `{}.eq`",
                clip(word),
                clip(key)
            ),
        )),
        None => Ok(None),
    }
}

/// The operator that a word means apart from case, underscores, a dollar, or one letter of a long
/// one.
fn nearly(word: &str) -> Option<&'static str> {
    let plain: String = word.chars().filter(|c| !matches!(c, '_' | '-' | '$')).take(32).collect();
    let plain = plain.to_lowercase();
    let is_near =
        |name: &str| name == plain || name.len() >= 5 && strsim::osa_distance(name, &plain) <= 1;
    OPERATORS.iter().map(|(name, _)| *name).find(|name| is_near(name))
}

/// A word with a dollar where a field has its operators.
fn unknown_operator(key: &str, at: &str) -> FilterError {
    if !key.starts_with('$') {
        let message = "beside operators stand only operators, each with a `$`; an object is \
                       compared as a whole with `$eq`";
        return refuse(at, message.to_owned());
    }
    let names: Vec<String> = OPERATORS.iter().map(|(name, _)| format!("${name}")).collect();
    refuse(at, words::unknown("operator", key, &names))
}

/// A word with a dollar where filters are joined.
fn unknown_form(key: &str, at: &str) -> FilterError {
    if key.strip_prefix('$').and_then(known).is_some() {
        let message = format!("`{key}` belongs below a field: {{\"field\": {{\"{key}\": …}}}}");
        return refuse(at, message);
    }
    let message = words::unknown("form", key, LOGICAL);
    refuse(at, format!("{message}; a field whose name begins with a dollar is written `\\$…`"))
}
