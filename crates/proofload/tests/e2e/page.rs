//! The HTML page in a real browser: charts drawn, nothing on the console, tables without scripts.

use std::path::Path;
use std::process::Command;

use crate::lab::server::truth;
use crate::lab::{Lab, Ran};

fn chromium(lab: &Lab, page: &Path, flags: &[&str]) -> Ran {
    let profile = format!("--user-data-dir={}", lab.path("profile").display());
    let url = format!("file://{}", page.display());
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .args(["--virtual-time-budget=5000", &profile])
        .args(flags)
        .arg(&url)
        .output();
    Ran::from(output.expect("chromium starts (Debian: chromium)"))
}

fn page(lab: &Lab) -> std::path::PathBuf {
    let (_truth, url) = truth(&["mode=mm1", "rate=1000/s"]);
    let flags = ["--rate", "500/s", "--duration", "3s", "--warm-up", "0s"];
    let (ran, _) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert!(matches!(ran.code, 0 | 1 | 3), "{}", ran.stderr);
    lab.path("run/report.html")
}

#[test]
fn charts_are_drawn_and_the_console_stays_silent() {
    let lab = Lab::new();
    let page = page(&lab);
    let ran = chromium(&lab, &page, &["--dump-dom"]);
    let charts = ran.stdout.matches("class=\"uplot").count();
    assert!(charts >= 2, "{charts} charts drawn");
    assert!(ran.stdout.contains("<canvas"), "no canvas");
    let complaints: Vec<_> = ran.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn tables_are_there_without_scripts() {
    let lab = Lab::new();
    let page = page(&lab);
    let ran = chromium(&lab, &page, &["--blink-settings=scriptEnabled=false", "--dump-dom"]);
    assert!(ran.stdout.matches("<table").count() >= 3, "{}", ran.stdout.len());
    assert!(!ran.stdout.contains("class=\"uplot"), "scripts ran although they are off");
}
