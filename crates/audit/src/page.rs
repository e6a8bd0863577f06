//! The result of an audit: headline, what was read, and one block or line for each finding.
//!
//! Not here: the findings themselves (see [`crate::rules`]).

use std::io::{self, Write};

use plan::printable::printable;
use record::summary::{Finding, Severity};
use serde_json::Value;

use crate::rules::Audit;
use pages::markdown::{push_table, text as safe};
use pages::tables::{Table, run::severity};
use pages::terminal::{Colour, painted, wrap};
use plan::number::count;

/// Formats of the result, as in `--format`.
pub const FORMATS: [&str; 3] = ["text", "markdown", "json"];

/// Writes the result in the format with this name.
///
/// Errors: those of the writer, and `InvalidInput` for a format that does not exist
pub fn write(audit: &Audit, format: &str, colour: Colour, out: &mut dyn Write) -> io::Result<()> {
    match format {
        "text" => out.write_all(text(audit, colour).as_bytes()),
        "markdown" => out.write_all(markdown(audit).as_bytes()),
        "json" => {
            serde_json::to_writer_pretty(&mut *out, audit)?;
            out.write_all(b"\n")
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no format \"{format}\""))),
    }
}

fn headline(audit: &Audit) -> String {
    match audit.contradictions {
        0 => "no number is contradicted".to_owned(),
        1 => "1 number is contradicted".to_owned(),
        n => format!("{n} numbers are contradicted"),
    }
}

fn read(audit: &Audit) -> String {
    let plural = |n: usize, one: &str, many: &str| {
        format!("{} {}", count(n as u64), if n == 1 { one } else { many })
    };
    let weak = audit.findings.len() - audit.contradictions;
    let tool = printable(&audit.tool);
    let of = if tool.is_empty() { String::new() } else { format!(" (a report of {tool})") };
    format!(
        "read as {}{of}: {}, {}; {} where a claim is weak or something is good to know",
        audit.read_as,
        plural(audit.runs, "run", "runs"),
        plural(audit.rows, "line of figures", "lines of figures"),
        plural(weak, "finding", "findings"),
    )
}

fn place(finding: &Finding) -> String {
    let parts = [&finding.arm, &finding.operation].into_iter().flatten();
    parts.map(|name| printable(name)).collect::<Vec<_>>().join(" · ")
}

fn evidence(finding: &Finding) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = finding.evidence.iter().map(|(name, one)| format!("{name} {}", value(one)));
    printable(&pairs.collect::<Vec<_>>().join(", ")).into_owned()
}

fn text(audit: &Audit, colour: Colour) -> String {
    let mut page = String::from("\n");
    let paint = if audit.contradictions > 0 { "1;31" } else { "1" };
    page.push_str(&painted(&headline(audit), paint, colour));
    page.push('\n');
    wrap(&mut page, &read(audit), "  ");
    if !audit.findings.is_empty() {
        page.push_str("\nFindings (`proofload explain RULE` says more)\n");
    }
    for finding in &audit.findings {
        let paint = match finding.severity {
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Info => "36",
        };
        let word = painted(severity(finding.severity), paint, colour);
        let place = place(finding);
        let separator = if place.is_empty() { "" } else { " · " };
        page.push_str(&format!("  {word} {}{separator}{place}\n", finding.code));
        wrap(&mut page, &printable(&finding.claim), "    ");
        if !finding.evidence.is_empty() {
            wrap(&mut page, &format!("[{}]", evidence(finding)), "    ");
        }
        wrap(&mut page, &format!("→ {}", finding.advice), "    ");
    }
    page
}

fn markdown(audit: &Audit) -> String {
    let mut page = format!("# Audit\n\n**{}**: {}\n", headline(audit), safe(&read(audit)));
    let columns = ["rule", "", "where", "claim", "evidence", "what to do"];
    let mut table = Table::new("audit", "Findings", &columns);
    for finding in &audit.findings {
        table.row([
            finding.code.clone(),
            severity(finding.severity).to_owned(),
            place(finding),
            printable(&finding.claim).into_owned(),
            evidence(finding),
            finding.advice.clone(),
        ]);
    }
    if !table.rows.is_empty() {
        push_table(&mut page, &table, 2);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports;
    use crate::rules::audit;

    fn page(sample: &str, format: &str) -> String {
        let report = imports::read(sample, None).expect("a report");
        let mut out = Vec::new();
        write(&audit(&report), format, Colour::Off, &mut out).expect("written to memory");
        String::from_utf8(out).expect("text")
    }

    const FLAWED: &str = include_str!("imports/samples/golden/registry.json");
    const RIGHT: &str = include_str!("imports/samples/wrk.txt");

    #[test]
    fn the_headline_says_whether_a_number_is_contradicted() {
        assert!(page(RIGHT, "text").starts_with("\nno number is contradicted\n"));
        let flawed = page(FLAWED, "text");
        assert!(flawed.contains("numbers are contradicted\n  read as figures"), "{flawed}");
        assert!(
            flawed.contains("error R01 · Multicast\n    the mean 2.43 s cannot be"),
            "{flawed}"
        );
        for line in flawed.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn markdown_has_one_line_a_finding() {
        let page = page(FLAWED, "markdown");
        let rows = page.lines().filter(|line| line.starts_with("| R") || line.starts_with("| A"));
        let report = imports::read(FLAWED, None).expect("a report");
        assert_eq!(rows.count(), audit(&report).findings.len());
        assert!(page.contains("bound\\_ms 634.2652"), "{page}");
    }

    #[test]
    fn names_of_strangers_are_text_on_every_page() {
        let name =
            "``` <img src=x onerror=alert(1)> ` | a\\| \n\n# heading \u{1b}[31m [x](y) \u{202e}";
        let quoted = serde_json::to_string(name).expect("a text");
        let sample = format!(
            "{{\"format\": \"proofload-figures/1\", \"tool\": {quoted}, \"runs\": [{{\"name\": {quoted}, \"rows\": \
             [{{\"name\": {quoted}, \"n\": 5, \"ok\": 1, \"failed\": 1}}]}}]}}"
        );
        let findings = audit(&imports::read(&sample, None).expect("a report")).findings.len();
        let markdown = page(&sample, "markdown");
        assert!(!markdown.contains("<img") && !markdown.contains("[x]"), "{markdown}");
        let rows: Vec<_> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), findings + 2, "{markdown}");
        let ends = |row: &&str| row.replace("\\\\", "").replace("\\|", "").matches('|').count();
        assert!(rows.iter().all(|row| ends(row) == 7), "{markdown}");
        assert_eq!(markdown.lines().filter(|line| line.starts_with('#')).count(), 2, "{markdown}");
        let text = page(&sample, "text");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.lines().all(|line| !line.starts_with('#')), "{text}");
    }

    #[test]
    fn json_keeps_the_evidence_as_numbers() {
        let json: Value = serde_json::from_str(&page(FLAWED, "json")).expect("JSON");
        assert_eq!(json["format"], "proofload-audit/1");
        assert_eq!(json["read_as"], "figures");
        let findings = json["findings"].as_array().expect("a list");
        let bound = findings.iter().find(|one| one["code"] == "R01").expect("R01");
        assert_eq!(bound["evidence"]["mean_ms"], 2_429.122);
        assert_eq!(bound["severity"], "error");
        let errors = findings.iter().filter(|one| one["severity"] == "error").count();
        assert_eq!(json["contradictions"], errors);
    }
}
