//! Parts of the target that report their own times: their places, and references to them. The test protocol uses the
//! key `told`.

use super::*;

/// Two operations that request parts, and a criterion.
fn file(first: &str, second: &str, criterion: &str) -> String {
    let second =
        format!("[[operation]]\nname = \"page\"\nhttp = {{ path = \"/p\", told = {second} }}\n");
    let told = format!("http = {{ path = \"/\", told = {first} }}");
    let text = HOME.replace("http = { path = \"/\" }", &told);
    text.replace("\"p99 < 20ms\"", &format!("{criterion:?}")) + &second
}

fn refused(text: &str) -> String {
    read(text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

#[test]
fn parts_of_one_name_have_one_place_in_the_arm() {
    let plan = plan(&file("[\"front\", \"embed\"]", "[\"join\", \"embed\"]", "embed p99 < 1ms"));
    let operations = &plan.arms[0].operations;
    let places: Vec<Vec<usize>> = operations
        .iter()
        .map(|operation| operation.parts.iter().map(|part| part.place).collect())
        .collect();
    assert_eq!(places, [[0, 1], [2, 1]]);
    assert_eq!(part_names(operations), ["front", "embed", "join"]);
}

#[test]
fn criteria_may_be_about_a_part_of_the_operation_that_names_it() {
    let named = |criterion| file("[\"front\"]", "[\"join\"]", criterion);
    plan(&named("home front p99 < 1ms"));
    plan(&named("join mean < 1ms"));
    let message = refused(&named("home join p99 < 1ms"));
    assert!(message.contains("unknown span `join`"), "{message}");
    assert!(
        message.contains("known here: service, queue_wait, connect, first_byte, front, tls"),
        "{message}"
    );
}

#[test]
fn a_name_that_the_instrument_uses_itself_is_refused_at_its_place() {
    let text = file("[\"front\", \"first_byte\"]", "[\"service\"]", "p99 < 1ms");
    let message = refused(&text);
    assert!(
        message.contains("`first_byte` is a span that the instrument stamps itself"),
        "{message}"
    );
    assert!(message.contains("`service` is a span"), "{message}");
    let caret = "the target must call it otherwise";
    assert!(message.contains(&format!("^^^^^^^^^^ {caret}")), "{message}");
}

#[test]
fn an_arm_has_room_for_so_many_parts() {
    let eight = "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\"]";
    plan(&file(eight, "[\"h\"]", "p99 < 1ms"));
    let message = refused(&file(eight, "[\"i\"]", "p99 < 1ms"));
    assert!(message.contains("more than 8 parts in one arm"), "{message}");
    assert!(message.contains("^ this is one too many"), "{message}");
}
