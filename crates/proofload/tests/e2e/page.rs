//! The HTML page in a real browser: charts are drawn, the console is empty, and tables work without scripts.

use std::path::Path;
use std::process::Command;

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, finding};

/// Counts the coloured points of each canvas after drawing.
const COUNT_PAINTED: &str = "<script>addEventListener('load', () => setTimeout(() => {
  for (const canvas of document.querySelectorAll('canvas')) {
    const { width, height } = canvas;
    const points = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    let painted = 0;
    for (let alpha = 3; alpha < points.length; alpha += 4) painted += points[alpha] > 0;
    canvas.setAttribute('data-painted', painted);
  }
}, 1000));</script>";
/// Turns the page's scripts off with a content security policy.
const NO_SCRIPTS: &str =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\">";

/// The page after five seconds of the browser's virtual time, and its console output.
fn chromium(lab: &Lab, page: &Path) -> (String, Vec<String>) {
    let profile = format!("--user-data-dir={}", lab.path("profile").display());
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
        .args(["--virtual-time-budget=5000", "--window-size=1200,900", &profile, "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output();
    let ran = Ran::from(output.expect("chromium starts (Debian: chromium)"));
    let console = ran.stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    (ran.stdout, console.collect())
}

/// A run with failures, so that every chart has something to show.
fn page(lab: &Lab) -> String {
    let (_truth, url) = truth(&["mode=status", "share=0.1", "service=1ms"]);
    let flags = ["--rate", "500/s", "--duration", "3s", "--warm-up", "0s"];
    lab.run(&[&[url.as_str()], &flags[..]].concat());
    lab.read("run/report.html")
}

/// Two arms, one slower than the other; both are so slow that a generator that waits for a processor is a small part
/// of their times, since its blocks would be left out.
const ARMS: &str = r#"
title = "Which answers later?"
[factors]
service = ["10ms", "30ms"]
[system]
serve = "truth"
set = { mode = "constant", service = "{{factor.service}}" }
[load]
rate = "20/s"
duration = "3s"
warm_up = "0s"
[[operation]]
name = "get"
http = { path = "/" }
"#;

/// The result of [`COUNT_PAINTED`].
fn painted(dom: &str) -> Vec<u64> {
    let counts = dom.split("data-painted=\"").skip(1);
    counts.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
}

#[test]
fn arms_are_lines_of_one_chart_with_their_names_and_a_table() {
    let lab = Lab::new();
    lab.write("arms.toml", ARMS);
    let (_, summary) = lab.run(&["arms.toml"]);
    let page = lab.read("run/report.html");
    let is_late = finding(&summary, "late-generator").is_some();
    let has_chart = page.contains("id=\"percentiles-by-arm\"");
    assert_ne!(
        has_chart, is_late,
        "of arms that were spoilt there is none, and of others there is one"
    );
    if is_late {
        return;
    }
    let counted = page.replacen("</body>", &format!("{COUNT_PAINTED}</body>"), 1);
    let (dom, console) = chromium(&lab, &lab.write("counted.html", &counted));
    assert_eq!(console, [""; 0]);
    let (_, chart) = dom.split_once("id=\"arms\"").expect("the place of the chart");
    let (chart, _) = chart.split_once("id=\"percentiles-by-arm\"").expect("its table after it");
    assert!(chart.contains("Response time of all arms") && chart.contains("class=\"uplot"));
    assert!(chart.contains("service=10ms") && chart.contains("service=30ms"), "{chart}");
    assert!(painted(chart).iter().all(|&points| points > 1_000), "{:?}", painted(chart));
    assert_eq!(painted(chart).len(), 1);
}

#[test]
fn charts_are_drawn_and_the_console_stays_silent() {
    let lab = Lab::new();
    let page = page(&lab);
    let counted = page.replacen("</body>", &format!("{COUNT_PAINTED}</body>"), 1);
    assert_ne!(counted, page, "the page has an end");
    let (dom, console) = chromium(&lab, &lab.write("counted.html", &counted));
    assert_eq!(console, [""; 0]);
    assert!(dom.matches("class=\"uplot").count() >= 2, "charts are missing");
    let painted = painted(&dom);
    assert!(painted.len() >= 2, "{painted:?}");
    // Axes and grid alone are some thousand points.
    assert!(painted.iter().all(|&points| points > 1_000), "an empty chart: {painted:?}");
}

#[test]
fn a_console_that_is_not_silent_would_be_heard() {
    let lab = Lab::new();
    let (_, console) = chromium(&lab, &lab.write("loud.html", "<script>nothing.here()</script>"));
    assert!(console.iter().any(|line| line.contains("nothing is not defined")), "{console:?}");
}

#[test]
fn tables_are_there_without_scripts() {
    let lab = Lab::new();
    let page = page(&lab);
    let without = page.replacen("<head>", &format!("<head>{NO_SCRIPTS}"), 1);
    assert_ne!(without, page, "the page has a head");
    let (dom, _) = chromium(&lab, &lab.write("without.html", &without));
    assert!(dom.matches("<table").count() >= 3, "{}", dom.len());
    assert!(dom.contains("Mix and accounting") && dom.contains("<td>p99</td>"), "{}", dom.len());
    assert!(!dom.contains("class=\"uplot"), "scripts ran although they are off");
}
