//! The rules, one row for each. `R…` names follow the catalogue; `A…` names are arithmetic that our
//! own summary must satisfy, too.
//!
//! In reading order: `figures`, then `conclusions`, then `claims`.

mod claims;
mod conclusions;
mod figures;

use super::rule::Rule;

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    figures::ROWS.iter().chain(conclusions::ROWS).chain(claims::ROWS)
}
