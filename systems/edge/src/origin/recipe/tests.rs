use super::super::delay::{Delay, Shape};
use super::super::draws::Draws;
use super::super::timeline::{End, Fault};
use super::*;

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

fn one(value: Value) -> Recipe {
    let mut all = read(value.to_string().as_bytes(), MIB).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The problems of a text.
fn problems(text: &str) -> Vec<String> {
    read(text.as_bytes(), MIB).unwrap_err().iter().map(Problem::to_string).collect()
}

/// The problems of a body with these keys beside it.
fn wrong(mut keys: Value) -> Vec<String> {
    keys["body"] = "x".into();
    problems(&keys.to_string())
}

/// The problems of a stage with these keys in place of its own.
fn wrong_stage(keys: Value) -> Vec<String> {
    let mut stage = json!({"at": 0, "status": 200, "latency": 0});
    for (key, value) in keys.as_object().unwrap() {
        stage[key] = value.clone();
    }
    wrong(json!({"stages": [stage]}))
}

fn delay(told: Value) -> Delay {
    let stage = json!({"at": 0, "status": 200, "latency": told});
    one(json!({"body": "x", "stages": [stage]})).timeline.at(0).unwrap().delay.into_owned()
}

#[test]
fn every_key_has_its_default_and_is_told_again() {
    let plain = one(json!({"body": "hello"}));
    assert_eq!(plain.route, "/*");
    assert_eq!(plain.source, Source::Pieces(vec![Piece::Text("hello".into())]));
    assert!(plain.timeline.at(0).is_none() && plain.headers.is_empty() && plain.seed.is_none());
    let told = json!({
        "body": "hello", "headers": {}, "origin": null,
        "random_content": null, "route": "/*", "stages": [],
    });
    assert_eq!(plain.given, told);
    // What is told can be read again.
    assert_eq!(one(told.clone()).given, told);
}

#[test]
fn a_whole_recipe_is_read_and_told_as_it_was_given() {
    let given = json!({
        "body": null,
        "origin": null,
        "random_content": "50kb",
        "headers": {"content-encoding": "gzip", "x-one": "1"},
        "route": "/news*",
        "stages": [
            {"at": 0, "status": 200, "latency": "100ms"},
            {"at": "10s", "status": 503, "latency": "1s..1500ms"},
        ],
        "seed": 7,
        "loop": "20s",
    });
    let recipe = one(given.clone());
    assert_eq!(recipe.given, given);
    assert_eq!((recipe.route.as_str(), recipe.seed), ("/news*", Some(7)));
    assert_eq!(recipe.source, Source::Pieces(vec![Piece::Random(51_200)]));
    assert!(recipe.is_gzip());
    let told: Vec<String> = [0, 10, 19, 20, 31]
        .map(|seconds| recipe.timeline.at(seconds * 1_000 * MS).unwrap().describe())
        .into();
    assert_eq!(told, ["200 100", "503 1000..1500", "503 1000..1500", "200 100", "503 1000..1500"]);
}

#[test]
fn of_several_sources_origin_comes_first_and_then_the_body() {
    let all = json!({"origin": "http://a/b", "body": "x", "random_content": "1kb"});
    assert_eq!(one(all).source, Source::Origin("http://a/b".parse().unwrap()));
    let two = json!({"body": "x", "random_content": "1kb"});
    assert_eq!(one(two).source, Source::Pieces(vec![Piece::Text("x".into())]));
}

#[test]
fn sizes_in_a_body_stand_for_random_content() {
    let text = |text: &str| Piece::Text(text.to_owned());
    for (body, pieces) in [
        ("{\"a\":\"<<1kb>>\"}", vec![text("{\"a\":\""), Piece::Random(1_024), text("\"}")]),
        ("<<1b>><<2b>>", vec![Piece::Random(1), Piece::Random(2)]),
        ("a << b", vec![text("a << b")]),
        ("<<>>", vec![text("<<>>")]),
        ("<<\n1b>>", vec![text("<<\n1b>>")]),
        ("<<\n<<1b>>\n", vec![text("<<\n"), Piece::Random(1), text("\n")]),
        ("é<<3b>>ü", vec![text("é"), Piece::Random(3), text("ü")]),
        ("", vec![]),
    ] {
        assert_eq!(one(json!({"body": body})).source, Source::Pieces(pieces), "{body}");
    }
    let sizes = "$.body: Invalid size, please define size in b, kb or mb";
    assert_eq!(problems(r#"{"body": "<<1gb>> and <<many>>"}"#), [sizes, sizes]);
}

#[test]
fn several_recipes_are_an_array() {
    let all = read(br#"[{"body": "a"}, {"body": "b", "route": "/b"}]"#, MIB).unwrap();
    assert_eq!(all.iter().map(|one| one.route.as_str()).collect::<Vec<_>>(), ["/*", "/b"]);
    assert!(read(b"[]", MIB).unwrap().is_empty());
}

#[test]
fn a_route_stands_once_among_recipes_that_come_together() {
    assert_eq!(
        problems(r#"[{"body": "a"}, {"body": "b", "route": "/b"}, {"body": "c", "route": "/*"}]"#),
        ["$[2].route: $[0] has the route /* already"]
    );
}

#[test]
fn waits_may_be_distributions() {
    let shape = Shape { mean_ns: 100e6, sd_ns: 10e6 };
    for (told, expect) in [
        (json!(0), Delay::Fixed(0)),
        (json!("2s"), Delay::Fixed(2_000 * MS)),
        (json!("800ms..1s"), Delay::WholeMs(800, 1_000)),
        (json!({"uniform": {"from": "1ms", "to": "2ms"}}), Delay::Uniform(MS, 2 * MS)),
        (json!({"normal": {"mean": "100ms", "sd": "10ms"}}), Delay::Normal(shape)),
        (json!({"log_normal": {"mean": "100ms", "sd": "10ms"}}), Delay::LogNormal(shape)),
        (json!({"empirical": ["1ms", 0]}), Delay::Empirical([MS, 0].into())),
    ] {
        assert_eq!(delay(told.clone()), expect, "{told}");
    }
}

#[test]
fn outcomes_and_faults_are_read() {
    let stage = json!({"at": 0, "latency": 0, "outcomes": [
        {"weight": 9, "status": 200, "bandwidth": "100kb/s"},
        {"status": 503, "fault": "reset"},
        {"status": 200, "fault": "close", "after": "1kb"},
    ]});
    let recipe = one(json!({"body": "x", "stages": [stage]}));
    let moment = recipe.timeline.at(0).unwrap();
    let [first, second, third] = &moment.outcomes[..] else { panic!("three") };
    assert_eq!((first.weight, first.bytes_per_second), (9.0, Some(102_400)));
    let reset = Fault { end: End::Reset, after_bytes: None };
    assert_eq!((second.weight, second.fault), (1.0, Some(reset)));
    assert_eq!(third.fault, Some(Fault { end: End::Close, after_bytes: Some(1_024) }));
    let mut draws = Draws::of(1, &[]);
    assert!([200, 503].contains(&moment.draw(&mut draws).status));
}

#[test]
fn keys_that_mean_nothing_are_ignored_and_remembered() {
    let recipe = one(json!({
        "body": "x", "stagez": [],
        "stages": [{"at": 0, "status": 200, "latency": 0, "latencies": 1}],
    }));
    assert_eq!(recipe.ignored, ["$.stagez", "$.stages[0].latencies"]);
    assert!(recipe.given.get("stagez").is_none());
}

#[test]
fn text_that_is_no_recipe_is_told_with_its_place() {
    let told = problems("{\"body\": \"x\",\n \"stages\": [}");
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("$: this is no JSON: "), "{told:?}");
    assert!(told[0].ends_with("line 2 column 13"), "{told:?}");
    assert_eq!(problems("5"), ["$: expected a recipe, which is an object, got 5"]);
    assert_eq!(
        problems("[{\"body\": \"x\"}, []]"),
        ["$[1]: expected a recipe, which is an object, got []"]
    );
    assert_eq!(problems("{}"), ["$: needs one of origin, body and random_content"]);
}

#[test]
fn all_problems_of_all_recipes_are_told_at_once() {
    let text = json!([
        {"random_content": "50", "stages": [{"at": 1, "status": 200, "latency": "1m"}]},
        {"body": "x", "route": "news", "stages": {}, "headers": {"X-One": "1"}},
    ]);
    assert_eq!(
        problems(&text.to_string()),
        [
            "$[0].random_content: Invalid size, please define size in b, kb or mb",
            "$[0].stages[0].at: Invalid timing, please define time in s or ms",
            "$[0].stages[0].latency: Invalid timing, please define time in s or ms",
            "$[1].stages: expected an array, got {}",
            "$[1].headers.X-One: must be a valid header name in lower case",
            "$[1].route: expected a path such as /news, or with /news* all that begins so, \
             got \"news\"",
        ]
    );
}

#[test]
fn each_key_refuses_what_it_cannot_be() {
    for (keys, told) in [
        (json!({"body": "x", "random_content": 5}), "$.random_content: Invalid size"),
        (json!({"body": 5}), "$.body: expected a string, got 5"),
        (json!({"random_content": "2mb"}), "$.random_content: a payload may have 1048576 bytes"),
        (json!({"body": "<<1mb>>!"}), "$.body: a payload may have 1048576 bytes"),
        (json!({"origin": "news"}), "$.origin: expected an address"),
        (json!({"origin": "ftp://a/b"}), "$.origin: expected an address"),
        (json!({"origin": "http://a:99999/b"}), "$.origin: expected an address"),
        (json!({"origin": "http://a:0/b"}), "$.origin: expected an address"),
        (json!({"origin": "http://user:word@a/b"}), "$.origin: expected an address"),
        (
            json!({"random_content": "99999999999999999999mb"}),
            "$.random_content: a payload may have 1048576 bytes",
        ),
    ] {
        let all = problems(&keys.to_string());
        assert!(all.len() == 1 && all[0].starts_with(told), "{all:?}");
    }
    for (keys, told) in [
        (json!({"seed": -1}), "$.seed: expected a whole number"),
        (json!({"interpolate": 1}), "$.interpolate: expected true or false, got 1"),
        (json!({"loop": 0}), "$.loop: a loop takes longer than no time"),
        (json!({"loop": 5}), "$.loop: Invalid timing"),
        (json!({"loop": "99999999s"}), "$.loop: a time has a year at most"),
        (json!({"headers": []}), "$.headers: expected headers"),
        (json!({"headers": {"a b": "1"}}), "$.headers.a b: must be a valid header name"),
        (json!({"headers": {"a": 1}}), "$.headers.a: expected a string that a header can hold"),
        (json!({"headers": {"a": "b\r\nc: d"}}), "$.headers.a: expected a string"),
        (json!({"headers": {"content-length": "1"}}), "$.headers.content-length: the server sets"),
        (json!({"route": 5}), "$.route: expected a string"),
        (json!({"route": "/a?b"}), "$.route: expected a path"),
        (json!({"route": "/_admin/status"}), "$.route: paths under /_admin"),
    ] {
        let all = wrong(keys);
        assert!(all.len() == 1 && all[0].starts_with(told), "{all:?}");
    }
}

#[test]
fn each_key_of_a_stage_refuses_what_it_cannot_be() {
    for (keys, told) in [
        (json!({"at": null}), ".at: Invalid timing"),
        (json!({"at": "1s..2s"}), ".at: Invalid timing"),
        (json!({"latency": 100}), ".latency: Invalid timing"),
        (json!({"latency": "100"}), ".latency: Invalid timing"),
        (json!({"latency": "2h"}), ".latency: Invalid timing"),
        (json!({"latency": "7200s"}), ".latency: an answer waits an hour"),
        (json!({"latency": "99999999999999999999s"}), ".latency: an answer waits an hour"),
        (json!({"latency": "1s..99999999s"}), ".latency: an answer waits an hour"),
        (json!({"at": "99999999s"}), ".at: a time has a year at most"),
        (
            json!({"latency": {"uniform": {"from": "2s", "to": "1s"}}}),
            ".latency.uniform: the first time must not be longer",
        ),
        (
            json!({"latency": {"empirical": ["99999999s"]}}),
            ".latency.empirical[0]: an answer waits an hour",
        ),
        (json!({"latency": {}}), ".latency: a distribution is an object"),
        (json!({"latency": {"pareto": {}}}), ".latency.pareto: unknown distribution; use uniform"),
        (json!({"latency": {"normal": 5}}), ".latency.normal: expected a distribution"),
        (
            json!({"latency": {"normal": {"mean": "1s", "sd": 1}}}),
            ".latency.normal.sd: Invalid timing",
        ),
        (
            json!({"latency": {"log_normal": {"mean": 0, "sd": "1ms"}}}),
            ".latency.log_normal.mean: must be above zero",
        ),
        (json!({"latency": {"empirical": []}}), ".latency.empirical: needs at least one time"),
        (json!({"latency": {"empirical": ["1x"]}}), ".latency.empirical[0]: Invalid timing"),
        (json!({"status": null}), ".status: expected a status from 200 to 999, got null"),
        (json!({"status": "200"}), ".status: expected a status"),
        (json!({"status": 100}), ".status: expected a status"),
        (json!({"status": 1_000}), ".status: expected a status"),
        (json!({"fault": "melt"}), ".fault: expected one of reset, close, hang"),
        (json!({"fault": "reset", "after": 5}), ".after: Invalid size"),
        (json!({"fault": "reset", "after": "99999999999999mb"}), ".after: there is no size"),
        (json!({"after": "5b"}), ".after: needs a `fault`"),
        (json!({"bandwidth": "100kb"}), ".bandwidth: expected a size a second"),
        (json!({"bandwidth": "0b/s"}), ".bandwidth: expected a size a second"),
        (json!({"outcomes": [{"status": 200}]}), ".status: belongs into each"),
        (json!({"status": null, "outcomes": []}), ".outcomes: needs at least one outcome"),
        (
            json!({"status": null, "outcomes": [{"status": 200, "weight": 0}]}),
            ".outcomes[0].weight: expected a number above zero",
        ),
    ] {
        let all = wrong_stage(keys);
        assert!(all.len() == 1 && all[0].starts_with(&format!("$.stages[0]{told}")), "{all:?}");
    }
}

#[test]
fn stages_and_what_is_beside_them_must_agree() {
    let stage = |at: &str, latency: Value| json!({"at": at, "status": 200, "latency": latency});
    let normal = json!({"normal": {"mean": "1s", "sd": "1ms"}});
    assert_eq!(
        wrong(json!({"loop": "5s", "stages": [stage("5s", json!(0))]})),
        ["$.stages[0].at: the loop ends before this stage begins"]
    );
    assert_eq!(
        wrong(json!({"interpolate": true, "stages": [stage("5s", normal)]})),
        ["$.stages[0].latency: distributions of this kind cannot be interpolated"]
    );
}

#[test]
fn there_is_an_end_to_everything() {
    let many = |count: usize| json!({"body": "x", "stages": vec![0; count]}).to_string();
    assert_eq!(problems(&many(10_001)), ["$.stages: there may be 10000, not 10001"]);
    let told = problems(&many(150));
    assert_eq!(told.len(), 101);
    assert_eq!(told[100], "$: and 50 problems more");
    let recipes = Value::from(vec![json!({}); 10_001]).to_string();
    assert_eq!(problems(&recipes), ["$: there may be 10000 recipes, not 10001"]);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(problems(&deep)[0].starts_with("$: this is no JSON: "));
    // Neither of these takes more than one look at each of its characters.
    let open = json!({"body": "<<\n".repeat(200_000) + &"<".repeat(200_000)}).to_string();
    assert!(read(open.as_bytes(), MIB).is_ok());
    let sizes = json!({"body": "<<0b>>".repeat(100_000)}).to_string();
    assert!(read(sizes.as_bytes(), MIB).is_ok());
    let long = json!({"body": vec![1; 10_000]}).to_string();
    assert!(problems(&long)[0].len() < 120);
}
