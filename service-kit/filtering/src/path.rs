//! Where in the metadata: names with dots between them.
//!
//! A backslash before a dot, a dollar or a backslash makes it part of the name: `site\.v2.floor` is
//! `floor` within `site.v2`. Paths lead through objects only, not into arrays.

use std::fmt;

use serde_json::{Map, Value};

/// Longest path, in names.
pub const LONGEST_PATH: usize = 8;

/// A place in the metadata.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Box<[Box<str>]>);

impl Path {
    /// Parses a path.
    ///
    /// Errors: a sentence, for names that are empty, too many of them, or a stray backslash
    pub fn read(text: &str) -> Result<Self, String> {
        Self::of(split(text)?)
    }

    /// The path of these names.
    ///
    /// Errors: a sentence, when one is empty or they are too many
    pub fn of(steps: Vec<String>) -> Result<Self, String> {
        match steps.len() {
            _ if steps.iter().any(String::is_empty) => Err("a field without a name".to_owned()),
            1..=LONGEST_PATH => Ok(Self(steps.into_iter().map(String::into_boxed_str).collect())),
            count => Err(format!("a path has 1 to {LONGEST_PATH} names, this has {count}")),
        }
    }

    /// Its names, the outermost first.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|step| &**step)
    }

    /// The value at this path.
    pub fn find<'v>(&self, metadata: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(metadata.get(&**first)?, |value, step| value.as_object()?.get(&**step))
    }
}

/// Names between dots; an escaped character is part of a name.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut steps = vec![String::new()];
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let last = steps.last_mut().expect("there is always one");
        match c {
            '.' => steps.push(String::new()),
            '\\' => match rest.next() {
                Some(c @ ('.' | '$' | '\\')) => last.push(c),
                _ => {
                    return Err(
                        "a backslash must be followed by a dot, a dollar or a backslash".into()
                    );
                }
            },
            c => last.push(c),
        }
    }
    Ok(steps)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            for c in step.chars() {
                if matches!(c, '.' | '$' | '\\') {
                    f.write_str("\\")?;
                }
                fmt::Write::write_char(f, c)?;
            }
        }
        Ok(())
    }
}
