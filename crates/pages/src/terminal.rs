//! The final report on a terminal: the answer in 80 columns, or every table in 100. Colour is only an addition.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::{Finding, Judgement, Severity, Summary};

use super::outline::{self, FEW_TRIALS, Rank, Section};
use super::tables::{self, Table, traces};
use judge::run_record::RunRecord;

/// Whether escape sequences may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Off,
    /// Words that express a judgement are coloured.
    On,
}

const WIDTH: usize = 100;
/// Columns of the answer.
const NARROW: usize = 80;
const CELL: usize = 44;
/// The section that a terminal does not show: comparisons again, in the order of doses.
const DOSES: &str = "doses";
/// No column of words is made narrower than this to make room for the others.
const NARROWEST: usize = 16;

/// Format `text`.
pub fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(&run.summary, Colour::Off).as_bytes())
}

/// The answer: verdict, criteria, response times, failures and findings, in at most [`LINES`] lines for a run of two
/// operations.
pub fn render(summary: &Summary, colour: Colour) -> String {
    let mut page = Page { text: String::new(), width: NARROW, colour };
    page.head(summary);
    let sections = outline::sections(summary);
    let (findings, others): (Vec<_>, Vec<_>) = sections
        .iter()
        .filter(|section| section.rank == Rank::Answer && section.id != DOSES)
        .partition(|section| section.id == "findings");
    // The table with a line per trial comes after the findings, which join those of several trials.
    let (last, first): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|section| section.id == "trials");
    first.iter().for_each(|section| page.section(section, &brief));
    if !findings.is_empty() {
        let foot = FOOT + usize::from(traces::are_listed(summary));
        page.findings(summary, Some(LINES.saturating_sub(foot)));
    }
    last.iter().for_each(|section| page.section(section, &brief));
    page.foot(summary, "");
    if traces::are_listed(summary) {
        page.text.push_str(LISTED);
    }
    page.text
}

/// The answer and all details.
pub fn full(summary: &Summary, colour: Colour) -> String {
    let mut page = Page { text: String::new(), width: WIDTH, colour };
    page.head(summary);
    let trials = summary.arms.iter().map(|arm| arm.trials.len()).sum::<usize>();
    for section in outline::sections(summary) {
        match section.id {
            "findings" => page.findings(summary, None),
            "provenance" | DOSES => {}
            "trial" | "traces" if trials > FEW_TRIALS => {}
            _ => page.section(&section, &whole),
        }
    }
    let machine = &summary.run.machine;
    let on = format!(" · {}, {} cores, Linux {}", machine.cpu, machine.cores, machine.kernel);
    page.foot(summary, &on);
    page.text
}

/// Lines of the answer of a run of two operations, the address of the HTML page among them.
pub const LINES: usize = 40;
/// Lines below the findings: the run, and, printed by the binary, where its pages are.
pub const FOOT: usize = 4;
/// Where single operations are listed.
const LISTED: &str = "slow and failed operations by trace id: `report --full`, `--format traces`\n";
/// Lines that findings get at least, however long the other sections are.
const ROOM: usize = 4;

/// A single table.
pub fn table(table: &Table) -> String {
    let mut page = String::new();
    push_table(&mut page, table);
    page
}

/// The text in a colour, given as the number of its escape sequence.
pub fn painted(text: &str, code: &str, colour: Colour) -> String {
    match colour {
        Colour::Off => text.to_owned(),
        Colour::On => format!("\x1b[{code}m{text}\x1b[0m"),
    }
}

/// A table of the answer: without notes that only a reader of all tables needs.
fn brief(mut table: Table) -> Table {
    if ["criteria", "journeys", "trials"].contains(&table.id) {
        table.note = None;
    }
    table
}

/// Leaves out explanations of failure kinds, which the other pages have.
fn whole(mut table: Table) -> Table {
    if table.id == "failures" {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    table
}

/// A page that is being written.
struct Page {
    text: String,
    width: usize,
    colour: Colour,
}

impl Page {
    fn head(&mut self, summary: &Summary) {
        self.text.push_str(&format!("\n{}\n", printable(&summary.run.title)));
        if let Some(question) = &summary.run.question {
            self.wrap(question, "");
        }
        if summary.rehearsal {
            self.text.push_str("REHEARSAL: shortened, can never pass\n");
        }
        let word = crate::verdict::verdict_word(summary).to_uppercase();
        let paint = match crate::verdict::result(summary) {
            Judgement::Measured => "1",
            Judgement::Pass => "1;32",
            Judgement::Fail => "1;31",
            Judgement::Inconclusive | Judgement::Invalid => "1;33",
        };
        self.text.push_str(&format!("\n{}\n", painted(&word, paint, self.colour)));
        for reason in &summary.verdict.reasons {
            self.wrap(reason, "  ");
        }
    }

    fn section(&mut self, section: &Section, shown: &dyn Fn(Table) -> Table) {
        if section.trial.is_some() && !section.title.is_empty() {
            self.text.push_str(&format!("\n── {} ──\n", printable(&section.title)));
        }
        if !section.lead.is_empty() {
            self.text.push('\n');
            self.wrap(&section.lead, "");
        }
        for table in section.tables.iter().cloned() {
            push_table_within(&mut self.text, &shown(table), self.width);
        }
    }

    /// All errors, and as many other findings as there are lines for, if lines are limited; the rest by name.
    fn findings(&mut self, summary: &Summary, lines: Option<usize>) {
        self.text.push_str("\nFindings (`proofload explain CODE` says more)\n");
        let used = self.text.lines().count();
        let room = lines.map(|lines| lines.saturating_sub(used).max(ROOM));
        let noticed = tables::run::noticed(summary);
        let mut taken = 0;
        for (place, (finding, claim)) in noticed.iter().enumerate() {
            let block = self.finding(finding, claim);
            let rest = usize::from(place + 1 < noticed.len());
            taken += block.lines().count();
            let is_full = room.is_some_and(|room| taken + rest > room);
            if is_full && finding.severity != Severity::Error {
                let names: Vec<&str> =
                    noticed[place..].iter().map(|(one, _)| one.code.as_str()).collect();
                let and = if place > 0 { "and " } else { "" };
                return self.wrap(&format!("{and}{}: {}", names.len(), names.join(", ")), "  ");
            }
            self.text.push_str(&block);
        }
    }

    fn finding(&self, finding: &Finding, claim: &str) -> String {
        let paint = match finding.severity {
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        let word = tables::run::severity(finding.severity);
        let mut block = String::new();
        wrap_within(&mut block, &format!("{word} {}: {claim}", finding.code), "    ", self.width);
        wrap_within(&mut block, &format!("→ {}", finding.advice), "    ", self.width);
        let painted = painted(word, paint, self.colour);
        block.replacen(&format!("    {word}"), &format!("  {painted}"), 1)
    }

    fn foot(&mut self, summary: &Summary, machine: &str) {
        let run = &summary.run;
        let plan: String = run.plan_hash.chars().take(12).collect();
        self.text.push('\n');
        let text = format!(
            "run {} · seed {} · plan {plan} · proofload {}{machine}",
            run.id, run.seed, run.version
        );
        self.wrap(&text, "");
    }

    fn wrap(&mut self, text: &str, indent: &str) {
        wrap_within(&mut self.text, text, indent, self.width);
    }
}

/// The title, the table in columns, and its note.
pub fn push_table(page: &mut String, table: &Table) {
    push_table_within(page, table, WIDTH);
}

fn push_table_within(page: &mut String, table: &Table, width: usize) {
    page.push_str(&format!("\n{}\n", printable(&table.title)));
    if let Some(note) = &table.note {
        wrap_within(page, note, "  ", width);
    }
    let headings: Vec<String> =
        table.columns.iter().map(|column| printable(&column.title).into_owned()).collect();
    let shown: Vec<Vec<String>> =
        table.rows.iter().map(|row| without_repeats(table, row)).collect();
    if table.columns.len() == 2 && !table.columns[1].figures {
        return shown.iter().for_each(|row| named_line(page, &shown, row, width));
    }
    let widths = widths(table, &headings, &shown, width);
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

/// A cell in lines of at most this many columns, broken at spaces if possible.
fn lines(cell: &str, most: usize) -> Vec<String> {
    if let Some((first, rest)) = cell.split_once('\n') {
        return [lines(first, most), lines(rest, most)].concat();
    }
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

/// Widths of the columns. In a table that is too wide, columns of words are narrowed, the widest first.
fn widths(table: &Table, headings: &[String], rows: &[Vec<String>], most: usize) -> Vec<usize> {
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
        let excess = (widths.iter().sum::<usize>() + 2 * widths.len()).saturating_sub(most);
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

/// A line of a table of names and texts; long texts continue below themselves.
fn named_line(page: &mut String, all: &[Vec<String>], row: &[String], most: usize) {
    let width = all.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(width + 4);
    let mut text = String::new();
    wrap_within(&mut text, &row[1], &indent, most);
    let name = format!("  {:<width$}  ", row[0]);
    page.push_str(&name);
    page.push_str(text.trim_start());
}

/// Appends a text in lines of at most [`WIDTH`] columns, without control characters. A word that is longer stays
/// whole.
pub fn wrap(page: &mut String, text: &str, indent: &str) {
    wrap_within(page, text, indent, WIDTH);
}

fn wrap_within(page: &mut String, text: &str, indent: &str, most: usize) {
    let mut line = indent.to_owned();
    let mut length = indent.chars().count();
    let start = length;
    for word in printable(text).split_whitespace() {
        let width = word.chars().count();
        if length > start && length + 1 + width > most {
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
