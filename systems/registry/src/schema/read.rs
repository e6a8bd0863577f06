//! From JSON to a schema, within bounds, with all that is wrong at once.

use serde_json::{Map, Value};

use super::check::check_value;
use super::faults::Faults;
use super::field::{Field, Kind, Members};
use crate::fault::{Code, Fault};
use filtering::path::LONGEST_PATH;
use filtering::value::is_nested_within;
use filtering::words::{below, unknown};

/// How deep the JSON may be nested, whatever it means: checked before anything else.
const DEEPEST: usize = 32;

/// Most bytes of a schema, as JSON without white space.
const LARGEST: usize = 64 * 1024;

/// Most fields, those of objects within included.
const MOST_FIELDS: usize = 256;

/// Most indexed fields.
const MOST_INDEXES: usize = 16;

/// What each field may say.
const COMMON: &[&str] = &["type", "required", "default"];

/// The types, with what else a field of each may say.
const TYPES: &[(&str, Type, &[&str])] = &[
    ("string", Type::Text, &["max_length", "index"]),
    ("enum", Type::Enum, &["values", "index"]),
    ("array", Type::Array, &["items", "max_length"]),
    ("timestamp", Type::Timestamp, &["auto", "index"]),
    ("geo_point", Type::GeoPoint, &[]),
    ("float", Type::Float, &["index"]),
    ("number", Type::Float, &["index"]),
    ("int", Type::Integer, &["index"]),
    ("integer", Type::Integer, &["index"]),
    ("bool", Type::Bool, &["index"]),
    ("boolean", Type::Bool, &["index"]),
    ("object", Type::Object, &["fields", "additional"]),
];

#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Enum,
    Array,
    Timestamp,
    GeoPoint,
    Float,
    Integer,
    Bool,
    Object,
}

/// Reads the fields of a namespace.
pub fn read(schema: &Value) -> Result<Members, Fault> {
    let refuse = |message: String| Err(Fault::new(Code::InvalidSchema, message).at(""));
    if !is_nested_within(schema, DEEPEST) {
        return refuse(format!("nested deeper than {DEEPEST} levels"));
    }
    let size = schema.to_string().len();
    if size > LARGEST {
        return refuse(format!("a schema has at most {LARGEST} bytes, this has {size}"));
    }
    let Value::Object(schema) = schema else {
        return refuse("a schema is an object with `fields`".to_owned());
    };
    let mut reader = Reader::default();
    reader.known(schema, &["fields", "additional"], "");
    if !schema.contains_key("fields") {
        reader.faults.add("", "a schema has `fields`, an object");
    }
    let members = reader.members(schema, "", 1);
    reader.faults.result(Code::InvalidSchema).map(|()| members)
}

#[derive(Default)]
struct Reader {
    faults: Faults,
    fields: usize,
    indexes: usize,
}

/// What a field says, and where.
#[derive(Clone, Copy)]
struct Said<'a> {
    words: &'a Map<String, Value>,
    at: &'a str,
    /// Of how many names its path is.
    depth: usize,
}

impl Reader {
    fn known(&mut self, words: &Map<String, Value>, known: &[&str], at: &str) {
        for word in words.keys().filter(|word| !known.contains(&word.as_str())) {
            self.faults.add(&below(at, word), unknown("word", word, known));
        }
    }

    /// The fields that an object has.
    fn members(&mut self, words: &Map<String, Value>, at: &str, depth: usize) -> Members {
        let said = Said { words, at, depth };
        let is_open = self.flag(said, "additional").unwrap_or(true);
        let mut members = Members { is_open, ..Members::default() };
        let Some(fields) = words.get("fields") else {
            return members;
        };
        let at = below(at, "fields");
        let Some(fields) = fields.as_object() else {
            self.faults.add(&at, "an object: for each field's name what it is");
            return members;
        };
        for (name, words) in fields {
            let at = below(&at, name);
            self.fields += 1;
            if self.fields > MOST_FIELDS {
                self.faults.add(&at, format!("a schema has at most {MOST_FIELDS} fields"));
                return members;
            }
            if name.is_empty() {
                self.faults.add(&at, "a field without a name");
            }
            if depth > LONGEST_PATH {
                self.faults.add(&at, format!("fields nest at most {LONGEST_PATH} deep"));
                return members;
            }
            if let Some(field) = self.field(words, &at, depth) {
                members.fields.insert(name.clone(), field);
            }
        }
        members
    }

    fn field(&mut self, words: &Value, at: &str, depth: usize) -> Option<Field> {
        let (kind, said) = self.typed(words, COMMON, at, depth)?;
        let field = Field {
            is_required: self.flag(said, "required").unwrap_or(false),
            default: said.words.get("default").cloned(),
            is_now: self.is_now(said),
            is_indexed: self.flag(said, "index").unwrap_or(false),
            kind,
        };
        self.indexes += usize::from(field.is_indexed);
        if field.is_indexed && self.indexes == MOST_INDEXES + 1 {
            let message = format!("a schema has at most {MOST_INDEXES} indexes");
            self.faults.add(&below(at, "index"), message);
        }
        if let Some(default) = &field.default {
            let at = below(at, "default");
            self.faults.append(check_value(&field.kind, &mut default.clone(), &at));
            if field.is_now {
                self.faults.add(&at, "either a default or `auto`");
            }
        }
        Some(field)
    }

    /// What a field or an element may hold, by its `type`.
    fn typed<'a>(
        &mut self,
        words: &'a Value,
        common: &[&str],
        at: &'a str,
        depth: usize,
    ) -> Option<(Kind, Said<'a>)> {
        let Some(words) = words.as_object() else {
            self.faults.add(at, "an object with a `type`");
            return None;
        };
        let Some(name) = words.get("type").and_then(Value::as_str) else {
            self.faults.add(at, "needs a `type`, a string");
            return None;
        };
        let Some((_, kind, own)) = TYPES.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
            self.faults.add(&below(at, "type"), unknown("type", name, &names));
            return None;
        };
        self.known(words, &[common, own].concat(), at);
        let said = Said { words, at, depth };
        Some((self.kind(*kind, said)?, said))
    }

    fn kind(&mut self, kind: Type, said: Said<'_>) -> Option<Kind> {
        Some(match kind {
            Type::Text => Kind::Text(self.length(said)),
            Type::Enum => Kind::Enum(self.values(said)?),
            Type::Array => {
                let longest = self.length(said);
                Kind::Array(Box::new(self.items(said)?), longest)
            }
            Type::Timestamp => Kind::Timestamp,
            Type::GeoPoint => Kind::GeoPoint,
            Type::Float => Kind::Float,
            Type::Integer => Kind::Integer,
            Type::Bool => Kind::Bool,
            Type::Object => Kind::Object(self.members(said.words, said.at, said.depth + 1)),
        })
    }

    /// What elements may hold: only a type, since neither default nor index makes sense for them.
    fn items(&mut self, said: Said<'_>) -> Option<Kind> {
        let at = below(said.at, "items");
        let Some(words) = said.words.get("items") else {
            self.faults.add(said.at, "an array needs `items`, the type of its elements");
            return None;
        };
        let indexes = self.indexes;
        let kind = self.typed(words, &["type"], &at, said.depth).map(|(kind, _)| kind);
        let index = words.get("index").is_some();
        if index || self.indexes != indexes {
            self.faults.add(&at, "elements of an array are not indexed");
        }
        kind
    }

    fn values(&mut self, said: Said<'_>) -> Option<Vec<String>> {
        let at = below(said.at, "values");
        let values = said.words.get("values").and_then(Value::as_array);
        let words = values.filter(|values| !values.is_empty()).and_then(|values| {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<_>>()
        });
        if words.is_none() {
            self.faults.add(&at, "an enum needs `values`, an array of strings");
        }
        words
    }

    fn length(&mut self, said: Said<'_>) -> Option<usize> {
        let length = said.words.get("max_length")?;
        let count = length.as_u64().and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            self.faults.add(&below(said.at, "max_length"), "a whole number from 0");
        }
        count
    }

    fn flag(&mut self, said: Said<'_>, word: &str) -> Option<bool> {
        let flag = said.words.get(word)?;
        if flag.as_bool().is_none() {
            self.faults.add(&below(said.at, word), "true or false");
        }
        flag.as_bool()
    }

    fn is_now(&mut self, said: Said<'_>) -> bool {
        match said.words.get("auto") {
            None => false,
            Some(auto) if auto == "now" => true,
            Some(_) => {
                self.faults
                    .add(&below(said.at, "auto"), "`now` is all that a field can be by itself");
                false
            }
        }
    }
}
