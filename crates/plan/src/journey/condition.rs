//! Conditions over captured values: `login.token`, `list.count > 0`, `"$.state == 'done'"`.

use serde::Serialize;

use super::memory::Captured;

/// What must hold of a captured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// Place of the capture.
    pub capture: usize,
    /// What is held against its value.
    pub test: Test,
}

/// A test of one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// There is one.
    Present,
    /// It is this text.
    Is(String),
    /// It is another text, or absent.
    IsNot(String),
    /// It is a number below this one.
    Below(f64),
    /// It is a number of at most this one.
    AtMost(f64),
    /// It is a number above this one.
    Above(f64),
    /// It is a number of at least this one.
    AtLeast(f64),
}

impl Test {
    /// Whether a value passes; of a list its length counts where a number is asked for.
    pub fn holds(&self, value: Option<&Captured>) -> bool {
        let number = || match value? {
            Captured::One(text) => text.trim().parse::<f64>().ok(),
            Captured::All(list) => Some(list.len() as f64),
        };
        let is = |wanted: &str| matches!(value, Some(Captured::One(text)) if **text == *wanted);
        match self {
            Self::Present => value.is_some_and(|value| !value.is_empty()),
            Self::Is(wanted) => is(wanted),
            Self::IsNot(wanted) => !is(wanted),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
            Self::AtMost(bound) => number().is_some_and(|number| number <= *bound),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::AtLeast(bound) => number().is_some_and(|number| number >= *bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_values() {
        let text = Captured::One("7".into());
        let list = Captured::All(vec!["a".into(), "b".into()]);
        let none = Captured::All(Vec::new());
        assert!(Test::Present.holds(Some(&text)) && !Test::Present.holds(None));
        assert!(!Test::Present.holds(Some(&none)));
        assert!(
            Test::Is("7".into()).holds(Some(&text)) && !Test::Is("8".into()).holds(Some(&text))
        );
        assert!(Test::IsNot("7".into()).holds(None));
        assert!(Test::Above(1.0).holds(Some(&list)) && !Test::Above(2.0).holds(Some(&list)));
        assert!(Test::AtLeast(7.0).holds(Some(&text)) && !Test::Below(7.0).holds(Some(&text)));
        assert!(Test::AtMost(0.0).holds(Some(&none)) && !Test::AtMost(7.0).holds(None));
    }
}
