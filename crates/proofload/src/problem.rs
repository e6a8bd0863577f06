//! Error messages: `error:` what happened, `while:` where, `hint:` one thing to do.

use std::fmt;

use engine::transport::TransportError;
use fleet::connection::FleetError;
use plan::printable::printable_lines;

use crate::Exit;

/// An error that ends the command, with everything that the user needs to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What failed, in lower case, with the values involved; or a rendered text.
    pub what: String,
    /// Where in the run.
    pub place: Option<String>,
    /// One thing to do.
    pub hint: Option<String>,
    /// The exit code.
    pub exit: Exit,
    /// Whether `what` is a rendered text (several problems with line and caret).
    pub rendered: bool,
}

impl Problem {
    /// The command line or the experiment is wrong.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(what, Exit::Usage)
    }

    /// The target, limits or permissions prevent the run.
    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(what, Exit::CouldNotRun)
    }

    /// The user stopped it before there was a result.
    pub fn interrupted() -> Self {
        Self::new("stopped before its end", Exit::Undecided)
    }

    /// Problems of an experiment file, rendered with line and caret.
    pub fn experiment(text: String) -> Self {
        Self { rendered: true, ..Self::new(text, Exit::Usage) }
    }

    /// A target that cannot be used. A certificate problem is an error of the experiment; all
    /// others are problems of the environment.
    pub fn target(error: &TransportError) -> Self {
        let what = error.to_string();
        let problem = match error {
            TransportError::Certificate { .. } | TransportError::Tls(_) => Self::usage(what),
            TransportError::Url { .. } | TransportError::Resolve { .. } => Self::environment(what),
        };
        match error.hint() {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }

    /// What keeps a fleet from working.
    pub fn fleet(error: &FleetError) -> Self {
        let problem = Self::environment(error.what.clone());
        match &error.hint {
            Some(hint) => problem.hint(hint.clone()),
            None => problem,
        }
    }

    fn new(what: impl Into<String>, exit: Exit) -> Self {
        Self { what: what.into(), place: None, hint: None, exit, rendered: false }
    }

    /// Adds where it happened.
    pub fn during(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds the one thing to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text may quote a file, a target or the output of a process.
        let what = printable_lines(&self.what);
        if self.rendered {
            return out.write_str(what.trim_end());
        }
        write!(out, "error: {what}")?;
        if let Some(place) = &self.place {
            write!(out, "\n  while: {}", printable_lines(place))?;
        }
        if let Some(hint) = &self.hint {
            write!(out, "\n  hint: {}", printable_lines(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}
