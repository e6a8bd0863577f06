//! Journeys, preparations and users that ramp: what becomes of each form of the file.

use super::*;
use crate::journey::{
    Action, AfterFailure, Condition, Connections, Decode, Journey, Repeat, Step, Test,
};
use crate::journey::{Capture, CaptureSource};
use crate::mix::Mix;
use crate::operation::Operation;
use crate::plan::Arm;
use crate::ramp::UserStage;

pub(super) const SHOP: &str = r#"
[target]
url = "http://127.0.0.1:8080"

[load]
rate     = "20/s"
duration = "5m"

[[operation]]
name    = "login"
http    = { path = "/login", body = "user={{row.user}}" }
capture = { token = "$.token", next = { header = "location", matches = "id=([0-9]+)", optional = true } }

[[operation]]
name    = "list"
http    = { path = "/orders", header = { authorization = "Bearer {{login.token}}" } }
capture = { ids = { json = "$[*].id", all = true }, count = "$.count" }

[[operation]]
name = "open"
http = { path = "/orders/{{each}}?next={{login.next}}" }

[[operation]]
name = "menu"
http = { path = "/menu" }

[[operation]]
name = "news"
http = { path = "/news" }

[[operation]]
name    = "buy"
http    = { path = "/buy" }
capture = { order = "$.order" }

[[operation]]
name = "pay"
http = { path = "/pay/{{buy.order}}" }

[[operation]]
name = "poll"
http = { path = "/state" }
capture = { progress = "$.progress" }

[[operation]]
name = "create_account"
http = { path = "/accounts", body = "{{row.user}}" }

[[operation]]
name   = "home"
weight = 1
http   = { path = "/" }

[[journey]]
name   = "shopper"
weight = 3
rows   = { file = "accounts.csv", order = "once" }
steps  = [
  "login", "think 1s..3s", "list",
  { do = "open", each = "list.ids", at_most = 3, when = "list.count > 0" },
  ["menu", "news"],
  { do = "buy", share = "30%" },
  { do = "pay", when = "buy.order" },
  { do = "poll", until = "$.state == 'done'", every = "500ms", within = "10s" },
  { do = "poll", until = "progress >= 100" },
  { do = "menu", times = 2 },
]

[[journey]]
name          = "guest"
steps         = ["menu", "think 2s", "news"]
connections   = "pool"
after_failure = "continue"

[setup]
steps = ["create_account"]
rows  = { file = "accounts.csv" }

[teardown]
steps = ["news"]
"#;

fn shop() -> Arm {
    plan(SHOP).arms.remove(0)
}

fn operation<'a>(arm: &'a Arm, name: &str) -> (usize, &'a Operation) {
    let found = arm.operations.iter().enumerate().find(|(_, one)| one.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn every_form_of_a_step_becomes_what_it_says() {
    let arm = shop();
    let at = |name| operation(&arm, name).0;
    let place = |name, capture: &str| {
        let captures = &operation(&arm, name).1.captures;
        captures.iter().find(|one| one.name == capture).expect("captured").place
    };
    let action = |name, repeat| Action { operation: at(name), repeat, share: None, when: None };
    let once = |name| Step::Do(action(name, Repeat::Once));
    let when = |capture, test| Some(Condition { capture, test });
    let second = Duration::from_secs(1);
    let each = Repeat::Each { capture: place("list", "ids"), at_most: 3 };
    let until = |capture, test, every, within| Repeat::Until {
        condition: Condition { capture: place("poll", capture), test },
        every,
        within,
    };
    let done = until("$.state", Test::Is("done".into()), second / 2, 10 * second);
    let whole = until("progress", Test::AtLeast(100.0), second, 30 * second);
    let not_empty = when(place("list", "count"), Test::Above(0.0));
    let bought = when(place("buy", "order"), Test::Present);
    let [shopper, guest] = arm.journeys.as_slice() else { panic!("two journeys") };
    assert_eq!(
        shopper.steps,
        [
            once("login"),
            Step::Think(Think::Uniform { low: second, high: 3 * second }),
            once("list"),
            Step::Do(Action { when: not_empty, ..action("open", each) }),
            Step::Together(vec![at("menu"), at("news")]),
            Step::Do(Action { share: Some(0.3), ..action("buy", Repeat::Once) }),
            Step::Do(Action { when: bought, ..action("pay", Repeat::Once) }),
            Step::Do(action("poll", done)),
            Step::Do(action("poll", whole)),
            Step::Do(action("menu", Repeat::Times(2))),
        ]
    );
    assert_eq!((shopper.weight, shopper.order), (3.0, RowOrder::Once));
    let file = |journey: &Journey| journey.rows.as_ref().map(|rows| rows.file.clone());
    assert_eq!((file(shopper), file(guest)), (Some("accounts.csv".into()), None));
    assert_eq!((shopper.connections, shopper.after_failure), (Connections::Own, AfterFailure::End));
    assert_eq!(
        (guest.connections, guest.after_failure),
        (Connections::Pool, AfterFailure::Continue)
    );
    assert_eq!((shopper.thinking(), guest.weight), (2 * second, 1.0));
}

#[test]
fn each_is_at_most_a_hundred_values_unless_told_otherwise() {
    let arm = plan(&SHOP.replace(", at_most = 3", "")).arms.remove(0);
    let Step::Do(action) = &arm.journeys[0].steps[3] else { panic!("an action") };
    assert!(matches!(action.repeat, Repeat::Each { at_most: 100, .. }));
}

#[test]
fn operations_of_journeys_are_steps_with_the_rows_and_captures_of_those() {
    let arm = shop();
    let alone: Vec<&str> =
        arm.operations.iter().filter(|one| !one.is_step).map(|one| one.name.as_str()).collect();
    assert_eq!(alone, ["home"]);
    let visible = |name| {
        let names = operation(&arm, name).1.visible.iter().map(|one| one.name.as_str());
        names.collect::<Vec<_>>()
    };
    assert_eq!(visible("login"), [""; 0]);
    assert_eq!(visible("list"), ["login.token", "login.next"]);
    let after_list = ["login.token", "login.next", "list.ids", "list.count"];
    assert_eq!(visible("open"), after_list);
    assert_eq!(visible("pay")[4..], ["buy.order"], "the step is skipped where `buy` was");
    assert_eq!(visible("poll"), after_list, "`buy` may have been skipped");
    assert_eq!(visible("menu"), [""; 0], "a guest has captured nothing");
    let has_each: Vec<bool> =
        ["open", "menu", "home"].iter().map(|name| operation(&arm, name).1.has_each).collect();
    assert_eq!(has_each, [true, false, false]);
    let rows = |name| operation(&arm, name).1.rows.as_ref().map(|rows| rows.len());
    assert_eq!((rows("login"), rows("create_account"), rows("home")), (Some(2), Some(2), None));
    assert_eq!(rows("menu"), None, "its journeys have different rows, and it refers to none");
}

#[test]
fn preparations_have_operations_in_order_and_rows() {
    let arm = shop();
    let (setup, teardown) = (arm.setup.as_ref().unwrap(), arm.teardown.as_ref().unwrap());
    assert_eq!(setup.steps, [operation(&arm, "create_account").0]);
    assert_eq!(setup.rows.as_ref().unwrap().len(), 2);
    assert_eq!(teardown.steps, [operation(&arm, "news").0]);
    assert!(teardown.rows.is_none());
}

#[test]
fn the_mix_starts_journeys_and_the_operations_that_none_names() {
    let arm = shop();
    let home = operation(&arm, "home").0;
    // The shopper's rows end the mix after two of them.
    let weighted: Vec<Journey> =
        arm.journeys.iter().map(|one| Journey { rows: None, ..one.clone() }).collect();
    let mut counts = [0; 3];
    for taken in Mix::new(&arm.operations, &weighted, 1).take(1000) {
        let begun = [arm.operations.len(), arm.operations.len() + 1, home];
        counts[begun.iter().position(|at| *at == taken.operation).expect("one of them")] += 1;
    }
    assert!(counts.iter().all(|count| *count > 0) && counts[0] > counts[1], "{counts:?}");
}

#[test]
fn every_form_of_a_capture_becomes_what_it_says() {
    let text = SHOP.replace(
        "name   = \"home\"\n",
        "name = \"home\"\ncapture = { a = { json = \"$.a\" }, b = { header = \"x\", all = true }, \
         sid = { cookie = \"sid\" }, csrf = { matches = \"value=\\\"([^\\\"]+)\\\"\", decode = \"html\" }, \
         page = { body = true, decode = \"url\" } }\n",
    );
    let arm = plan(&text).arms.remove(0);
    let captures = &operation(&arm, "home").1.captures;
    let expected: Vec<(&str, CaptureSource, bool, Option<Decode>)> = vec![
        ("a", CaptureSource::Json("$.a".into()), false, None),
        ("b", CaptureSource::Header { name: "x".into(), matches: None }, true, None),
        ("sid", CaptureSource::Cookie("sid".into()), false, None),
        ("csrf", CaptureSource::Matches("value=\"([^\"]+)\"".into()), false, Some(Decode::Html)),
        ("page", CaptureSource::Body, false, Some(Decode::Url)),
    ];
    let read: Vec<_> = captures
        .iter()
        .map(|one| (one.name.as_str(), one.source.clone(), one.all, one.decode))
        .collect();
    assert_eq!(read, expected);
    let of_login = &operation(&arm, "login").1.captures;
    let matches = Some("id=([0-9]+)".to_owned());
    assert_eq!(of_login[1].source, CaptureSource::Header { name: "location".into(), matches });
    assert!(of_login[1].optional && !of_login[0].optional);
    let mut places: Vec<usize> =
        arm.operations.iter().flat_map(|one| &one.captures).map(|one| one.place).collect();
    places.sort_unstable();
    assert_eq!(places, (0..places.len()).collect::<Vec<_>>(), "numbered over all operations");
}

#[test]
fn until_reads_its_own_answer_without_a_failure_where_nothing_is_there() {
    let arm = shop();
    let captures = &operation(&arm, "poll").1.captures;
    let hidden: Vec<&Capture> = captures.iter().filter(|one| one.name != "progress").collect();
    assert_eq!(hidden.len(), 1);
    assert_eq!(hidden[0].source, CaptureSource::Json("$.state".into()));
    assert!(hidden[0].optional);
}

#[test]
fn criteria_and_comparisons_may_name_a_journey() {
    let criteria = "criteria = [\"shopper p95 < 8s\", \"login p99 < 200ms\", \"shopper succeeded / planned > 99%\"]\n";
    let plan = plan(&format!("{criteria}{SHOP}"));
    assert_eq!(plan.criteria[0].operation.as_deref(), Some("shopper"));
    let refused = read(&format!("criteria = [\"shoper p95 < 8s\"]\n{SHOP}"), &Options::default())
        .unwrap_err();
    assert!(refused.contains("did you mean `shopper`?"), "{refused}");
}

#[test]
fn a_journey_may_belong_to_some_arms_and_takes_its_operations_with_it() {
    let text = format!("{SHOP}\n[factors]\nvisitor = [\"guest\", \"shopper\"]\n").replace(
        "name   = \"shopper\"\n",
        "name   = \"shopper\"\nwhen = { visitor = \"shopper\" }\n",
    );
    let plan = plan(&text);
    let [without, with] = plan.arms.as_slice() else { panic!("two arms") };
    let names = |arm: &Arm| arm.operations.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(without), ["menu", "news", "create_account", "home"]);
    assert_eq!((without.journeys.len(), with.journeys.len()), (1, 2));
    let guest = &without.journeys[0];
    assert_eq!([guest.steps[0].operations(), guest.steps[2].operations()], [[0], [1]]);
    assert_eq!(without.setup.as_ref().unwrap().steps, [2]);
    assert_eq!(names(with).len(), 10);
}

#[test]
fn users_ramp_by_stages() {
    let stages = "stages = [{ users = 50, over = \"1m\" }, { hold = \"5m\" }, { users = 0, over = \"30s\" }]";
    let load = |more: &str| plan(&with_load(&format!("{stages}\n{more}"))).arms.remove(0).load;
    let ramped = load("think = \"1s\"");
    let Model::Users { users: 50, ramp: Some(ramp), .. } = &ramped.model else {
        panic!("{:?}", ramped.model)
    };
    let second = Duration::from_secs(1);
    let stage = |users, over| UserStage { users, over: over * second };
    assert_eq!(ramp.stages, [stage(50, 60), stage(50, 300), stage(0, 30)]);
    assert_eq!((ramped.connections, ramped.ramp_up()), (50, Duration::ZERO));
    assert_eq!(ramped.warm_up, WarmUp::Fixed { length: Duration::ZERO });
    assert_eq!(ramped.stop, Stop::Duration { after: 390 * second });
    let warmed = load("warm_up = \"1m\"");
    assert_eq!(warmed.stop, Stop::Duration { after: 330 * second });
    assert_eq!(warmed.wall_time(), Some(390 * second));
    let refused = |load: &str| read(&with_load(load), &Options::default()).unwrap_err();
    for (load, message) in [
        (format!("{stages}\nfrom = \"5/s\""), "`from` means nothing beside stages of users"),
        (format!("{stages}\nwarm_up = \"10m\""), "the warm-up is as long as all stages together"),
        (format!("{stages}\nusers = 3"), "`stages` and `users` exclude each other"),
        (
            "stages = [{ users = 5, over = \"1s\" }, { to = \"5/s\", over = \"1s\" }]".into(),
            "stages of rates and stages of users exclude each other",
        ),
        ("stages = [{ users = 0, over = \"1s\" }]".into(), "the stages never leave 0 users"),
    ] {
        let shown = refused(&load);
        assert!(shown.contains(message), "{shown}");
    }
}

#[test]
fn connections_of_journeys_are_told_apart_from_those_of_the_load() {
    let described = |load: &str, connections: &str| {
        let target = "[target]\nurl = \"http://127.0.0.1:8080\"";
        let operation =
            |name| format!("[[operation]]\nname = \"{name}\"\nhttp = {{ path = \"/\" }}");
        let (a, b) = (operation("a"), operation("b"));
        let journey = format!(
            "[[journey]]\nname = \"j\"\nconnections = \"{connections}\"\nsteps = [\"a\", [\"a\", \"b\"]]"
        );
        plan(&format!("{target}\n[load]\n{load}\n{a}\n{b}\n{journey}")).describe()
    };
    for (load, connections, expected) in [
        (
            "rate = \"500/s\"",
            "own",
            "time-out 30s, at most 10000 connections of journeys' own, kept",
        ),
        ("rate = \"500/s\"\nconnections = 60", "own", ", at most 60 connections of journeys' own,"),
        ("rate = \"500/s\"", "pool", "time-out 30s, 1000 connections, kept"),
        ("users = 50", "own", "at most 100 connections of journeys' own"),
        ("connections = 7", "own", "closed loop of 7 journeys at a time"),
        ("connections = 7", "pool", "closed loop over 7 connections"),
    ] {
        let seen = described(load, connections);
        assert!(seen.contains(expected), "{seen}");
    }
}

#[test]
fn plans_without_journeys_say_nothing_of_them() {
    let json = serde_json::to_string(&plan(HOME)).unwrap();
    for word in ["journey", "setup", "teardown", "capture", "is_step", "ramp"] {
        assert!(!json.contains(word), "{word}");
    }
    let users = serde_json::to_string(&plan(&with_load("users = 3"))).unwrap();
    assert!(!users.contains("ramp"), "{users}");
}

#[test]
fn journeys_are_described_as_trees() {
    let described = plan(SHOP).describe();
    let expected = "\
  setup      create_account: once for each of 2 rows of accounts.csv
  journey    shopper 60%, connections of its own, ends after a failed step
    one of 2 rows of accounts.csv for each, each once
    - login
        captures token, next (optional)
    - think 1s..3s
    - list
        captures ids (list), count
    - open, when list.count > 0, once for each of list.ids, at most 3
    - at the same time
      - menu
      - news
    - buy, in 30% of journeys
        captures order
    - pay, when buy.order
    - poll, until $.state == 'done', every 500ms, within 10s
        captures progress
    - poll, until progress >= 100, every 1s, within 30s
        captures progress
    - menu, 2 times
    thinking: 2s on average, if no step fails
    `when`, `until` and `each` depend on answers: the plan does not decide them
  journey    guest 20%, connections of the load, continues after a failed step
    - menu
    - think 2s
    - news
    thinking: 2s on average, if no step fails
  teardown   news: once
";
    assert!(described.contains(expected), "{described}");
    assert!(described.contains("login as a step to http://127.0.0.1:8080\n"), "{described}");
    assert!(described.contains("home 20% to http://127.0.0.1:8080\n"), "{described}");
}

#[test]
fn odd_steps_are_refused_with_their_place() {
    let many = format!("[{}]", "\"home\", ".repeat(101));
    for (steps, message) in [
        ("5", "expected a list, got 5"),
        ("[5]", "expected a step such as"),
        ("[[]]", "a list of operations that is empty"),
        ("[[[\"home\"]]]", "expected the name of an operation, got a list"),
        ("[{}]", "missing key `do`"),
        ("[{ do = 5 }]", "expected text, got 5"),
        ("[\"think\"]", "expected a pause such as"),
        ("[\"think ü\"]", "expected a pause such as"),
        ("[\"\"]", "unknown operation ``"),
        ("[{ do = \"home\", times = 0 }]", "expected a whole number from 1 to 10000, got 0"),
        ("[{ do = \"home\", share = 0.3 }]", "expected a percentage such as 5%, got 0.3"),
        ("[{ do = \"home\", share = \"0%\" }]", "a share of 0% is out of range"),
        ("[{ do = \"home\", when = \"\" }]", "expected a condition such as"),
        ("[{ do = \"home\", when = \"ü < \" }]", "expected a number after `<`"),
        ("[{ do = \"home\", until = \"$.a ü= 3\" }]", "unknown operator `=`"),
        ("[{ do = \"home\", untill = \"$.a\" }]", "did you mean `until`?"),
        (
            "[\"home\", { do = \"home\", when = \"last.x\" }, \"last\"]",
            "no step before this one performs `last`",
        ),
        (many.as_str(), "101 steps (the limit is 100)"),
    ] {
        let text = with_load("rate = \"5/s\"")
            .replace("[[operation]]\n", "[[operation]]\nname = \"home\"\n");
        let last = "[[operation]]\nname = \"last\"\nhttp = {}\ncapture = { x = \"$.x\" }\n";
        let text = format!("{text}{last}[[journey]]\nsteps = {steps}\n");
        let shown = read(&text, &Options::default()).unwrap_err();
        assert!(shown.contains(message), "{steps}: {shown}");
    }
}

#[test]
fn odd_captures_are_refused_with_their_place() {
    for (capture, message) in [
        ("x = 5", "expected a JSONPath such as \"$.token\", or a table"),
        ("x = {}", "the capture does not say where the value stands"),
        ("x = { json = \"$.a\", cookie = \"b\" }", "`json` and `cookie` exclude each other"),
        (
            "x = { header = \"a\", matches = \"b\", body = true }",
            "`header` and `body` exclude each other",
        ),
        ("x = { body = false }", "expected true, got false"),
        ("x = { cookie = \"a\", all = true }", "`all` means nothing beside `cookie`"),
        ("x = { jsn = \"$.a\" }", "did you mean `json`?"),
        ("x = { json = \"$.a\", decode = \"xml\" }", "expected \"html\" or \"url\""),
        ("\"a b\" = \"$.a\"", "holds other than letters"),
    ] {
        let text = format!("{}capture = {{ {capture} }}\n", with_load("rate = \"5/s\""));
        let shown = read(&text, &Options::default()).unwrap_err();
        assert!(shown.contains(message), "{capture}: {shown}");
    }
    let text =
        with_load("rate = \"5/s\"").replace("[[operation]]\n", "[[operation]]\nname = \"row\"\n");
    let shown =
        read(&format!("{text}capture = {{ x = \"$.a\" }}\n"), &Options::default()).unwrap_err();
    assert!(shown.contains("`{{row.x}}` would mean something else"), "{shown}");
}

#[test]
fn operations_that_journeys_refer_to_must_be_there() {
    let setup = "[setup]\nsteps = [\"operation-1\"]\n";
    let shown =
        read(&format!("{}{setup}", with_load("rate = \"5/s\"")), &Options::default()).unwrap_err();
    assert!(shown.contains("no operation and no journey begins in arm all"), "{shown}");
    let weights =
        SHOP.replace("weight = 3\n", "weight = 0\n").replace("weight = 1\n", "weight = 0\n");
    let weights = weights.replace("name          = \"guest\"\n", "name = \"guest\"\nweight = 0\n");
    let shown = read(&weights, &Options::default()).unwrap_err();
    assert!(shown.contains("the weights of all operations and journeys are 0"), "{shown}");
}
