//! The rules, one row each. `R` as in the catalogue of findings on reports, `A` for arithmetic that
//! our own summary must survive too.
//!
//! In reading order: `figures`, then `claims`, then `said`.

mod claims;
mod figures;
mod said;

use record::summary::Severity;

use super::{Check, Rule};

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    figures::ROWS.iter().chain(claims::ROWS).chain(said::ROWS)
}

const fn rule(
    id: &'static str,
    severity: Severity,
    check: Check,
    [title, explain, advice]: [&'static str; 3],
) -> Rule {
    Rule { id, severity, title, explain, advice, check }
}
