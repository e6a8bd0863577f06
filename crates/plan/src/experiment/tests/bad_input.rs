//! One test for each kind of invalid file, by the message that the user reads.

use super::*;

/// The message for this file.
fn refused(text: &str) -> String {
    read(text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

#[test]
fn unknown_keys_name_the_near_miss() {
    let text = HOME.replace("duration =", "duratoin =");
    let message = refused(&text);
    assert_eq!(
        message,
        r#"error: unknown key `duratoin`
  --> test.toml:11:1
   |
11 | duratoin = "60s"
   | ^^^^^^^^ did you mean `duration`?
   |
   = hint: known here: arrivals, from, spawn_rate, think, rate, stages, burst, resolution, shift, scale, replay, users, duration, operations, warm_up, timeout, connections, streams, new_connections, steady_state, workers, busy_poll"#
    );
}

#[test]
fn a_wrong_type_says_what_was_expected() {
    assert_eq!(
        refused(&HOME.replace("\"http://127.0.0.1:8080\"", "8080")),
        r#"error: expected text, got 8080
 --> test.toml:7:7
  |
7 | url = 8080
  |       ^^^^ expected text

error: operation `home` has no target
  --> test.toml:13:1
   |
13 | [[operation]]
   | ^^^^^^^^^^^^^ needs a target
   |
   = hint: add [target] with url = "http://127.0.0.1:8080""#
    );
}

#[test]
fn a_process_is_given_some_time() {
    let text = format!(
        "{HOME}\n[system]\nserve = \"truth\"\nready_within = \"0s\"\n[[observer]]\nname = \"sink\"\nanswers_within = 5\n"
    );
    let message = refused(&text);
    assert!(
        message.contains("expected a time above zero such as \"30s\", got \"0s\""),
        "{message}"
    );
    assert!(message.contains("expected a time above zero such as \"30s\", got 5"), "{message}");
    let text = text.replace("\"0s\"", "\"5m\"").replace("= 5\n", "= \"1m\"\n");
    let plan = read(&text, &Options { fresh_seed: 1, ..Options::default() }).unwrap();
    let arm = &plan.arms[0];
    let minutes = |count: u64| Some(Duration::from_secs(60 * count));
    assert_eq!(arm.system.as_ref().unwrap().ready_within, minutes(5));
    assert_eq!(arm.observers[0].answers_within, minutes(1));
}

#[test]
fn a_missing_unit_is_not_guessed() {
    assert_eq!(
        refused(&with_load("rate = \"500\"\nduration = 60")),
        r#"error: expected a rate such as 500/s, got "500"
 --> test.toml:4:9
  |
4 | rate = "500"
  |         ^^^ expected a rate such as 500/s

error: expected a duration such as 20ms, 1.5s or 2m, got 60
 --> test.toml:5:12
  |
5 | duration = 60
  |            ^^ expected a duration such as 20ms, 1.5s or 2m"#
    );
}

#[test]
fn weights_of_zero_for_all_are_refused() {
    assert_eq!(
        refused(&HOME.replace("name = \"home\"", "name = \"home\"\nweight = 0")),
        r#"error: the weights of all operations are 0
  --> test.toml:15:10
   |
15 | weight = 0
   |          ^ expected one above 0"#
    );
}

#[test]
fn a_factor_without_level_is_refused() {
    let text = format!("[factors]\nsize = []\n{}", with_load("rate = \"5/s\""));
    assert_eq!(
        refused(&text),
        r#"error: factor `size` has no level
 --> test.toml:2:8
  |
2 | size = []
  |        ^^ expected at least one level"#
    );
}

#[test]
fn an_unreadable_row_file_is_named() {
    let with_rows = |file: &str| {
        let rows = format!("rows = {{ file = \"{file}\" }}");
        refused(&format!("{}{rows}\n", with_load("rate = \"5/s\"")))
    };
    assert_eq!(
        with_rows("none.csv"),
        r#"error: cannot read none.csv: entity not found
 --> test.toml:7:18
  |
7 | rows = { file = "none.csv" }
  |                  ^^^^^^^^ named here"#
    );
    let used =
        HOME.replace("path = \"/\" }", "path = \"/{{row.a}}\" }\nrows = { file = \"none.csv\" }");
    assert_eq!(refused(&used).matches("error: ").count(), 1);
    let broken = with_rows("broken.csv");
    assert!(
        broken.starts_with("error: cannot use broken.csv: line 3: expected 2 fields, got 1\n"),
        "{broken}"
    );
}

#[test]
fn a_template_error_points_into_the_text() {
    assert_eq!(
        refused(&HOME.replace("path = \"/\"", "path = \"/{{sequenc}}/{{random 5}}\"")),
        r#"error: unknown placeholder `sequenc`
  --> test.toml:15:19
   |
15 | http = { path = "/{{sequenc}}/{{random 5}}" }                         # GET; method, header, body, json, expect, items as below
   |                   ^^^^^^^^^^^ did you mean `sequence`?
   |
   = hint: known here: sequence, nonce, uuid, token, random, bytes, row, trial, env, factor, folder

error: expected a range such as 0..99, got "5"
  --> test.toml:15:31
   |
15 | http = { path = "/{{sequenc}}/{{random 5}}" }                         # GET; method, header, body, json, expect, items as below
   |                               ^^^^^^^^^^^^ whole numbers, the second not below the first"#
    );
}

#[test]
fn syntax_errors_come_all_at_once() {
    let message = refused("title = \n[load]\nrate = = 5\n");
    assert!(message.matches("error: not valid TOML").count() >= 2, "{message}");
    assert!(message.contains("test.toml:1:9"), "{message}");
    assert!(message.contains("test.toml:3:8"), "{message}");
}

#[test]
fn every_problem_is_reported_at_once_and_each_once() {
    let text = r#"
titel = "x"
criteria = ["p9x < 20ms", "hom p99 < 5ms"]
[factors]
a = [1, 2]
[target]
url = "127.0.0.1:8080"
[load]
rate = "500"
users = 5
think = "soon"
[[operation]]
name = "home page"
http = { path = "/{{factor.b}}/{{env.NONE}}" }
[[operation]]
name = "twice"
weight = -1
htp = { path = "/" }
[[operation]]
name = "twice"
http = { path = "/" }
when = { a = 3 }
[[comparison]]
factor = "c"
baseline = 1
metrics = ["p77"]
"#;
    let message = refused(text);
    let errors: Vec<&str> = message.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(
        errors,
        [
            "error: unknown key `titel`",
            "error: unknown metric `p9x`",
            "error: expected an address such as http://127.0.0.1:8080, got \"127.0.0.1:8080\"",
            "error: expected a rate such as 500/s, got \"500\"",
            "error: `rate` and `users` exclude each other",
            "error: expected a pause such as 2s, 1s..3s or exponential 2s, got \"soon\"",
            "error: name \"home page\" holds other than letters, digits, `-`, `_`, `.`",
            "error: unknown factor `b`",
            "error: environment variable `NONE` is not set",
            "error: the operation names no protocol",
            "error: weight -1 is below 0",
            "error: unknown key `htp`",
            "error: operation name `twice` appears twice",
            "error: unknown level of `a` `3`",
            "error: unknown factor `c`",
            "error: unknown metric `p77`",
        ]
    );
    assert!(message.contains("did you mean `title`?"), "{message}");
    assert!(message.contains("did you mean `http`?"), "{message}");
}

#[test]
fn top_level_keys_after_a_table_are_explained() {
    let message =
        refused(&format!("{HOME}\ncriteria = [\"p99 < 1ms\"]\n").replacen("criteria", "#", 1));
    assert!(message.contains("error: unknown key `criteria`"), "{message}");
    assert!(message.contains("belongs to the top level"), "{message}");
    assert!(message.contains("hint: move it above the first [table]"), "{message}");
}

#[test]
fn problems_of_flags_point_into_the_flag() {
    let options = Options { criteria: vec!["p99 < 20".into()], ..set(&["load.rat=200/s"]) };
    let message = read(HOME, &options).unwrap_err();
    assert!(message.contains("--> --set:1:6"), "{message}");
    assert!(message.contains("did you mean `rate`?"), "{message}");
    assert!(message.contains("--> --criterion:1:7"), "{message}");
    let unknown = read(HOME, &set(&["operation.hom.weight=2", "nonsense"])).unwrap_err();
    assert!(unknown.contains("error: unknown operation `hom`"), "{unknown}");
    assert!(unknown.contains("did you mean `home`?"), "{unknown}");
    assert!(unknown.contains("got \"nonsense\""), "{unknown}");
}

#[test]
fn names_and_braces_that_would_mislead_are_refused() {
    assert!(refused(&HOME.replace("\"home\"", "\"all\"")).contains("`all` is reserved"));
    let braces = HOME.replace("path = \"/\"", "path = \"/{{env.BRACES}}\"");
    assert!(refused(&braces).contains("environment variable `BRACES` holds"));
}

#[test]
fn too_few_blocks_to_decide_are_refused() {
    let text = format!(
        "[factors]\nx = [1, 2]\n[design]\nblocks = 5\n[[comparison]]\nfactor = \"x\"\nbaseline = 1\n\
         metrics = [\"p50\"]\n{}",
        with_load("rate = \"5/s\"")
    );
    let message = refused(&text);
    assert!(message.contains("error: 5 blocks cannot decide 1 comparisons"), "{message}");
    assert!(message.contains("hint: write blocks = 6 or more in [design]"), "{message}");
}

#[test]
fn margins_that_nothing_could_keep_are_refused() {
    for margin in ["0%", "100%", "250%"] {
        let text = format!(
            "[factors]\nx = [1, 2]\n[[comparison]]\nfactor = \"x\"\nbaseline = 1\n\
             metrics = [\"failed\", \"p50\"]\nmargin = {{ failed = \"0.1%\", p50 = \"{margin}\" }}\n{}",
            with_load("rate = \"5/s\"")
        );
        let message = refused(&text);
        assert!(
            message.contains("error: the margin of `p50` is out of range"),
            "{margin}: {message}"
        );
        assert!(!message.contains("`failed`"), "{message}");
    }
}

#[test]
fn a_comparison_names_metrics_and_each_once() {
    let told = |metrics: &str| {
        refused(&format!(
            "[factors]\nx = [1, 2]\n[[comparison]]\nfactor = \"x\"\nbaseline = 1\n\
             metrics = {metrics}\n{}",
            with_load("rate = \"5/s\"")
        ))
    };
    assert!(told("[]").contains("a comparison without metrics compares nothing"));
    assert!(told("[\"p50\", \"p50\"]").contains("metric `p50` appears twice"));
}

#[test]
fn numbers_that_are_not_finite_are_refused_as_written() {
    for number in ["nan", "-inf", "1e999"] {
        let message = refused(&HOME.replace("\"http://127.0.0.1:8080\"", number));
        assert!(message.contains(&format!("number {number} is not finite")), "{message}");
    }
}

#[test]
fn a_known_name_is_listed_once_though_every_arm_has_it() {
    let text = format!(
        "[factors]\nx = [1, 2]\n[[comparison]]\nfactor = \"x\"\nbaseline = 1\n\
         metrics = [\"p50\"]\noperation = \"zzz\"\n{}",
        with_load("rate = \"5/s\"")
    );
    let message = refused(&text);
    let hint = message.lines().find(|line| line.contains("known here: ")).unwrap_or_default();
    assert_eq!(hint.matches("operation-1").count() + hint.matches("home").count(), 1, "{message}");
}

#[test]
fn many_levels_are_refused_at_once() {
    let levels: Vec<String> = (0..100_000).map(|level| level.to_string()).collect();
    let text = format!("[factors]\nx = [{}]\n{}", levels.join(","), with_load("rate = \"5/s\""));
    assert!(refused(&text).contains("the factors span more than 1000 arms"));
}

#[test]
fn an_empty_file_says_what_is_missing() {
    let message = refused("");
    assert!(message.contains("missing `[[operation]]`"), "{message}");
    assert!(message.contains("missing table `[load]`"), "{message}");
}

#[test]
fn a_path_in_the_target_is_moved_to_the_operation() {
    let message = refused(&HOME.replace(":8080\"", ":8080/api\""));
    assert!(message.contains("hint: write path = \"/api\" in the operation"), "{message}");
}

#[test]
fn a_placeholder_that_nothing_fills_is_refused_in_a_target() {
    let message = refused(&HOME.replace("http://127.0.0.1:8080", "http://{{evn.HOST}}:8080"));
    assert!(
        message.contains("error: unknown placeholder in `http://{{evn.HOST}}:8080`"),
        "{message}"
    );
}

#[test]
fn an_unknown_system_names_the_near_one() {
    let text = format!("[system]\nserve = \"trth\"\n{}", with_load("rate = \"5/s\""));
    assert!(refused(&text).contains("did you mean `truth`?"));
}

#[test]
fn no_damage_to_a_file_makes_the_reader_panic() {
    use crate::randomness::{RandomStream, below, draw};
    let whole = r#"title = "é {{env.TOKEN}}"
criteria = ["a p99 < 20ms", "a n / failed == 100%"]
[factors]
x = [1, 2]
w = { s = { rate = "5/s" }, c = { users = 3, think = "1s..3s" } }
[design]
blocks = 2
[[service]]
name = "redis"
command = "redis-server --save '' {port}"
[system]
serve = "truth"
set = { a = "{{factor.x}}" }
[load]
stages = [{ to = "5/s", over = "3s" }, { hold = "1m" }]
[[operation]]
name = "a"
when = { x = [1, 2] }
http = { path = "/{{row.query}}/{{random 0..9}}/{{bytes 1KiB}}" }
rows = { file = "data/queries.csv", order = "once" }
items = { n = "$.n" }
[[operation]]
targets = { file = "targets.txt" }
"#;
    assert_eq!(read(whole, &set(&[])).err(), None);
    let pieces = ["", "\"", "{", "}", "[", "=", "{{", "..", "-1", "0", "é", "\n", "9999999999999"];
    let places: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
    let mut refused = 0;
    for case in 0..1500 {
        let bits = |n: u64, bound: usize| {
            below(draw(case, RandomStream::Content, n), bound as u64) as usize
        };
        let start = places[bits(0, places.len())];
        let end = places[bits(1, places.len())].clamp(start, start + 12);
        let end = (end..).find(|at| whole.is_char_boundary(*at)).unwrap();
        let damaged =
            format!("{}{}{}", &whole[..start], pieces[bits(2, pieces.len())], &whole[end..]);
        let options = Options { quick: case % 2 == 0, ..set(&[]) };
        match read(&damaged, &options) {
            Ok(plan) => assert!(!plan.describe().is_empty()),
            Err(message) => {
                assert!(message.starts_with("error: "), "{message}");
                refused += 1;
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn no_complaint_quotes_a_secret() {
    let rate = HOME.replace("\"500/s\"  ", "\"{{env.TOKEN}}\"");
    let message = refused(&rate);
    assert!(message.contains("got \"{{env.TOKEN}}\""), "{message}");
    assert!(!message.contains("s3cr3t-token"), "{message}");
    let header = "http = { path = \"/{{nope}}\", header = { cookie = \"id=h1dden\" } }";
    let message = refused(&HOME.replace("http = { path = \"/\" }", header));
    assert!(message.contains("{{env.COOKIE}}") && !message.contains("h1dden"), "{message}");
}

#[test]
fn a_name_made_of_the_environment_is_refused() {
    let message = refused(&HOME.replace("\"home\"", "\"{{env.TOKEN}}\""));
    assert!(message.contains("a name appears in every output"), "{message}");
    assert!(message.contains("hint: write the name out"), "{message}");
}

#[test]
fn a_name_that_no_file_could_bear_is_refused() {
    let named = |letters: usize| HOME.replace("\"home\"", &format!("\"{}\"", "a".repeat(letters)));
    assert!(refused(&named(101)).contains("expected at most 100 characters"));
    plan(&named(100));
}

#[test]
fn an_address_that_cannot_be_is_refused() {
    let at = |url: &str| refused(&HOME.replace("http://127.0.0.1:8080", url));
    let credentials = at("http://u:p4ss@127.0.0.1:8080");
    assert!(credentials.contains("an address holds credentials"), "{credentials}");
    assert!(at("http://127.0.0.1:0").contains("port 0 cannot be a target"));
    assert!(at("http://127.0.0.1:8080/#top").contains("a target is scheme, host and port"));
    let place = "http://127.0.0.1:8080\"\nconnect_to = \"127.0.0.1:99999";
    assert!(at(place).contains("expected a place such as 127.0.0.1:8080"));
    for one in ["127.0.0.1:1,", "127.0.0.1:1,,127.0.0.2:1", "127.0.0.1:1 127.0.0.2:1"] {
        let place = format!("http://127.0.0.1:8080\"\nconnect_to = \"{one}");
        assert!(at(&place).contains("expected a place such as 127.0.0.1:8080"), "{one}");
    }
    for good in ["[::1]:80", "127.0.0.1:1, 127.0.0.2:1"] {
        let place = format!("http://a\"\nconnect_to = \"{good}");
        plan(&HOME.replace("http://127.0.0.1:8080", &place));
    }
}

#[test]
fn a_path_without_end_leads_nowhere() {
    let path = format!("{}=1", vec!["a"; 50_000].join("."));
    let message = read(HOME, &set(&[&path])).unwrap_err();
    assert!(message.contains("no setting has a path of 50000 keys"), "{message}");
}

#[test]
fn of_very_many_problems_some_are_shown_and_all_are_counted() {
    let keys: String = (0..5000).map(|number| format!("zz{number} = 1\n")).collect();
    let message = refused(&(HOME.to_owned() + &keys));
    assert_eq!(message.matches("error: ").count(), 101);
    assert!(message.ends_with("error: and 4900 problems more"));
}

#[test]
fn an_address_that_nobody_will_fill_is_refused() {
    assert_eq!(
        refused(&HOME.replace("http://127.0.0.1:8080", "http://{nosuch}")),
        r#"error: unknown placeholder `nosuch`
 --> test.toml:7:15
  |
7 | url = "http://{nosuch}"
  |               ^^^^^^^^ not a known placeholder
  |
  = hint: no process named `{nosuch}` is started"#
    );
    let started = "[[service]]\nname = \"redis\"\ncommand = \"redis-server --port {port}\"\n[[operation]]\n\
                   target = { url = \"http://{redsi}\" }\n";
    let message = refused(&HOME.replace("[[operation]]\n", started));
    assert!(message.contains("did you mean `redis`?"), "{message}");
    assert!(message.contains("started here: redis"), "{message}");
    let known = HOME
        .replace("127.0.0.1:8080", "{redis}")
        .replace("[[operation]]\n", &started.replace("redsi", "redis"));
    assert!(read(&known, &Options { fresh_seed: 1, ..Options::default() }).is_ok());
}
