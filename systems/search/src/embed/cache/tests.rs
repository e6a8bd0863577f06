use super::*;
use crate::embed::hashed::Hashed;

fn cached(entries: usize) -> Cached<Hashed> {
    Cached::new(Hashed::new(16, 0).unwrap(), entries)
}

async fn hits(cache: &Cached<Hashed>, texts: &[&str]) -> u64 {
    let embedded = cache.embed(texts).await.unwrap();
    let known = cache.inner().embed(texts).await.unwrap();
    assert_eq!(embedded.vectors, known.vectors, "a cache that changes vectors");
    embedded.hits
}

#[tokio::test]
async fn what_was_asked_for_is_known() {
    let cache = cached(10);
    assert_eq!(hits(&cache, &["picker", "packer"]).await, 0);
    assert_eq!(hits(&cache, &["loader", "packer", "picker"]).await, 2);
    assert_eq!((cache.hits(), cache.misses(), cache.entries()), (2, 3, 3));
}

#[tokio::test]
async fn nothing_is_kept_by_a_cache_of_none() {
    let cache = cached(0);
    for _ in 0..3 {
        assert_eq!(hits(&cache, &["picker"]).await, 0);
    }
    assert_eq!((cache.hits(), cache.misses(), cache.entries()), (0, 3, 0));
    assert_eq!(cache.effective()["cache"], 0);
    assert_eq!(cached(7).effective()["cache"], 7);
}

#[tokio::test]
async fn what_was_not_asked_for_the_longest_goes_first() {
    let cache = cached(2);
    for (text, expected) in
        [("a", 0), ("b", 0), ("a", 1), ("c", 0), ("a", 1), ("b", 0), ("c", 0), ("a", 0)]
    {
        assert_eq!(hits(&cache, &[text]).await, expected, "{text}");
        assert!(cache.entries() <= 2);
    }
}

#[tokio::test]
async fn texts_in_turn_hit_always_if_they_fit_and_never_if_not() {
    let texts: Vec<String> = (0..20).map(|number| format!("job {number}")).collect();
    for (entries, expected) in [(20, 100 - 20), (19, 0)] {
        let cache = cached(entries);
        for turn in 0..100 {
            hits(&cache, &[&texts[turn % 20]]).await;
        }
        assert_eq!((cache.hits(), cache.misses()), (expected, 100 - expected), "{entries}");
    }
}

#[tokio::test]
async fn a_fault_names_the_text_as_it_was_asked_for() {
    let cache = cached(10);
    hits(&cache, &["a", "b"]).await;
    let error = cache.embed(&["a", "c", "b", "!"]).await.unwrap_err();
    assert_eq!(error.at.as_deref(), Some("/3"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_ask_at_once() {
    let cache = Arc::new(cached(8));
    let ask = |seed: usize| {
        let cache = cache.clone();
        tokio::spawn(async move {
            for number in 0..1_000 {
                let text = format!("job {}", (number * (seed + 1)) % 16);
                hits(&cache, &[&text]).await;
            }
        })
    };
    for asking in (0..4).map(ask).collect::<Vec<_>>() {
        asking.await.unwrap();
    }
    assert_eq!(cache.hits() + cache.misses(), 4_000);
    assert_eq!(cache.entries(), 8);
}
