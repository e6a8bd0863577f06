//! `proofload` alone, `proofload doctor` and `proofload completions`, also where the kernel denies what they need.

use std::process::Command;

use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, Ran, assert_accounting, only_trial, repository};

/// Runs the binary without these system calls, as in a container that denies them.
fn without(calls: &str, arguments: &[&str]) -> Ran {
    without_in(&Lab::new(), calls, arguments)
}

fn without_in(lab: &Lab, calls: &str, arguments: &[&str]) -> Ran {
    let deny = repository("crates/proofload/tests/programs/deny.py");
    let mut command = Command::new("python3");
    command.arg(deny).args([calls, PROOFLOAD]).args(arguments).current_dir(lab.path("."));
    Ran::from(command.output().expect("python3"))
}

#[test]
fn alone_it_names_three_things_to_try() {
    let ran = Lab::new().proofload(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout.matches("\n  proofload ").count(), 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("proofload serve truth"), "it lies beside the binary");
}

#[test]
fn the_doctor_has_a_line_for_each_property_of_this_machine() {
    let ran = Lab::new().proofload(&["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let is_row = |line: &&str| line.starts_with("ok ") || line.starts_with("note ");
    assert_eq!(ran.stdout.lines().filter(is_row).count(), 10, "{}", ran.stdout);
    assert!(ran.stdout.contains("truth"), "the systems that are installed");
}

#[test]
fn without_a_timer_no_run_is_possible_and_the_doctor_says_so() {
    let ran = without("timerfd_create", &["doctor"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(
        ran.stderr.contains("no run is possible here: a thread with a timer"),
        "{}",
        ran.stderr
    );
}

#[test]
fn without_priority_and_pinning_it_measures_and_says_what_is_missing() {
    let ran = without("sched_setattr,sched_setaffinity", &["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("priority     ordinary"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the worker is not pinned"), "{}", ran.stdout);
}

/// Linux 4.18 knows none of the newer system calls: a run, a system of several processes, the end of one of them. Shared
/// memory alone needs Linux 5.1.
#[test]
fn on_a_kernel_of_2018_a_run_and_its_systems_work() {
    let lab = Lab::new();
    let experiment = "title = \"Old\"\ncriteria = [\"wrong_content == 0\"]\n[system]\nserve = \"exchange\"\n\
         [[fault]]\nprocess = \"system.producer\"\nat = \"1s\"\naction = \"kill\"\n\
         [load]\nrate = \"100/s\"\nduration = \"3s\"\nwarm_up = \"0s\"\n\
         [[operation]]\nname = \"uds\"\nhttp = { path = \"/api/users-via-uds?users=2\" }\n";
    lab.write("old.toml", experiment);
    let ran = without_in(&lab, "new", &["run", "old.toml", "--quiet", "--out", "run"]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:?}");
    let summary = lab.summary("run").expect("a report");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert!(trial.accounting.succeeded > 100, "{:?}", trial.accounting);
    let fault = lab.read("run/trials/001/events.jsonl");
    let fault = fault.lines().find(|line| line.contains("\"fault\"")).expect("the kill");
    assert!(fault.contains("\"failed\":null"), "{fault}");
    let doctor = without_in(&lab, "new", &["doctor"]);
    assert_eq!((doctor.code, doctor.stderr.as_str()), (0, ""));
}

/// No terminal that understands UTF-8, no home that can be written, no /sys, no rights: a run needs none of them.
#[test]
fn in_a_bare_container_without_utf8_a_run_reports() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    let run = format!(
        "mkdir home && unshare --user --map-root-user --mount bash -c 'mount -t tmpfs -o ro none home && \
         mount -t tmpfs none /sys && exec env -i HOME=\"$PWD/home\" LC_ALL=C TERM=dumb \"$0\" \"$@\"' \
         \"$PROOFLOAD\" run {url} --rate 200/s --duration 1s --warm-up 0s --out run"
    );
    let ran = lab.shell(&run);
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    assert!(ran.stdout.contains("report  run/report.html"), "{}", ran.stdout);
    assert_accounting(only_trial(&lab.summary("run").expect("a summary")));
    // `script` gives a command a terminal; a file has UTF-8 in any locale.
    let on_a_terminal = |locale: &str| {
        let report = "script --quiet --return --command '\"$PROOFLOAD\" report run' /dev/null";
        lab.shell(&format!("env LC_ALL={locale} {report}")).stdout
    };
    assert!(on_a_terminal("C.UTF-8").contains("µs"));
    assert!(on_a_terminal("C").is_ascii() && on_a_terminal("C").contains(" us"));
    assert!(ran.stdout.contains("µs"), "{}", ran.stdout);
}

#[test]
fn without_open_files_it_says_how_many_a_run_needs() {
    let ran = Lab::new().shell("ulimit -n 6; exec \"$PROOFLOAD\" doctor");
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(
        ran.stderr.contains("a run needs about") && ran.stderr.contains("ulimit -n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn where_no_file_can_be_made_it_names_another_folder() {
    let ran = Lab::new().shell("cd /proc/self && exec \"$PROOFLOAD\" doctor");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("nothing can be written in this folder"), "{}", ran.stdout);
}

#[test]
fn bash_completes_commands_and_flags() {
    let completed = |line: &str| {
        let script = format!(
            "source <(\"$PROOFLOAD\" completions bash); COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _proofload proofload \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let output =
            Command::new("bash").args(["-c", &script]).env("PROOFLOAD", PROOFLOAD).output();
        let ran = Ran::from(output.expect("bash"));
        assert_eq!(ran.stderr, "");
        ran.stdout.trim().to_owned()
    };
    assert_eq!(completed("proofload capa"), "capacity");
    assert_eq!(completed("proofload run --dur"), "--duration");
    assert_eq!(completed("proofload completions f"), "fish");
}

#[test]
fn each_command_that_the_help_lists_has_a_manual_page() {
    let lab = Lab::new();
    let help = lab.proofload(&["--help"]).stdout;
    let ran = lab.proofload(&["manual", "."]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let (_, commands) = help.split_once("Commands:\n").expect("a list");
    let listed = commands.lines().take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let page = lab.read(&format!("proofload-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    let missing = lab.proofload(&["manual", "nowhere"]);
    assert_eq!(missing.code, 4);
    assert!(missing.stderr.contains("name a folder that exists"), "{}", missing.stderr);
}
