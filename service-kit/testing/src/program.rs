//! A program that plays a part of a system.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that prints a line when it is started, and stays; removed when dropped.
pub struct Program(PathBuf);

impl Program {
    /// One that prints this line.
    pub fn printing(name: &str, line: &str) -> Self {
        let path = std::env::temp_dir().join(format!("program-{name}-{}", std::process::id()));
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.arguments\"\necho '{line}'\nexec sleep 1000\n"
        );
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The arguments that it was last started with, one a line.
    pub fn arguments(&self) -> String {
        fs::read_to_string(self.arguments_file()).unwrap()
    }

    fn arguments_file(&self) -> PathBuf {
        self.0.with_file_name(format!("{}.arguments", self.0.file_name().unwrap().display()))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.arguments_file());
    }
}
