//! What an experiment may refer to outside itself, and what this program knows beyond the plan.

use std::io;
use std::path::{Path, PathBuf};

use drivers::AnyDriver;
use engine::driver::{Compile, Driver};
use plan::diagnostic::Diagnostic;
use plan::experiment::{Inputs, Known};
use plan::operation::Operation;
use plan::target::Target;

use crate::commands::serve;

/// The real files and environment, with paths relative to the experiment file.
#[derive(Debug, Clone)]
pub struct Surroundings {
    base: PathBuf,
}

impl Surroundings {
    /// Paths are taken relative to the folder of this file.
    pub fn beside(file: &Path) -> Self {
        Self { base: file.parent().map(Path::to_owned).unwrap_or_default() }
    }

    /// Paths are taken relative to the working folder.
    pub fn here() -> Self {
        Self { base: PathBuf::new() }
    }
}

impl Inputs for Surroundings {
    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(self.locate(path))
    }

    fn locate(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }
}

/// The protocols and systems of this build.
#[derive(Debug, Clone, Copy)]
pub struct Bundled;

impl Known for Bundled {
    fn protocols(&self) -> &[&str] {
        drivers::protocol_names()
    }

    fn systems(&self) -> Option<&[&str]> {
        Some(serve::NAMES)
    }

    fn check(&self, operation: &Operation, targets: &[Target]) -> Vec<Diagnostic> {
        let driver = AnyDriver::named(&operation.protocol);
        let compiled = driver.map(|driver| driver.compile(Compile { operation, targets }));
        compiled.and_then(Result::err).unwrap_or_default()
    }
}
