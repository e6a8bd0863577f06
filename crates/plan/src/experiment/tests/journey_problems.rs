//! One problem for one mistake, in few words.

use super::journeys::SHOP;
use super::*;

fn refused(text: &str) -> String {
    read(text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

#[test]
fn a_wrong_stage_is_one_problem() {
    for (stages, message) in [
        ("{ to = \"abc\", over = \"1m\" }", "got \"abc\""),
        ("{ too = \"5/s\", over = \"1m\" }", "unknown key `too`"),
        ("{ to = \"5/s\" }", "expected a stage such as { to"),
        ("{ to = \"5/s\", hold = \"1m\" }", "expected a stage such as { to"),
        ("5", "expected a stage such as { to"),
        ("{ users = 5 }", "expected a stage such as { users"),
        ("{ users = -5, over = \"1m\" }", "got -5"),
        ("{ users = 5, over = \"1 minute\" }", "1 minute"),
        ("{ usrs = 5, over = \"1m\" }, { users = 5, over = \"1m\" }", "unknown key `usrs`"),
    ] {
        let shown = refused(&with_load(&format!("stages = [{stages}]")));
        assert!(shown.contains(message), "{shown}");
        assert_eq!(shown.matches("error: ").count(), 1, "{shown}");
    }
}

#[test]
fn a_long_text_is_shown_shortened() {
    let long = "x".repeat(5_000);
    for load in
        [format!("rate = \"{long}\""), format!("{long} = 1"), format!("replay = \"{long}\"")]
    {
        let shown = refused(&with_load(&load));
        assert!(!shown.contains(&long[..1_100]), "{shown}");
    }
}

#[test]
fn what_every_journey_performs_is_provided() {
    let step = |share: &str| {
        SHOP.replace(
            "{ do = \"buy\", share = \"30%\" }",
            &format!("{{ do = \"buy\", share = \"{share}\" }}"),
        )
        .replace("{ do = \"pay\", when = \"buy.order\" }", "\"pay\"")
    };
    plan(&step("100%"));
    assert!(refused(&step("99%")).contains("may skip `buy`"));
}
