//! A folder for one test, removed with it.

use std::path::{Path, PathBuf};

/// The folder.
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> Self {
        // Tests of one process run concurrently, and several processes may run them.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("stores-{name}-{}", std::process::id()));
        let unique = (0..).map(|number| path.with_extension(number.to_string()));
        let made = unique.take(10_000).find(|path| std::fs::create_dir(path).is_ok());
        Self(made.expect("a folder can be made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
