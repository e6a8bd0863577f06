//! The declaration of one field in a schema.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectFields {
    /// By name.
    pub fields: BTreeMap<String, Field>,
    /// Whether other fields are allowed, of any type.
    pub is_open: bool,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its allowed values.
    pub kind: FieldKind,
    /// Whether it is required.
    pub is_required: bool,
    /// Its default value.
    pub default: Option<Value>,
    /// Whether its default is the time of registration.
    pub is_now: bool,
    /// Whether filters can use an index on it.
    pub is_indexed: bool,
}

/// The allowed values of a field. `null` matches no kind.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A string, with an optional limit on its characters.
    Text(Option<usize>),
    /// One of these strings.
    Enum(Vec<String>),
    /// An array of one kind, with an optional limit on its elements.
    Array(Box<FieldKind>, Option<usize>),
    /// An instant; stored as RFC 3339 in UTC with milliseconds, so that text order is time order.
    Timestamp,
    /// `{"lat": …, "lon": …}` in degrees.
    GeoPoint,
    /// Any number.
    Float,
    /// A number without a fraction that 64 bits can hold.
    Integer,
    /// `true` or `false`
    Bool,
    /// An object with fields of its own.
    JsonObject(ObjectFields),
}

impl FieldKind {
    /// The fields of an object.
    pub fn object_fields(&self) -> Option<&ObjectFields> {
        match self {
            Self::JsonObject(object_fields) => Some(object_fields),
            _ => None,
        }
    }
}
