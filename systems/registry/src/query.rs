//! What `enumerate` asks for and gets.

pub(crate) mod cursor;
pub(crate) mod order;

use std::str::FromStr;
use std::sync::Arc;

use crate::fault::{Code, Fault};
use crate::identity::Identity;
use filtering::Filter;

/// Whom to list, in which order, from where on.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Who matches.
    pub filter: Filter,
    /// First by the first key, ties by the next, at last by name; without keys: by name.
    pub sort_by: Vec<SortKey>,
    /// At most so many; with 0 they are counted only.
    pub limit: usize,
    /// What [`Page::next_cursor`] said before: go on behind it.
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
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let (field, direction) = text.rsplit_once(' ').unwrap_or((text, "asc"));
        let is_descending = match direction {
            "asc" => false,
            "desc" => true,
            _ => {
                let message = "a field, and `asc` or `desc` behind a space";
                return Err(Fault::new(Code::InvalidRequest, message));
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
    /// How many match in all, on whatever page.
    pub total_count: usize,
    /// For the next page; `None` on the last. Good for the same filter and order only.
    pub next_cursor: Option<String>,
}

impl Page {
    /// Leaves the first so many, at least one; the others are on the next page.
    ///
    /// Errors: an order that there is not, which whoever found the page would have refused
    pub fn cut(&mut self, query: &Query, count: usize) -> Result<(), Fault> {
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
