//! `proofload compare`: compares stored runs.

use std::path::{Path, PathBuf};

use judge::comparison::stored::differences::differences;
use judge::comparison::stored::{RatioCriterion, StoredRun, compare as hold};
use record::folder::{Folder, RunReader, names};
use record::summary::{Judgement, Summary};
use serde_json::Value;

use crate::Exit;
use crate::cli::CompareArgs;
use crate::disk::Disk;
use crate::output;
use crate::problem::Problem;

/// Differences that are listed; the rest is only counted.
const NAMED: usize = 8;

/// The parts of a stored run that are compared.
struct Stored {
    summary: Summary,
    plan: Value,
}

impl Stored {
    fn as_run(&self) -> StoredRun<'_> {
        StoredRun { summary: &self.summary, plan: &self.plan }
    }
}

/// Compares, prints the result, and judges the criteria.
///
/// Errors: a folder holds no finished run, the runs are unlike, a criterion cannot be read
pub fn compare(args: &CompareArgs) -> Result<Exit, Problem> {
    let bounds = bounds(&args.criteria)?;
    let baseline = read_side(&args.baseline, &args.more_baselines)?;
    let candidate = read_side(&args.candidate, &args.more_candidates)?;
    let unlike = unlike(&baseline, &candidate);
    if !unlike.is_empty() && !args.unlike {
        return Err(refused(&unlike));
    }
    let (old, new) = (parts(&baseline), parts(&candidate));
    let found = hold(&old, &new, &bounds, unlike);
    let page = pages::stored::render(&found, &args.format)
        .map_err(|error| Problem::environment(format!("cannot write the comparison: {error}")))?;
    output::print(&page)?;
    let any = |result| found.criteria.iter().any(|one| one.result == result);
    let unjudged =
        bounds.iter().any(|bound| !found.criteria.iter().any(|one| one.text == bound.text));
    Ok(match () {
        () if any(Judgement::Fail) => Exit::Failed,
        () if any(Judgement::Inconclusive) || unjudged => Exit::Undecided,
        () => Exit::Passed,
    })
}

fn bounds(texts: &[String]) -> Result<Vec<RatioCriterion>, Problem> {
    let (mut bounds, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match RatioCriterion::parse(text) {
            Ok(bound) => bounds.push(bound),
            Err(problem) => problems.push(format!("error: {problem}\n")),
        }
    }
    if problems.is_empty() { Ok(bounds) } else { Err(Problem::experiment(problems.concat())) }
}

fn read_side(first: &Path, more: &[PathBuf]) -> Result<Vec<Stored>, Problem> {
    let paths: Vec<&Path> = [first].into_iter().chain(more.iter().map(PathBuf::as_path)).collect();
    let real: Vec<PathBuf> = paths
        .iter()
        .map(|path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))
        .collect();
    for (place, path) in real.iter().enumerate() {
        if real[..place].contains(path) {
            let problem = format!("{} is named twice on one side", paths[place].display());
            return Err(Problem::usage(problem).hint("a trial counts once"));
        }
    }
    paths.into_iter().map(read).collect()
}

fn read(path: &Path) -> Result<Stored, Problem> {
    let disk = Disk::open(path)?;
    if !disk.exists(names::SUMMARY) {
        let what = format!("{} did not finish: it has no {}", path.display(), names::SUMMARY);
        return Err(Problem::usage(what).hint("compare runs that were carried out"));
    }
    let reader = RunReader::new(&disk);
    let broken = |error| {
        Problem::usage(format!("cannot read the run: {error}"))
            .during(format!("reading {}", path.display()))
            .hint("the folder is damaged: take another copy of it, or run the experiment again")
    };
    Ok(Stored { summary: reader.summary().map_err(broken)?, plan: reader.plan().map_err(broken)? })
}

fn parts(side: &[Stored]) -> Vec<StoredRun<'_>> {
    side.iter().map(Stored::as_run).collect()
}

/// How the runs differ from the first baseline run; each difference once.
fn unlike(baseline: &[Stored], candidate: &[Stored]) -> Vec<String> {
    let first = baseline[0].as_run();
    let others = parts(&baseline[1..]).into_iter().chain(parts(candidate));
    let mut found = Vec::new();
    for difference in others.flat_map(|other| differences(first, other)) {
        if !found.contains(&difference) {
            found.push(difference);
        }
    }
    found
}

fn refused(unlike: &[String]) -> Problem {
    let mut what = "the runs are unlike, so that a difference would have several causes".to_owned();
    for difference in unlike.iter().take(NAMED) {
        what.push_str(&format!("\n    {difference}"));
    }
    if unlike.len() > NAMED {
        what.push_str(&format!("\n    and {} more", unlike.len() - NAMED));
    }
    Problem::usage(what)
        .during("looking whether the runs may be compared")
        .hint("`--unlike` compares them anyway")
}
