//! Markdown, ready for a pull request.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::Summary;

use super::outline::{self, Rank, Section};
use super::tables::Table;
use judge::run_record::RunRecord;

/// Format `markdown`.
pub fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(&run.summary).as_bytes())
}

/// The page. Verdict and question come first; reference tables are folded.
pub fn render(summary: &Summary) -> String {
    let mut page = format!("# {}\n\n", text(&summary.run.title));
    if summary.rehearsal {
        page.push_str("**Rehearsal**: shortened, can never pass.\n\n");
    }
    if let Some(question) = &summary.run.question {
        page.push_str(&format!("{}\n\n", text(question)));
    }
    let reasons: Vec<_> = summary.verdict.reasons.iter().map(|reason| text(reason)).collect();
    page.push_str(&format!(
        "**{}**: {}\n",
        crate::verdict::verdict_word(summary),
        reasons.join("; ")
    ));
    for section in outline::sections(summary) {
        match section.rank {
            Rank::Answer => open(&mut page, &section),
            Rank::Detail => folded(&mut page, &section),
        }
    }
    page
}

fn open(page: &mut String, section: &Section) {
    let is_headed = !section.title.is_empty();
    if is_headed {
        page.push_str(&format!("\n## {}\n", text(&section.title)));
    }
    lead(page, section);
    let level = 2 + usize::from(is_headed);
    section.tables.iter().for_each(|table| push_table(page, table, level));
}

fn folded(page: &mut String, section: &Section) {
    page.push_str(&format!("\n<details>\n<summary>{}</summary>\n", text(&section.title)));
    lead(page, section);
    section.tables.iter().for_each(|table| push_table(page, table, 3));
    page.push_str("\n</details>\n");
}

fn lead(page: &mut String, section: &Section) {
    if !section.lead.is_empty() {
        page.push_str(&format!("\n{}\n", text(&section.lead)));
    }
}

/// A single table.
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
    for (place, row) in table.rows.iter().enumerate() {
        let mut shown: Vec<String> = row.iter().map(|one| cell(one)).collect();
        let address = table.links.get(place).and_then(Option::as_ref);
        if let Some((last, address)) = shown.last_mut().zip(address) {
            *last = format!("[{last}](<{}>)", address.replace('|', "%7C").replace('\\', "%5C"));
        }
        page.push_str(&cells(shown));
    }
    if let Some(note) = &table.note {
        page.push_str(&format!("\n{}\n", text(note)));
    }
}

/// A cell, with its lines below each other.
fn cell(raw: &str) -> String {
    raw.split('\n').map(text).collect::<Vec<_>>().join("<br>")
}

/// Text that cannot end a cell, start a tag or become a heading. Text between two backquotes is kept, except for the
/// end of a cell. Control characters of a terminal are removed.
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

/// The end of the code at the start of this text. A single backquote closes only what a single one opened; code with
/// a backslash might end a cell, so it does not count as code.
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

    /// A backquote without a closing one starts no code; otherwise a tag after it would be kept.
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
