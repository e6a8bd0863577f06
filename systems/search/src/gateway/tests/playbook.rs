//! Boosts: learned, read back, used when asked for.

use super::*;

#[tokio::test]
async fn a_learned_row_ranks_higher_where_the_playbook_is_used() {
    let stand = TestGateway::with_rows(100).await;
    let (_, cold) = stand.search(json!({ "query": "forklift driver", "k": 3 })).await;
    let far =
        (0..100).map(|n| corpus::row(1, n).id).find(|id| !ids(&cold).contains(&&**id)).unwrap();
    let entries = json!({ "entries": [{ "query": "Forklift  driver", "id": far, "boost": 1.0 }] });
    let (status, told) = stand.ask("PUT", "/v1/playbook", &entries.to_string()).await;
    assert_eq!((status, &told["size"]), (200, &json!(1)));
    let (_, warm) =
        stand.search(json!({ "query": "forklift driver", "k": 3, "use_playbook": true })).await;
    assert_eq!(
        (ids(&warm)[0], ids(&warm).len(), &warm["results"][0]["boost"]),
        (&*far, 3, &json!(1.0))
    );
    let (_, exact) =
        stand.search(json!({ "query": "forklift driver", "k": 100, "exact": true })).await;
    let own = exact["results"].as_array().unwrap().iter().find(|hit| hit["id"] == *far).unwrap();
    let gained = warm["results"][0]["score"].as_f64().unwrap() - own["score"].as_f64().unwrap();
    assert!((gained - 1.0).abs() < 1e-6, "{gained}");
    let (_, again) = stand.search(json!({ "query": "forklift driver", "k": 3 })).await;
    assert_eq!(ids(&again), ids(&cold), "cold passes do not ask it");
    let (_, told) = stand.ask("GET", "/v1/playbook", "").await;
    assert_eq!((&told["size"], &told["entries"][0]["id"]), (&json!(1), &json!(far)));
}

#[tokio::test]
async fn a_bad_entry_is_named_and_nothing_is_learned() {
    let stand = TestGateway::new();
    let good = json!({ "query": "a", "id": "w", "boost": 0.5 });
    for (bad, at) in [
        (json!({ "query": "a", "id": "w", "boost": 7.0 }), "/entries/1/boost"),
        (json!({ "query": "", "id": "w", "boost": 0.5 }), "/entries/1/query"),
        (json!({ "query": "a", "id": "w", "boost": 0.5, "x": 1 }), "/entries/1/x"),
    ] {
        let body = json!({ "entries": [good, bad] });
        let (status, told) = stand.ask("PUT", "/v1/playbook", &body.to_string()).await;
        assert_eq!((status, error(&told).1), (400, at), "{told}");
    }
    assert_eq!(stand.ask("GET", "/v1/playbook", "").await.1["size"], 0);
}
