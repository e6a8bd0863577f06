use proptest::prelude::*;

use super::*;
use crate::metadata::tests::TempFolder;

fn entry(query: &str, id: &str, boost: f32) -> Entry {
    Entry { query: query.into(), id: id.into(), boost }
}

fn in_memory() -> Playbook {
    Playbook::open(&Metadata::open(None).unwrap()).unwrap()
}

fn near(id: &str, score: f32) -> Near {
    Near { id: id.into(), score, born: 0 }
}

#[test]
fn queries_of_the_same_words_are_the_same() {
    assert_eq!(normal("CNC operator,  Gdansk cnc"), "cnc gdansk operator");
    assert_eq!(normal("Gdansk: operator (CNC)"), normal("CNC operator,  Gdansk cnc"));
    assert_eq!(normal("—"), "");
}

#[tokio::test]
async fn what_was_learned_is_told_until_it_is_forgotten() {
    let playbook = in_memory();
    assert_eq!(playbook.boosts("CNC operator"), None);
    let learned = [
        entry("CNC operator", "w-2", 0.25),
        entry("Picker", "w-1", -0.5),
        entry("CNC operator", "w-1", 1.0),
    ];
    assert_eq!(playbook.learn(&learned, false).await, Ok(3));
    let boosts = playbook.boosts("operator, cnc!").unwrap();
    assert_eq!(*boosts, Boosts::from([("w-1".into(), 1.0), ("w-2".into(), 0.25)]));
    let all = [
        entry("cnc operator", "w-1", 1.0),
        entry("cnc operator", "w-2", 0.25),
        entry("picker", "w-1", -0.5),
    ];
    assert_eq!(playbook.entries(), all);

    assert_eq!(playbook.learn(&[entry("picker", "w-1", 0.0)], false).await, Ok(2));
    assert_eq!(playbook.boosts("picker"), None);
    assert_eq!(playbook.learn(&[entry("loader", "w-9", 0.5)], true).await, Ok(1));
    assert_eq!(playbook.entries(), [entry("loader", "w-9", 0.5)]);
}

#[tokio::test]
async fn what_was_learned_is_found_again() {
    let folder = TempFolder::new();
    let open = || {
        let metadata = Metadata::open(Some(&folder.0)).unwrap();
        Playbook::open(&metadata).unwrap()
    };
    let playbook = open();
    let twice = [
        entry("b", "x", 0.5),
        entry("a", "y", 0.25),
        entry("b", "x", -0.125),
        entry("c", "z", 1.0),
    ];
    playbook.learn(&twice, false).await.unwrap();
    playbook.learn(&[entry("c", "z", 0.0)], false).await.unwrap();
    let learned = [entry("a", "y", 0.25), entry("b", "x", -0.125)];
    assert_eq!(playbook.entries(), learned);
    drop(playbook);
    let playbook = open();
    assert_eq!(playbook.entries(), learned);
    playbook.learn(&[entry("d", "w", 0.5)], true).await.unwrap();
    drop(playbook);
    assert_eq!(open().entries(), [entry("d", "w", 0.5)]);
}

#[tokio::test]
async fn dropping_the_rows_leaves_what_was_learned() {
    let folder = TempFolder::new();
    let metadata = Metadata::open(Some(&folder.0)).unwrap();
    let playbook = Playbook::open(&metadata).unwrap();
    playbook.learn(&[entry("a", "y", 0.25)], false).await.unwrap();
    metadata.write(crate::metadata::Changes { drop: true, ..Default::default() }).await.unwrap();
    assert_eq!(Playbook::open(&metadata).unwrap().entries().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_learned_is_told_with_its_place_and_nothing_is_learned() {
    let playbook = in_memory();
    for (bad, place) in [
        (entry("", "a", 0.5), "/1/query"),
        (entry("!", "a", 0.5), "/1/query"),
        (entry(&"x".repeat(8_193), "a", 0.5), "/1/query"),
        (entry("a", "", 0.5), "/1/id"),
        (entry("a", "a\0b", 0.5), "/1/id"),
        (entry("a", "a", 1.5), "/1/boost"),
        (entry("a", "a", f32::NAN), "/1/boost"),
        (entry("a", "a", f32::NEG_INFINITY), "/1/boost"),
    ] {
        let error = playbook.learn(&[entry("a", "b", 0.5), bad], false).await.unwrap_err();
        assert_eq!((error.code, error.at.as_deref()), (Code::InvalidRequest, Some(place)));
    }
    assert_eq!(playbook.entries(), []);
}

#[tokio::test]
async fn a_playbook_is_bounded() {
    let playbook = in_memory();
    let of_one = |count: usize| -> Vec<Entry> {
        (0..count).map(|number| entry("picker", &format!("w-{number}"), 0.5)).collect()
    };
    assert_eq!(playbook.learn(&of_one(MOST_OF_A_QUERY), false).await, Ok(MOST_OF_A_QUERY));
    let error = playbook.learn(&of_one(MOST_OF_A_QUERY + 1), true).await.unwrap_err();
    assert_eq!(error.code, Code::TooLarge);
    let many: Vec<_> = (0..MOST).map(|number| entry(&format!("job {number}"), "w", 0.5)).collect();
    assert_eq!(playbook.learn(&many, true).await, Ok(MOST));
    let error = playbook.learn(&[entry("one more", "w", 0.5)], false).await.unwrap_err();
    assert_eq!(error.code, Code::TooLarge);
    assert_eq!(playbook.learn(&[entry("job 7", "w", 0.25)], false).await, Ok(MOST));
}

#[test]
fn a_boosted_row_enters_and_a_demoted_one_leaves() {
    let found = [near("a", 0.9), near("b", 0.8), near("c", 0.7), near("d", 0.1)];
    let boosts = Boosts::from([("d".into(), 0.75), ("a".into(), -0.5)]);
    let ranked = rank(found.clone(), &boosts, 3);
    let names: Vec<&str> = ranked.iter().map(|row| &*row.id).collect();
    assert_eq!(names, ["d", "b", "c"]);
    assert_eq!((ranked[0].score, ranked[0].boost), (0.85, Some(0.75)));
    assert_eq!((ranked[1].score, ranked[1].boost), (0.8, None));
    let cold = rank(found, &Boosts::new(), 10);
    assert_eq!(cold.iter().map(|row| &*row.id).collect::<String>(), "abcd");
}

proptest! {
    #[test]
    fn what_rank_asks_for_is_enough(
        scores in prop::collection::vec(0_u8..8, 1..40),
        boosted in prop::collection::btree_map(0_usize..45, -8_i8..=8, 0..6),
        k in 1_usize..12,
    ) {
        // Eighths add up without rounding, and many are equal.
        let mut all: Vec<Near> =
            scores.iter().enumerate().map(|(number, &score)| near(&format!("{number:02}"), f32::from(score) / 8.0)).collect();
        let boosts: Boosts =
            boosted.iter().map(|(number, &boost)| (format!("{number:02}").into(), f32::from(boost) / 8.0)).collect();
        let whole = rank(all.clone(), &boosts, k);
        all.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        let mut asked: Vec<Near> = all.iter().take(k + boosts.len()).cloned().collect();
        asked.extend(all.into_iter().filter(|row| boosts.contains_key(&row.id)));
        prop_assert_eq!(rank(asked, &boosts, k), whole);
    }
}
