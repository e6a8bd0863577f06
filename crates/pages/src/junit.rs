//! JUnit's XML, which every CI reads: a test case for the verdict, for each criterion and for each comparison.
//!
//! A criterion that is not met is a failure; one that the run cannot decide, or may not, is an error. A comparison passes
//! with either answer and is skipped without one, as in the exit code.

use std::io::{self, Write};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment};
use plan::printable::printable;
use record::folder::Folder;
use record::summary::{Change, Comparison, Criterion, Judgement, Run, Summary};
use serde::Serialize;

use crate::tables::{comparison, run as criteria};
use crate::verdict;
use judge::run_record::RunRecord;

/// Characters besides control characters that XML cannot write.
const NOT_XML: [char; 2] = ['\u{fffe}', '\u{ffff}'];

/// A file for a CI.
#[derive(Debug, Serialize)]
struct Suite<'a> {
    run: &'a Run,
    /// Measured, over all trials that count.
    seconds: f64,
    failures: usize,
    errors: usize,
    skipped: usize,
    cases: Vec<Case>,
}

/// A question and its answer.
#[derive(Debug, Serialize)]
struct Case {
    /// What it is about: an arm, a factor, the run.
    about: String,
    name: String,
    /// Where it does not hold: `failure`, `error` or `skipped`.
    trouble: Option<&'static str>,
    /// The answer in a word.
    answer: String,
    /// What was seen.
    seen: String,
}

/// Format `junit`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(&run.summary).map_err(io::Error::other)?.as_bytes())
}

/// Errors: if the template cannot be rendered, which is a bug
fn render(summary: &Summary) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    // The characters that HTML reserves are those of XML. It has no way to write most control characters.
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, state, value| {
        let shown =
            value.as_str().map(|text| Value::from(printable(text).replace(NOT_XML, "\u{fffd}")));
        minijinja::escape_formatter(out, state, shown.as_ref().unwrap_or(value))
    });
    environment.render_str(include_str!("junit.xml"), Serde(suite(summary)))
}

fn suite(summary: &Summary) -> Suite<'_> {
    let mut cases = vec![run_case(summary)];
    cases.extend(summary.criteria.iter().map(criterion));
    cases.extend(summary.comparisons.iter().map(compared));
    let count = |trouble| cases.iter().filter(|case| case.trouble == Some(trouble)).count();
    let measured: u64 = summary.counted().map(|trial| trial.phases.measure_ns).sum();
    Suite {
        run: &summary.run,
        seconds: measured as f64 / 1e9,
        failures: count("failure"),
        errors: count("error"),
        skipped: count("skipped"),
        cases,
    }
}

fn run_case(summary: &Summary) -> Case {
    Case {
        about: "run".to_owned(),
        name: "verdict".to_owned(),
        trouble: trouble(verdict::result(summary)),
        answer: verdict::verdict_word(summary).to_owned(),
        seen: summary.verdict.reasons.join("; "),
    }
}

fn criterion(one: &Criterion) -> Case {
    Case {
        about: one.arm.clone(),
        name: one.text.clone(),
        trouble: trouble(one.result),
        answer: criteria::judgement(one.result).to_owned(),
        seen: format!(
            "observed {}, 95 % interval {}",
            criteria::observed(one),
            criteria::interval(one)
        ),
    }
}

fn trouble(result: Judgement) -> Option<&'static str> {
    match result {
        Judgement::Pass | Judgement::Measured => None,
        Judgement::Fail => Some("failure"),
        Judgement::Inconclusive | Judgement::Invalid => Some("error"),
    }
}

fn compared(one: &Comparison) -> Case {
    let [baseline, candidate] = comparison::sides(one);
    let (seen, interval) = (comparison::seen(one), comparison::interval(one));
    let stratum = one.stratum.iter().map(|(factor, level)| format!(" at {factor}={level}"));
    Case {
        about: one.factor.clone(),
        name: format!(
            "{} of {candidate} against {baseline}{}",
            comparison::metric(one),
            stratum.collect::<String>()
        ),
        trouble: (one.result == Change::Undecided).then_some("skipped"),
        answer: comparison::result(one),
        seen: format!("{seen}, 95 % interval {interval}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    fn with(result: Judgement) -> Summary {
        let mut summary = example::summary();
        summary.criteria.truncate(1);
        summary.criteria[0].result = result;
        summary.verdict.result = result;
        summary.verdict.reasons = vec!["\"a\" & <b>\u{1b}[31m\u{fffe}".to_owned()];
        summary
    }

    #[test]
    fn each_result_is_what_a_ci_makes_of_it() {
        for (result, failures, errors) in [
            (Judgement::Pass, 0, 0),
            (Judgement::Fail, 2, 0),
            (Judgement::Inconclusive, 0, 2),
            (Judgement::Invalid, 0, 2),
        ] {
            let page = render(&with(result)).unwrap();
            let counts = format!("tests=\"2\" failures=\"{failures}\" errors=\"{errors}\"");
            assert!(page.contains(&counts), "{page}");
            assert_eq!(page.matches("<failure").count(), failures);
            assert_eq!(page.matches("<error").count(), errors);
            assert!(!page.contains(['\u{1b}', '\u{fffe}']) && !page.contains("<b>"), "{page}");
        }
    }

    #[test]
    fn a_comparison_passes_with_an_answer_and_is_skipped_without_one() {
        let mut summary = example::designed().summary;
        assert!(!summary.comparisons.is_empty());
        for one in &mut summary.comparisons {
            one.result = Change::Changed;
        }
        summary.comparisons[0].result = Change::Undecided;
        let suite = suite(&summary);
        assert_eq!((suite.skipped, suite.failures), (1, 0));
        assert_eq!(suite.cases.len(), 1 + summary.criteria.len() + summary.comparisons.len());
    }
}
