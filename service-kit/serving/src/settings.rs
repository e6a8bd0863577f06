//! A typed reader of settings that collects every problem before it gives up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use quantities::{near_miss, parse_duration, parse_rate, parse_ratio, parse_size, zero_or};
use serde_json::Value;

use crate::error::{BadOption, BadOptions, Kind, Setting};

/// Reads settings by name and type, and remembers what was asked for and what was wrong.
///
/// Reading methods always return a value, so that reading continues past a problem; use the values
/// only if [`Settings::finish`] succeeds. Settings that no method has read are unknown: a setting
/// of another mode is refused, with a list of the known ones.
#[derive(Debug)]
pub struct Settings<'a> {
    given: &'a BTreeMap<String, Value>,
    /// What each setting that was asked for expects.
    asked: RefCell<BTreeMap<&'static str, String>>,
    problems: RefCell<Vec<BadOption>>,
}

impl<'a> Settings<'a> {
    /// A reader over what was given.
    pub fn new(given: &'a BTreeMap<String, Value>) -> Self {
        Self { given, asked: RefCell::default(), problems: RefCell::default() }
    }

    /// A length of time in nanoseconds, such as `1ms`.
    pub fn time(&self, key: &'static str, default_ns: u64) -> u64 {
        self.quantity(key, "a time such as 1ms", nanoseconds).unwrap_or(default_ns)
    }

    /// A length of time above zero, in nanoseconds.
    pub fn positive_time(&self, key: &'static str, default_ns: u64) -> u64 {
        let parse = |text: &str| nanoseconds(text).filter(|ns| *ns > 0);
        self.quantity(key, "a time above zero such as 1ms", parse).unwrap_or(default_ns)
    }

    /// The same as a [`Duration`].
    pub fn duration(&self, key: &'static str, default: Duration) -> Duration {
        Duration::from_nanos(self.time(key, in_nanoseconds(default)))
    }

    /// A length of time above zero.
    pub fn positive_duration(&self, key: &'static str, default: Duration) -> Duration {
        Duration::from_nanos(self.positive_time(key, in_nanoseconds(default)))
    }

    /// A size in bytes, such as `64KiB`.
    pub fn size(&self, key: &'static str, default_bytes: u64) -> u64 {
        self.quantity(key, "a size such as 64KiB", |text| zero_or(text, parse_size))
            .unwrap_or(default_bytes)
    }

    /// A rate per second, such as `1000/s`.
    pub fn rate(&self, key: &'static str, default: f64) -> f64 {
        self.optional_rate(key).unwrap_or(default)
    }

    /// A rate, if the setting is given.
    pub fn optional_rate(&self, key: &'static str) -> Option<f64> {
        self.quantity(key, "a rate such as 1000/s", |text| {
            parse_rate(text).filter(|rate| *rate > 0.0)
        })
    }

    /// A share in [0, 1], such as `25%` or `0.25`.
    pub fn ratio(&self, key: &'static str, default: f64) -> f64 {
        self.quantity(key, "a share such as 25% or 0.25", parse_ratio).unwrap_or(default)
    }

    /// A whole number within a range.
    pub fn count(&self, key: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.optional_count(key, range).unwrap_or(default)
    }

    /// A whole number within a range, if the setting is given.
    pub fn optional_count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = match (range.start(), range.end()) {
            (low, &u64::MAX) => format!("a whole number from {low} on"),
            (low, high) => format!("a whole number from {low} to {high}"),
        };
        let parse = |text: &str| text.trim().parse().ok().filter(|count| range.contains(count));
        self.quantity(key, &expected, parse)
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &'static str, default: bool) -> bool {
        self.quantity(key, "true or false", |text| text.trim().parse().ok()).unwrap_or(default)
    }

    /// Text.
    pub fn text(&self, key: &'static str, default: &str) -> String {
        self.quantity(key, "text", |text| Some(text.to_owned())).unwrap_or(default.to_owned())
    }

    /// The content of the file with this name, for secrets: other users can read the command line.
    pub fn content(&self, key: &'static str) -> Option<String> {
        let path = Some(self.text(key, "")).filter(|path| !path.is_empty())?;
        let content = std::fs::read_to_string(&path);
        content.map_err(|error| self.wrong(key, format!("{path}: {error}"))).ok()
    }

    /// One of a closed list of names, as its place in the list.
    pub fn choice(&self, key: &'static str, names: &[&str], default: usize) -> usize {
        let expected = format!("one of {}", names.join(", "));
        let parse = |text: &str| names.iter().position(|name| *name == text.trim());
        self.quantity(key, &expected, parse).unwrap_or(default)
    }

    /// A value as it was given, for a setting that is more than one word; its reader judges it.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().entry(key).or_default();
        self.given.get(key)
    }

    /// Adds a problem that only the reading system can see, such as two settings at odds.
    pub fn refuse(&self, problem: impl Into<BadOption>) {
        self.problems.borrow_mut().push(problem.into());
    }

    /// Adds a problem with the value of one setting.
    pub fn wrong(&self, key: &str, what: impl Into<String>) {
        self.refuse(BadOption::of(key, what));
    }

    /// Adds that a setting was given which changes nothing beside the others; `what` says beside which it would.
    pub fn idle(&self, key: &str, what: impl Into<String>) {
        self.refuse(BadOption { kind: Kind::Idle, ..BadOption::of(key, what) });
    }

    /// Whether a setting was given at all.
    pub fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// The problems so far; for use after a setting that decides which others exist.
    ///
    /// Errors: every wrong value up to here, unknown settings left aside
    pub fn check(&self) -> Result<(), BadOptions> {
        let problems = self.problems.borrow().clone();
        if problems.is_empty() { Ok(()) } else { Err(BadOptions::of(problems)) }
    }

    /// Ends the reading; `scope` names it in messages, as in "mode mm1".
    ///
    /// Errors: every wrong value and every unknown setting
    pub fn finish(self, scope: &str) -> Result<(), BadOptions> {
        let mut bad = BadOptions { problems: self.problems.into_inner() };
        let asked = self.asked.into_inner();
        let names: Vec<&'static str> = asked.keys().copied().collect();
        let setting =
            |(name, expects): (&&'static str, &String)| Setting { name, expects: expects.clone() };
        for key in self.given.keys().filter(|key| !asked.contains_key(key.as_str())) {
            let near = unique_suffix(key, &names).or_else(|| near_miss(key, &names));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let kind = Kind::Unknown(asked.iter().map(setting).collect());
            let what = format!("no setting of {scope}{near}");
            bad.problems.push(BadOption { kind, ..BadOption::of(key, what) });
        }
        if bad.problems.is_empty() { Ok(()) } else { Err(bad) }
    }

    fn quantity<T>(
        &self,
        key: &'static str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.asked.borrow_mut().insert(key, expected.to_owned());
        let value = self.given.get(key)?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                self.wrong(key, format!("expected {expected}, got {value}"));
                return None;
            }
        };
        let parsed = parse(&text);
        if parsed.is_none() {
            self.wrong(key, format!("expected {expected}, got \"{text}\""));
        }
        parsed
    }
}

/// The one known name that ends with these words, as that of a setting passed on to another process does.
fn unique_suffix(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let ends = |name: &&&str| name.strip_suffix(text).is_some_and(|first| first.ends_with('_'));
    let mut ending = known.iter().filter(ends);
    ending.next().filter(|_| !text.is_empty() && ending.next().is_none()).copied()
}

fn nanoseconds(text: &str) -> Option<u64> {
    zero_or(text, parse_duration).map(in_nanoseconds)
}

/// Whole nanoseconds, as settings and ready lines have them.
pub fn in_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use serde_json::json;

    #[test]
    fn values_are_read_by_type_from_text_and_from_json() {
        let options = Options::default()
            .with("service", "1ms")
            .with("share", 0.5)
            .with("pieces", 7)
            .with("keep", true)
            .with("body", "1KiB")
            .with("how", "fast");
        let settings = Settings::new(&options.settings);
        assert_eq!(settings.time("service", 0), 1_000_000);
        assert_eq!(settings.ratio("share", 1.0), 0.5);
        assert_eq!(settings.count("pieces", 1, 1..=9), 7);
        assert!(settings.flag("keep", false));
        assert_eq!(settings.size("body", 0), 1024);
        assert_eq!(settings.choice("how", &["slow", "fast"], 0), 1);
        assert_eq!(settings.text("title", "none"), "none");
        assert_eq!(settings.rate("rate", 2.5), 2.5);
        settings.finish("the test").unwrap();
    }

    #[test]
    fn every_problem_is_collected_and_unknown_keys_say_what_exists() {
        let options = Options::default()
            .with("service", 5)
            .with("pieces", 0)
            .with("many", -1)
            .with("body", json!([1]))
            .with("servise", "1ms");
        let settings = Settings::new(&options.settings);
        assert_eq!(settings.time("service", 3), 3);
        settings.count("pieces", 1, 1..=9);
        settings.optional_count("many", 1..=u64::MAX);
        settings.size("body", 0);
        settings.refuse("service and pieces are at odds");
        settings.idle("service", "nothing asks for it");
        let error = settings.finish("mode constant").unwrap_err();
        assert_eq!(
            error.sentences(),
            [
                "service: expected a time such as 1ms, got \"5\"",
                "pieces: expected a whole number from 1 to 9, got \"0\"",
                "many: expected a whole number from 1 on, got \"-1\"",
                "body: expected a size such as 64KiB, got [1]",
                "service and pieces are at odds",
                "service: nothing asks for it",
                "servise: no setting of mode constant; did you mean service?",
            ]
        );
        let kinds: Vec<Kind> = error.problems.iter().map(|one| one.kind.clone()).collect();
        assert_eq!(kinds[3..5], [Kind::Value, Kind::Value]);
        let setting =
            |(name, expects): (&'static str, &str)| Setting { name, expects: expects.into() };
        let known = [
            ("body", "a size such as 64KiB"),
            ("many", "a whole number from 1 on"),
            ("pieces", "a whole number from 1 to 9"),
            ("service", "a time such as 1ms"),
        ];
        assert_eq!(kinds[5..], [Kind::Idle, Kind::Unknown(known.map(setting).into())]);
        assert!(!error.to_string().contains('\n'));
    }

    #[test]
    fn the_last_words_of_a_name_are_enough_if_no_other_ends_so() {
        let known = ["other_slots", "producer_answer_room", "producer_slots", "room"];
        assert_eq!(unique_suffix("answer_room", &known), Some("producer_answer_room"));
        assert_eq!(unique_suffix("slots", &known), None, "of whom?");
        assert_eq!(unique_suffix("lots", &known), None, "no word");
        assert_eq!(unique_suffix("room", &known[2..]), None, "that is one itself");
        assert_eq!(unique_suffix("", &["producer_"]), None);
        let options = Options::default().with("answer_room", "0");
        let settings = Settings::new(&options.settings);
        settings.size("producer_answer_room", 0);
        let told = settings.finish("exchange").unwrap_err().to_string();
        assert!(told.ends_with("; did you mean producer_answer_room?"), "{told}");
    }
}
