//! The environment of an experiment: files, variables, and the protocols and systems of this
//! installation.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use drivers::AnyDriver;
use engine::driver::{CompileContext, Driver};
use engine::file;
use plan::arrival_list::Scratch;
use plan::diagnostic::Diagnostic;
use plan::document::Table;
use plan::experiment::{BadSetting, Inputs, KnownNames, NoSystem, ReportedNames};
use plan::operation::{Operation, Part};
use plan::protocol::ProtocolTraits;
use plan::target::Target;
use record::FailureKind;

use crate::scratch::ScratchFile;
use crate::systems::Systems;

/// Bytes of the largest file that an experiment may name; it is held in memory.
const LARGEST: u64 = 256 << 20;

/// The real files and environment, with paths relative to the experiment file.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    base: PathBuf,
    /// Whether a placeholder stands for a variable that is not set.
    secretless: bool,
    /// Every file that the experiment named.
    named: RefCell<BTreeSet<PathBuf>>,
}

impl Surroundings {
    /// Paths are taken relative to the folder of this file.
    pub fn beside(file: &Path) -> Self {
        Self { base: file.parent().map(Path::to_owned).unwrap_or_default(), ..Self::default() }
    }

    /// The same where values of the environment are not needed.
    pub fn without_secrets(self) -> Self {
        Self { secretless: true, ..self }
    }

    /// The files that the experiment named.
    pub fn named(&self) -> Vec<PathBuf> {
        let named = self.named.borrow();
        named.iter().filter(|path| path.is_file()).cloned().collect()
    }

    /// Paths are taken relative to the working folder.
    pub fn here() -> Self {
        Self::default()
    }
}

impl Inputs for Surroundings {
    fn env(&self, name: &str) -> Option<String> {
        let value = std::env::var(name).ok();
        value.or_else(|| self.secretless.then(|| format!("value-of-{name}")))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        file::read(&self.locate(path), LARGEST)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(BufReader::new(file::open(&self.locate(path))?)))
    }

    fn scratch(&self) -> io::Result<Box<dyn Scratch>> {
        Ok(Box::new(ScratchFile::default()))
    }

    fn locate(&self, path: &Path) -> PathBuf {
        let located = self.base.join(path);
        self.named.borrow_mut().insert(located.clone());
        located
    }
}

/// The protocols of this build, and systems.
#[derive(Debug)]
pub struct Installed {
    systems: SystemSource,
    /// What was reported on each request for names, in order.
    reported: RefCell<Vec<Option<ReportedNames>>>,
}

/// Who knows systems.
#[derive(Debug)]
enum SystemSource {
    /// The installed programs.
    Programs(Systems),
    /// A coordinator has asked its own, and checked the settings: the answers that are left.
    Coordinator(RefCell<VecDeque<Option<ReportedNames>>>),
}

impl Installed {
    /// The systems of the installed programs.
    pub fn here() -> Self {
        Self { systems: SystemSource::Programs(Systems::here()), reported: RefCell::default() }
    }

    /// The systems of a coordinator. Loading the same experiment asks for the same names in the same order; no program
    /// is started.
    pub fn as_reported(names: &[Option<ReportedNames>]) -> Self {
        let left = RefCell::new(names.iter().cloned().collect());
        Self { systems: SystemSource::Coordinator(left), reported: RefCell::default() }
    }

    /// What was reported so far.
    pub fn reported(self) -> Vec<Option<ReportedNames>> {
        self.reported.into_inner()
    }
}

impl KnownNames for Installed {
    fn protocols(&self) -> &[&str] {
        drivers::protocol_names()
    }

    fn find(&self, system: &str) -> Result<(), NoSystem> {
        match &self.systems {
            SystemSource::Programs(programs) => programs.find(system),
            SystemSource::Coordinator(_) => Ok(()),
        }
    }

    fn settings(&self, system: &str, set: &BTreeMap<String, String>) -> Vec<BadSetting> {
        match &self.systems {
            SystemSource::Programs(programs) => programs.settings(system, set),
            SystemSource::Coordinator(_) => Vec::new(),
        }
    }

    fn reported_names(
        &self,
        system: &str,
        set: &BTreeMap<String, String>,
    ) -> Option<ReportedNames> {
        let names = match &self.systems {
            SystemSource::Programs(programs) => programs.reported_names(system, set),
            SystemSource::Coordinator(left) => left.borrow_mut().pop_front().flatten(),
        };
        self.reported.borrow_mut().push(names.clone());
        names
    }

    fn traits(&self, protocol: &str) -> ProtocolTraits {
        drivers::protocol_traits(protocol)
    }

    fn spans(&self, protocol: &str, table: &Table) -> &'static [&'static str] {
        drivers::span_names(protocol, table)
    }

    fn failures(&self) -> &'static [&'static str] {
        FailureKind::NAMES
    }

    fn parts(&self, protocol: &str, table: &Table) -> Vec<Part> {
        drivers::parts(protocol, table)
    }

    fn check(&self, operation: &Operation, targets: &[Target]) -> Vec<Diagnostic> {
        let compile = CompileContext { operation, targets, wall_clock: "" };
        let driver = AnyDriver::of([(operation.protocol.as_str(), &operation.table)]).ok();
        let compiled = driver.map(|driver| driver.compile(compile));
        compiled.and_then(Result::err).unwrap_or_default()
    }
}
