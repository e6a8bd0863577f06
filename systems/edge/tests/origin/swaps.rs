//! One recipe in the place of another.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{Reply, TestOrigin, recipe, stage};

#[test]
fn a_swap_takes_hold_at_once_and_bears_its_number() {
    let origin = TestOrigin::with(recipe("/a", "first", 200));
    let reply = origin.add(&json!([recipe("/a", "second", 200), recipe("/b", "b", 200)]));
    assert_eq!(reply.header("x-origin-generation"), Some("2"));
    // At the first request after the answer, whichever worker has it.
    for _ in 0..20 {
        let reply = origin.get("/a");
        assert_eq!(reply.text(), "second");
        assert_eq!(reply.header("x-origin-generation"), Some("2"));
    }
    origin.added(recipe("/b", "b", 500));
    let generations = ["/a", "/b", "/c"]
        .map(|path| origin.get(path).header("x-origin-generation").unwrap().to_owned());
    assert_eq!(generations, ["2", "3", "3"]);
}

#[test]
fn stages_of_the_old_recipe_are_gone_with_it() {
    let stages = json!([stage(200, "0"), {"at": "200ms", "status": 504, "latency": 0}]);
    let origin = TestOrigin::with(json!({"body": "old", "stages": stages}));
    origin.added(json!({"body": "new", "stages": [stage(200, "0")]}));
    let begun = std::time::Instant::now();
    // Well after the instant of the old stage nothing else was ever served.
    while begun.elapsed() < std::time::Duration::from_millis(400) {
        let reply = origin.get("/");
        assert_eq!((reply.status, reply.text().as_str()), (200, "new"));
    }
}

#[test]
fn until_its_first_stage_a_new_recipe_serves_its_payload_as_the_old_one_did() {
    let origin = TestOrigin::with(recipe("/*", "old", 503));
    let later = json!({"at": "3600s", "status": 404, "latency": 0});
    origin.added(json!({"body": "new", "stages": [later]}));
    assert_eq!(origin.admin("routes_status"), "/* 503 0");
    origin.added(json!({"route": "/new", "body": "new", "stages": [later]}));
    assert_eq!(origin.get("/new").status, 406);
}

#[test]
fn no_answer_is_of_two_recipes() {
    let pair = |word: &str| {
        let mut one = recipe("/*", word, 200);
        one["headers"] = json!({"x-word": word});
        one
    };
    let origin = TestOrigin::with(pair("one"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut answered = 0;
                    while !done.load(Ordering::Relaxed) || answered < 10 {
                        let reply = origin.get("/");
                        assert_eq!(reply.header("x-word"), Some(reply.text().as_str()));
                        answered += 1;
                    }
                })
            })
            .collect();
        for round in 0..40 {
            origin.added(pair(["two", "one"][round % 2]));
        }
        done.store(true, Ordering::Relaxed);
        asking.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn additions_at_the_same_time_lose_nothing() {
    let origin = TestOrigin::with(json!([]));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let origin = &origin;
            scope.spawn(move || {
                for number in 0..10 {
                    origin.added(recipe(&format!("/{worker}/{number}"), "x", 200));
                }
            });
        }
    });
    let routes = origin.admin("routes");
    assert_eq!(routes.lines().count(), 41, "{routes}");
}

#[test]
fn requests_on_one_connection_see_the_swap() {
    let origin = TestOrigin::with(recipe("/*", "one", 200));
    let mut stream = origin.connect();
    let mut ask = || {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"one") && !bytes.ends_with(b"two") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            bytes.extend(byte);
        }
        Reply::parse(&bytes).0.text()
    };
    assert_eq!(ask(), "one");
    origin.added(recipe("/*", "two", 200));
    assert_eq!(ask(), "two");
}
