use super::*;

fn ledger(senders: usize) -> Ledger {
    let recent = recent::Bounds { bytes: 1000, messages: 2 };
    Ledger::new(Bounds { senders, longest_frame: 300, recent })
}

fn hello(caster: u64) -> Hello<'static> {
    Hello { caster, base: Account::default(), name: "h" }
}

fn cast(caster: u64, sequence: u64) -> Frame<'static> {
    Frame::Cast(Cast { lane: 0, caster, sequence, sent_at: 100, payload: b"abc" })
}

fn account(caster: u64, cast: u64, oversize: u64) -> Frame<'static> {
    Frame::Account(caster, Account { cast, dropped: [0, 0, oversize, 0] })
}

fn body(frame: Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.write(&mut bytes);
    bytes.split_off(crate::cast::frame::LENGTH)
}

#[test]
fn received_and_dropped_are_what_was_cast() {
    let mut ledger = ledger(9);
    for (connection, caster) in [(1, 7), (2, 8)] {
        let welcome = ledger.open(&hello(caster), connection).unwrap();
        assert_eq!((welcome.taken, welcome.longest), (0, 300));
        for (frame, taken) in [(cast(caster, 0), 1), (cast(caster, 2), 2)] {
            assert_eq!(ledger.take(connection, caster, frame, 130), Ok(taken));
        }
        assert_eq!(ledger.take(connection, caster, account(caster, 3, 1), 130), Ok(3));
    }
    assert_eq!(ledger.take(1, 7, cast(7, 2), 130), Ok(4));
    let observed = ledger.observed();
    assert_eq!((observed.received, observed.duplicates, observed.lost), (4, 1, 2));
    let detail = |name: &str| observed.detail[name].as_u64().unwrap();
    assert_eq!((detail("cast"), detail("dropped"), detail("dropped_oversize")), (6, 2, 2));
    assert_eq!((detail("gaps"), detail("missing"), detail("unbalanced")), (2, 2, 0));
    assert_eq!((detail("senders"), detail("bytes")), (2, 12));
    assert_eq!((detail("kept"), detail("evicted")), (2, 2));
    assert!(observed.delivery_time.is_some());
    let told: Vec<&String> = observed.detail.keys().collect();
    assert_eq!(told.len(), COUNTS.len(), "{told:?}");
    let arrivals: Vec<(u64, u64)> =
        ledger.messages(0).map(|kept| (kept.arrival, kept.caster)).collect();
    assert_eq!(arrivals, [(2, 8), (3, 8)]);
}

#[test]
fn a_record_goes_on_where_it_was_under_another_connection() {
    let mut ledger = ledger(9);
    let first = ledger.open(&hello(7), 1).unwrap();
    ledger.take(1, 7, cast(7, 0), 130).unwrap();
    let second = ledger.open(&Hello { name: "again", ..hello(7) }, 2).unwrap();
    assert_eq!((second.record, second.taken), (first.record, 1));
    assert_eq!(ledger.take(1, 7, cast(7, 1), 130), Err(End::Superseded));
    assert_eq!(ledger.take(2, 7, cast(7, 1), 130), Ok(2));
    // The former one ends when the new one stands already.
    ledger.ended(1, Some(7), End::Superseded);
    assert_eq!(ledger.sums().connected, 1);
    ledger.ended(2, Some(7), End::Ended);
    assert_eq!((ledger.sums().connected, ledger.senders()[0].name.as_str()), (0, "again"));
    let ends = ledger.sums().ends;
    assert_eq!((ends[End::Superseded as usize], ends[End::Ended as usize]), (1, 1));
}

#[test]
fn frames_of_another_caster_are_refused() {
    let mut ledger = ledger(9);
    ledger.open(&hello(7), 1).unwrap();
    ledger.open(&hello(8), 2).unwrap();
    let welcome = Frame::Taken(1);
    for frame in [cast(8, 0), account(8, 1, 1), welcome, Frame::Hello(hello(7))] {
        assert_eq!(ledger.take(1, 7, frame, 130), Err(End::Malformed));
    }
    assert_eq!(ledger.take(1, 7, account(7, 0, 0), 130), Ok(1));
    assert_eq!(ledger.take(1, 8, cast(8, 0), 130), Err(End::Superseded));
    assert_eq!(ledger.observed().received, 0);
}

#[test]
fn who_went_first_gives_way_and_stays_in_the_sums() {
    let mut ledger = ledger(2);
    for (caster, now) in [(7, 20), (8, 10)] {
        ledger.open(&hello(caster), caster).unwrap();
        ledger.take(caster, caster, cast(caster, 0), now).unwrap();
        ledger.take(caster, caster, account(caster, 2, 1), now).unwrap();
    }
    assert_eq!(ledger.open(&hello(9), 9), Err(End::Crowded), "both are there");
    ledger.ended(7, Some(7), End::Ended);
    ledger.ended(8, Some(8), End::Ended);
    ledger.open(&hello(9), 9).unwrap();
    let left: Vec<u64> = ledger.senders().iter().map(|sender| sender.caster).collect();
    assert_eq!(left, [7, 9]);
    let sums = ledger.sums();
    assert_eq!((sums.totals.received, sums.totals.account.cast, sums.senders), (2, 4, 3));
    // It comes back, to a record that knows nothing of it, and says from where on it counts.
    ledger.ended(9, Some(9), End::Broken);
    let base = Account { cast: 2, dropped: [0, 0, 1, 0] };
    let welcome = ledger.open(&Hello { base, ..hello(8) }, 10).unwrap();
    assert_eq!(welcome.taken, 0);
    ledger.take(10, 8, cast(8, 2), 30).unwrap();
    ledger.take(10, 8, account(8, 3, 1), 30).unwrap();
    let sums = ledger.sums().totals;
    assert_eq!((sums.received, sums.account.cast, sums.account.all_dropped()), (3, 5, 2));
    assert_eq!((sums.lost, sums.unbalanced), (2, 0));
}

#[test]
fn over_the_bus_whoever_casts_is_known_by_its_frames() {
    let mut ledger = ledger(1);
    ledger.take_loose(&body(cast(7, 0)), 130);
    ledger.take_loose(&body(cast(7, 2)), 130);
    ledger.take_loose(&body(account(7, 3, 0)), 130);
    // What is no cast, and a caster beyond the bound: nobody says goodbye, so that nobody gives way.
    ledger.take_loose(b"hello", 130);
    ledger.take_loose(&body(Frame::Hello(hello(7))), 130);
    ledger.take_loose(&body(cast(8, 0)), 130);
    let observed = ledger.observed();
    assert_eq!((observed.received, observed.unexpected, observed.lost), (2, 3, 1));
    assert_eq!(observed.detail["unbalanced"], 1, "lost under way");
}

#[test]
fn each_end_is_counted_at_its_own_place() {
    for (place, end) in End::ALL.into_iter().enumerate() {
        assert_eq!(end as usize, place, "{}", end.name());
    }
}
