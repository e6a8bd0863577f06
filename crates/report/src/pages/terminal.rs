//! The final block on a terminal: at most 100 columns, colour only as an addition.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::{Judgement, Severity, Summary};

use super::tables::{self, Table};
use crate::run_record::RunRecord;

/// Whether escape sequences may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Off,
    /// Words that carry a judgement are coloured.
    On,
}

const WIDTH: usize = 100;
/// Characters to which a text in a cell is cut at the most where the page is full.
const LEAST_CELL: usize = 16;
/// Of the width, what a long text in the last column has at least.
const LAST_CELL: usize = 32;
/// Trials up to which each is printed whole; the other pages show all of them.
const DETAILED: usize = 3;

/// Format `text`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
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
        tables::accounting::by_arm,
        tables::phases::by_arm,
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

fn head(page: &mut String, summary: &Summary, colour: Colour) {
    page.push_str(&format!("\n{}\n", printable(&summary.run.title)));
    if let Some(question) = &summary.run.question {
        wrap(page, question, "");
    }
    if summary.rehearsal {
        page.push_str("REHEARSAL: shortened, can never pass\n");
    }
    let result = summary.verdict.result;
    let word = super::verdict_word(summary).to_uppercase();
    let paint = match result {
        Judgement::Pass if summary.criteria.is_empty() => "1",
        Judgement::Pass => "1;32",
        Judgement::Fail => "1;31",
        Judgement::Inconclusive | Judgement::Invalid => "1;33",
    };
    page.push_str(&format!("\n{}\n", painted(&word, paint, colour)));
    for reason in &summary.verdict.reasons {
        wrap(page, reason, "  ");
    }
}

pub(super) fn painted(text: &str, code: &str, colour: Colour) -> String {
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

pub(super) fn push_table(page: &mut String, table: &Table) {
    page.push_str(&format!("\n{}\n", printable(&table.title)));
    if let Some(note) = &table.note {
        wrap(page, note, "  ");
    }
    if table.columns.len() == 2 && !table.columns[1].figures {
        return table.rows.iter().for_each(|row| named_line(page, &table.rows, row));
    }
    let (lines, widths) = fitted(table);
    let (headings, rows) = lines.split_first().expect("headings stand above every table");
    let is_headed = headings.iter().any(|heading| !heading.is_empty());
    is_headed.then_some(headings).into_iter().chain(rows).for_each(|line| {
        push_row(page, table, line, &widths);
    });
}

/// Headings and rows, with the widths of the columns: texts are as long as the page allows. One in the last column goes on
/// below itself, so that it wants no more than some of the width.
fn fitted(table: &Table) -> (Vec<Vec<String>>, Vec<usize>) {
    let headings = table.columns.iter().map(|column| column.title.to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(headings).chain(without_repeats(table)).collect();
    let cut = if ends_in_text(table) { table.columns.len() - 1 } else { table.columns.len() };
    let at_most = |cell: usize| {
        let mut lines = lines.clone();
        for text in lines.iter_mut().flat_map(|line| &mut line[..cut]) {
            *text = shortened(text, cell);
        }
        let mut widths = widths(&lines);
        widths[cut..].iter_mut().for_each(|last| *last = LAST_CELL.min(*last));
        (lines, widths)
    };
    let fits = |(_, widths): &(_, Vec<usize>)| {
        widths.iter().map(|width| width + 2).sum::<usize>() <= WIDTH
    };
    (LEAST_CELL..=WIDTH).rev().map(at_most).find(fits).unwrap_or_else(|| at_most(LEAST_CELL))
}

fn ends_in_text(table: &Table) -> bool {
    table.columns.last().is_some_and(|column| !column.figures)
}

/// The rows, where a first cell that is the one above is left out.
fn without_repeats(table: &Table) -> impl Iterator<Item = Vec<String>> {
    table.rows.iter().enumerate().map(|(place, row)| {
        let mut cells = row.clone();
        if place > 0 && table.rows[place - 1][0] == row[0] {
            cells[0].clear();
        }
        cells
    })
}

/// A cell of at most this many characters. The levels of an arm say more than the first half of its name does.
fn shortened(cell: &str, at_most: usize) -> String {
    if cell.chars().count() <= at_most {
        return cell.to_owned();
    }
    let levels: Option<Vec<&str>> =
        cell.split(',').map(|part| part.split_once('=').map(|(_, level)| level)).collect();
    let text = levels.map_or_else(|| cell.to_owned(), |levels| levels.join(","));
    if text.chars().count() <= at_most {
        return text;
    }
    let kept: String = text.chars().take(at_most - 1).collect();
    format!("{kept}…")
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let width =
        |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    (0..lines[0].len()).map(width).collect()
}

fn push_row(page: &mut String, table: &Table, cells: &[String], widths: &[usize]) {
    let mut line = String::new();
    let cut = if ends_in_text(table) { cells.len() - 1 } else { cells.len() };
    for ((cell, column), &width) in cells[..cut].iter().zip(&table.columns).zip(widths) {
        line.push_str("  ");
        if column.figures {
            line.push_str(&format!("{cell:>width$}"));
        } else {
            line.push_str(&format!("{cell:<width$}"));
        }
    }
    for text in &cells[cut..] {
        line.push_str("  ");
        let mut last = String::new();
        wrap(&mut last, text, &" ".repeat(line.chars().count()));
        line.push_str(last.trim());
    }
    page.push_str(line.trim_end());
    page.push('\n');
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
pub(super) fn wrap(page: &mut String, text: &str, indent: &str) {
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
