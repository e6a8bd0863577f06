//! A part that is killed, one whose ready line is wrong, and the settings of parts. Not what real parts do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::error::BadOptions;
use crate::start::Surface;

/// A program that prints this line when it is started, and stays.
struct Program(PathBuf);

impl Program {
    fn printing(name: &str, line: &str) -> Self {
        let name = format!("supervisor-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.said\"\necho '{line}'\nexec sleep 1000\n"
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        Self(path)
    }

    fn spec(&self) -> ChildSpec {
        let settings = [("seed".to_owned(), json!(7))].into();
        ChildSpec { program: self.0.clone(), system: "part", settings }
    }

    /// What it was told last.
    fn said(&self) -> String {
        std::fs::read_to_string(format!("{}.said", self.0.display())).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(format!("{}.said", self.0.display()));
    }
}

fn nothing(_: &Value) -> io::Result<BTreeMap<String, Value>> {
    Ok(BTreeMap::new())
}

/// Waits until it was started again.
async fn restarted(part: &Supervisor) {
    let restarted = async {
        while part.state.restarts.get() == 0 {
            tokio::task::yield_now().await;
        }
    };
    let within = Duration::from_secs(30);
    tokio::time::timeout(within, restarted).await.expect("it is started again");
}

#[tokio::test]
async fn it_comes_back_where_it_was_and_ends_when_told_to() {
    let listening = json!({ "http": "127.0.0.1:9", "casts": "127.0.0.1:10" });
    let ready = json!({ "ready": true, "listening": listening, "effective": { "seed": 7 } });
    let program = Program::printing("kept", &ready.to_string());
    let lasting = |ready: &Value| {
        let casts = ready["listening"]["casts"].clone();
        Ok(BTreeMap::from([("casts".to_owned(), casts)]))
    };
    let restarts = Counter::default();
    let part = Supervisor::start(program.spec(), restarts.clone(), lasting).await.unwrap();
    assert_eq!(program.said(), "part\n--listen\n127.0.0.1:0\n--set\nseed=7\n");
    assert_eq!(part.effective(), json!({ "seed": 7 }));
    assert_eq!(part.listening("casts").unwrap(), "127.0.0.1:10");
    assert!(part.listening("unix").is_err());
    assert_eq!(part.state.report(), json!({ "restarts": 0, "pid": part.pid }));
    let pid = Pid::from_raw(i32::try_from(part.pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    restarted(&part).await;
    assert_eq!(restarts.get(), 1);
    let report = part.state.report();
    assert_ne!(report["pid"], json!(part.pid));
    assert!(report["ended"].as_str().unwrap().contains("signal: 9"), "{report}");
    let place = "127.0.0.1:9\n--set\ncasts=127.0.0.1:10\n--set\nseed=7\n";
    assert!(program.said().ends_with(place), "{}", program.said());
    let again = report["pid"].as_u64().unwrap();
    part.stop().await;
    assert!(!Path::new(&format!("/proc/{again}")).exists());
}

#[tokio::test]
async fn one_that_says_something_else_is_not_taken_for_ready() {
    for (name, line) in [("word", "hello"), ("empty", "{}")] {
        let program = Program::printing(name, line);
        let started = Supervisor::start(program.spec(), Counter::default(), nothing).await;
        assert!(started.is_err(), "{line}");
    }
}

#[test]
fn settings_of_a_part_are_passed_on_and_judged_by_it() {
    fn check(options: &Options) -> Result<(), BadOptions> {
        let settings = Settings::new(&options.settings);
        settings.count("slots", 1, 1..=8);
        settings.finish("the part")
    }
    const PART: System = System {
        name: "part",
        about: "a part",
        page: "",
        surface: |_| Surface::default(),
        check,
        start: |_, _, _| Ok(()),
    };
    let read = |slots: &str| {
        let options = Options::default().with("part_slots", slots).with("other", 1);
        let settings = Settings::new(&options.settings);
        let spec = ChildSpec::read(&settings, "part_", &["part_slots", "part_more"], &PART);
        settings.count("other", 1, 1..=1);
        (spec, settings.finish("the test").err().unwrap_or_default().sentences())
    };
    let (spec, problems) = read("8");
    assert_eq!((spec.system, problems), ("part", Vec::new()));
    assert_eq!(spec.settings, [("slots".to_owned(), json!("8"))].into());
    let (_, problems) = read("9");
    assert_eq!(problems, ["part_slots: expected a whole number from 1 to 8, got \"9\""]);
}
