//! How a table names arms: with several factors, these are in the head of the column and only the levels in its
//! cells.

use std::collections::BTreeMap;

use plan::printable::printable;
use record::summary::{Arm, Summary};

use super::Table;

/// The cells of a run's arms, by name; empty if cells show the whole names.
pub(super) struct Arms(BTreeMap<String, String>);

impl Arms {
    /// Names this column of the table, counted from the left, as that of arms.
    pub(super) fn head(summary: &Summary, table: &mut Table, column: usize) -> Self {
        let parts: Option<Vec<_>> = summary.arms.iter().map(parts).collect();
        let parts = parts.unwrap_or_default();
        let joined = |texts: Vec<&str>| texts.join(", ");
        let factors = parts.first().map(|parts| parts.iter().map(|(factor, _)| *factor).collect());
        let Some(factors) = factors else { return Self(BTreeMap::new()) };
        table.columns[column].title = printable(&joined(factors)).into_owned();
        let levels = parts.iter().map(|parts| parts.iter().map(|(_, level)| *level).collect());
        let names = summary.arms.iter().map(|arm| arm.name.clone());
        Self(names.zip(levels.map(joined)).collect())
    }

    /// The cell of an arm.
    pub(super) fn cell(&self, name: &str) -> String {
        self.0.get(name).map_or(name, String::as_str).to_owned()
    }
}

/// Factors and levels in the order of the name, `tls=never,workload=burst`; `None` for fewer than two.
fn parts(arm: &Arm) -> Option<Vec<(&str, &str)>> {
    let name = arm.name.as_str();
    let begins = |at: usize| at == 0 || name.as_bytes()[at - 1] == b',';
    let mut at = Vec::new();
    for factor in arm.factors.keys() {
        let (place, _) = name.match_indices(&format!("{factor}=")).find(|(at, _)| begins(*at))?;
        at.push((place, factor.as_str()));
    }
    at.sort_unstable();
    let ends = at.iter().skip(1).map(|(next, _)| next - 1).chain([name.len()]);
    let parts = at.iter().zip(ends).map(|((place, factor), end)| {
        let level = name.get(place + factor.len() + 1..end)?;
        Some((*factor, level))
    });
    parts.collect::<Option<Vec<_>>>().filter(|parts| parts.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, factors: &[&str]) -> Arm {
        let factors = factors.iter().map(|factor| ((*factor).to_owned(), true.into())).collect();
        Arm { name: name.to_owned(), factors, values: BTreeMap::new(), trials: Vec::new() }
    }

    #[test]
    fn levels_stand_in_the_order_of_the_name() {
        let arm = |name: &str| arm(name, &["kept", "tls", "work"]);
        assert_eq!(
            parts(&arm("tls=never,kept=true,work=a,b=c")),
            Some(vec![("tls", "never"), ("kept", "true"), ("work", "a,b=c")])
        );
        assert_eq!(parts(&arm("tls=never,kept=true")), None, "a name of another form");
        assert_eq!(parts(&arm("tls=,kept=,work=")).unwrap()[2], ("work", ""));
    }

    #[test]
    fn one_factor_stays_in_its_name() {
        assert_eq!(parts(&arm("tls=never", &["tls"])), None);
        assert_eq!(parts(&arm("all", &[])), None);
    }
}
