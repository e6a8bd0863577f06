use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
struct TestSubscriber {
    key: u64,
    present: AtomicBool,
}

impl Subscriber for TestSubscriber {
    fn key(&self) -> u64 {
        self.key
    }

    fn is_present(&self) -> bool {
        self.present.load(Ordering::Relaxed)
    }
}

fn dummy(key: u64) -> Arc<TestSubscriber> {
    Arc::new(TestSubscriber { key, present: AtomicBool::new(true) })
}

/// Patterns in order of subscription; the key is the index.
fn table(patterns: &[&str]) -> (Table<TestSubscriber>, Vec<Arc<TestSubscriber>>) {
    let mut table = Table::default();
    let all: Vec<_> = (0..patterns.len() as u64).map(dummy).collect();
    for (pattern, subscription) in patterns.iter().zip(&all) {
        table.insert(&"n".into(), &pattern.parse().unwrap(), Arc::clone(subscription));
    }
    (table, all)
}

fn serving(table: &Table<TestSubscriber>, name: &str) -> Option<u64> {
    table.serving("n", name, ReceiverScope::Present).map(|subscription| subscription.key)
}

#[test]
fn the_most_specific_serves() {
    let (table, _) = table(&["*", "user-*", "user-7", "user-70*", "usher-*", "user-7*"]);
    for (name, expected) in [
        ("user-7", 2),
        ("user-70", 3),
        ("user-71", 5),
        ("user-8", 1),
        ("user", 0),
        ("usher-1", 4),
        ("user-é", 1),
        ("z", 0),
        ("a", 0),
    ] {
        assert_eq!(serving(&table, name), Some(expected), "{name}");
    }
    assert!(table.serving("other", "user-7", ReceiverScope::Present).is_none());
}

#[test]
fn of_the_same_pattern_the_last_one_serves_and_its_end_brings_the_former_back() {
    let (mut table, _) = table(&["a*", "a*", "a"]);
    assert_eq!(serving(&table, "ab"), Some(1));
    assert!(table.remove("n", &"a*".parse().unwrap(), 1).is_some());
    assert!(table.remove("n", &"a*".parse().unwrap(), 1).is_none());
    assert_eq!(serving(&table, "ab"), Some(0));
    table.remove("n", &"a".parse().unwrap(), 2).unwrap();
    assert_eq!(serving(&table, "a"), Some(0));
    table.remove("n", &"a*".parse().unwrap(), 0).unwrap();
    assert_eq!(serving(&table, "a"), None);
    assert!(table.namespaces.is_empty());
}

#[test]
fn who_is_away_keeps_a_place_for_what_must_arrive_only() {
    let (table, all) = table(&["*", "user-*", "user-1*"]);
    all[2].present.store(false, Ordering::Relaxed);
    assert_eq!(serving(&table, "user-11"), Some(1));
    assert_eq!(table.serving("n", "user-11", ReceiverScope::Known).unwrap().key, 2);
    all[1].present.store(false, Ordering::Relaxed);
    assert_eq!(serving(&table, "user-11"), Some(0));
    all[0].present.store(false, Ordering::Relaxed);
    assert_eq!(serving(&table, "user-11"), None);
}

#[test]
fn of_one_pattern_who_is_there_comes_before_who_is_away() {
    let (table, all) = table(&["a*", "a*"]);
    all[1].present.store(false, Ordering::Relaxed);
    assert_eq!(table.serving("n", "ab", ReceiverScope::Known).unwrap().key, 0);
    all[0].present.store(false, Ordering::Relaxed);
    assert_eq!(table.serving("n", "ab", ReceiverScope::Known).unwrap().key, 1);
}

/// Compares with a plain scan; the prefixes nest in every way that two letters allow. Groups are
/// looked up one after another, so each begins where another one was found.
#[test]
fn lookups_agree_with_a_scan_over_all_prefixes() {
    let words = |length: usize| {
        (0..1_usize << length)
            .map(move |bits| (0..length).map(move |i| if bits >> i & 1 == 1 { 'b' } else { 'a' }))
            .map(Iterator::collect::<String>)
    };
    // Every third word is a prefix.
    let prefixes: Vec<String> = (0..6).flat_map(words).step_by(3).collect();
    let patterns: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}*")).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    for away in 0..3 {
        let (table, all) = table(&patterns);
        for subscription in all.iter().filter(|one| one.key % 3 == away && away != 0) {
            subscription.present.store(false, Ordering::Relaxed);
        }
        let scanned = |name: &str| {
            let fitting = all
                .iter()
                .filter(|one| one.is_present() && name.starts_with(&prefixes[one.key as usize]));
            fitting.max_by_key(|one| prefixes[one.key as usize].len()).map(|one| one.key)
        };
        let mut names: Vec<Arc<str>> = (1..8).flat_map(words).map(Into::into).collect();
        for name in &names {
            assert_eq!(serving(&table, name), scanned(name), "{name}");
        }
        let orders: [fn(&mut [Arc<str>]); 3] = [<[_]>::sort, <[_]>::reverse, sort_by_last_letters];
        for order in orders {
            order(&mut names);
            let Groups { groups, targets, unserved } =
                table.group("n", names.clone(), ReceiverScope::Present);
            let keys = groups.iter().flat_map(|group| vec![group.subscription.key; group.count]);
            assert!(keys.map(Some).eq(targets.iter().map(|name| scanned(name))));
            assert!(unserved.iter().all(|name| scanned(name).is_none()));
            assert_eq!(targets.len() + unserved.len(), names.len());
        }
    }
}

fn sort_by_last_letters(names: &mut [Arc<str>]) {
    names.sort_by_key(|name| name.chars().rev().collect::<String>());
}

#[test]
fn ten_thousand_targets_are_grouped_by_who_serves_them() {
    let patterns: Vec<String> = (0..9).map(|number| format!("user-{number}*")).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let (table, _) = table(&patterns);
    let targets: Vec<Arc<str>> =
        (0..10_000).map(|number| format!("user-{:04}", number).into()).collect();
    let Groups { groups, targets, unserved } = table.group("n", targets, ReceiverScope::Present);
    assert_eq!((groups.len(), targets.len()), (9, 9_000));
    for (group, targets) in groups.iter().zip(targets.chunks(1_000)) {
        assert_eq!(group.count, 1_000);
        let pattern: Pattern = patterns[group.subscription.key as usize].parse().unwrap();
        assert!(targets.iter().all(|target| pattern.fits(target)));
        assert!(targets.is_sorted(), "the order given is kept");
    }
    assert_eq!(unserved.len(), 1_000);
    assert!(unserved.iter().all(|target| target.starts_with("user-9")));
    assert_eq!(table.group("m", unserved, ReceiverScope::Known).unserved.len(), 1_000);
}

#[test]
fn prefixes_are_told_apart_behind_what_they_have_in_common() {
    let common = "sixteen-bytes-or-more-";
    let patterns = ["*", "b-*", "*", "ab*", "a-*", "a*"].map(|rest| format!("{common}{rest}"));
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let (mut table, _) = table(&patterns);
    for (rest, expected) in [("abc", 3), ("a-c", 4), ("ac", 5), ("b-", 1), ("b", 2), ("", 2)] {
        assert_eq!(serving(&table, &format!("{common}{rest}")), Some(expected), "{rest}");
    }
    assert_eq!(serving(&table, "sixteen-bytes-or"), None);
    assert!(table.remove("n", &patterns[3].parse().unwrap(), 3).is_some());
    assert_eq!(serving(&table, &format!("{common}abc")), Some(5));
    assert!(table.remove("n", &patterns[3].parse().unwrap(), 3).is_none());
}
