//! `proofload import`: what it writes passes `check`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::lab::server::Truth;
use crate::lab::{Lab, Ran, assert_accounting, only_trial};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/samples")
}

/// The variables that a file names as to be set before a run.
fn variables(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("# Set before a run: "));
    let names = line.unwrap_or_default().trim_end_matches('.').split(", ");
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn what_is_imported_passes_check() {
    let lab = Lab::new();
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("samples");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<PathBuf>>()
    };
    // Scripts have a folder, with the files that they open.
    let mut scripts = entries(&samples().join("k6"));
    scripts.extend(entries(&samples().join("jmeter")));
    for file in &scripts {
        let name = file.file_name().expect("a name");
        fs::copy(file, lab.path(&name.to_string_lossy())).expect("copied");
    }
    let is_script = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "js" || end == "ts" || end == "jmx")
    };
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending != "toml");
    let sources = entries(&samples()).into_iter().filter(is_source);
    let mut tried = 0;
    for sample in sources.chain(scripts.into_iter().filter(is_script)) {
        let name = sample.file_name().expect("a name").to_string_lossy().into_owned();
        // Files that its requests send lie beside it.
        fs::copy(&sample, lab.path(&name)).expect("copied");
        let out = format!("imported.{name}.toml");
        let ran = lab.proofload(&["import", &name, "--out", &out]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let text = fs::read_to_string(lab.path(&out)).expect("written");
        let value =
            |name: &str| if name.ends_with("URL") { "http://127.0.0.1:9" } else { "s3cret-value" };
        let set = variables(&text)
            .into_iter()
            .map(|name| (value(&name), name))
            .map(|(value, name)| (name, value));
        let checked = lab.command(&["check", &out]).envs(set).output();
        let ran = Ran::from(checked.expect("the binary starts"));
        assert_eq!(ran.code, 0, "{name}: {}\n{text}", ran.stderr);
        tried += 1;
        let again = lab.proofload(&["import", &name, "--out", &out]);
        assert!(
            again.code == 4 && again.stderr.contains("import replaces no file"),
            "{}",
            again.stderr
        );
    }
    assert!(tried > 0);
}

#[test]
fn a_line_of_curl_is_imported_as_it_stands() {
    let lab = Lab::new();
    let ran = lab.proofload(&["import", "curl -d 'q=tea' http://127.0.0.1:8080/search"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("http   = { path = \"/search\", form = { q = \"tea\" } }"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("1 operation from"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let lab = Lab::new();
    for (name, text, says) in [
        ("a.txt", "hello", "a.txt is of no known format"),
        ("a.sh", "curl 'http://h/\n", "reading a.sh line 1"),
        ("b.sh", "curl ftp://h/", "b.sh holds no request"),
        ("c.sh", "curl h --frobnicate", "1 thing of c.sh cannot be taken over"),
    ] {
        lab.write(name, text);
        let ran = lab.proofload(&["import", name, "--strict"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{name}");
    }
}

/// So many requests in each second of a log in combined format.
fn log(seconds: &[usize]) -> String {
    let line = |second: usize, number: usize| {
        format!(
            "127.0.0.1 - - [10/Oct/2000:13:55:{second:02} -0700] \"GET /{second}/{number} HTTP/1.1\" 200 5 \"-\" \"x\"\n"
        )
    };
    let seconds = seconds.iter().enumerate();
    seconds
        .flat_map(|(second, count)| (0..*count).map(move |number| line(second, number)))
        .collect()
}

#[test]
fn a_log_is_replayed_request_by_request() {
    let lab = Lab::new();
    let truth = Truth::start(&[]);
    lab.write("access.log", &(log(&[50, 0, 100]) + "broken\n"));
    let made = ["import", "access.log", "--host", &truth.http, "--out", "replay.toml"];
    let ran = lab.proofload(&made);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("150 requests in 3s"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("not taken over: line 151: it has no request in quotes (lines like this: 1)"),
        "{}",
        ran.stderr
    );
    let (ran, summary) = lab.run(&["replay.toml"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 150, "{}{}", ran.stdout, ran.stderr);
    // One request for the check that the target listens is none of HTTP.
    assert_eq!(truth.received(), 150);
    let replay = trial.replay.as_ref().expect("what is replayed is compared with the log");
    assert_eq!((replay.resolution_ns, replay.bin_ns), (Some(1_000_000_000), 10_000_000));
    let scales: Vec<(u64, u64)> =
        replay.scales.iter().map(|one| (one.scale_ns / 1_000_000, one.intervals)).collect();
    assert_eq!(scales[..3].iter().map(|one| one.0).collect::<Vec<_>>(), [10, 20, 50]);
    // The last of three seconds ends with its last request.
    assert!((200..=300).contains(&scales[0].1), "{scales:?}");
    assert!(replay.scales.iter().all(|one| one.recorded > 0.5), "{replay:?}");
    let full = lab.proofload(&["report", "run", "--full"]);
    for said in ["Burstiness: variance over mean", "The log has stamps of 1s"] {
        assert!(full.stdout.contains(said), "{said}: {}{}", full.stdout, full.stderr);
    }
    let again = lab.proofload(&made);
    assert_eq!(again.code, 4, "{}", again.stderr);
    let exists = "replay.toml exists, and import replaces no file";
    assert!(again.stderr.contains(exists), "{}", again.stderr);
    let files = fs::read_dir(lab.path(".")).expect("listed").count();
    let refused = lab.proofload(&["import", "access.log", "--out", "other.toml", "--strict"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(
        fs::read_dir(lab.path(".")).expect("listed").count(),
        files,
        "nothing is left behind"
    );
    let nowhere = lab.proofload(&["import", "access.log"]);
    assert!(
        nowhere.code == 2 && nowhere.stderr.contains("--out replay.toml"),
        "{}",
        nowhere.stderr
    );
}

/// `cat` joins files of gzip into one with several parts.
#[test]
fn a_log_may_be_compressed() {
    let lab = Lab::new();
    let packed = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text.as_bytes()).expect("memory has room");
        packed.finish().expect("memory has room")
    };
    let (log, script) = (log(&[20, 30]), "export default function () {}");
    let (first, second) = log.split_at(log.len() / 2);
    let both = [packed(first), packed(second)].concat();
    fs::write(lab.path("access.log.1.gz"), &both).expect("written");
    fs::write(lab.path("cut.log.gz"), &both[..both.len() - 30]).expect("written");
    fs::write(lab.path("script.js.gz"), packed(script)).expect("written");
    lab.write("access.log", &log);
    for (source, out) in [("access.log", "plain"), ("access.log.1.gz", "packed")] {
        let ran = lab.proofload(&["import", source, "--out", &format!("{out}.toml")]);
        assert!(ran.stderr.contains("50 requests in 2s"), "{source}: {}", ran.stderr);
    }
    for kind in ["requests.txt", "offsets.csv"] {
        let [plain, packed] =
            ["plain", "packed"].map(|out| lab.path(&format!("{out}.{kind}"))).map(fs::read);
        assert_eq!(plain.expect("read"), packed.expect("read"), "{kind}");
    }
    let cut = lab.proofload(&["import", "cut.log.gz", "--out", "cut.toml"]);
    assert_eq!(cut.code, 4, "{}", cut.stderr);
    assert!(!lab.path("cut.toml").exists(), "nothing is left behind");
    let script = lab.proofload(&["import", "script.js.gz"]);
    assert!(script.stderr.contains("script.js.gz holds no request"), "{}", script.stderr);
}

/// Whoever changes the address from one machine to another means all requests.
#[test]
fn the_url_of_a_replay_says_where_its_requests_go() {
    let lab = Lab::new();
    let truth = Truth::start(&[]);
    let line = |at: u32| {
        format!("{{\"ts\":{},\"uri\":\"/a\",\"host\":\"shop.example\"}}\n", 1_709_164_800 + at / 20)
    };
    lab.write("app.log", &(0..40).map(line).collect::<String>());
    let other = lab.proofload(&["import", "app.log", "--host", &truth.http, "--out", "no.toml"]);
    assert_eq!(other.code, 2, "{other:?}");
    let says = "holds no request to this host: 40 others, the first to http://shop.example";
    assert!(other.stderr.contains(says), "{}", other.stderr);
    assert_eq!(lab.proofload(&["import", "app.log", "--out", "replay.toml"]).code, 0);
    let text = lab.read("replay.toml").replace("shop.example", &truth.http);
    lab.write("replay.toml", &text);
    let (_, summary) = lab.run(&["replay.toml"]);
    assert_accounting(only_trial(&summary));
    assert_eq!(truth.received(), 40);
}

/// Instants of a replay, in nanoseconds.
fn instants(lab: &Lab, file: &str) -> Vec<u64> {
    let offsets = lab.read(file);
    let offsets = offsets.lines().skip(1).map(|line| line.split(',').next().expect("a column"));
    offsets.map(|offset| offset.parse::<u64>().expect("an offset")).collect()
}

#[test]
fn exported_results_are_imported_as_a_replay_of_the_run() {
    let lab = Lab::new();
    let truth = Truth::start(&[]);
    let run = ["/a?b=c", "--rate", "50/s", "--duration", "2s", "--warm-up", "0s", "--samples"];
    let url = format!("http://{}{}", truth.http, run[0]);
    let (ran, summary) = lab.run(&[&[url.as_str()], &run[1..]].concat());
    let started = only_trial(&summary).accounting.started;
    assert!(started > 10, "{ran:?}");
    let samples = lab.read("run/trials/001/samples.csv");
    let mut lines = samples.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = header.iter().position(|name| *name == "intended_ns").expect("a column");
    let mut due: Vec<u64> = lines.map(|line| line[column].parse().expect("an instant")).collect();
    due.sort_unstable();
    for (format, file) in [("jtl", "results.jtl"), ("vegeta-csv", "results.csv")] {
        let exported = lab.proofload(&["report", "run", "--format", format]);
        lab.write(file, &exported.stdout);
        let out = format!("{format}.toml");
        let ran = lab.proofload(&["import", file, "--out", &out]);
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        let requests = lab.read(&format!("{format}.requests.txt"));
        assert_eq!(requests, "GET /a?b=c\n", "{format}");
        assert!(lab.read(&out).contains(&format!("url = \"http://{}\"", truth.http)), "{format}");
        let offsets = lab.read(&format!("{format}.offsets.csv"));
        assert!(offsets.lines().skip(1).all(|line| line.ends_with(",1")), "{format}: {offsets}");
        let replayed = instants(&lab, &format!("{format}.offsets.csv"));
        assert_eq!(replayed.len() as u64, started, "{format}");
        let first = due[0];
        // Stamps of JMeter are milliseconds, and the instants are drawn within them.
        let within = if format == "jtl" { 2_000_000 } else { 0 };
        for (due, replayed) in due.iter().zip(&replayed) {
            assert!((due - first).abs_diff(*replayed) <= within, "{format}: {due} {replayed}");
        }
        assert_eq!(ran.stderr.contains("sent as GET"), format == "jtl", "{}", ran.stderr);
        let checked = lab.proofload(&["check", &out]);
        assert_eq!(checked.code, 0, "{format}: {}", checked.stderr);
    }
    let strict = ["import", "results.jtl", "--strict", "--out", "strict.toml"];
    assert_eq!(lab.proofload(&strict).code, 2);
}

const SCRIPT: &str = "import http from 'k6/http';\n\
    import { check } from 'k6';\n\
    export const options = { executor: 'constant-arrival-rate', vus: 2, duration: '1s' };\n\
    export default function () {\n\
    \x20 check(http.get('http://127.0.0.1:9/a'), { ok: (r) => r.status === 200 });\n\
    }\n";

#[test]
fn a_script_is_checked_with_line_and_caret_and_never_run() {
    let lab = Lab::new();
    lab.write("load.js", SCRIPT);
    let ran = lab.proofload(&["check", "load.js"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for says in [
        "warning: k6 ignores `executor` at the root of `options`\n --> load.js:3:26\n",
        "warning: nothing depends on the checks",
        " --> load.js:5:3\n",
        "= hint: add a threshold",
    ] {
        assert!(ran.stderr.contains(says), "{says}\n{}", ran.stderr);
    }
    let says =
        "load.js: 2 warnings\nmake an experiment of it: proofload import load.js --out load.toml\n";
    assert_eq!(ran.stdout, says);
    lab.write("bad.ts", "export default function () { let a: = 1 }\n");
    let ran = lab.proofload(&["check", "bad.ts"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains(" --> bad.ts:1:37\n"), "{}", ran.stderr);
    // As deep as a script may be: both commands have the stack for it.
    let (open, close) = ("(".repeat(1_900), ")".repeat(1_900));
    lab.write("deep.js", &format!("let x = {open}1{close};\n"));
    for (command, code) in [("check", 0), ("import", 2)] {
        let ran = lab.proofload(&[command, "deep.js"]);
        assert_eq!(ran.code, code, "{command}: {}", ran.stderr);
    }
    let ran = lab.proofload(&["check", "load.js", "--try"]);
    assert!(ran.code == 2 && ran.stderr.contains("scripts are not performed"), "{}", ran.stderr);
    let ran = lab.proofload(&["run", "load.js"]);
    let hint = "hint: make an experiment of it: proofload import load.js --out load.toml";
    assert!(ran.code == 2 && ran.stderr.contains(hint), "{}", ran.stderr);
}

#[test]
fn a_script_is_imported() {
    let lab = Lab::new();
    lab.write("load.js", SCRIPT);
    let ran = lab.proofload(&["import", "load.js"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let says = "http   = { path = \"/a\", follow = 10 }\nexpect = { status = 200 }\n";
    assert!(ran.stdout.contains(says), "{}", ran.stdout);
    assert_eq!(ran.stderr, "1 operation from load.js\n");
    lab.write("bad.js", "let a = ;\n");
    let ran = lab.proofload(&["import", "bad.js"]);
    assert!(ran.code == 2 && ran.stderr.contains("reading bad.js line 1"), "{}", ran.stderr);
}
