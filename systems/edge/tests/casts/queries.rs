//! What a monitor answers over HTTP.

use super::*;

#[tokio::test]
async fn the_latest_messages_are_shown_page_by_page() {
    let options = Options::default().with("keep_messages", 7);
    let monitor = Monitor::with(options);
    let casters = [(); 2].map(|()| Caster::new(&towards(&[&monitor.casts()])));
    for (caster, text) in casters.iter().zip(["a", "b"]) {
        (0..5).for_each(|number| caster.cast(format!("{text}{number}").as_bytes()));
        within(caster.settled()).await;
    }
    let page = |query: &str| {
        let answer = monitor.get(&format!("/v1/messages?{query}"));
        let messages = answer["messages"].as_array().unwrap();
        let arrivals: Vec<u64> =
            messages.iter().map(|one| one["arrival"].as_u64().unwrap()).collect();
        (arrivals, answer["next"].as_u64())
    };
    assert_eq!(page(""), ((3..10).collect(), None), "the first three gave way");
    assert_eq!(page("limit=3"), (vec![3, 4, 5], Some(6)));
    assert_eq!(page("limit=3&from=6"), (vec![6, 7, 8], Some(9)));
    assert_eq!(page("from=10"), (vec![], None));
    let newest = &monitor.get("/v1/messages?from=9")["messages"][0];
    assert_eq!((&newest["payload"], &newest["sequence"]), (&"YjQ=".into(), &4.into()));
    let time = |name: &str| newest[name].as_u64().unwrap();
    assert!(time("sent_at") <= time("received_at"));
    let sender = newest["sender"].as_str().unwrap();
    assert_eq!(page(&format!("sender={sender}")).0, [5, 6, 7, 8, 9]);
    assert_eq!(page(&format!("sender={sender}&limit=2")), (vec![5, 6], Some(7)));
    assert_eq!(monitor.seen().counts(["kept", "evicted", "received"]), [7, 3, 10]);
    monitor.stop();
}

#[tokio::test]
async fn casters_are_shown_with_their_counts() {
    let monitor = Monitor::start();
    let settings = Settings { longest_frame: 300, ..towards(&[&monitor.casts()]) };
    let caster = Caster::new(&settings);
    caster.cast(b"four");
    caster.cast(&[0; 300]);
    within(caster.settled()).await;
    let senders = monitor.get("/v1/senders");
    let [sender] = &senders["senders"].as_array().unwrap()[..] else { panic!("{senders}") };
    assert_eq!((&sender["name"], &sender["connected"]), (&"a test".into(), &true.into()));
    let counts = ["received", "bytes", "cast", "lost", "duplicates", "missing"];
    let counts = counts.map(|name| sender[name].as_u64().unwrap());
    assert_eq!(counts, [1, 4, 2, 1, 0, 0]);
    assert_eq!(sender["dropped"]["oversize"], 1);
    let delay = |name: &str| sender["delay"][name].as_u64().unwrap();
    assert!(0 < delay("min_ns") && delay("min_ns") == delay("mean_ns"));
    let metrics = monitor.get("/metrics");
    for line in [
        "monitor_received_total 1\n",
        "monitor_cast_total 2\n",
        "monitor_dropped_total{reason=\"oversize\"} 1\n",
        "monitor_lost 1\n",
        "monitor_connected 1\n",
    ] {
        assert!(metrics.as_str().unwrap().contains(line), "{line}{metrics}");
    }
    monitor.stop();
}

#[test]
fn what_is_not_there_is_refused_as_json() {
    let monitor = Monitor::start();
    assert_eq!(monitor.get("/healthz"), "ok\n");
    let error = |path: &str| monitor.get(path)["error"].as_str().unwrap().to_owned();
    assert!(error("/v1/sender").contains("/v1/senders"));
    assert!(error("/v1/messages?limit=0").contains("from 1 to 1000"));
    assert_eq!(monitor.get("/v1/senders")["senders"], Value::Array(Vec::new()));
    assert!(monitor.seen().0["delivery_time"].is_null());
    monitor.stop();
}
