//! The order of a list: by keys, then by name, so no two identities have the same place.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::SortKey;
use crate::api_error::{ApiError, Code};
use crate::identity::{Identity, Millis};
use filtering::path::Path;
use filtering::value::Scalar;

/// Most keys of an order.
const MOST_KEYS: usize = 8;

/// A valid order; the default is by name.
#[derive(Debug, Default)]
pub struct Order(Vec<(Field, bool)>);

/// The value that one key sorts by.
#[derive(Debug)]
enum Field {
    Name,
    RegisteredAt,
    ExpiresAt,
    Metadata(Path),
}

/// One key's value. Absent comes before `null`, then scalars, arrays, objects; all arrays are
/// equal, and so are all objects.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortValue<'a> {
    Absent,
    Scalar(Scalar<'a>),
    Array,
    JsonObject,
    /// The end of identities that never expire.
    Never,
}

/// A place in an order: after the identity with these keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The value of each key.
    keys: Vec<CursorValue>,
    name: String,
}

/// A [`SortValue`] in a cursor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CursorValue {
    Absent,
    Value(Value),
    Never,
}

impl Order {
    /// Parses the keys of a query.
    ///
    /// Errors: `INVALID_REQUEST` at the key
    pub fn of(keys: &[SortKey]) -> Result<Self, ApiError> {
        if keys.len() > MOST_KEYS {
            let message =
                format!("sort_by must have at most {MOST_KEYS} keys (got {})", keys.len());
            return Err(ApiError::new(Code::InvalidRequest, message).at("/sort_by"));
        }
        let field = |(index, key): (usize, &SortKey)| match Field::read(&key.field) {
            Ok(field) => Ok((field, key.is_descending)),
            Err(message) => {
                Err(ApiError::new(Code::InvalidRequest, message).at(format!("/sort_by/{index}")))
            }
        };
        keys.iter().enumerate().map(field).collect::<Result<_, _>>().map(Self)
    }

    /// Whether it is the order by name alone.
    pub fn is_by_name(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares two identities in this order.
    pub fn compare(&self, one: &Identity, other: &Identity) -> Ordering {
        let by = |(field, is_descending): &(Field, bool)| {
            directed(field.rank(one).cmp(&field.rank(other)), *is_descending)
        };
        let keys = self.0.iter().map(by).find(|order| order.is_ne());
        keys.unwrap_or_else(|| one.name.cmp(&other.name))
    }

    /// Whether an identity comes after a place.
    pub fn is_behind(&self, identity: &Identity, place: &Position) -> bool {
        let by = |((field, is_descending), stored): (&(Field, bool), &CursorValue)| {
            directed(field.rank(identity).cmp(&stored.rank()), *is_descending)
        };
        let keys = self.0.iter().zip(&place.keys).map(by).find(|order| order.is_ne());
        keys.unwrap_or_else(|| (*identity.name).cmp(&place.name)).is_gt()
    }

    /// The place of an identity.
    pub fn position(&self, identity: &Identity) -> Position {
        let keys = self.0.iter().map(|(field, _)| field.rank(identity).stored()).collect();
        Position { keys, name: identity.name.to_string() }
    }
}

impl Position {
    /// The identity's name, which breaks ties.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn directed(order: Ordering, is_descending: bool) -> Ordering {
    if is_descending { order.reverse() } else { order }
}

impl Field {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "identity" => Ok(Self::Name),
            "registered_at" => Ok(Self::RegisteredAt),
            "expires_at" => Ok(Self::ExpiresAt),
            _ => match text.strip_prefix("metadata.") {
                Some(path) => Path::read(path).map(Self::Metadata),
                None => Err("sorted by `identity`, `registered_at`, `expires_at`, or `metadata.` \
                             and a field"
                    .to_owned()),
            },
        }
    }

    fn rank<'a>(&self, identity: &'a Identity) -> SortValue<'a> {
        match self {
            Self::Name => SortValue::Scalar(Scalar::Text(&identity.name)),
            Self::RegisteredAt => SortValue::instant(identity.registered_at),
            Self::ExpiresAt => identity.expires_at.map_or(SortValue::Never, SortValue::instant),
            Self::Metadata(path) => {
                path.find(&identity.metadata).map_or(SortValue::Absent, SortValue::of)
            }
        }
    }
}

impl<'a> SortValue<'a> {
    fn of(value: &'a Value) -> Self {
        match (value, Scalar::of(value)) {
            (_, Some(scalar)) => Self::Scalar(scalar),
            (Value::Array(_), None) => Self::Array,
            _ => Self::JsonObject,
        }
    }

    fn instant(millis: Millis) -> Self {
        Self::Scalar(Scalar::integer(millis))
    }

    fn stored(&self) -> CursorValue {
        match self {
            Self::Absent => CursorValue::Absent,
            Self::Scalar(scalar) => CursorValue::Value(scalar.to_json()),
            Self::Array => CursorValue::Value(json!([])),
            Self::JsonObject => CursorValue::Value(json!({})),
            Self::Never => CursorValue::Never,
        }
    }
}

impl CursorValue {
    fn rank(&self) -> SortValue<'_> {
        match self {
            Self::Absent => SortValue::Absent,
            Self::Value(value) => SortValue::of(value),
            Self::Never => SortValue::Never,
        }
    }
}
