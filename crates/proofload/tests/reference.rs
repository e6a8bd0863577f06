//! Pages of `docs/reference` that are made from tables of the code, and are never stale.
//!
//! `PROOFLOAD_REGENERATE=1 cargo test -p proofload --test reference` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

use record::FailureKind;
use report::{explain, findings};

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
