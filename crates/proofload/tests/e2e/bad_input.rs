//! Bad input and a bad environment: reported with a hint before anything is sent.

use crate::lab::Lab;
use crate::lab::server::{NOBODY, truth};

#[test]
fn nobody_listens() {
    let lab = Lab::new();
    let url = format!("http://{NOBODY}/");
    let ran = lab.proofload(&["run", &url, "--rate", "10/s", "--duration", "60s", "--quiet"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert!(!lab.path("runs").exists(), "nothing ran, nothing is left");
}

#[test]
fn an_existing_folder_is_not_overwritten() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).expect("a folder");
    lab.write("mine/precious.txt", "precious");
    let (_truth, url) = truth(&["mode=none"]);
    let ran = lab.proofload(&["run", &url, "--requests", "5", "--out", "mine"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("already exists"), "{}", ran.stderr);
    assert_eq!(lab.read("mine/precious.txt"), "precious");
    assert_eq!(std::fs::read_dir(lab.path("mine")).expect("readable").count(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    // Nobody can create folders in /proc, not even root.
    let ran = lab.proofload(&["run", &url, "--requests", "5", "--out", "/proc/run"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
}

#[test]
fn a_full_disk_is_a_clear_error() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    // Files are limited to 4 KiB, which acts like a full disk; SIGXFSZ is ignored.
    let ran = lab.shell(&format!(
        "trap '' XFSZ; ulimit -f 8; exec \"$PROOFLOAD\" run {url} --requests 2000 --samples \
         --warm-up 0s --out run --quiet"
    ));
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    let full = lab.proofload(&[
        "run",
        &url,
        "--requests",
        "20",
        "--warm-up",
        "0s",
        "--out",
        "other",
        "--quiet",
        "--json",
        "/dev/full",
    ]);
    assert_eq!(full.code, 4, "{}", full.stderr);
    assert!(full.stderr.contains("/dev/full"), "{}", full.stderr);
    assert!(lab.summary("other").is_some(), "the record is whole all the same");
}

#[test]
fn too_few_file_descriptors_are_said_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let ran = lab.shell(&format!(
        "ulimit -n 64; exec \"$PROOFLOAD\" run {url} --connections 500 --requests 1000 --out run \
         --quiet"
    ));
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("file descriptors"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert!(!lab.path("run").exists(), "nothing ran, nothing is left");
}

#[test]
fn more_connections_than_ports_are_said_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    // More connections than there are ports, and each port is held for a second or longer.
    let flags = ["--rate", "100000/s", "--duration", "60s", "--new-connections", "--quiet"];
    let ran = lab.proofload(&[&["run", &url], &flags[..]].concat());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("local ports"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
}

#[test]
fn every_problem_of_a_file_at_once_with_line_and_caret() {
    let lab = Lab::new();
    lab.write(
        "bad.toml",
        "title = \"bad\"\n[target]\nurl = \"http://127.0.0.1:1\"\n[load]\nrate = \"500\"\n\
         duratoin = \"10s\"\n[[operation]]\nname = \"a\"\nweight = \"two\"\n\
         http = { path = \"/{{nonsense}}\" }\n",
    );
    for command in ["check", "run"] {
        let ran = lab.proofload(&[command, "bad.toml"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        for said in ["bad.toml:5:", "bad.toml:6:", "bad.toml:9:", "bad.toml:10:", "duration", "^"] {
            assert!(ran.stderr.contains(said), "{said} is missing:\n{}", ran.stderr);
        }
    }
    assert!(!lab.path("runs").exists(), "nothing ran, nothing is left");
}

#[test]
fn a_file_of_another_tool_is_no_experiment() {
    let lab = Lab::new();
    // `check` looks over a script.
    for (name, text, commands, says) in [
        (
            "load.js",
            "import http from 'k6/http'",
            &["run"][..],
            "is a script, and scripts are not performed",
        ),
        (
            "visit.hurl",
            "GET http://h/\nHTTP 200\n",
            &["run", "check"],
            "hint: make an experiment of it: proofload import",
        ),
    ] {
        lab.write(name, text);
        for command in commands {
            let ran = lab.proofload(&[*command, name]);
            assert_eq!(ran.code, 2, "{}", ran.stderr);
            assert!(ran.stderr.contains(says), "{}", ran.stderr);
        }
    }
}

#[test]
fn usage_errors_exit_2() {
    let lab = Lab::new();
    let cases: [(&[&str], &str); 7] = [
        (&["run"], "<EXPERIMENT|URL>"),
        (&["run", "missing.toml"], "missing.toml"),
        (&["run", "http://127.0.0.1:1/", "--rate", "500"], "500"),
        (&["run", "http://127.0.0.1:1/", "--criterion", "p99 < 20"], "\"p99 < 20\""),
        (&["serve", "truth", "--set", "mode=nonsense"], "nonsense"),
        (&["report", "nowhere"], "nowhere"),
        (&["report", ".", "--format", "pdf"], "pdf"),
    ];
    for (case, named) in cases {
        let ran = lab.proofload(case);
        assert_eq!(ran.code, 2, "{case:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{case:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("error"), "{case:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(named), "{case:?}: {}", ran.stderr);
    }
}

#[test]
fn a_bad_certificate_is_an_error_of_the_experiment() {
    let lab = Lab::new();
    lab.write("ca.pem", "not a certificate");
    for cacert in ["ca.pem", "missing.pem"] {
        let ran = lab.proofload(&["run", "https://127.0.0.1:1/", "--cacert", cacert, "--quiet"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(cacert) && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
    assert!(!lab.path("runs").exists(), "nothing ran, nothing is left");
}

#[test]
fn a_summary_that_cannot_be_written_is_noticed_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--requests", "20", "--warm-up", "0s", "--out", "run", "--quiet", "--json"];
    let ran = lab.proofload(&[&["run", &url], &flags[..], &["no/such/folder/x.json"]].concat());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("no/such/folder/x.json"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("before the run") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(!lab.path("run").exists(), "nothing ran, nothing is left");
}

/// Each system reports problems of its settings for every level, with their place; problems that only show at its
/// start are left out.
#[test]
fn settings_of_systems_are_checked_before_anything_starts() {
    let lab = Lab::new();
    let file = r#"title = "settings"
[factors]
cost = ["2ms", "abc"]
[[service]]
name = "redis"
command = "redis-server --port {port}"
[system]
serve = "search"
set = { wrkers = 200, front = "front", front_cost = "{{factor.cost}}", embedder = "http://{redis}", path = "{scratch}" }
[[observer]]
name = "judge"
serve = "search-judge"
set = { search = "{system.gateway}", within = "0s" }
[[observer]]
name = "receivers"
serve = "registry-receivers"
[load]
connections = 1
operations = 5
[[operation]]
http = { path = "/" }
"#;
    lab.write("wrong.toml", file);
    let ran = lab.proofload(&["check", "wrong.toml"]);
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{ran:?}");
    for told in [
        "unknown setting of `search` `wrkers`",
        "did you mean `workers`?",
        "`front_cost` of `search`: expected a time such as 1ms, got \"abc\"",
        "`within` of `search-judge`: expected a time above zero",
        "the settings of `registry-receivers`: registry: expected the registry's address",
        "wrong.toml:9:",
        "wrong.toml:13:",
        "^^^^^^",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("error: ").count(), 4, "{}", ran.stderr);
    let right = file.replace("wrkers", "workers").replace("abc", "3ms").replace("\"0s\"", "\"1s\"");
    let receivers = "serve = \"registry-receivers\"";
    let right = right
        .replace(receivers, &format!("{receivers}\nset = {{ registry = \"{{system.http}}\" }}"));
    lab.write("right.toml", &right);
    let ran = lab.proofload(&["check", "right.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

const NAMES: &str = r#"title = "names"
[factors]
path = ["direct", "front"]
[system]
serve = "search"
set = { front = "{{factor.path}}", front_cost = "2ms" }
[[observer]]
name = "judge"
serve = "search-judge"
set = { search = "{system.gateway}" }
expect = "recall >= 0.95 and planted_first >= 0"
[load]
connections = 1
operations = 5
[[operation]]
http = { path = "/", server_timing = ["front", "gateway", ["embed"]] }
"#;

/// Problems that a run would find at its end are reported before it starts.
#[test]
fn names_that_nobody_tells_are_refused_before_the_run() {
    let lab = Lab::new();
    let wrong = NAMES.replace("recall", "recal").replace("gateway\", [", "gatway\", [");
    lab.write("wrong.toml", &wrong);
    let ran = lab.proofload(&["check", "wrong.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for told in
        ["did you mean `recall`?", "did you mean `gateway`?", "wrong.toml:11:", "wrong.toml:16:"]
    {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(ran.stderr.matches("error: ").count(), 2, "{}", ran.stderr);
}

#[test]
fn settings_of_a_front_stand_beside_an_arm_without_one() {
    let lab = Lab::new();
    lab.write("both.toml", NAMES);
    let ran = lab.proofload(&["check", "both.toml"]);
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    assert_eq!(ran.stdout.matches("front_cost=2ms").count(), 1, "{}", ran.stdout);
    let ran = lab.proofload(&["check", "both.toml", "--set", "factors.path=[\"direct\"]"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = "warning: `front_cost` of `search` changes nothing in any arm";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
}

#[test]
fn a_near_miss_is_named_by_what_is_served() {
    let lab = Lab::new();
    let ran = lab.proofload(&["serve", "search", "--set", "wrkers=1"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let told = "error: wrkers: no setting of the search service; did you mean workers? (the settings of search are \
                listed in systems/search/README.md)\n";
    assert_eq!(ran.stderr, told);
    let ran = lab.proofload(&["serve", "search", "--listen", "8080"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("got \"8080\"; write --listen 127.0.0.1:8080\n"),
        "{}",
        ran.stderr
    );
    let ran = lab.proofload(&["serve", "serch"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean search? "), "{}", ran.stderr);
}
