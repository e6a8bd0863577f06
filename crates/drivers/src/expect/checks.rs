//! Checks a complete answer against rules and item paths.

use serde_json::Value;

use super::answer_view::AnswerView;
use super::json::Path;
use super::rule::AnswerRule;
use crate::probe::CheckedExpectation;

impl AnswerView<'_> {
    /// What to report if the body is longer than one of these reads.
    pub fn too_long(&self, rules: &[AnswerRule], paths: &[Path]) -> Option<String> {
        let rule = rules.iter().find(|rule| self.is_beyond(rule.reads()));
        let path = || paths.iter().find(|path| self.is_beyond(path.reads()));
        let text = |path: &Path| (format!("item {}", path.text()), path.reads());
        let (what, reads) = match rule {
            Some(rule) => (format!("`{rule}`"), rule.reads()),
            None => path().map(text)?,
        };
        Some(format!("{what} reads at most {reads} bytes, but the body has {}", self.body.len()))
    }

    fn is_beyond(&self, reads: usize) -> bool {
        self.body.len() > reads
    }

    /// The violations of these rules, if any.
    pub fn violations(&self, rules: &[AnswerRule]) -> Option<String> {
        let broken = |rule: &AnswerRule| {
            let seen = rule.check(self).err()?;
            Some(format!("expected {rule}, got {seen}"))
        };
        let violations: Vec<String> = rules.iter().filter_map(broken).collect();
        (!violations.is_empty()).then(|| violations.join("; "))
    }

    /// The result of each rule and each path.
    pub fn checks(&self, rules: &[AnswerRule], paths: &[Path]) -> Vec<CheckedExpectation> {
        if let Some(seen) = self.too_long(rules, paths) {
            let text = "the body is short enough".to_owned();
            return vec![CheckedExpectation { text, holds: false, seen }];
        }
        let rules = rules.iter().map(|rule| {
            let seen = rule.check(self);
            let holds = seen.is_ok();
            CheckedExpectation {
                text: rule.to_string(),
                holds,
                seen: seen.unwrap_or_else(|seen| seen),
            }
        });
        let items = paths.iter().map(|path| {
            let value = self.json().and_then(|body| path.value(body));
            let holds = value.as_ref().is_ok_and(Value::is_number);
            let seen = value.map_or_else(|why| why, |value| value.to_string());
            CheckedExpectation { text: format!("item {} is a number", path.text()), holds, seen }
        });
        rules.chain(items).collect()
    }
}
