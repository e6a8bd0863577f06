//! Parses a schema from JSON within limits, and reports all problems at once.

use serde_json::{Map, Value};

use super::check::check_value;
use super::errors::SchemaErrors;
use super::field::{Field, FieldKind, ObjectFields};
use crate::api_error::{ApiError, Code};
use filtering::path::LONGEST_PATH;
use filtering::value::is_nested_within;
use filtering::words::{below, unknown};

/// Deepest nesting of the JSON: checked first.
const DEEPEST: usize = 32;

/// Most bytes of a schema, as JSON without white space.
const LARGEST: usize = 64 * 1024;

/// Most fields, including those of nested objects.
const MOST_FIELDS: usize = 256;

/// Most indexed fields.
const MOST_INDEXES: usize = 16;

/// Keys that every field may have.
const COMMON: &[&str] = &["type", "required", "default"];

/// The types, with the additional keys of each.
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
    ("object", Type::JsonObject, &["fields", "additional"]),
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
    JsonObject,
}

/// Parses the fields of a namespace.
pub fn read(schema: &Value) -> Result<ObjectFields, ApiError> {
    let refuse = |message: String| Err(ApiError::new(Code::InvalidSchema, message).at(""));
    if !is_nested_within(schema, DEEPEST) {
        return refuse(format!("must nest at most {DEEPEST} deep"));
    }
    let size = schema.to_string().len();
    if size > LARGEST {
        return refuse(format!("a schema must have at most {LARGEST} bytes (got {size})"));
    }
    let Value::Object(schema) = schema else {
        return refuse("a schema must be an object with `fields`".to_owned());
    };
    let mut reader = SchemaReader::default();
    reader.known(schema, &["fields", "additional"], "");
    if !schema.contains_key("fields") {
        reader.errors.add("", "a schema must have `fields`, an object");
    }
    let object_fields = reader.object_fields(schema, "", 1);
    reader.errors.result(Code::InvalidSchema).map(|()| object_fields)
}

#[derive(Default)]
struct SchemaReader {
    errors: SchemaErrors,
    fields: usize,
    indexes: usize,
}

/// The declaration of a field, and its place.
#[derive(Clone, Copy)]
struct Declaration<'a> {
    properties: &'a Map<String, Value>,
    at: &'a str,
    /// Number of names in its path.
    depth: usize,
}

impl SchemaReader {
    fn known(&mut self, properties: &Map<String, Value>, known: &[&str], at: &str) {
        for word in properties.keys().filter(|word| !known.contains(&word.as_str())) {
            self.errors.add(&below(at, word), unknown("word", word, known));
        }
    }

    /// Parses the fields of an object.
    fn object_fields(
        &mut self,
        properties: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> ObjectFields {
        let declaration = Declaration { properties, at, depth };
        let is_open = self.flag(declaration, "additional").unwrap_or(true);
        let mut object_fields = ObjectFields { is_open, ..ObjectFields::default() };
        let Some(fields) = properties.get("fields") else {
            return object_fields;
        };
        let at = below(at, "fields");
        let Some(fields) = fields.as_object() else {
            self.errors.add(&at, "must be an object from field names to their declarations");
            return object_fields;
        };
        for (name, properties) in fields {
            let at = below(&at, name);
            self.fields += 1;
            if self.fields > MOST_FIELDS {
                self.errors.add(&at, format!("a schema must have at most {MOST_FIELDS} fields"));
                return object_fields;
            }
            if name.is_empty() {
                self.errors.add(&at, "a field's name must not be empty");
            }
            if depth > LONGEST_PATH {
                self.errors.add(&at, format!("fields must nest at most {LONGEST_PATH} deep"));
                return object_fields;
            }
            if let Some(field) = self.field(properties, &at, depth) {
                object_fields.fields.insert(name.clone(), field);
            }
        }
        object_fields
    }

    fn field(&mut self, properties: &Value, at: &str, depth: usize) -> Option<Field> {
        let (kind, declaration) = self.typed(properties, COMMON, at, depth)?;
        let field = Field {
            is_required: self.flag(declaration, "required").unwrap_or(false),
            default: declaration.properties.get("default").cloned(),
            is_now: self.is_now(declaration),
            is_indexed: self.flag(declaration, "index").unwrap_or(false),
            kind,
        };
        self.indexes += usize::from(field.is_indexed);
        if field.is_indexed && self.indexes == MOST_INDEXES + 1 {
            let message = format!("a schema must have at most {MOST_INDEXES} indexes");
            self.errors.add(&below(at, "index"), message);
        }
        if let Some(default) = &field.default {
            let at = below(at, "default");
            self.errors.append(check_value(&field.kind, &mut default.clone(), &at));
            if field.is_now {
                self.errors.add(&at, "give either `default` or `auto`, not both");
            }
        }
        Some(field)
    }

    /// The kind of a field or an element, from its `type`.
    fn typed<'a>(
        &mut self,
        properties: &'a Value,
        common: &[&str],
        at: &'a str,
        depth: usize,
    ) -> Option<(FieldKind, Declaration<'a>)> {
        let Some(properties) = properties.as_object() else {
            self.errors.add(at, "must be an object with a `type`");
            return None;
        };
        let Some(name) = properties.get("type").and_then(Value::as_str) else {
            self.errors.add(at, "needs a `type`, a string");
            return None;
        };
        let Some((_, kind, own)) = TYPES.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
            self.errors.add(&below(at, "type"), unknown("type", name, &names));
            return None;
        };
        self.known(properties, &[common, own].concat(), at);
        let declaration = Declaration { properties, at, depth };
        Some((self.kind(*kind, declaration)?, declaration))
    }

    fn kind(&mut self, kind: Type, declaration: Declaration<'_>) -> Option<FieldKind> {
        Some(match kind {
            Type::Text => FieldKind::Text(self.length(declaration)),
            Type::Enum => FieldKind::Enum(self.values(declaration)?),
            Type::Array => {
                let longest = self.length(declaration);
                FieldKind::Array(Box::new(self.items(declaration)?), longest)
            }
            Type::Timestamp => FieldKind::Timestamp,
            Type::GeoPoint => FieldKind::GeoPoint,
            Type::Float => FieldKind::Float,
            Type::Integer => FieldKind::Integer,
            Type::Bool => FieldKind::Bool,
            Type::JsonObject => FieldKind::JsonObject(self.object_fields(
                declaration.properties,
                declaration.at,
                declaration.depth + 1,
            )),
        })
    }

    /// The kind of elements: only a type, because neither default nor index makes sense for them.
    fn items(&mut self, declaration: Declaration<'_>) -> Option<FieldKind> {
        let at = below(declaration.at, "items");
        let Some(properties) = declaration.properties.get("items") else {
            self.errors.add(declaration.at, "an array needs `items`, the type of its elements");
            return None;
        };
        let indexes = self.indexes;
        let kind = self.typed(properties, &["type"], &at, declaration.depth).map(|(kind, _)| kind);
        let index = properties.get("index").is_some();
        if index || self.indexes != indexes {
            self.errors.add(&at, "elements of an array cannot be indexed");
        }
        kind
    }

    fn values(&mut self, declaration: Declaration<'_>) -> Option<Vec<String>> {
        let at = below(declaration.at, "values");
        let values = declaration.properties.get("values").and_then(Value::as_array);
        let properties = values.filter(|values| !values.is_empty()).and_then(|values| {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<_>>()
        });
        if properties.is_none() {
            self.errors.add(&at, "an enum needs `values`, an array of strings");
        }
        properties
    }

    fn length(&mut self, declaration: Declaration<'_>) -> Option<usize> {
        let length = declaration.properties.get("max_length")?;
        let count = length.as_u64().and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            self.errors
                .add(&below(declaration.at, "max_length"), "must be a whole number of at least 0");
        }
        count
    }

    fn flag(&mut self, declaration: Declaration<'_>, word: &str) -> Option<bool> {
        let flag = declaration.properties.get(word)?;
        if flag.as_bool().is_none() {
            self.errors.add(&below(declaration.at, word), "must be true or false");
        }
        flag.as_bool()
    }

    fn is_now(&mut self, declaration: Declaration<'_>) -> bool {
        match declaration.properties.get("auto") {
            None => false,
            Some(auto) if auto == "now" => true,
            Some(_) => {
                self.errors
                    .add(&below(declaration.at, "auto"), "must be `now`, the only automatic value");
                false
            }
        }
    }
}
