//! What `{{…}}` stands for in such a file.

use std::collections::{BTreeMap, BTreeSet};

use super::block::Block;
use crate::braces;
use crate::credentials;
use crate::draft::{Capture, Draft, value_name};

/// What is known of the file's variables.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// `@name = value`
    values: BTreeMap<String, String>,
    /// Those that a script sets, before and after it has.
    pub(super) set: BTreeSet<String>,
    /// Places of the operations whose answers have names.
    answers: BTreeMap<String, usize>,
    /// Variables that an answer has set: by which operation, and from where.
    captured: BTreeMap<String, (usize, Capture)>,
}

impl Variables {
    /// The values that the file itself gives.
    pub(super) fn of_file(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix('@'));
        let pairs = lines.filter_map(|line| line.split_once('='));
        let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // A credential comes from the environment, as all variables without a value do.
        let is_open = |(name, value): &(String, String)| {
            !credentials::is_secret(name) || value.contains("{{")
        };
        Self { values: pairs.filter(is_open).collect(), ..Self::default() }
    }

    /// The text with the values of the file in their places.
    pub(super) fn filled(&self, text: &str) -> String {
        braces::expanded(text, |name| self.values.get(name).cloned())
    }

    /// The placeholder for a variable. What it captures goes to `used`: the operation, the value's name, its place.
    pub(super) fn placeholder(
        &self,
        name: &str,
        line: usize,
        used: &mut Vec<(usize, String, Capture)>,
        draft: &mut Draft,
    ) -> Option<String> {
        if let Some(system) = name.strip_prefix('$') {
            let found = built_in(system);
            if found.is_none() {
                draft.note(line, format!("{{{{{name}}}}} has no placeholder"));
            }
            return found;
        }
        let captured = self.of_answer(name).or_else(|| {
            let (place, capture) = self.captured.get(name)?.clone();
            Some((place, value_name(name), capture))
        });
        if let Some((place, value, capture)) = captured {
            let placeholder = format!("{{{{{}.{value}}}}}", draft.operations[place].name);
            used.push((place, value, capture));
            return Some(placeholder);
        }
        if self.set.contains(name) {
            draft.note(line, format!("{{{{{name}}}}} is used before an answer has set it"));
        }
        Some(format!("{{{{env.{}}}}}", credentials::variable(name)))
    }

    /// `login.response.body.$.token`, `login.response.headers.Location`
    fn of_answer(&self, name: &str) -> Option<(usize, String, Capture)> {
        let (request, rest) = name.split_once(".response.")?;
        let place = *self.answers.get(request)?;
        let (part, path) = rest.split_once('.').unwrap_or((rest, ""));
        match part {
            "headers" => Some((place, value_name(path), Capture::Header(path.to_owned(), None))),
            "body" => {
                let bare = path.trim_start_matches(['$', '.']);
                let value = if bare.is_empty() { "body".to_owned() } else { value_name(bare) };
                Some((place, value, Capture::at(path)))
            }
            _ => None,
        }
    }

    /// A request was read: from now on others may use its answer.
    pub(super) fn answered(&mut self, block: &Block<'_>, place: usize) {
        if let Some(name) = block.name {
            self.answers.insert(name.to_owned(), place);
        }
        for set in &block.sets {
            self.captured.insert(set.name.to_owned(), (place, Capture::at(set.path)));
        }
    }
}

/// What the editors themselves give.
fn built_in(name: &str) -> Option<String> {
    let mut words = name.split_whitespace();
    match words.next()? {
        "guid" | "uuid" | "random.uuid" => Some("{{uuid}}".to_owned()),
        "randomInt" | "random.integer" => {
            let mut number = || words.next()?.parse::<i64>().ok();
            let (least, behind) = (number().unwrap_or(0), number().unwrap_or(1001));
            (least >= 0 && behind > least)
                .then(|| format!("{{{{random {least}..{}}}}}", behind - 1))
        }
        "processEnv" | "dotenv" => Some(credentials::environment(words.next()?)),
        _ => None,
    }
}
