//! Comparisons of stored runs as text, Markdown or JSON.

use std::fmt::Write;

use super::tables::comparison::stored;
use super::tables::{Table, run};
use super::{markdown, terminal};
use judge::comparison::stored::StoredComparison;
use plan::number;

/// The names of the formats.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// The page in one of [`FORMATS`]; text for any other name.
///
/// Errors: of JSON, which would be a bug
pub fn render(found: &StoredComparison, format: &str) -> Result<String, serde_json::Error> {
    match format {
        "json" => Ok(serde_json::to_string_pretty(found)? + "\n"),
        "markdown" => Ok(marked(found)),
        _ => Ok(plain(found)),
    }
}

fn plain(found: &StoredComparison) -> String {
    let mut page = String::new();
    let sides = [("baseline", &found.baseline), ("candidate", &found.candidate)];
    for (name, runs) in sides {
        let _ = writeln!(page, "{name:<11}{}", runs.join(", "));
    }
    for note in &found.notes {
        terminal::wrap(&mut page, note, "  ");
    }
    for difference in &found.unlike {
        terminal::wrap(&mut page, &format!("unlike: {difference}"), "  ");
    }
    tables(found).iter().for_each(|table| terminal::push_table(&mut page, table));
    page
}

fn marked(found: &StoredComparison) -> String {
    let mut page = format!(
        "# Comparison\n\n{} against {}\n",
        markdown::text(&found.candidate.join(", ")),
        markdown::text(&found.baseline.join(", "))
    );
    let unlike = found.unlike.iter().map(|one| format!("unlike: {one}"));
    page.push('\n');
    for note in found.notes.iter().cloned().chain(unlike) {
        let _ = writeln!(page, "- {}", markdown::text(&note));
    }
    tables(found).iter().for_each(|table| markdown::push_table(&mut page, table, 2));
    page
}

fn tables(found: &StoredComparison) -> Vec<Table> {
    let mut tables = vec![stored(&found.comparisons)];
    let columns = ["criterion", "arm", "result", "#observed", "#95 % interval"];
    let mut judged = Table::new("criteria", "Criteria on ratios", &columns);
    let share = |ratio: Option<f64>| ratio.map_or_else(|| "?".to_owned(), number::percent);
    for one in &found.criteria {
        judged.row([
            one.text.clone(),
            one.arm.clone(),
            run::judgement(one.result).to_owned(),
            share(one.observed),
            format!("{} – {}", share(one.low), share(one.high)),
        ]);
    }
    tables.extend(judged.unless_empty());
    tables
}
