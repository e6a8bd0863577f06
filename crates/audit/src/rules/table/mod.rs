//! The rules, one row each. `R` as in the catalogue of findings on reports, `A` for arithmetic that
//! our own summary must survive too.
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
