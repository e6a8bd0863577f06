//! What a schema says of one field.

use std::collections::BTreeMap;

use serde_json::Value;

/// The fields of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectFields {
    /// By name.
    pub fields: BTreeMap<String, Field>,
    /// Whether there may be others, of any type.
    pub is_open: bool,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What it may hold.
    pub kind: FieldKind,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it holds when it is not given.
    pub default: Option<Value>,
    /// Whether it holds the time of registration when it is not given.
    pub is_now: bool,
    /// Whether filters find it by an index.
    pub is_indexed: bool,
}

/// What a field may hold. `null` is of no type.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A string, of at most so many characters.
    Text(Option<usize>),
    /// One of these strings.
    Enum(Vec<String>),
    /// An array of one kind, of at most so many elements.
    Array(Box<FieldKind>, Option<usize>),
    /// An instant; kept as RFC 3339 in UTC with milliseconds, so that their order is that of text.
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
