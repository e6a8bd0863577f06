//! Markdown, ready for a pull request.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::Summary;

use super::tables::{self, Table};
use judge::run_record::RunRecord;

/// Format `markdown`.
pub fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(&run.summary).as_bytes())
}

/// The page. Verdict and question first; what is looked up rather than read is folded.
pub fn render(summary: &Summary) -> String {
    let mut page = format!("# {}\n\n", text(&summary.run.title));
    if summary.rehearsal {
        page.push_str("**Rehearsal**: shortened, can never pass.\n\n");
    }
    if let Some(question) = &summary.run.question {
        page.push_str(&format!("{}\n\n", text(question)));
    }
    let reasons: Vec<_> = summary.verdict.reasons.iter().map(|reason| text(reason)).collect();
    page.push_str(&format!("**{}**: {}\n", super::verdict_word(summary), reasons.join("; ")));
    let compared = tables::comparison::comparisons(summary).into_iter();
    for table in compared.chain(tables::dose::tables(summary)) {
        push_table(&mut page, &table, 2);
    }
    let wholes = tables::capacity::all(summary).into_iter().chain(tables::scaling::all(summary));
    wholes.for_each(|table| push_table(&mut page, &table, 2));
    let of_run = [
        tables::run::criteria,
        tables::parts::by_arm,
        tables::phases::by_arm,
        tables::work::by_arm,
        tables::accounting::by_arm,
        tables::observed::by_arm,
        tables::run::findings,
        tables::run::trials,
    ];
    of_run
        .into_iter()
        .filter_map(|table| table(summary))
        .for_each(|table| push_table(&mut page, &table, 2));
    for arm in &summary.arms {
        for trial in arm.trials.iter().filter(|one| tables::capacity::shows(summary, one)) {
            page.push_str(&format!("\n## Trial {}, arm {}\n\n", trial.index, text(&arm.name)));
            page.push_str(&format!("{}\n", text(&tables::trial::load(trial))));
            let (read, folded): (Vec<_>, Vec<_>) =
                tables::trial::all(trial).into_iter().partition(|table| READ.contains(&table.id));
            read.iter().for_each(|table| push_table(&mut page, table, 3));
            fold(&mut page, "Generator, systems and details", &folded);
        }
    }
    fold(&mut page, "Provenance", &[tables::run::provenance(summary)]);
    page
}

/// Tables that a reader of a pull request wants to see at once.
const READ: [&str; 7] = [
    "accounting",
    "rates",
    "response-time",
    "outcome-time",
    "failures",
    "first-failures",
    "observers",
];

fn fold(page: &mut String, title: &str, tables: &[Table]) {
    page.push_str(&format!("\n<details>\n<summary>{title}</summary>\n"));
    tables.iter().for_each(|table| push_table(page, table, 3));
    page.push_str("\n</details>\n");
}

/// A table by itself.
pub fn table(table: &Table) -> String {
    let mut page = String::new();
    push_table(&mut page, table, 1);
    page.trim_start().to_owned()
}

/// A heading of this level, the table, and its note.
pub fn push_table(page: &mut String, table: &Table, level: usize) {
    page.push_str(&format!("\n{} {}\n\n", "#".repeat(level), text(&table.title)));
    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    page.push_str(&cells(table.columns.iter().map(|column| text(&column.title)).collect()));
    let rule = table.columns.iter().map(|column| if column.figures { "---:" } else { "---" });
    page.push_str(&cells(rule.map(str::to_owned).collect()));
    for row in &table.rows {
        page.push_str(&cells(row.iter().map(|cell| text(cell)).collect()));
    }
    if let Some(note) = &table.note {
        page.push_str(&format!("\n{}\n", text(note)));
    }
}

/// Text that cannot end a cell, start a tag or become a heading. What stands between two backquotes is
/// left as it is, except for the end of a cell. Nothing in it steers a terminal.
pub fn text(raw: &str) -> String {
    let raw = &*printable(raw);
    let mut safe = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(place) = rest.find('`') {
        plain(&mut safe, &rest[..place]);
        rest = &rest[place..];
        let quotes = rest.len() - rest.trim_start_matches('`').len();
        let end = code(rest).unwrap_or(quotes);
        if end > quotes {
            safe.push_str(&rest[..end].replace('|', "\\|"));
        } else {
            safe.push_str(&"\\`".repeat(quotes));
        }
        rest = &rest[end..];
    }
    plain(&mut safe, rest);
    safe
}

/// Where the code ends that this text begins with. Only a lone backquote closes what a lone one opens;
/// code with a backslash in it might end a cell.
fn code(text: &str) -> Option<usize> {
    let quote = |place: usize| text.as_bytes().get(place) == Some(&b'`');
    let is_lone = |place: &usize| quote(*place) && !quote(place - 1) && !quote(place + 1);
    let end = 1 + (1..text.len()).find(is_lone).filter(|_| !quote(1))?;
    (!text[..end].contains('\\')).then_some(end)
}

fn plain(safe: &mut String, raw: &str) {
    for c in raw.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '[' | ']' | '#' => safe.extend(['\\', c]),
            _ => safe.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn cells_cannot_be_broken_out_of() {
        assert_eq!(text("a|b\n<script>"), "a\\|b &lt;script>");
        assert_eq!(text("`p99 < 20ms` first_byte"), "`p99 < 20ms` first\\_byte");
        assert_eq!(text("a\u{1b}[2Jb"), "a\u{fffd}\\[2Jb");
        assert_eq!(text("`a|b`\\|"), "`a\\|b`\\\\\\|");
    }

    /// A backquote that nothing closes opens no code, so that a tag behind it would be one.
    #[test]
    fn only_what_is_code_is_left_as_it_is() {
        for (raw, safe) in [
            ("`<b>", "\\`&lt;b>"),
            ("a `` <b> `", "a \\`\\` &lt;b> \\`"),
            ("``` <b> `", "\\`\\`\\` &lt;b> \\`"),
            ("` `` <b> `", "` `` <b> `"),
            ("`x` <b> `", "`x` &lt;b> \\`"),
            ("`a` `<b>`", "`a` `<b>`"),
            ("\\` <b> `", "\\\\` <b> `"),
            ("`a\\` <b> `", "\\`a\\\\` <b> `"),
        ] {
            assert_eq!(text(raw), safe, "{raw}");
        }
    }
}
