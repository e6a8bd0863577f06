//! Django's own admin site, by the file of the guide: what the report counts is what the database holds.
//!
//! `PROOFLOAD_PROOF=1` has as many users and visits a second as a real test.

use super::application::{Application, applications, python, python_output};
use super::{assert_counted, failures, only_journey, proof, step, visit};
use crate::fences::blocks;
use crate::lab::nginx::nginx_listening;
use crate::lab::{Lab, only_trial};
use crate::peers::self_signed;

const GUIDE: &str = include_str!("../../../../../docs/guide/journeys.md");
/// The load in the guide's file, and its pauses.
const LOAD: &str =
    "stages  = [{ users = 50, over = \"30s\" }, { hold = \"2m\" }]\nwarm_up = \"30s\"\n";
const PAUSES: [&str; 2] = ["think 2s..5s", "think 1s..3s"];

#[test]
fn users_who_ramp_manage_groups_in_the_admin_of_django() {
    let stages = match proof() {
        true => "{ users = 50, over = \"30s\" }, { hold = \"30s\" }",
        false => "{ users = 5, over = \"3s\" }, { hold = \"3s\" }",
    };
    let lab = Lab::new();
    let site = site(&lab);
    let file = experiment(&format!("stages = [{stages}]\ntimeout = \"3m\"\n"));
    manage_groups(&lab, &site.url, &file);
}

#[test]
fn visits_at_a_rate_manage_groups_in_the_admin_of_django() {
    let lab = Lab::new();
    let site = site(&lab);
    manage_groups(&lab, &site.url, &experiment(&at_rate()));
}

/// nginx speaks HTTP/2 over TLS to the browser, and HTTP/1.1 to Django.
#[test]
fn visits_over_http2_manage_groups_in_the_admin_of_django() {
    let lab = Lab::new();
    let site = site(&lab);
    let (certificate, key) = self_signed();
    let certificate = lab.write("certificate.pem", &certificate).display().to_string();
    let key = lab.write("key.pem", &key).display().to_string();
    let server = format!(
        "ssl_certificate {certificate}; ssl_certificate_key {key};
         if ($server_protocol != HTTP/2.0) {{ return 426; }}
         location / {{ proxy_pass {}; }}",
        site.url
    );
    let (_nginx, port) = nginx_listening(&lab, "front", &server, "ssl http2");
    let file = experiment(&at_rate()).replace("\nhttp ", "\nhttp2 ");
    let target =
        format!("[target]\ncacert = \"{certificate}\"\nconnect_to = \"127.0.0.1:{port}\"\n");
    let file = file.replace("[target]\n", &target);
    manage_groups(&lab, &format!("https://localhost:{port}"), &file);
}

/// With a time-out that lets every visit end, however slow the site is.
fn at_rate() -> String {
    let (rate, seconds) = if proof() { (20, 10) } else { (5, 4) };
    format!(
        "rate = \"{rate}/s\"\narrivals = \"constant\"\nduration = \"{seconds}s\"\ntimeout = \"3m\"\n"
    )
}

/// Runs the journey. The groups that are left are those that no journey has deleted.
fn manage_groups(lab: &Lab, url: &str, file: &str) {
    let (ran, summary) = visit(lab, url, file);
    let trial = only_trial(&summary);
    let sums = trial.accounting;
    assert_eq!((sums.failed, sums.missed, sums.abandoned), (0, 0, 0), "{}", failures(trial));
    let journey = only_journey(trial);
    let visits = journey.whole.succeeded;
    assert!(visits >= 10, "{:?}", journey.whole);
    assert_eq!(visits, journey.whole.planned, "{:?}", journey.whole);
    let deleted = step(journey, "delete").succeeded;
    assert_eq!(deleted + step(journey, "delete").skipped, visits);
    let left = groups(lab);
    assert_eq!(left.len() as u64, visits - deleted, "{left:?}");
    assert!(left.iter().all(|name| name.ends_with(" changed")), "{left:?}");
    let milliseconds = journey.whole.response_time.mean_ns / 1_000_000;
    println!("{visits} visits of {milliseconds} ms on average, {} groups left", left.len());
    assert_counted(&ran);
}

/// How fast the site is on this machine is not the question here.
const TIMES: &str = "\"p95 < 2s\", ";

/// The guide's file with this load, with users who hardly pause.
fn experiment(load: &str) -> String {
    let mut whole = blocks(GUIDE, "toml").filter(|file| file.starts_with("title"));
    let file = whole.next().expect("the guide has a whole file");
    let parts = [LOAD, TIMES, PAUSES[0], PAUSES[1]];
    parts.iter().for_each(|part| assert!(file.contains(part), "{part}"));
    let file = file.replace(LOAD, &format!("{load}warm_up = \"0s\"\n")).replace(TIMES, "");
    PAUSES.iter().fold(file, |file, pause| file.replace(pause, "think 10ms..50ms"))
}

/// The site with a new database.
pub(super) fn site(lab: &Lab) -> Application {
    python_output(lab, &[&program()]);
    let gunicorn = ["-m", "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket"];
    let threads = ["--worker-class", "gthread", "--threads", "8", "--keep-alive", "30"];
    let end = ["--graceful-timeout", "1", "admin_site:application"];
    Application::start(python(lab, &[&gunicorn[..], &threads, &end].concat()))
}

/// Names of the groups in the database.
pub(super) fn groups(lab: &Lab) -> Vec<String> {
    let printed = python_output(lab, &[&program(), "groups"]);
    printed.lines().map(str::to_owned).collect()
}

fn program() -> String {
    applications().join("admin_site.py").display().to_string()
}
