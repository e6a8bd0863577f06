//! The statuses that mean success.

use std::fmt;

/// A set of statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Vec<Allowed>);

/// One element of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// One status.
    Code(u16),
    /// All with this first digit.
    Class(u16),
}

impl Statuses {
    /// These.
    pub fn new(allowed: Vec<Allowed>) -> Self {
        Self(allowed)
    }

    /// Whether this one is in the set.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|allowed| match allowed {
            Allowed::Code(code) => *code == status,
            Allowed::Class(class) => *class == status / 100,
        })
    }
}

/// Everything below 400: redirects are not followed, and count as success under their status.
impl Default for Statuses {
    fn default() -> Self {
        Self(vec![Allowed::Class(2), Allowed::Class(3)])
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, allowed) in self.0.iter().enumerate() {
            let joint = if place == 0 { "" } else { ", " };
            match allowed {
                Allowed::Code(code) => write!(formatter, "{joint}{code}")?,
                Allowed::Class(class) => write!(formatter, "{joint}{class}xx")?,
            }
        }
        Ok(())
    }
}
