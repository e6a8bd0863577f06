//! A replay at another rate.

use std::sync::Arc;

use super::*;
use crate::mix::Mix;
use crate::operation::Operation;
use crate::rows::Rows;

/// Three arrivals at 0, 1.5 ms and 1 s, which repeat after 1.5 s.
#[test]
fn a_scaled_replay_keeps_the_row_of_each_arrival() {
    let arm = |more: &str| {
        let load = format!("[load]\nreplay = \"offsets.csv\"\n{more}\n\n[[operation]]");
        let text = HOME.replace("[[operation]]", &load);
        let start = text.find("[load]").expect("its own load");
        let end = text.rfind("[load]").expect("ours");
        let text = format!("{}{}", &text[..start], &text[end..]);
        read(&text, &Options { fresh_seed: 1, ..Options::default() })
            .map(|plan| plan.arms[0].clone())
    };
    let twice = arm("scale = 2").unwrap();
    let Model::Open { arrivals } = &twice.load.model else { panic!("not a replay") };
    let ArrivalProcess::Replay { offsets_ns, .. } = arrivals else { panic!("not a replay") };
    let us = offsets_ns.iter().map(|offset| offset / 1_000).collect::<Vec<_>>();
    assert_eq!(us, [0, 1_500, 250_000, 750_000, 751_500, 1_000_000]);
    assert_eq!(twice.load.stop, Stop::Operations { count: 6 });
    let rows = Rows::parse("n.csv", b"n\n0\n1\n2\n").unwrap();
    for order in [RowOrder::RoundRobin, RowOrder::Once] {
        let rows = Some(Arc::new(rows.clone()));
        let operation = Operation { rows, order, ..Operation::named("x") };
        let mix = Mix::new(&[operation], &[], 1).of_load(&twice.load);
        assert_eq!(mix.take(6).map(|one| one.row).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    }
    for (more, says) in [
        ("scale = 0", "`scale` is 0"),
        ("scale = 1001", "expected more than 0 and at most 1000"),
        ("scale = 0.5\nshift = \"1s\"", "`shift` means nothing with a `scale` of 0.5"),
        ("shift = \"1s\"", "`shift` means nothing without `scale`"),
        ("scale = 2\nshift = \"3s\"", "the same requests at the same instants"),
        ("scale = 0.000001", "no arrival left"),
    ] {
        let message = arm(more).unwrap_err();
        assert!(message.contains(says), "{says}: {message}");
    }
}
