//! Tables of the experiment file, and what comes of them.

use plan::diagnostic::{Colour, render};
use plan::operation::Operation as Planned;

use super::*;

fn planned(text: &str) -> Planned {
    crate::planned::planned("shm", text)
}

fn compiled(text: &str) -> Operation {
    operation(&planned(text)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

#[test]
fn a_request_is_all_that_is_needed() {
    let operation = compiled("shm = { body = \"ping\" }");
    assert_eq!(operation.body.literal(), Some("ping"));
    assert_eq!(operation.options, AnswerOptions { room: 0, spin: 0, times: false });
    assert!(!operation.checksum && operation.rules.is_empty() && operation.items.is_empty());
}

#[test]
fn everything_that_can_be_said_is_taken() {
    let operation = compiled(
        "[shm]\nbody = \"users 100 {{uuid}}\"\nroom = \"300KiB\"\nspin = \"20us\"\nchecksum = true\ntimes = true\n\
         [expect]\nbody_size = \"1KiB..300KiB\"\ncontains = [\"{{uuid}}\", \"users\"]\nmatches = \"^.\"\n\
         json = { \"$.nonce\" = \"{{uuid}}\" }\n[items]\ntotal = \"$.total\"\n",
    );
    assert_eq!(operation.body.literal(), None);
    assert_eq!(operation.options, AnswerOptions { room: 300 * 1024, spin: 20_000, times: true });
    assert!(operation.checksum);
    let rules: Vec<String> = operation.rules.iter().map(ToString::to_string).collect();
    assert_eq!(
        rules,
        [
            "body of 1024 to 307200 bytes",
            "body contains \"{{uuid}}\"",
            "body contains \"users\"",
            "body matches \"^.\"",
            "$.nonce is \"{{uuid}}\"",
        ]
    );
    assert_eq!(operation.items[0].text(), "$.total");
}

/// What is wrong, as it is shown.
fn problems(text: &str) -> String {
    let problems = operation(&planned(text)).expect_err("it is wrong");
    render("test.toml", text, &problems, Colour::Off)
}

#[test]
fn a_problem_is_shown_with_line_and_caret() {
    let seen = problems("[shm]\nbody = \"x\"\nspin = \"20\"\n");
    let expected = "error: expected a duration of at most 1ms such as 20us, got \"20\"
 --> test.toml:3:9
  |
3 | spin = \"20\"
  |         ^^ expected a duration of at most 1ms such as 20us";
    assert_eq!(seen, expected);
}

#[test]
fn a_room_is_one_that_some_channel_has() {
    let seen = problems("[shm]\nbody = \"x\"\nroom = \"0B\"\n");
    let expected = "error: expected a size from 1B to 4398046380032B such as 1KiB, got \"0B\"
 --> test.toml:3:9
  |
3 | room = \"0B\"
  |         ^^ expected a size from 1B to 4398046380032B such as 1KiB";
    assert_eq!(seen, expected);
    assert!(ROOM.contains(&format!(" {LARGEST_ROOM}B ")));
    let with = |room: u64| format!("shm = {{ body = \"x\", room = \"{room}B\" }}");
    assert_eq!(compiled(&with(LARGEST_ROOM)).options.room as u64, LARGEST_ROOM);
    assert!(problems(&with(LARGEST_ROOM + 1)).contains("expected a size"));
    // The channel itself says which is the largest.
    let carries = |room: u64| {
        (0..=12).map(|power| 1 << power).any(|slots: u32| {
            shm_channel::Geometry::new(slots, 64, room.div_ceil(u64::from(slots))).is_ok()
        })
    };
    assert!(carries(LARGEST_ROOM) && !carries(LARGEST_ROOM + 1));
}

#[track_caller]
fn check(table: &str, message: &str) {
    let seen = problems(&format!("[shm]\n{table}\n"));
    assert!(seen.contains(message), "{table}: {seen}");
}

#[test]
fn every_problem_points_at_its_place() {
    check("room = \"1KiB\"", "missing key `body`");
    check("body = 5", "expected text, got 5");
    check("body = \"{{nonsense}}\"", "nonsense");
    check("body = \"x\"\nroom = 5", "a size from 1B to");
    check("body = \"x\"\nroom = \"5000GB\"", "a size from 1B to");
    check("body = \"x\"\nspin = \"2ms\"", "a duration of at most 1ms such as 20us, got \"2ms\"");
    check("body = \"x\"\nchecksum = \"crc\"", "true or false");
    check("body = \"x\"\ntimes = \"both\"", "true or false");
    check("body = \"x\"\nchecksums = true", "did you mean `checksum`?");
    check("body = \"x\"\n[expect]\nstatus = 200", "unknown key `status`");
    check("body = \"x\"\n[expect]\nbodysize = \"1KiB\"", "did you mean `body_size`?");
    check("body = \"x\"\n[expect]\nheader = { a = \"b\" }", "unknown key `header`");
    check("body = \"x\"\n[expect]\nmatches = \"(\"", "expected a regular expression");
    check("body = \"x\"\n[items]\nn = \"total\"", "expected a path such as $.results[0].id");
}

#[test]
fn all_problems_are_found_at_once() {
    let seen = problems(
        "[shm]\nroom = 1\nspin = 2\nchecksum = 3\nwhat = 4\n[expect]\ncontain = \"x\"\n[items]\nn = \"(\"\n",
    );
    assert_eq!(seen.matches("error: ").count(), 7, "{seen}");
}

#[test]
fn requests_of_a_file_are_those_of_http() {
    let listed = Planned { requests: Some([].into()), ..planned("shm = { body = \"x\" }") };
    let problems = operation(&listed).expect_err("it is wrong");
    assert_eq!(problems[0].message, "`targets` holds requests of http");
}
