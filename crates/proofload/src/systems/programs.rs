//! Finds programs for systems: next to the instrument's own executable, then in the folders of PATH.
//!
//! Not here: which systems they serve (see `known`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Prefix of the programs' names.
pub(super) const PREFIX: &str = "proofload-";

/// Folders, in search order.
#[derive(Debug, Clone)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// The folders of this process.
    pub fn here() -> Self {
        // Without /proc, only the way in which it was called says where it is.
        let called = PathBuf::from(std::env::args_os().next().unwrap_or_default());
        let own = std::env::current_exe().unwrap_or(called);
        let own = own.parent().filter(|folder| folder.is_absolute()).map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        // A relative folder would depend on the working directory.
        let path = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        Self::of(own.into_iter().chain(path))
    }

    /// These folders, without duplicates.
    pub fn of(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut each: Vec<PathBuf> = Vec::new();
        for folder in folders {
            if !each.contains(&folder) {
                each.push(folder);
            }
        }
        Self(each)
    }

    /// The first folder, which is that of the instrument.
    pub fn first(&self) -> Option<&Path> {
        self.0.first().map(PathBuf::as_path)
    }

    /// The program with this name after [`PREFIX`].
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let mut paths = self.0.iter().map(|folder| folder.join(format!("{PREFIX}{name}")));
        paths.find(|path| is_program(path))
    }

    /// All programs for systems, by name; the first of each name.
    pub fn programs(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for folder in &self.0 {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
                let name = path.file_name();
                let is_new = found.iter().all(|other| other.file_name() != name);
                let is_named = name
                    .and_then(|name| name.to_str())
                    .is_some_and(|name| name.starts_with(PREFIX));
                if is_named && is_new && is_program(&path) {
                    found.push(path);
                }
            }
        }
        found.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
        found
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files of these names and permissions, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn of(name: &str, files: &[(&str, u32)]) -> Self {
            let path = std::env::temp_dir().join(format!("programs-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            for (name, mode) in files {
                fs::write(path.join(name), "").unwrap();
                fs::set_permissions(path.join(name), PermissionsExt::from_mode(*mode)).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_first_folder_wins_and_only_programs_count() {
        let files = [("proofload-mail", 0o755), ("proofload-mail.d", 0o644), ("proofload", 0o755)];
        let first = Folder::of("first", &files);
        let files = [("proofload-mail", 0o755), ("proofload-edge", 0o755), ("edge", 0o755)];
        let second = Folder::of("second", &files);
        let folders =
            Folders::of([first.0.clone(), "/nowhere".into(), second.0.clone(), first.0.clone()]);
        assert_eq!(folders.first(), Some(&*first.0));
        let mail = first.0.join("proofload-mail");
        let edge = second.0.join("proofload-edge");
        assert_eq!(folders.program("mail"), Some(mail.clone()));
        assert_eq!(folders.program("edge"), Some(edge.clone()));
        assert_eq!(folders.program("mail.d"), None);
        assert_eq!(folders.programs(), [edge, mail]);
    }
}
