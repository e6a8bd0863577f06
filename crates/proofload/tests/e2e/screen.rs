//! The screen of a run, in a real terminal (tmux).

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, Ran, assert_accounting, assert_measured, finding, only_trial};
use crate::live_page::view;

/// A terminal of its own, which goes away with the test.
struct Tmux<'a> {
    lab: &'a Lab,
    socket: PathBuf,
}

impl<'a> Tmux<'a> {
    /// With a shell in the lab's folder.
    fn open(lab: &'a Lab, columns: u16, lines: u16) -> Self {
        let tmux = Self { lab, socket: lab.path(&format!("tmux-{columns}")) };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let shell = ["env", "-u", "TMUX", "PS1=$ ", "bash", "--norc", "--noprofile"];
        tmux.call(&[&["new-session", "-d", "-x", &columns, "-y", &lines], &shell[..]].concat());
        tmux
    }

    fn call(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(arguments);
        let ran = Ran::from(command.current_dir(self.lab.path("")).output().expect("tmux starts"));
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran
    }

    fn start(&self, arguments: &str) {
        self.keys(&[&format!("{PROOFLOAD} {arguments}"), "Enter"]);
    }

    fn keys(&self, keys: &[&str]) {
        self.call(&[&["send-keys"], keys].concat());
    }

    /// Waits until the terminal shows all of these.
    fn await_text(&self, texts: &[&str]) -> String {
        let shown = || self.call(&["capture-pane", "-p"]).stdout;
        let holds = |screen: &String| texts.iter().all(|text| screen.contains(text));
        std::iter::repeat_with(shown).find(holds).unwrap_or_default()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut end = Command::new("tmux");
        let _ = end.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

#[test]
fn a_run_has_the_whole_screen_until_it_is_ended_in_order() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=constant", "service=20ms"]);
    let tmux = Tmux::open(&lab, 80, 24);
    tmux.start(&format!(
        "run {url} --rate 100/s --duration 5m --criterion 'p99 < 1s' --criterion 'failed == 0' --out run"
    ));
    let screen =
        tmux.await_text(&["measuring", "of 300 s", "beyond 1.00 s", "0 so far", "response time"]);
    assert!(screen.lines().next().is_some_and(|line| line.ends_with("open")), "{screen}");
    assert!(screen.contains("operation-1"), "{screen}");
    // It may become too small, and large again.
    tmux.call(&["resize-window", "-x", "20", "-y", "5"]);
    tmux.call(&["resize-window", "-x", "100", "-y", "40"]);
    tmux.await_text(&["q or Ctrl-C: end the run in order", "criteria"]);
    tmux.keys(&["q"]);
    let report = tmux.await_text(&["report  run/report.html", "tables  "]);
    assert!(!report.contains("q or Ctrl-C"), "the screen is gone: {report}");
    let summary = lab.summary("run").expect("a whole record");
    assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
    // What is typed is shown again.
    tmux.keys(&["stty -a | grep -o ' echo '; echo typed", "Enter"]);
    tmux.await_text(&["\n echo\ntyped\n"]);
}

#[test]
fn a_target_that_freezes_is_seen_while_it_does() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=freeze", "at=2s", "length=8s"]);
    let tmux = Tmux::open(&lab, 80, 24);
    tmux.start(&format!(
        "run {url} --rate 100/s --duration 9s --warm-up 0s --timeout 30s --out run"
    ));
    let screen = tmux.await_text(&["wait ≥ 2 s", "≥ "]);
    assert!(screen.contains("in flight") && lab.summary("run").is_none(), "{screen}");
    tmux.await_text(&["report  run/report.html"]);
}

#[test]
fn smaller_terminals_and_those_without_a_screen_have_a_line() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    let run = format!("run {url} --rate 50/s --duration 60s --warm-up 0s");
    for (columns, flags) in [(79, ""), (100, "--plain"), (101, "TERM=dumb")] {
        let tmux = Tmux::open(&lab, columns, 30);
        if flags == "TERM=dumb" {
            tmux.keys(&["export TERM=dumb", "Enter"]);
        }
        let flags = if flags.starts_with("--") { flags } else { "" };
        tmux.start(&format!("{run} --out run-{columns} {flags}"));
        let shown = tmux.await_text(&["measuring ", " of 60 s", "in flight"]);
        assert!(!shown.contains("end the run in order"), "{shown}");
        tmux.keys(&["C-c"]);
        tmux.await_text(&[&format!("report  run-{columns}/report.html")]);
    }
}

/// A run in the background of a shell must not be stopped by the terminal.
#[test]
fn a_run_in_the_background_keeps_its_hands_off_the_terminal() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    let tmux = Tmux::open(&lab, 100, 30);
    tmux.start(&format!("run {url} --rate 50/s --duration 1s --warm-up 0s --out run & wait"));
    tmux.await_text(&["report  run/report.html"]);
}

/// The link at the foot of the screen.
fn link(screen: &str) -> &str {
    let at = screen.rfind("http://127.0.0.1:").expect("a link");
    screen[at..].split_whitespace().next().expect("a link")
}

/// Shows the experiment on a screen and in a browser, which have this to say, and ends it.
fn is_seen(lab: &Lab, command: &str, on_screen: &[&str], in_browser: &[&str]) {
    let tmux = Tmux::open(lab, 120, 40);
    tmux.start(&format!("{command} --live 127.0.0.1:0 --out run"));
    let screen = tmux.await_text(on_screen);
    let holds = in_browser
        .iter()
        .map(|text| format!("document.body.innerText.includes({})", serde_json::json!(text)));
    let first = holds.collect::<Vec<_>>().join(" && ");
    view(lab, link(&screen), &first, "true");
    tmux.keys(&["C-c"]);
    tmux.keys(&["C-c"]);
    tmux.await_text(&["report  run/report.html"]);
}

#[test]
fn a_comparison_of_five_arms_shows_blocks_and_ratios_so_far() {
    let lab = Lab::new();
    lab.write(
        "own.toml",
        "title = \"Five services\"\n\
         [factors]\nservice = [\"10ms\", \"12ms\", \"14ms\", \"16ms\", \"30ms\"]\n\
         [design]\nblocks = 40\n\
         [system]\nserve = \"truth\"\nset = { mode = \"constant\", service = \"{{factor.service}}\" }\n\
         [load]\nrate = \"50/s\"\nduration = \"1s\"\nwarm_up = \"0s\"\n\
         [[operation]]\nname = \"get\"\nhttp = { path = \"/\" }\n\
         [[comparison]]\nfactor = \"service\"\nbaseline = \"10ms\"\nmetrics = [\"p50\"]\n",
    );
    let on_screen = ["Five services", "of 40 · service=", "left in all", "30ms", "95 % interval"];
    let in_browser = ["Five services", "of 40 · service=", "30ms", "95 % interval"];
    is_seen(&lab, "run own.toml", &on_screen, &in_browser);
}

#[test]
fn a_search_shows_its_steps() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=md1", "rate=200/s"]);
    let command = format!("capacity {url} --criterion 'p90 < 200ms' --from 20/s --trial 2s");
    is_seen(
        &lab,
        &command,
        &["criteria", "pass", "rate", "measuring"],
        &["Criteria so far", "pass"],
    );
}

#[test]
fn a_journey_shows_its_steps_and_the_whole() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=constant", "service=5ms"]);
    lab.write(
        "own.toml",
        &format!(
            "title = \"A visit\"\n[target]\nurl = \"{url}\"\n\
             [load]\nrate = \"20/s\"\nduration = \"5m\"\nwarm_up = \"0s\"\n\
             [[operation]]\nname = \"open\"\nhttp = {{ path = \"/\" }}\n\
             [[operation]]\nname = \"pay\"\nhttp = {{ path = \"/\" }}\n\
             [[journey]]\nname = \"visit\"\nsteps = [\"open\", \"think 100ms\", \"pay\"]\n"
        ),
    );
    let on_screen = ["A visit", "of 300 s", "open", "pay", "journeys", "visit"];
    is_seen(&lab, "run own.toml", &on_screen, &["A visit", "Journeys", "visit", "pay"]);
}

/// As a terminal after Ctrl-S.
#[test]
fn a_terminal_that_takes_nothing_holds_up_no_run() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=constant", "service=200ms"]);
    let (_unread, mut full) = std::io::pipe().expect("a pipe");
    fcntl_setfl(&full, OFlags::NONBLOCK).expect("a flag");
    while full.write(&[b' '; 512]).is_ok() {}
    fcntl_setfl(&full, OFlags::empty()).expect("a flag");
    let arguments =
        ["run", &url, "--rate", "50/s", "--duration", "1s", "--warm-up", "0s", "--out", "run"];
    let mut child =
        lab.command(&arguments).stderr(full).stdout(Stdio::null()).spawn().expect("it starts");
    let code = child.wait().expect("it ends").code().expect("no signal");
    let ran = Ran { code, stdout: String::new(), stderr: String::new() };
    let summary = lab.summary("run").expect("a summary");
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert!(trial.accounting.planned > 0, "{:?}", trial.accounting);
    assert_accounting(trial);
}
