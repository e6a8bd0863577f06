//! Django's own admin site, by the file of the guide: what the report counts is what the database holds.

use super::application::{Application, applications, python, python_output};
use super::{failures, only_journey, step, visit};
use crate::lab::{Lab, only_trial};

const GUIDE: &str = include_str!("../../../../../docs/guide/journeys.md");
/// The load in the guide's file, and its pauses.
const LOAD: &str =
    "stages  = [{ users = 50, over = \"30s\" }, { hold = \"2m\" }]\nwarm_up = \"30s\"\n";
const PAUSES: [&str; 2] = ["think 2s..5s", "think 1s..3s"];

#[test]
fn users_who_ramp_manage_groups_in_the_admin_of_django() {
    let ramp = "stages = [{ users = 5, over = \"3s\" }, { hold = \"3s\" }]\nwarm_up = \"0s\"\n";
    manage_groups(ramp);
}

#[test]
fn five_visits_a_second_manage_groups_in_the_admin_of_django() {
    manage_groups("rate = \"5/s\"\nduration = \"4s\"\nwarm_up = \"0s\"\n");
}

/// Runs the journey under this load. The groups that are left are those that no journey has deleted.
fn manage_groups(load: &str) {
    let lab = Lab::new();
    let site = site(&lab);
    let (ran, summary) = visit(&lab, &site.url, &experiment(load));
    let trial = only_trial(&summary);
    let sums = trial.accounting;
    assert_eq!((sums.failed, sums.missed, sums.abandoned), (0, 0, 0), "{}", failures(trial));
    let journey = only_journey(trial);
    let visits = journey.whole.succeeded;
    assert!(visits >= 10, "{:?}", journey.whole);
    assert_eq!(visits, journey.whole.planned, "{:?}", journey.whole);
    let deleted = step(journey, "delete").succeeded;
    assert_eq!(deleted + step(journey, "delete").skipped, visits);
    let left = groups(&lab);
    assert_eq!(left.len() as u64, visits - deleted, "{left:?}");
    assert!(left.iter().all(|name| name.ends_with(" changed")), "{left:?}");
    // So short a run may leave criteria of times undecided.
    assert!(matches!(ran.code, 0 | 3), "{ran:?}");
}

/// The guide's file with this load, and with users who hardly pause.
fn experiment(load: &str) -> String {
    let files = GUIDE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut whole = files.filter(|file| file.starts_with("title"));
    let file = whole.next().expect("the guide has a whole file");
    [LOAD, PAUSES[0], PAUSES[1]].iter().for_each(|part| assert!(file.contains(part), "{part}"));
    let file = file.replace(LOAD, load);
    PAUSES.iter().fold(file, |file, pause| file.replace(pause, "think 10ms..50ms"))
}

/// The site with a new database.
fn site(lab: &Lab) -> Application {
    python_output(lab, &[&program()]);
    let gunicorn = ["-m", "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket"];
    let threads = ["--worker-class", "gthread", "--threads", "8", "--keep-alive", "30"];
    let end = ["--graceful-timeout", "1", "admin_site:application"];
    Application::start(python(lab, &[&gunicorn[..], &threads, &end].concat()))
}

/// Names of the groups in the database.
fn groups(lab: &Lab) -> Vec<String> {
    let printed = python_output(lab, &[&program(), "groups"]);
    printed.lines().map(str::to_owned).collect()
}

fn program() -> String {
    applications().join("admin_site.py").display().to_string()
}
