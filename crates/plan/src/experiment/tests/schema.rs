//! The schema for editors has the same keys as the reader.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::*;

/// The keys that the reader lists after an unknown key.
fn known_to_reader(text: &str) -> BTreeSet<String> {
    let message = read(text, &Options::default()).unwrap_err();
    let problem = message.split("error: ").find(|part| part.starts_with("unknown key `bogus`"));
    let problem = problem.unwrap_or_else(|| panic!("no list of keys in {message}"));
    let list = problem.split("known here: ").nth(1).unwrap().trim();
    list.split(", ").map(str::to_owned).collect()
}

fn known_to_schema(table: &Json) -> BTreeSet<String> {
    table["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_table_of_the_schema_has_the_keys_of_the_reader() {
    let text = include_str!("../../../../../docs/reference/experiment.schema.json");
    let schema: Json = serde_json::from_str(text).unwrap();
    let cases = [
        ("bogus = 1", &schema),
        ("[target]\nbogus = 1", &schema["$defs"]["target"]),
        ("[load]\nbogus = 1", &schema["$defs"]["load"]),
        ("[[operation]]\nbogus = 1", &schema["$defs"]["operation"]),
        ("[[journey]]\nbogus = 1", &schema["$defs"]["journey"]),
        (
            "[[operation]]\nname = \"a\"\n[[journey]]\nsteps = [{ do = \"a\", bogus = 1 }]",
            &schema["$defs"]["step"]["anyOf"][2],
        ),
        (
            "[[operation]]\ncapture = { a = { bogus = 1 } }",
            &schema["$defs"]["operation"]["properties"]["capture"]["additionalProperties"]["anyOf"]
                [1],
        ),
        ("[setup]\nbogus = 1", &schema["$defs"]["preparation"]),
        ("[[service]]\nbogus = 1", &schema["$defs"]["service"]),
        ("[system]\nbogus = 1", &schema["$defs"]["system"]),
        ("[[observer]]\nbogus = 1", &schema["$defs"]["observer"]),
        ("[[comparison]]\nbogus = 1", &schema["$defs"]["comparison"]),
        ("[design]\nbogus = 1", &schema["properties"]["design"]),
        ("[trace]\nbogus = 1", &schema["properties"]["trace"]),
    ];
    for (text, table) in cases {
        assert_eq!(known_to_reader(text), known_to_schema(table), "{text}");
    }
}
