//! Exit codes. Their meaning for people is in `judge`'s table of explanations.

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Ran; every criterion passed, or none was set.
    Passed = 0,
    /// A criterion failed.
    Failed = 1,
    /// The command line or the experiment is wrong.
    Usage = 2,
    /// Inconclusive or invalid.
    Undecided = 3,
    /// Target, limits or permissions stood in the way.
    CouldNotRun = 4,
    /// A bug of ours.
    Bug = 101,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
