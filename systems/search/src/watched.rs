//! A file of redb that is refused once it was found damaged.
//!
//! redb compares pages with checksums only on request, panics on invalid ones, and repairs a file
//! by going back to an earlier write. So that acknowledged data are not lost silently, detected
//! damage leaves a note beside the file, and the file is not opened while the note exists.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use redb::{Database, Error};

use crate::api_error::ApiError;
use crate::guarded::guarded;

/// What the note is called behind the name of the file.
const NOTE: &str = ".damaged";

/// When another try makes sense after the disk failed.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// A file, and whether it was found damaged.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The beginning of its errors.
    name: &'static str,
    /// None of what is in memory, which a test may use.
    path: Option<PathBuf>,
    damage: OnceLock<ApiError>,
}

impl Watched {
    pub(crate) fn new(name: &'static str, path: Option<PathBuf>) -> Self {
        Self { name, path, damage: OnceLock::new() }
    }

    /// Whether it may be used.
    ///
    /// Errors: it was found damaged, now or before an earlier start
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        self.damage.get().map_or(Ok(()), |damage| Err(damage.clone()))
    }

    /// Whether it may be opened.
    ///
    /// Errors: likewise; a note that lies beside it
    pub(crate) fn admit(&self) -> Result<(), ApiError> {
        self.check()?;
        let Some(note) = self.note().filter(|note| note.exists()) else { return Ok(()) };
        let why = std::fs::read_to_string(&note).unwrap_or_default();
        Err(self.unusable(format!(
            "it is damaged ({}): restore a copy and remove {}, or remove only the latter to continue with what can be read",
            why.trim_end(),
            note.display()
        )))
    }

    /// What a call of redb gives; what of it means damage is noted.
    pub(crate) fn call<T>(&self, call: impl FnOnce() -> Result<T, Error>) -> Result<T, ApiError> {
        match guarded(call) {
            Ok(Ok(given)) => Ok(given),
            Ok(Err(error)) if is_damage(&error) => Err(self.damaged(error)),
            Ok(Err(error)) => Err(self.unusable(error)),
            Err(panic) => Err(self.damaged(panic)),
        }
    }

    /// From now on it is damaged.
    pub(crate) fn damaged(&self, why: impl Display) -> ApiError {
        let found = || {
            let why = why.to_string();
            if let Some(note) = self.note() {
                // Without space for the note, the file is refused until the end of this process.
                let _ = leave(&note, &why);
            }
            self.unusable(format!("it is damaged: {why}"))
        };
        self.damage.get_or_init(found).clone()
    }

    pub(crate) fn unusable(&self, why: impl Display) -> ApiError {
        ApiError::unavailable(format!("{}: {why}", self.name), RETRY)
    }

    fn note(&self) -> Option<PathBuf> {
        self.path.as_deref().map(note)
    }
}

/// Where the note about a file lies.
pub(crate) fn note(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(NOTE);
    name.into()
}

fn leave(note: &Path, why: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create_new(note)?;
    writeln!(file, "{why}")?;
    file.sync_all()
}

/// Whether it is the file that is wrong, and not the disk that does not answer for now.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupted(_) => true,
        // It was cut: opened again, it may be a new one.
        Error::Io(error) => error.kind() == std::io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// Reads all of a file, and compares it with its checksums.
///
/// Errors: it was damaged, and is now what could be read of it
pub(crate) fn check(database: &mut Database) -> Result<(), Error> {
    if database.check_integrity()? {
        return Ok(());
    }
    Err(Error::Corrupted("its checksums do not match".to_owned()))
}
