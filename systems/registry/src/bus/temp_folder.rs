//! Unique folders and names for tests.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;

/// A unique number: every `RandomState` has other keys.
pub fn number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A folder that is removed with its owner.
pub struct TempFolder(pub PathBuf);

impl TempFolder {
    pub fn new() -> Self {
        let name = format!("registry-bus-{}-{:x}", std::process::id(), number());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
