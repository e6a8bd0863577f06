//! `proofload explain`: what a finding, a term or an exit code means.

use crate::Exit;
use crate::cli::ExplainArgs;
use crate::output;
use crate::problem::Problem;

/// Prints one explanation, or the list of all that can be explained.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Problem> {
    let term = args.term.join(" ");
    let text = if term.is_empty() { everything() } else { one(&term)? };
    output::print(&format!("{}\n", text.trim_end()))?;
    Ok(Exit::Passed)
}

/// All names under the headings of their tables, one per line.
fn everything() -> String {
    let table =
        |(heading, names): (&str, Vec<&str>)| format!("{heading}:\n  {}\n", names.join("\n  "));
    tables().into_iter().map(table).collect::<Vec<_>>().join("\n")
}

/// Everything that can be explained, by heading. A rule that both audits have is listed only under
/// the audit of reports.
fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let rules: Vec<_> = audit::rules::rules().map(|rule| rule.id).collect();
    let mut tables = judge::explain::tables();
    tables.iter_mut().for_each(|(_, names)| names.retain(|name| !rules.contains(name)));
    tables.push(("rules of an audit", rules));
    tables
}

fn meaning(term: &str) -> Option<String> {
    audit::rules::explain(term).or_else(|| judge::explain::explain(term))
}

fn one(term: &str) -> Result<String, Problem> {
    meaning(term).ok_or_else(|| {
        let names: Vec<&str> = tables().into_iter().flat_map(|(_, names)| names).collect();
        let problem = Problem::usage(format!("nothing is known of \"{term}\""));
        match plan::diagnostic::near_miss(term, &names) {
            Some(near) => problem.hint(format!("did you mean `proofload explain \"{near}\"`?")),
            None => problem.hint("`proofload explain` lists everything that can be explained"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_unique_and_explained() {
        let all: Vec<_> = tables().into_iter().flat_map(|(_, names)| names).collect();
        let times = |name| all.iter().filter(|other| **other == name).count();
        let twice: Vec<&str> = all.iter().copied().filter(|name| times(*name) > 1).collect();
        assert_eq!(twice, [""; 0]);
        for name in all {
            assert!(meaning(name).is_some_and(|text| text.len() > name.len() + 20), "{name}");
        }
    }
}
