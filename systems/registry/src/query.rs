//! What `enumerate` asks for and gets.

pub(crate) mod cursor;
pub(crate) mod order;

use std::str::FromStr;
use std::sync::Arc;

use crate::api_error::{ApiError, Code};
use crate::identity::Identity;
use filtering::Filter;

/// Which identities to list, in which order, from which position.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Who matches.
    pub filter: Filter,
    /// First by the first key, ties by the next, at last by name; without keys: by name.
    pub sort_by: Vec<SortKey>,
    /// At most so many; with 0 they are counted only.
    pub limit: usize,
    /// [`Page::next_cursor`] of the page before.
    pub cursor: Option<String>,
}

/// One key of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// `identity`, `registered_at`, `expires_at`, or `metadata.` and a path.
    pub field: String,
    /// Whether the largest comes first.
    pub is_descending: bool,
}

/// `metadata.created_at desc`; without a direction, `asc`.
impl FromStr for SortKey {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let (field, direction) = text.rsplit_once(' ').unwrap_or((text, "asc"));
        let is_descending = match direction {
            "asc" => false,
            "desc" => true,
            _ => {
                let message = "expected a field, optionally followed by `asc` or `desc`";
                return Err(ApiError::new(Code::InvalidRequest, message));
            }
        };
        Ok(Self { field: field.to_owned(), is_descending })
    }
}

/// One page of those that match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// In the order asked for.
    pub identities: Vec<Arc<Identity>>,
    /// How many match in all pages.
    pub total_count: usize,
    /// For the next page; `None` on the last. Good for the same filter and order only.
    pub next_cursor: Option<String>,
}

impl Page {
    /// Leaves the first so many, at least one; the others are on the next page.
    ///
    /// Errors: an invalid order, which the caller has refused before
    pub fn truncate(&mut self, query: &Query, count: usize) -> Result<(), ApiError> {
        if let Some(last) = self.identities[..count.min(self.identities.len())].last()
            && count < self.identities.len()
        {
            let place = order::Order::of(&query.sort_by)?.position(last);
            self.next_cursor = Some(cursor::write(query, &place));
            self.identities.truncate(count);
        }
        Ok(())
    }
}
