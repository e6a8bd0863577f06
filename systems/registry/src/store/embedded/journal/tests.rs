use serde_json::Map;

use super::*;
use crate::api_error::Code;
use crate::store::Registration;
use crate::store::embedded::namespaces::NamespaceState;
use crate::test_disk::TestDisk;
use filtering::Filter;

/// All identities on it, as a newly started store reads them.
fn all_identities(disk: &TestDisk) -> Vec<String> {
    let database = (disk.opener())().unwrap();
    names(&load(&database).unwrap())
}

fn names(spaces: &Namespaces) -> Vec<String> {
    let all_identities = |space: &NamespaceState| space.view.targets(&Filter::default(), 0);
    let there = spaces.with_namespace("here", all_identities).unwrap_or_default();
    let mut names: Vec<String> = there.iter().map(|name| name.to_string()).collect();
    names.sort();
    names
}

fn registration(name: &str) -> ChangeRequest {
    let metadata = Map::new();
    let name = name.into();
    let registration = Registration { name, metadata, ttl_ms: None, replace: false, quota: 0 };
    ChangeRequest::Register("here".into(), registration)
}

#[tokio::test]
async fn a_full_disk_admits_nobody_and_is_used_again_when_it_has_room() {
    let disk = TestDisk::default();
    let spaces = Arc::<Namespaces>::default();
    let journal = Journal::begin(disk.opener(), spaces.clone()).unwrap();
    journal.write(registration("ada")).await.unwrap();
    disk.fill(true);
    for name in ["bob", "cleo"] {
        let error = journal.write(registration(name)).await.unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        assert_eq!(names(&spaces), ["ada"], "who is not on the disk is not there");
    }
    disk.fill(false);
    journal.write(registration("dan")).await.unwrap();
    let there = names(&spaces);
    assert!(there.contains(&"ada".into()) && there.contains(&"dan".into()), "{there:?}");
    drop(journal);
    assert_eq!(all_identities(&disk), there, "memory and disk differ");
}
