//! `proofload audit`: correct and wrong reports as real tools print them, and inputs that are not
//! reports.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::lab::nginx::nginx;
use crate::lab::{Lab, Ran, repository};

fn sample(name: &str) -> String {
    let path = repository("crates/audit/src/imports/samples").join(name);
    path.to_str().expect("a path of text").to_owned()
}

fn audit_text(lab: &Lab, text: &str, arguments: &[&str]) -> Ran {
    let mut command = lab.command(&[&["audit", "-"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("the binary reads");
    drop(stdin);
    Ran::from(child.wait_with_output().expect("the binary ends"))
}

/// The tool's output for this target, or its stored output if the tool is not installed.
fn printed(tool: &str, arguments: &[&str], stored: &str) -> String {
    let ran = Command::new(tool).args(arguments).stderr(Stdio::null()).output();
    match ran {
        Ok(ran) if ran.status.success() => String::from_utf8_lossy(&ran.stdout).into_owned(),
        _ => std::fs::read_to_string(sample(stored)).expect("a stored report"),
    }
}

#[test]
fn what_tools_print_right_now_is_not_contradicted() {
    let lab = Lab::new();
    let server = "location / { return 200 hello; } location /bad { return 503 no; }";
    let (_nginx, port) = nginx(&lab, "plain", server);
    let url = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    let (good, bad) = (url("hello"), url("bad"));
    let cases: [(&str, &[&str], &str); 7] = [
        ("wrk", &["-t1", "-c4", "-d1s", "--latency", &good], "wrk.txt"),
        ("wrk", &["-t1", "-c4", "-d1s", &bad], "wrk-failing.txt"),
        ("ab", &["-q", "-n", "3000", "-c", "8", &good], "ab.txt"),
        ("ab", &["-q", "-n", "500", "-c", "1", &bad], "ab-failing.txt"),
        ("h2load", &["--h1", "-n", "3000", "-c", "8", &good], "h2load.txt"),
        ("h2load", &["--h1", "-D", "1", "-c", "2", &bad], "h2load-timed.txt"),
        ("hey", &["-n", "1000", "-c", "5", &good], "hey.txt"),
    ];
    for (tool, arguments, stored) in cases {
        let text = printed(tool, arguments, stored);
        let ran = audit_text(&lab, &text, &["--format", "json"]);
        assert_eq!(ran.code, 0, "{tool}:\n{text}\n{}{}", ran.stdout, ran.stderr);
        let result: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(result["read_as"], tool, "{text}");
        assert_eq!(result["contradictions"], 0);
        assert_eq!(result["rows"], 1);
    }
}

#[test]
fn a_contradicted_number_exits_1_and_a_weak_claim_does_not() {
    let lab = Lab::new();
    let flawed = lab.proofload(&["audit", &sample("golden/registry.json"), "--no-color"]);
    assert_eq!(flawed.code, 1, "{flawed:?}");
    assert!(flawed.stdout.contains("numbers are contradicted"), "{}", flawed.stdout);
    assert!(flawed.stdout.contains("error R01 · Multicast"), "{}", flawed.stdout);
    let weak = lab.proofload(&["audit", &sample("wrk.txt"), "--format", "markdown"]);
    assert_eq!(weak.code, 0, "{weak:?}");
    assert!(weak.stdout.contains("**no number is contradicted**"), "{}", weak.stdout);
    assert!(weak.stdout.contains("| R41 | warning |"), "{}", weak.stdout);
}

#[test]
fn one_changed_digit_is_found() {
    let lab = Lab::new();
    let text = std::fs::read_to_string(sample("vegeta.txt")).expect("a sample");
    assert_eq!(audit_text(&lab, &text, &[]).code, 0);
    for (right, wrong, rule) in [
        ("2640, 60.00", "2640, 66.00", "R11"),
        ("55.08%", "95.08%", "R12"),
        ("272.827ms", "972.827ms", "R01"),
        ("866.838ms", "66.838ms", "R03"),
        ("58419.00", "58429.00", "A12"),
    ] {
        let ran = audit_text(&lab, &text.replace(right, wrong), &[]);
        assert_eq!(ran.code, 1, "{right}: {ran:?}");
        assert!(ran.stdout.contains(&format!("error {rule}")), "{right}: {}", ran.stdout);
    }
}

#[test]
fn what_is_no_whole_report_exits_2_and_says_what_was_recognised() {
    let lab = Lab::new();
    let whole = std::fs::read_to_string(sample("k6-export.json")).expect("a sample");
    let cut = lab.write("cut.json", &whole[..whole.len() / 2]);
    let nothing = lab.write("nothing", "");
    let letter = lab.write("letter.txt", "Dear Sir or Madam,\n");
    let cut = cut.to_str().expect("a path of text");
    for (arguments, says) in [
        (vec!["audit", cut], "looks like k6, but is incomplete or malformed"),
        (vec!["audit", letter.to_str().expect("a path of text")], "not a report of a known tool"),
        (vec!["audit", cut, "--from", "hey"], "looks like hey, but is incomplete or malformed"),
        (vec!["audit", "no-such-file"], "cannot read no-such-file"),
        (vec!["audit", "."], "cannot read ."),
        (vec!["audit", nothing.to_str().expect("a path of text")], "there is nothing in it"),
        (vec!["audit", "/dev/zero"], "it is a device, not a regular file"),
    ] {
        let ran = lab.proofload(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    let ran = lab.proofload(&["audit", cut]);
    assert!(ran.stderr.contains("recognised: \"metrics\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: these formats are read"), "{}", ran.stderr);
    let wrong = lab.proofload(&["audit", cut, "--from", "abacus"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn bytes_that_are_no_text_are_no_bug() {
    let lab = Lab::new();
    let path = lab.path("noise");
    let noise: Vec<u8> =
        (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(&path, noise).expect("a file");
    let ran = lab.proofload(&["audit", path.to_str().expect("a path of text")]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("it is not text in UTF-8"), "{}", ran.stderr);
}
