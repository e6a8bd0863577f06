//! `[design]`: order, exclusions, A/A pairs, rehearsals, and reasons why an experiment cannot decide.

use super::*;

fn file(design: &str, comparison: &str) -> String {
    format!(
        r#"[factors]
path        = ["direct", "front"]
connections = [1, 10, 100]
[design]
{design}
[target]
url = "http://127.0.0.1:8080"
[load]
connections = "{{{{factor.connections}}}}"
duration    = "30s"
[[operation]]
name = "get"
http = {{ path = "/{{{{factor.path}}}}" }}
{comparison}"#
    )
}

const COMPARISON: &str =
    "[[comparison]]\nfactor = \"path\"\nbaseline = \"direct\"\nmetrics = [\"p50\"]\n";

fn refused(design: &str, comparison: &str) -> String {
    read(&file(design, comparison), &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(|arm| arm.name.as_str()).collect()
}

#[test]
fn excluded_combinations_are_no_arms() {
    let design = "exclude = [{ path = \"front\", connections = 10 }, { connections = 100 }]";
    let whole = plan(&file(&design.replace(", { connections = 100 }", ""), ""));
    assert_eq!(names(&whole).len(), 5);
    let message = refused(design, "");
    assert!(message.contains("error: level `100` of `connections` remains in no arm"), "{message}");
    assert!(message.contains("test.toml:5:11"), "the caret is at the exclusions: {message}");
    assert_eq!(
        names(&plan(
            &file(design, "").replace(", 100]", "]").replace(", { connections = 100 }", "")
        )),
        ["path=direct,connections=1", "path=direct,connections=10", "path=front,connections=1"]
    );
}

#[test]
fn exclusions_are_checked_all_at_once() {
    let design = "exclude = [{ pth = \"front\" }, { path = \"frnt\" }, { }]";
    let message = refused(design, "");
    for said in [
        "unknown factor `pth`",
        "did you mean `path`?",
        "unknown level of `path` `frnt`",
        "did you mean `front`?",
        "an exclusion without a factor would exclude everything",
    ] {
        assert!(message.contains(said), "{said} is missing in\n{message}");
    }
    let all = refused("exclude = [{ path = \"front\" }, { path = \"direct\" }]", "");
    assert!(all.contains("level `direct` of `path` remains in no arm"), "{all}");
    assert!(all.contains("level `1` of `connections` remains in no arm"), "{all}");
}

#[test]
fn abba_goes_forwards_and_backwards() {
    let plan = plan(&file("blocks = 6\norder = \"abba\"", ""));
    let arms: Vec<usize> = plan.trials.iter().take(12).map(|trial| trial.arm).collect();
    assert_eq!(arms, [0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0]);
    let odd = refused("blocks = 7\norder = \"abba\"", "");
    assert!(
        odd.contains("even number of blocks (got 7)") && odd.contains("write blocks = 8"),
        "{odd}"
    );
    let unknown = refused("order = \"baab\"", "");
    assert!(unknown.contains("expected \"random\" or \"abba\", got \"baab\""), "{unknown}");
}

#[test]
fn aa_repeats_the_baseline_in_pairs() {
    let plan = plan(&file("aa = 4", COMPARISON));
    assert_eq!(plan.trials.len(), 10 * 6 + 4 * 2);
    let pairs: Vec<u32> = (1..=14).filter(|block| plan.is_aa(*block)).collect();
    assert_eq!(pairs, [11, 12, 13, 14]);
    let alone = plan.trials.iter().filter(|trial| trial.block > 10);
    assert!(alone.clone().all(|trial| names(&plan)[trial.arm] == "path=direct,connections=1"));
    assert!(plan.describe().contains("A/A"));
    let message = refused("aa = 4", "");
    assert!(
        message
            .contains("`aa` repeats the baseline of a comparison, but no comparison is declared"),
        "{message}"
    );
    assert!(refused("aa = 1", COMPARISON).contains("from 2"), "{}", refused("aa = 1", COMPARISON));
}

#[test]
fn a_factor_that_nothing_uses_is_refused() {
    let text = file("", "").replace("/{{factor.path}}", "/");
    let message = read(&text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err();
    assert!(message.contains("error: factor `path` is never used"), "{message}");
    assert!(message.contains("test.toml:2:1"), "{message}");
    // A `when` condition counts as a use, too.
    plan(
        &text
            .replace("name = \"get\"", "name = \"get\"\nwhen = { path = [\"direct\", \"front\"] }"),
    );
}

#[test]
fn exclusions_count_when_it_is_asked_what_blocks_can_decide() {
    // Three strata need 7 blocks; a single remaining one needs 6.
    let message = refused("blocks = 6", COMPARISON);
    assert!(message.contains("6 blocks cannot decide 3 comparisons"), "{message}");
    let exclude = "blocks = 6\nexclude = [{ path = \"front\", connections = 10 }, \
                   { path = \"front\", connections = 100 }]";
    assert_eq!(names(&plan(&file(exclude, COMPARISON))).len(), 4);
    let alone = "exclude = [{ path = \"front\", connections = 1 }, { path = \"direct\", connections = 10 }, \
                 { path = \"direct\", connections = 100 }]";
    let message = refused(alone, COMPARISON);
    assert!(message.contains("no two arms differ in `path` alone"), "{message}");
}

#[test]
fn blocks_are_spared_beside_those_that_decide() {
    // Three strata need 7 blocks.
    let spared = plan(&file("blocks = 10\nspare = 3", COMPARISON));
    assert_eq!((spared.spare, spared.to_json()["spare"].as_u64()), (3, Some(3)));
    let without = plan(&file("blocks = 10", COMPARISON));
    assert_eq!((without.spare, without.to_json().get("spare")), (0, None));
    let message = refused("blocks = 10\nspare = 4", COMPARISON);
    assert!(
        message.contains("6 blocks beside 4 spare ones cannot decide 3 comparisons"),
        "{message}"
    );
    assert!(message.contains("write blocks = 11 or more in [design]"), "{message}");
    let message = refused("blocks = 3\nspare = 3", "");
    assert!(message.contains("spare = 3 leaves no block of 3 to judge"), "{message}");
}

/// Two arms under an open load of twenty seconds.
fn two(design: &str, load: &str) -> String {
    let whole = file(design, "").replace("connections = [1, 10, 100]\n", "");
    let (head, tail) = whole.split_once("connections = \"{{factor.connections}}\"").unwrap();
    let (_, tail) = tail.split_once("\"30s\"").unwrap();
    format!("{head}{load}{tail}")
}

#[test]
fn a_duet_executes_both_arms_of_a_block_at_the_same_time() {
    let load = "rate = \"50/s\"\nduration = \"20s\"\nwarm_up = \"5s\"";
    let duet = plan(&two("blocks = 6\nduet = true", load));
    let apart = plan(&two("blocks = 6\nduet = false", load));
    assert!(duet.trials.iter().all(|trial| trial.duet), "{:?}", duet.trials);
    assert!(apart.trials.iter().all(|trial| !trial.duet) && !apart.is_duet());
    let (seconds, six) = (Duration::from_secs, 6 * 25);
    assert_eq!((duet.wall_time(), apart.wall_time()), (Some(seconds(six)), Some(seconds(2 * six))));
    assert_ne!(duet.hash(), apart.hash());
    assert_eq!(apart.hash(), plan(&two("blocks = 6", load)).hash(), "the default");
    let said = duet.describe();
    for line in [
        "duet         both arms of a block at the same time: arrivals at twice the rate below, each \
         assigned to an arm by a fair draw, so that either gets that rate",
        "  load       open, Poisson 50/s, measured for 20s",
        "12 trials, two at a time, in this order",
    ] {
        assert!(said.contains(line), "{line} is missing in\n{said}");
    }
    assert_eq!(said.lines().filter(|line| line.ends_with("  duet")).count(), 12, "{said}");
    // An A/A pair measures the noise of duets, and a rehearsal may be a duet, too.
    let aa = two("aa = 2\nduet = true", load) + COMPARISON;
    assert!(plan(&aa).trials.iter().all(|trial| trial.duet));
    let quick = Options { quick: true, fresh_seed: 1, ..Options::default() };
    assert!(read(&aa, &quick).unwrap().trials.iter().all(|trial| trial.duet));
}

#[test]
fn what_cannot_be_a_duet_is_told_all_at_once() {
    let refused =
        |text: &str| read(text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err();
    let message = refused(&file("blocks = 6\nduet = true\norder = \"abba\"", ""));
    for said in [
        "error: a duet needs two arms (got 6)\n --> test.toml:6:8",
        "needs exactly two arms",
        "error: a closed loop has no arrivals that a duet could assign to its arms\n --> test.toml:6:8",
        "give [load] a `rate`, or leave `duet` out",
        "error: `order` has no effect in a duet: both arms run at the same time\n --> test.toml:7:10",
    ] {
        assert!(message.contains(said), "{said} is missing in\n{message}");
    }
    assert_eq!(message.matches("error: ").count(), 3, "each once: {message}");
    let duet = |load: &str| refused(&two("duet = true", load));
    let constant = duet("rate = \"50/s\"\narrivals = \"constant\"\noperations = 100");
    assert!(constant.contains("a random half of constant arrivals"), "{constant}");
    assert!(constant.contains("a number of operations would end the arms"), "{constant}");
    let unlike = two("duet = true", "rate = \"50/s\"\nduration = \"20s\"")
        .replace("path        = [\"direct\", \"front\"]", "path = [\"50/s\", \"60/s\"]")
        .replace("\"50/s\"\nduration", "\"{{factor.path}}\"\nduration");
    let unlike = refused(&unlike);
    assert!(unlike.contains("share the arrivals, and theirs are not the same"), "{unlike}");
    let wrong = refused(&two("duet = 1", "rate = \"50/s\"\nduration = \"20s\""));
    assert!(wrong.contains("expected true or false"), "{wrong}");
}

#[test]
fn a_rehearsal_is_short_and_marked() {
    let quick = |text: &str| {
        read(text, &Options { quick: true, fresh_seed: 1, ..Options::default() }).unwrap()
    };
    let single = quick(HOME);
    assert!(single.rehearsal);
    assert_eq!(single.wall_time(), Some(Duration::from_secs(16)));
    let designed = quick(
        r#"
[factors]
messages = [0, 10, 20, 40]
path = ["direct", "front"]
[[comparison]]
factor = "messages"
baseline = 0
metrics = ["mean"]
[target]
url = "http://127.0.0.1:8080"
[load]
rate = "200/s"
[[operation]]
http = { path = "/{{factor.messages}}/{{factor.path}}" }
"#,
    );
    let names: Vec<&str> = designed.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "messages=0,path=direct",
            "messages=0,path=front",
            "messages=40,path=direct",
            "messages=40,path=front"
        ]
    );
    assert_eq!(designed.trials.len(), 8);
    // 15 s of measuring in all, and a warm-up of 1 s for each trial.
    assert_eq!(designed.wall_time(), Some(Duration::from_secs(15 + 8)));
}

#[test]
fn a_rehearsal_of_what_exclusions_left_has_two_arms_at_least() {
    // Of the four combinations only direct with 1 connection remains.
    let exclude = "exclude = [{ path = \"direct\", connections = 100 }, { path = \"front\", connections = 1 }, \
                   { path = \"front\", connections = 100, other = \"a\" }]";
    let text = file(exclude, "").replace("[design]", "other = [\"a\", \"b\", \"c\"]\n[design]");
    let text = text.replace("\"/{{factor.path}}\"", "\"/{{factor.path}}/{{factor.other}}\"");
    let text = text.replace(
        "{ path = \"direct\", connections = 100 }",
        "{ path = \"direct\", connections = 100 }, { path = \"direct\", connections = 1, other = \"c\" }, \
         { path = \"front\", connections = 100, other = \"c\" }",
    );
    let quick = Options { quick: true, fresh_seed: 1, ..Options::default() };
    let plan = read(&text, &quick).unwrap();
    let first = "path=direct,connections=1,other=a";
    assert_eq!(names(&plan), [first, "path=front,connections=100,other=b"]);
}
