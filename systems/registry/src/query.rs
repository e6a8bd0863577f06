//! The query and result of `enumerate`.

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
    /// The filter.
    pub filter: Filter,
    /// The first key decides, the next one breaks ties, and names break the rest; without keys: by
    /// name.
    pub sort_by: Vec<SortKey>,
    /// Most identities of a page; with 0 they are only counted.
    pub limit: usize,
    /// [`Page::next_cursor`] of the page before.
    pub cursor: Option<String>,
}

/// One key of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// `identity`, `registered_at`, `expires_at`, or `metadata.` and a path.
    pub field: String,
    /// Whether the largest value comes first.
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

/// One page of matching identities.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// In the order asked for.
    pub identities: Vec<Arc<Identity>>,
    /// Number of matches over all pages.
    pub total_count: usize,
    /// For the next page; `None` on the last. Valid only for the same filter and order.
    pub next_cursor: Option<String>,
}

impl Page {
    /// Keeps the first `count` identities, at least one; the others move to the next page.
    ///
    /// Errors: an invalid order, which the caller has already refused
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
