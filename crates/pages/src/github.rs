//! Workflow commands of GitHub Actions: annotations that the page of a job and of a pull request shows.

use std::io::{self, Write};

use plan::printable::printable;
use record::folder::Folder;
use record::summary::{Judgement, Severity, Summary};

use crate::tables::run::{interval, judgement, noticed, observed};
use crate::verdict;
use judge::run_record::RunRecord;

/// Format `github`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    for line in lines(&run.summary) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn lines(summary: &Summary) -> Vec<String> {
    let title = &summary.run.title;
    let result = verdict::result(summary);
    let word = verdict::verdict_word(summary).to_uppercase();
    let reasons = summary.verdict.reasons.join("; ");
    let mut lines = vec![annotation(level(result), &format!("{title}: {word}"), &reasons)];
    let open = summary.criteria.iter().filter(|one| one.result != Judgement::Pass);
    lines.extend(open.map(|one| {
        let about = format!("{}: {}", judgement(one.result), one.text);
        let seen =
            format!("arm {}: observed {}, 95 % interval {}", one.arm, observed(one), interval(one));
        annotation(level(one.result), &about, &seen)
    }));
    let told = noticed(summary).into_iter().filter(|(first, _)| first.severity != Severity::Info);
    lines.extend(told.map(|(first, claim)| {
        // The verdict says what a finding means for the run.
        annotation("warning", &first.code, &format!("{claim}: {}", first.advice))
    }));
    lines
}

fn level(result: Judgement) -> &'static str {
    match result {
        Judgement::Pass | Judgement::Measured => "notice",
        Judgement::Fail => "error",
        Judgement::Inconclusive | Judgement::Invalid => "warning",
    }
}

fn annotation(level: &str, title: &str, message: &str) -> String {
    let escaped = |text: &str| printable(text).replace('%', "%25");
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}", escaped(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    #[test]
    fn nothing_of_a_text_is_a_command_of_its_own() {
        let line = annotation("error", "a: b, 50%", "seen\n::add-mask::x\r\u{1b}[0m 100%");
        assert_eq!(line, "::error title=a%3A b%2C 50%25::seen ::add-mask::x \u{fffd}[0m 100%25");
    }

    #[test]
    fn verdict_and_open_criteria_come_before_warnings() {
        let mut summary = example::summary();
        summary.verdict.result = Judgement::Fail;
        summary.criteria.truncate(2);
        summary.criteria[0].result = Judgement::Fail;
        summary.criteria[1].result = Judgement::Pass;
        let lines = lines(&summary);
        assert!(
            lines[0].starts_with("::error title=") && lines[0].contains("%3A FAIL::"),
            "{lines:?}"
        );
        assert!(lines[1].starts_with("::error title=fail%3A "), "{lines:?}");
        assert!(lines[2..].iter().all(|line| line.starts_with("::warning title=")), "{lines:?}");
    }
}
