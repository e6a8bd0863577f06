//! The two text forms that Prometheus reads. Histograms have a few fixed buckets there, and no quantiles: those of
//! several series could not be added up.

use std::fmt::Write as _;

use super::families::{Family, Kind, Series, Value};
use super::times::Times;

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The older one of Prometheus, 0.0.4.
    Classic,
}

/// All families.
pub fn text(families: &[Family<'_>], form: Form) -> String {
    let mut text = String::new();
    for family in families {
        head(&mut text, family, form);
        for series in &family.series {
            match series.value {
                Value::Number(number) => {
                    sample(&mut text, &family.stored_name(), &series.labels, number);
                }
                Value::Times(times) => histogram(&mut text, family.name, (series, times), form),
            }
        }
    }
    if form == Form::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn head(text: &mut String, family: &Family<'_>, form: Form) {
    let name = match form {
        Form::OpenMetrics => family.name.to_owned(),
        Form::Classic => family.stored_name(),
    };
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", escaped(family.help));
    if form == Form::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {}", family.unit);
    }
}

fn histogram(text: &mut String, name: &str, (series, times): (&Series<'_>, &Times), form: Form) {
    let bucket = format!("{name}_bucket");
    let mut with_bound = |bound: &str, count: u64| {
        let mut labels = series.labels.clone();
        labels.push(("le", bound));
        sample(text, &bucket, &labels, count as f64);
    };
    for (bound, count) in times.cumulative() {
        // The one form wants a decimal point, the other writes numbers as short as Go does.
        let bound = match form {
            Form::OpenMetrics => format!("{bound:?}"),
            Form::Classic => bound.to_string(),
        };
        with_bound(&bound, count);
    }
    with_bound("+Inf", times.count);
    sample(text, &format!("{name}_sum"), &series.labels, times.sum());
    sample(text, &format!("{name}_count"), &series.labels, times.count as f64);
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], number: f64) {
    let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let labels: Vec<String> = labels.collect();
    let _ = writeln!(text, "{name}{{{}}} {number}", labels.join(","));
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
