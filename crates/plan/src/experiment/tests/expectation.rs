//! Expectations of observers, as far as the file alone shows problems.

use super::*;

const FILE: &str = r#"[target]
url = "http://127.0.0.1:8080"
[load]
rate     = "10/s"
duration = "30s"
[[observer]]
name    = "judge"
command = "judge {port}"
expect  = "EXPECT"
[[operation]]
name  = "multicast"
http  = { path = "/" }
items = { delivered = "$.delivered" }
"#;

fn read_with(expect: &str) -> Result<Plan, String> {
    read(&FILE.replace("EXPECT", expect), &Options { fresh_seed: 1, ..Options::default() })
}

#[test]
fn what_can_be_judged_is_accepted() {
    for expect in [
        "recall >= 0.95",
        "0.95<=recall",
        "received == multicast.delivered + all.planned + 3 and duplicates == 0",
        "judge.v2.recall >= 1e-3",
    ] {
        assert!(read_with(expect).is_ok(), "{expect}: {:?}", read_with(expect).err());
    }
}

#[test]
fn what_could_never_be_judged_is_refused_before_anything_is_sent() {
    for (expect, message, label) in [
        ("recall > 0.95", "an expectation cannot use `>`", "did you mean `>=`?"),
        ("recall => 0.95", "cannot use `=>`", "did you mean `>=`?"),
        ("recall = 1", "cannot use `=`", "did you mean `==`?"),
        ("recall != 1", "cannot use `!=`", "one of ==, <=, >="),
        ("recall", "expected a comparison, got \"recall\"", "no operator: one of ==, <=, >="),
        ("embed p99 <= 1", "got \"embed p99\"", "counts by name"),
        ("received ==", "expected a count of the observer or a number, got \"\"", "missing"),
        ("== 3", "expected a count of the observer or a number, got \"\"", "missing"),
        ("received + == 3", "a number, got \"received +\"", "a term is missing here"),
        ("0.9<=recall<=1", "a comparison has one operator; `<=` is a second one", "with `and`"),
        ("a == 1 and and b == 2", "got \"and b\"", "counts by name"),
        ("received == multicst.delivered", "unknown operation `multicst`", "`multicast`?"),
        ("received == multicast.deliverd", "unknown item or count `deliverd`", "`delivered`?"),
        ("received == all.started", "unknown item or count `started`", "known here: planned"),
    ] {
        let refused = read_with(expect).unwrap_err();
        assert!(refused.contains(message) && refused.contains(label), "{expect}:\n{refused}");
    }
}

#[test]
fn a_setting_that_nearly_names_what_is_started_is_refused() {
    let with = |set: &str| {
        FILE.replace("[[operation]]", &format!("set = {{ at = \"{set}\" }}\n[[operation]]"))
    };
    let options = Options { fresh_seed: 1, ..Options::default() };
    let refused = read(&with("{jugde.http}").replace("EXPECT", "a == 1"), &options).unwrap_err();
    assert!(refused.contains("did you mean `judge.http`?"), "{refused}");
    for own in ["{judge.http}", "node proxy.mjs {front_port} {upstream}"] {
        assert!(read(&with(own).replace("EXPECT", "a == 1"), &options).is_ok(), "{own}");
    }
}

#[test]
fn each_place_is_pointed_at_and_all_are_told_at_once() {
    let refused = read_with("a < 1 and received == multicast.deliverd").unwrap_err();
    assert!(
        refused.contains("--> test.toml:9:14") && refused.contains("test.toml:9:34"),
        "{refused}"
    );
}
