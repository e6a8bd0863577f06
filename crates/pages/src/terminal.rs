//! The final block on a terminal: at most 100 columns, colour only as an addition.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::{Judgement, Severity, Summary};

use super::tables::{self, Table};
use judge::run_record::RunRecord;

/// Whether escape sequences may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Off,
    /// Words that carry a judgement are coloured.
    On,
}

const WIDTH: usize = 100;
const CELL: usize = 44;
/// No column of words is made narrower than this for the sake of the others.
const NARROWEST: usize = 16;
/// Trials up to which each is printed whole; the other pages show all of them.
const DETAILED: usize = 3;

/// Format `text`.
pub fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(&run.summary, Colour::Off).as_bytes())
}

/// The page. Verdict and question first.
pub fn render(summary: &Summary, colour: Colour) -> String {
    let mut page = String::new();
    head(&mut page, summary, colour);
    push_tables(&mut page, tables::comparison::comparisons(summary).into_iter().map(Some));
    push_tables(&mut page, tables::capacity::all(summary).into_iter().map(Some));
    push_tables(&mut page, tables::scaling::all(summary).into_iter().map(Some));
    let of_run = [
        tables::run::criteria,
        tables::parts::by_arm,
        tables::phases::by_arm,
        tables::work::by_arm,
        tables::accounting::by_arm,
        tables::observed::by_arm,
        tables::run::trials,
    ];
    push_tables(&mut page, of_run.map(|table| table(summary)));
    let trials = summary.arms.iter().map(|arm| arm.trials.len()).sum::<usize>();
    for arm in &summary.arms {
        for trial in &arm.trials {
            if trials > DETAILED || !tables::capacity::shows(summary, trial) {
                continue;
            }
            if trials > 1 {
                let arm = printable(&arm.name);
                page.push_str(&format!("\n── trial {}, arm {arm} ──\n", trial.index));
            }
            page.push('\n');
            wrap(&mut page, &tables::trial::load(trial), "");
            push_tables(&mut page, tables::trial::all(trial).into_iter().map(brief));
        }
    }
    findings(&mut page, summary, colour);
    foot(&mut page, summary);
    page
}

/// A table by itself.
pub fn table(table: &Table) -> String {
    let mut page = String::new();
    push_table(&mut page, table);
    page
}

fn head(page: &mut String, summary: &Summary, colour: Colour) {
    page.push_str(&format!("\n{}\n", printable(&summary.run.title)));
    if let Some(question) = &summary.run.question {
        wrap(page, question, "");
    }
    if summary.rehearsal {
        page.push_str("REHEARSAL: shortened, can never pass\n");
    }
    let word = super::verdict_word(summary).to_uppercase();
    let paint = match super::result(summary) {
        Judgement::Measured => "1",
        Judgement::Pass => "1;32",
        Judgement::Fail => "1;31",
        Judgement::Inconclusive | Judgement::Invalid => "1;33",
    };
    page.push_str(&format!("\n{}\n", painted(&word, paint, colour)));
    for reason in &summary.verdict.reasons {
        wrap(page, reason, "  ");
    }
}

/// The text in a colour, given as the number of its escape sequence.
pub fn painted(text: &str, code: &str, colour: Colour) -> String {
    match colour {
        Colour::Off => text.to_owned(),
        Colour::On => format!("\x1b[{code}m{text}\x1b[0m"),
    }
}

/// The terminal leaves explanations of failure kinds to the other pages.
fn brief(mut table: Table) -> Option<Table> {
    if table.id == "failures" {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    Some(table)
}

fn push_tables(page: &mut String, tables: impl IntoIterator<Item = Option<Table>>) {
    tables.into_iter().flatten().for_each(|table| push_table(page, &table));
}

/// The title, the table in columns, and its note.
pub fn push_table(page: &mut String, table: &Table) {
    page.push_str(&format!("\n{}\n", printable(&table.title)));
    if let Some(note) = &table.note {
        wrap(page, note, "  ");
    }
    let headings: Vec<String> =
        table.columns.iter().map(|column| printable(&column.title).into_owned()).collect();
    let shown: Vec<Vec<String>> =
        table.rows.iter().map(|row| without_repeats(table, row)).collect();
    if table.columns.len() == 2 && !table.columns[1].figures {
        return shown.iter().for_each(|row| named_line(page, &shown, row));
    }
    let widths = widths(table, &headings, &shown);
    if headings.iter().any(|heading| !heading.is_empty()) {
        push_row(page, table, &headings, &widths);
    }
    shown.iter().for_each(|row| push_row(page, table, row, &widths));
}

fn without_repeats(table: &Table, row: &[String]) -> Vec<String> {
    let place =
        table.rows.iter().position(|other| std::ptr::eq(other.as_slice(), row)).unwrap_or(0);
    let repeated = table.columns.len() > 2 && place > 0 && table.rows[place - 1][0] == row[0];
    let mut cells = row.to_vec();
    if repeated {
        cells[0].clear();
    }
    cells
}

/// A cell in lines of at most so many columns, broken at spaces where there are any.
fn lines(cell: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in cell.split_inclusive(' ') {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(most.max(1)) {
            let piece: String = piece.iter().collect();
            let line = lines.last().map_or(0, |line| line.chars().count());
            if line > 0 && line + piece.trim_end().chars().count() > most {
                lines.push(piece);
            } else if let Some(line) = lines.last_mut() {
                line.push_str(&piece);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Widths of the columns. Of a table that is too wide the columns of words give way, the widest first.
fn widths(table: &Table, headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |place: usize, most: usize| {
        let cells = rows.iter().map(|row| &row[place]).chain([&headings[place]]);
        let lengths = cells.flat_map(|cell| lines(cell, most)).map(|line| line.chars().count());
        lengths.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..headings.len()).map(|place| longest(place, CELL)).collect();
    let words = (0..widths.len()).filter(|&place| !table.columns[place].figures);
    let mut words: Vec<usize> = words.collect();
    words.sort_by_key(|&place| std::cmp::Reverse(widths[place]));
    for place in words {
        let excess = (widths.iter().sum::<usize>() + 2 * widths.len()).saturating_sub(WIDTH);
        let kept = widths[place].saturating_sub(excess).max(NARROWEST.min(widths[place]));
        widths[place] = longest(place, kept);
    }
    widths
}

fn push_row(page: &mut String, table: &Table, cells: &[String], widths: &[usize]) {
    let cells: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(cell, &width)| lines(cell, width)).collect();
    for place in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let mut line = String::new();
        for ((cell, column), &width) in cells.iter().zip(&table.columns).zip(widths) {
            let cell = cell.get(place).map_or("", String::as_str);
            line.push_str("  ");
            if column.figures {
                line.push_str(&format!("{cell:>width$}"));
            } else {
                line.push_str(&format!("{cell:<width$}"));
            }
        }
        page.push_str(line.trim_end());
        page.push('\n');
    }
}

/// A line of a table of names and texts; long texts go on below themselves.
fn named_line(page: &mut String, all: &[Vec<String>], row: &[String]) {
    let width = all.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(width + 4);
    let mut text = String::new();
    wrap(&mut text, &row[1], &indent);
    let name = format!("  {:<width$}  ", row[0]);
    page.push_str(&name);
    page.push_str(text.trim_start());
}

fn findings(page: &mut String, summary: &Summary, colour: Colour) {
    if summary.findings.is_empty() {
        return;
    }
    page.push_str("\nFindings (`proofload explain CODE` says more)\n");
    for (finding, claim) in tables::run::noticed(summary) {
        let paint = match finding.severity {
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        let word = painted(tables::run::severity(finding.severity), paint, colour);
        page.push_str(&format!("  {word} {}\n", finding.code));
        wrap(page, &claim, "    ");
        wrap(page, &format!("→ {}", finding.advice), "    ");
    }
}

fn foot(page: &mut String, summary: &Summary) {
    let run = &summary.run;
    let plan: String = run.plan_hash.chars().take(12).collect();
    page.push('\n');
    let text = format!(
        "run {} · seed {} · plan {plan} · proofload {} · {}, {} cores, Linux {}",
        run.id, run.seed, run.version, run.machine.cpu, run.machine.cores, run.machine.kernel
    );
    wrap(page, &text, "");
}

/// Appends a text in lines of at most [`WIDTH`] columns, without what steers a terminal. A longer
/// word stays whole.
pub fn wrap(page: &mut String, text: &str, indent: &str) {
    let mut line = indent.to_owned();
    let mut length = indent.chars().count();
    let start = length;
    for word in printable(text).split_whitespace() {
        let width = word.chars().count();
        if length > start && length + 1 + width > WIDTH {
            page.push_str(&line);
            page.push('\n');
            (line, length) = (indent.to_owned(), start);
        }
        if length > start {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += width;
    }
    page.push_str(&line);
    page.push('\n');
}
