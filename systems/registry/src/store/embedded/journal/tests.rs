use serde_json::Map;

use super::*;
use crate::disk::Disk;
use crate::fault::Code;
use crate::store::Registration;
use crate::store::embedded::spaces::Space;
use filtering::Filter;

/// Everybody on it, as a store that begins now reads it.
fn everybody(disk: &Disk) -> Vec<String> {
    let database = (disk.opener())().unwrap();
    names(&load(&database).unwrap())
}

fn names(spaces: &Spaces) -> Vec<String> {
    let everybody = |space: &Space| space.view.targets(&Filter::default(), 0);
    let there = spaces.look("here", everybody).unwrap_or_default();
    let mut names: Vec<String> = there.iter().map(|name| name.to_string()).collect();
    names.sort();
    names
}

fn registration(name: &str) -> Wish {
    let metadata = Map::new();
    let name = name.into();
    let registration = Registration { name, metadata, ttl_ms: None, replace: false, quota: 0 };
    Wish::Register("here".into(), registration)
}

#[tokio::test]
async fn a_full_disk_admits_nobody_and_is_used_again_when_it_has_room() {
    let disk = Disk::default();
    let spaces = Arc::<Spaces>::default();
    let journal = Journal::begin(disk.opener(), spaces.clone()).unwrap();
    journal.write(registration("ada")).await.unwrap();
    disk.fill(true);
    for name in ["bob", "cleo"] {
        let fault = journal.write(registration(name)).await.unwrap_err();
        assert_eq!(fault.code, Code::Unavailable);
        assert_eq!(names(&spaces), ["ada"], "who is not on the disk is not there");
    }
    disk.fill(false);
    journal.write(registration("dan")).await.unwrap();
    let there = names(&spaces);
    assert!(there.contains(&"ada".into()) && there.contains(&"dan".into()), "{there:?}");
    drop(journal);
    assert_eq!(everybody(&disk), there, "memory and disk differ");
}
