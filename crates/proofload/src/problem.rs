//! What people read when something cannot be done: `error:` what, `while:` where, `hint:` one
//! thing to do.

use std::fmt;

use engine::transport::TransportError;
use plan::printable::printable_lines;

use crate::exit::Exit;

/// Something that ends the command, with all that a person needs to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What failed, lower case, with the values involved; or a text made ready elsewhere.
    pub what: String,
    /// Where in the run.
    pub place: Option<String>,
    /// One thing to do.
    pub hint: Option<String>,
    /// How the program ends.
    pub exit: Exit,
    /// Whether `what` is a whole text (several problems with line and caret).
    pub rendered: bool,
}

impl Problem {
    /// The command line or the experiment is wrong.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(what, Exit::Usage)
    }

    /// Target, limits or permissions stand in the way.
    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(what, Exit::CouldNotRun)
    }

    /// The user stopped it before there was anything to report.
    pub fn interrupted() -> Self {
        Self::new("stopped before its end", Exit::Undecided)
    }

    /// Problems of an experiment file, rendered with line and caret.
    pub fn experiment(text: String) -> Self {
        Self { rendered: true, ..Self::new(text, Exit::Usage) }
    }

    /// A target that cannot be used: by its certificates, of the experiment's making; otherwise by
    /// what it meets here.
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
        // It may quote a file, a target, or what a process printed.
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
