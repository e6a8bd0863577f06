//! Pages of `docs/reference` that are generated from tables in the code, and must be up to date.
//!
//! `PROOFLOAD_REGENERATE=1 cargo test -p proofload --test reference` writes them again.

use std::fmt::Write as _;
use std::path::Path;

use audit::{catalogue, imports, rules};
use judge::{consistency, explain, findings};
use record::FailureKind;

const MADE: &str = "Made from the tables of the code; `make reference` writes this page anew.\n";

#[test]
fn failure_kinds_are_those_of_the_table() {
    let mut page = format!("# Kinds of failure\n\n{MADE}\n| kind | meaning |\n|---|---|\n");
    for kind in FailureKind::ALL {
        row(&mut page, kind.name(), kind.meaning());
    }
    compare("failures.md", &page);
}

#[test]
fn findings_are_those_of_the_table() {
    let mut page = format!("# Findings\n\n{MADE}");
    for finding in findings::TABLE {
        let severity = serde_json::to_value(finding.severity).expect("a severity has a name");
        let severity = severity.as_str().unwrap_or_default();
        let (code, title) = (finding.code, finding.title);
        writeln!(page, "\n## {code}\n\n**{severity}**: {title}.\n\n{}", finding.explain)
            .expect("writing to memory does not fail");
    }
    compare("findings.md", &page);
}

#[test]
fn terms_are_those_of_the_glossary() {
    let mut page = format!("# Glossary\n\n{MADE}\n| term | meaning |\n|---|---|\n");
    for term in explain::GLOSSARY {
        row(&mut page, term.name, term.meaning);
    }
    compare("glossary.md", &page);
}

#[test]
fn rules_of_the_audit_formats_and_fields_are_those_of_the_tables() {
    let mut page = format!("# Audit\n\n{MADE}{AUDIT}");
    page.push_str("\n## Formats\n\n| `--from` | what it is |\n|---|---|\n");
    for format in imports::FORMATS {
        row(&mut page, format.name, format.about);
    }
    page.push_str("\n## Rules\n\n| rule | at most | what it says |\n|---|---|---|\n");
    for rule in rules::rules() {
        let severity = serde_json::to_value(rule.severity).expect("a severity has a name");
        let severity = severity.as_str().unwrap_or_default();
        writeln!(page, "| `{}` | {severity} | **{}.** {} |", rule.id, rule.title, rule.explain)
            .expect("writing to memory does not fail");
    }
    catalogue(&mut page);
    page.push_str(FIGURES);
    page.push_str("\n| in | field | meaning |\n|---|---|---|\n");
    for (place, name, meaning) in imports::FIELDS {
        writeln!(page, "| {place} | `{name}` | {meaning} |")
            .expect("writing to memory does not fail");
    }
    let example = include_str!("../../audit/src/imports/samples/golden/exchange.json");
    write!(
        page,
        "\nAn example, whose capacity is in truth its users' think time:\n\n```json\n{example}```\n"
    )
    .expect("writing to memory does not fail");
    page.push_str("\n## Our own summary\n\nEvery trial's summary must survive these before it is shown.\n\n| rule | what must hold |\n|---|---|\n");
    for rule in consistency::RULES {
        row(&mut page, rule.id, rule.means);
    }
    compare("audit.md", &page);
}

fn catalogue(page: &mut String) {
    page.push_str(CATALOGUE);
    for (rule, ours) in catalogue::IN_OUR_RUNS {
        let is = |id: &&str| id.split('-').next() == Some(rule);
        let rules = rules::rules().map(|rule| rule.id).filter(is);
        let rules: Vec<_> = rules.map(|id| format!("`{id}`")).collect();
        writeln!(page, "| {rule} | {} | {ours} |", rules.join(", "))
            .expect("writing to memory does not fail");
    }
    page.push_str(NOT_DECIDED);
    for (rules, what, instead) in catalogue::NOT_DECIDED {
        writeln!(page, "| {rules} | {what} | {instead} |")
            .expect("writing to memory does not fail");
    }
}

const AUDIT: &str = "
What `proofload audit` reads, what it checks, and how figures are typed in by hand.
The [guide](../guide/audit.md) shows its use.

An **error** means that one number of the report contradicts another: the audit exits 1.
A **warning** means that a claim is weak, an **info** is good to know: neither contradicts a number, and with these alone the audit exits 0.
Some rules are an error only where the report claims what they refute, and a warning otherwise; their text says so.

A rule whose numbers a report leaves out is silent.
Printed digits say how far a number may be from the truth: nothing is called a contradiction that rounding explains.
Sentences are not read: what they claim is typed in, and held against the runs.
";

const CATALOGUE: &str = "
## Where each rule of the catalogue is

What becomes of it in the report of another tool, and in a run of our own.

| rule | reports of others | our own runs |
|---|---|---|
";

const NOT_DECIDED: &str = "
## What no summary decides

Of these rules a part cannot be decided by any report, nor by figures typed in.

| rule | what, and why not | what would decide it |
|---|---|---|
";

const FIGURES: &str = "
## Figures typed in by hand

A report that no format fits can be typed in as JSON, `proofload-figures/1`.
Everything is optional but `format` and `runs`; an unknown field is refused.
Times are texts with their unit (`\"13ms\"`); other numbers are JSON numbers, or texts that keep the printed digits (`\"12.39\"`, `\"0.34%\"`).
";

fn row(page: &mut String, name: &str, meaning: &str) {
    writeln!(page, "| `{name}` | {meaning} |").expect("writing to memory does not fail");
}

fn compare(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("PROOFLOAD_REGENERATE").is_some() {
        std::fs::write(&path, page).expect("the page can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/reference/{name} is stale: run `make reference`");
}
