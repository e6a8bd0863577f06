//! `proofload explain`: what a finding, a term or an exit code means.

use crate::cli::ExplainArgs;
use crate::exit::Exit;
use crate::message::Problem;
use crate::output;

/// Prints one explanation, or the list of all that can be explained.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Problem> {
    let term = args.term.join(" ");
    let text = if term.is_empty() { everything() } else { one(&term)? };
    output::print(&format!("{}\n", text.trim_end()))?;
    Ok(Exit::Passed)
}

/// All names under the headings of their tables, one a line.
fn everything() -> String {
    let table =
        |(heading, names): (&str, Vec<&str>)| format!("{heading}:\n  {}\n", names.join("\n  "));
    report::explain::tables().into_iter().map(table).collect::<Vec<_>>().join("\n")
}

fn one(term: &str) -> Result<String, Problem> {
    report::explain::explain(term).ok_or_else(|| {
        let names: Vec<&str> = report::explain::names().collect();
        let problem = Problem::usage(format!("nothing is known of \"{term}\""));
        match plan::diagnostic::near_miss(term, &names) {
            Some(near) => problem.hint(format!("did you mean `proofload explain \"{near}\"`?")),
            None => problem.hint("`proofload explain` lists everything that can be explained"),
        }
    })
}
