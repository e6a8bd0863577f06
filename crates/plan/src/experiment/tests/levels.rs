//! Levels with names.

use super::*;

const FILE: &str = r#"[factors]
path = ["direct", { name = "node", value = "node proxy.mjs {{{{ /" }]
[target]
url = "http://127.0.0.1:8080"
[load]
rate     = "10/s"
duration = "30s"
[[operation]]
http = { path = "/", headers = { way = "{{factor.path}}" } }
[[operation]]
name = "node"
http = { path = "/node" }
when = { path = "node" }
[[comparison]]
factor   = "path"
baseline = "node"
metrics  = ["p50"]
"#;

fn refused(level: &str) -> String {
    let (start, rest) = FILE.split_once("{ name").unwrap();
    let end = rest.split_once(" }]").unwrap().1;
    let file = format!("{start}{level}]{end}");
    read(&file, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

#[test]
fn a_name_stands_in_arms_and_comparisons_and_the_value_in_its_place() {
    let plan = plan(FILE);
    let arm = &plan.arms[1];
    assert_eq!((arm.name.as_str(), &arm.factors["path"]), ("path=node", &"node".into()));
    assert_eq!(arm.values["path"], "node proxy.mjs {{{{ /");
    assert!(plan.arms[0].values.is_empty());
    assert_eq!(plan.comparisons[0].baseline, "node");
    assert_eq!(arm.operations[0].table.to_json()["headers"]["way"], "node proxy.mjs {{{{ /");
    assert_eq!((plan.arms[0].operations.len(), arm.operations.len()), (1, 2), "`when`");
    let json = plan.to_json();
    assert_eq!(json["arms"][0].get("values"), None, "without names it looks as it always did");
}

#[test]
fn the_value_means_the_same_level_as_its_name() {
    let by_value = FILE.replace("baseline = \"node\"", "baseline = \"node proxy.mjs {{{{ /\"");
    assert_eq!(plan(&by_value).comparisons[0].baseline, "node");
}

#[test]
fn a_level_is_a_value_or_load_settings() {
    for (level, said) in [
        (
            "{ name = \"node\", value = \"a\", rate = \"1/s\" }",
            "level `node` has a value and `rate`",
        ),
        ("{ name = \"node\", value = [1] }", "expected a scalar"),
        ("{ value = \"a\" }", "a level that is a table needs a name"),
        ("{ name = \"node\", value = \"direct\" }", "level `node` of `path` appears twice"),
    ] {
        let message = refused(level);
        assert!(message.contains(said), "{said} is missing in\n{message}");
    }
}
