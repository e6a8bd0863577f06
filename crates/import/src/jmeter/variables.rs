//! `${name}` and `${__function(…)}` in texts of a test plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::credentials::{self, is_secret};
use crate::draft::Draft;
use crate::masks::Masks;
use crate::text::Text;

/// Variables in the values of variables are replaced so deep.
const DEEPEST: usize = 8;
/// Texts that would become longer keep their variables.
const LONGEST: usize = 1 << 16;

/// What is known of the variables.
#[derive(Default)]
pub(super) struct Variables {
    /// Those that the plan sets.
    pub(super) set: BTreeMap<String, String>,
    /// Columns of the data.
    pub(super) columns: BTreeSet<String>,
    /// What answers give: the operation's place and the value's name.
    pub(super) captured: BTreeMap<String, (usize, String)>,
}

impl Variables {
    /// The text with a mask for each variable that is no value of the plan.
    pub(super) fn masked(
        &self,
        text: &str,
        line: Option<usize>,
        masks: &mut Masks,
        draft: &mut Draft,
    ) -> String {
        let text = self.filled(text);
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = closed(after) else { break };
            out.push_str(before);
            let placeholder = self.placeholder(name.trim(), line, draft);
            out.push_str(&masks.stand_in(placeholder));
            rest = behind;
        }
        out + rest
    }

    /// The text with the values of the plan in their places.
    pub(super) fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..DEEPEST {
            let mut out = String::new();
            let mut rest = text.as_str();
            let mut is_changed = false;
            while let Some((before, after)) = rest.split_once("${") {
                let Some((name, behind)) = closed(after) else { break };
                out.push_str(before);
                let value = self.value(name.trim());
                match value.filter(|value| out.len() + value.len() < LONGEST) {
                    Some(value) => {
                        out.push_str(&value);
                        is_changed = true;
                    }
                    None => out.push_str(&format!("${{{name}}}")),
                }
                rest = behind;
            }
            out.push_str(rest);
            text = out;
            if !is_changed {
                break;
            }
        }
        text
    }

    /// A value that the plan says; a credential is none.
    fn value(&self, name: &str) -> Option<String> {
        if let Some(property) = function(name, &["__P", "__property"]) {
            // The last argument is what holds without the property.
            let (property, otherwise) = property.split_once(',')?;
            return Some(otherwise.trim().to_owned()).filter(|_| !is_secret(property.trim()));
        }
        let is_known = !self.captured.contains_key(name) && !self.columns.contains(name);
        self.set.get(name).filter(|_| is_known && !is_secret(name)).cloned()
    }

    fn placeholder(&self, name: &str, line: Option<usize>, draft: &mut Draft) -> String {
        if let Some((place, value)) = self.captured.get(name) {
            return format!("{{{{{}.{value}}}}}", draft.operations[*place].name);
        }
        if self.columns.contains(name) {
            return format!("{{{{row.{name}}}}}");
        }
        if let Some(value) = self.set.get(name) {
            return draft.credentials.hide(name, value).as_str().to_owned();
        }
        if let Some(range) = function(name, &["__Random"]) {
            let mut bounds = range.split(',').map(|bound| bound.trim().parse::<u32>());
            if let (Some(Ok(low)), Some(Ok(high))) = (bounds.next(), bounds.next())
                && low <= high
            {
                return format!("{{{{random {low}..{high}}}}}");
            }
        }
        let plain = name.split('(').next().unwrap_or_default();
        match plain {
            "__UUID" => return "{{uuid}}".to_owned(),
            "__counter" => return "{{sequence}}".to_owned(),
            _ if plain.starts_with("__") && !matches!(plain, "__P" | "__property") => {
                let what = format!("the function {plain} is left out: a variable stands for it");
                draft.note(line, what);
            }
            _ => {}
        }
        let property = function(name, &["__P", "__property"]);
        let name = property.map_or(plain, |one| one.split(',').next().unwrap_or_default().trim());
        Text::template(format!("{{{{env.{}}}}}", credentials::variable(name))).as_str().to_owned()
    }
}

/// A variable's name, which may hold further variables, and what is behind its brace.
fn closed(after: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, character) in after.char_indices() {
        depth = match character {
            '{' => depth + 1,
            '}' => depth - 1,
            _ => depth,
        };
        if depth == 0 {
            return Some((&after[..at], &after[at + 1..]));
        }
    }
    None
}

/// The arguments of one of these functions.
fn function<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let (name, arguments) = text.split_once('(')?;
    names.contains(&name).then(|| arguments.trim_end_matches(')'))
}
