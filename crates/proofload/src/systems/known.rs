//! Finds the program that serves a system; asks each program at most once.
//!
//! `proofload-NAME` serves NAME. If there is no such file, `--describe` asks the programs which systems they serve:
//! first the programs whose name is a prefix of NAME (`proofload-mail` may serve `mail-crowd`), then all others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plan::diagnostic::near_miss;
use plan::experiment::{BadSetting, NoSystem, ReportedNames, SettingError};

use super::description::{self, Description, is_name};
use super::programs::{Folders, PREFIX};
use crate::problem::Problem;

/// The installed programs for systems, with their descriptions.
#[derive(Debug)]
pub struct Systems {
    folders: Folders,
    described: RefCell<BTreeMap<DescriptionOf, Descriptions>>,
}

/// A program, one of its systems or all, and settings.
type DescriptionOf = (PathBuf, Option<String>, BTreeMap<String, String>);
type Descriptions = Result<Vec<Description>, String>;

/// The systems that a program serves, or why they are unknown.
#[derive(Debug)]
pub struct ListedProgram {
    /// The program.
    pub program: PathBuf,
    /// Names of its systems, each with a short description.
    pub systems: Result<Vec<(String, String)>, String>,
}

impl Systems {
    /// The programs next to the instrument or on PATH.
    pub fn here() -> Self {
        Self::of(Folders::here())
    }

    pub(super) fn of(folders: Folders) -> Self {
        Self { folders, described: RefCell::default() }
    }

    /// All programs for systems.
    pub fn list(&self) -> Vec<ListedProgram> {
        let named = |one: Description| (one.name, one.about);
        let list = self.folders.programs().into_iter().map(|program| {
            let systems = self.ask(&program, None, &BTreeMap::new());
            let systems = systems.map(|systems| systems.into_iter().map(named).collect());
            ListedProgram { program, systems }
        });
        list.collect()
    }

    /// The program that serves this system.
    ///
    /// Errors: there is none
    pub fn locate(&self, system: &str) -> Result<PathBuf, Problem> {
        let what = || format!("no program serves a system called \"{}\"", system.escape_debug());
        self.program_of(system).ok_or_else(|| {
            let (known, hint) = self.missing(system);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Problem::usage(what()).hint(match near_miss(system, &known) {
                Some(near) => format!("did you mean {near}? `proofload serve` lists what is found"),
                None => hint,
            })
        })
    }

    /// The problem that there is no program of any system.
    pub fn none_found(&self) -> Problem {
        Problem::usage("no system is installed").hint(self.missing("NAME").1)
    }

    fn program_of(&self, system: &str) -> Option<PathBuf> {
        if !is_name(system) {
            return None;
        }
        if let Some(program) = self.folders.program(system) {
            return Some(program);
        }
        let prefixes = system.rmatch_indices('-').map(|(end, _)| &system[..end]);
        let named = prefixes.filter_map(|prefix| self.folders.program(prefix));
        let serves = |program: &PathBuf| {
            let systems = self.ask(program, None, &BTreeMap::new()).unwrap_or_default();
            systems.iter().any(|one| one.name == system)
        };
        let mut programs = named.chain(self.folders.programs());
        programs.find(serves)
    }

    /// The available systems and a hint, for a system that no program serves.
    fn missing(&self, system: &str) -> (Vec<String>, String) {
        let (mut known, mut broken) = (Vec::new(), Vec::new());
        for ListedProgram { program, systems } in self.list() {
            match systems {
                Ok(systems) => known.extend(systems.into_iter().map(|(name, _)| name)),
                Err(why) => broken.push(format!("; {} cannot be asked: {why}", program.display())),
            }
        }
        let folder = self.folders.first().unwrap_or(Path::new("."));
        let found = match known.is_empty() {
            true => "none is found".to_owned(),
            false => format!("found: {}", known.join(", ")),
        };
        let looked = format!("programs are files {PREFIX}NAME in {} or on PATH", folder.display());
        let package = system.split('-').next().filter(|name| is_name(name)).unwrap_or("NAME");
        let build = format!(
            "`cargo build -p {package}` builds {PREFIX}{package} if it is one of this repository"
        );
        (known, format!("{found}; {looked}; {build}{}", broken.concat()))
    }

    /// Describes a system with these settings.
    fn describe(
        &self,
        system: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Description, String> {
        let program = self.program_of(system).ok_or("no program serves it")?;
        let systems = self.ask(&program, Some(system), set);
        let own = systems.and_then(|systems| {
            let own = systems.into_iter().find(|one| one.name == system);
            own.ok_or_else(|| "its description is of another system".to_owned())
        });
        own.map_err(|why| format!("{}: {why}", program.display()))
    }

    fn ask(
        &self,
        program: &Path,
        system: Option<&str>,
        set: &BTreeMap<String, String>,
    ) -> Descriptions {
        let key = (program.to_owned(), system.map(str::to_owned), set.clone());
        let known = self.described.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let answer = description::ask(program, system, set);
            self.described.borrow_mut().insert(key, answer.clone());
            answer
        })
    }

    /// For [`plan::experiment::KnownNames::find`].
    pub fn find(&self, system: &str) -> Result<(), NoSystem> {
        if self.program_of(system).is_none() {
            let (known, hint) = self.missing(system);
            return Err(NoSystem::Unknown { known, hint });
        }
        let unusable = |why| NoSystem::Unusable {
            what: format!("`{system}` cannot be asked for its description: {why}"),
            hint: "a program for systems answers `--describe`: docs/reference/system-contract.md"
                .to_owned(),
        };
        self.describe(system, &BTreeMap::new()).map(drop).map_err(unusable)
    }

    /// For [`plan::experiment::KnownNames::settings`].
    pub fn settings(&self, system: &str, set: &BTreeMap<String, String>) -> Vec<BadSetting> {
        // `find` reports this problem.
        if self.describe(system, &BTreeMap::new()).is_err() {
            return Vec::new();
        }
        match self.describe(system, set) {
            Ok(described) => described.problems(set),
            Err(what) => vec![BadSetting { key: String::new(), what, kind: SettingError::Value }],
        }
    }

    /// For [`plan::experiment::KnownNames::reported_names`].
    pub fn reported_names(
        &self,
        system: &str,
        set: &BTreeMap<String, String>,
    ) -> Option<ReportedNames> {
        self.describe(system, set).ok().map(|described| described.reported_names())
    }
}
