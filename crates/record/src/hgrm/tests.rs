use std::io::Cursor;

use proptest::collection::vec;
use proptest::prelude::*;
use stats::FINE;

use super::*;
use crate::hlog::to_hdr;

fn filled(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new(FINE);
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

fn text(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes, histogram).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_table_is_laid_out_as_by_hdrhistogram() {
    let expected = "       Value     Percentile TotalCount 1/(1-Percentile)

    1.000447 0.000000000000          3           1.00
    1.000447 0.100000000000          3           1.11
    1.000447 0.200000000000          3           1.25
    1.000447 0.300000000000          3           1.43
    1.000447 0.400000000000          3           1.67
    1.000447 0.500000000000          3           2.00
    1.000447 0.550000000000          3           2.22
    1.000447 0.600000000000          3           2.50
    1.000447 0.650000000000          3           2.86
    1.000447 0.700000000000          3           3.33
    1.000447 0.750000000000          3           4.00
    5.001215 0.775000000000          4           4.44
    5.001215 1.000000000000          4
#[Mean    =     2.000000, StdDeviation   =     1.732051]
#[Max     =     5.000000, Total count    =            4]
#[Buckets =           27, SubBuckets     =         2048]
";
    assert_eq!(text(&filled([1_000_000, 1_000_000, 1_000_000, 5_000_000])), expected);
}

#[test]
fn an_empty_histogram_has_a_table_without_lines() {
    let text = text(&filled([]));
    assert_eq!(text.lines().count(), 5);
    assert!(text.contains("Total count    =            0"));
}

#[test]
fn overflow_stands_at_the_maximum() {
    let last = spectrum(&filled([5, 1 << 40]), TICKS).pop().unwrap();
    assert_eq!((last.value_ns, last.cumulative), (1 << 40, 2));
}

#[test]
fn an_unreadable_column_is_named() {
    let error = read("get.hgrm", Box::new(Cursor::new("1.0 x 3\n"))).unwrap_err();
    assert_eq!(error.to_string(), "get.hgrm, line 1: expected a percentile, got \"x\"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Prime counts, so that no level falls exactly on a value: there the other rounds fractions, we and the
    /// original percentages.
    #[test]
    fn lines_are_those_of_another_implementation(
        values in prop::sample::select(vec![1_usize, 3, 7, 61, 397]).prop_flat_map(|count| vec(1_u64..1 << 37, count))
    ) {
        let histogram = filled(values);
        let hdr = to_hdr(&histogram);
        let mut cumulative = 0;
        let theirs: Vec<SpectrumLine> = hdr
            .iter_quantiles(TICKS)
            .map(|step| {
                cumulative += step.count_since_last_iteration();
                SpectrumLine { value_ns: step.value_iterated_to(), quantile: step.quantile_iterated_to(), cumulative }
            })
            .collect();
        let ours = spectrum(&histogram, TICKS);
        prop_assert_eq!(ours.len(), theirs.len());
        for (our, their) in ours.iter().zip(&theirs) {
            prop_assert_eq!((our.value_ns, our.cumulative), (their.value_ns, their.cumulative));
            prop_assert!((our.quantile - their.quantile).abs() < 1e-12);
        }
    }

    #[test]
    fn what_was_written_is_read(values in vec(0_u64..1 << 37, 0..300)) {
        let histogram = filled(values);
        let lines = read("x.hgrm", Box::new(Cursor::new(text(&histogram)))).unwrap();
        let written = spectrum(&histogram, TICKS);
        prop_assert_eq!(lines.len(), written.len());
        for (line, original) in lines.iter().zip(&written) {
            prop_assert_eq!((line.value_ns, line.cumulative), (original.value_ns, original.cumulative));
            prop_assert!((line.quantile - original.quantile).abs() < 1e-12);
        }
    }
}
