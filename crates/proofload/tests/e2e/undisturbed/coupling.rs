//! A slow monitor, and a proxy whose answers wait for it: the report names what couples the two.

use crate::lab::{Lab, assert_accounting, finding};

/// Ten messages for each answer; the monitor takes about sixteen in 20 ms.
const FILE: &str = r#"title = "answers that wait for their messages"
criteria = ["failed == 0"]
[factors]
cast_blocking = [false, true]
[design]
blocks = 5
[system]
serve = "edge"
[system.set]
origin_recipe = '{"body": "from the origin", "stages": [{"at": 0, "status": 200, "latency": 0}]}'
cast_messages = 10
cast_bytes = "2000B"
cast_blocking = "{{factor.cast_blocking}}"
cast_room = "128KiB"
cast_window = "16KiB"
monitor_slow = "20ms"
[target]
url = "http://{system.http}"
[[observer]]
name = "monitor"
expect = "received + dropped == cast and unbalanced <= 0"
[load]
connections = 4
duration = "700ms"
warm_up = "0s"
steady_state = "reported"
[[operation]]
name = "page"
http = { path = "/", server_timing = ["proxy", ["upstream", "cast"]] }
expect = { status = 200, contains = "from the origin" }
"#;

#[test]
fn a_level_that_makes_answers_wait_for_their_messages_is_named_with_the_part() {
    // Times are compared.
    let lab = Lab::undisturbed();
    lab.write("coupling.toml", FILE);
    let (_, summary) = lab.run(&["coupling.toml"]);
    for trial in summary.arms.iter().flat_map(|arm| &arm.trials) {
        assert_accounting(trial);
        let [observer] = &trial.observers[..] else { panic!("{:?}", trial.observers) };
        assert!(observer.expect.as_ref().is_some_and(|expect| expect.holds), "{observer:?}");
    }
    let told = finding(&summary, "level-adds-time-in-part").expect("it makes them wait");
    assert!(told.starts_with("cast_blocking = true adds "), "{told}");
    assert!(told.contains(" of that in `cast` (page), which itself took "), "{told}");
    assert!(told.ends_with(" versus 0 ns with cast_blocking = false"), "{told}");
    let waited = |arm: usize| summary.arms[arm].trials[0].operations[0].spans["cast"].mean_ns;
    let [free, coupled] = [0, 1].map(waited);
    assert!(free == 0 && coupled > 0, "{free} and {coupled}");
}
