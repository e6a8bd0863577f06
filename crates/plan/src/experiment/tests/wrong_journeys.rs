//! Files with journeys that cannot be run, each beside what a person then reads.

use super::*;

macro_rules! case {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("wrong_journeys/", $name, ".toml")),
            include_str!(concat!("wrong_journeys/", $name, ".txt")),
        )
    };
}

const CASES: [(&str, &str, &str); 19] = [
    case!("conditions"),
    case!("different_rows"),
    case!("each_without_list"),
    case!("every_without_until"),
    case!("later_capture"),
    case!("list_as_one_value"),
    case!("names_itself"),
    case!("nothing_but_thinking"),
    case!("one_name_for_both"),
    case!("rows_on_a_step"),
    case!("seven_at_once"),
    case!("share_of_130_percent"),
    case!("skipped_step"),
    case!("steps_of_setup"),
    case!("think_without_unit"),
    case!("two_repeats"),
    case!("unknown_step"),
    case!("users_rise_again"),
    case!("weight_on_a_step"),
];

#[test]
fn every_wrong_file_says_what_is_wrong_where_and_what_to_do() {
    for (name, text, expected) in CASES {
        let world = ExperimentContext { inputs: &Memory::new(), known: &Build };
        let options = Options { fresh_seed: 1, ..Options::default() };
        let refused = load(&format!("{name}.toml"), text, world, &options).unwrap_err();
        assert_eq!(refused.render(Colour::Off) + "\n", expected, "{name}");
    }
}
