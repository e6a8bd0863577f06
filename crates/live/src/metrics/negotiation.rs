//! Which form a scraper gets: the one that it accepts best, and of equals the one that says most.

use super::exposition::delimited;
use super::families::families;
use super::model::Metrics;
use super::text::{Form, text};

/// A form of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// With native histograms.
    Protobuf,
    /// As text.
    Text(Form),
}

impl Exposition {
    /// What this `Accept` asks for; the classic text if it asks for nothing known.
    pub fn accepted(accept: &str) -> Self {
        let known = accept.split(',').filter_map(|part| {
            let mut words = part.split(';').map(str::trim);
            let kind = words.next()?.to_ascii_lowercase();
            let parameters: Vec<(&str, &str)> =
                words.filter_map(|word| word.split_once('=')).collect();
            let parameter = |name: &str| {
                let found = parameters.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.trim_matches('"'))
            };
            let quality: f64 = parameter("q").map_or(Some(1.0), |q| q.parse().ok())?;
            let form = match kind.as_str() {
                "application/vnd.google.protobuf"
                    if parameter("proto") == Some("io.prometheus.client.MetricFamily")
                        && parameter("encoding") == Some("delimited") =>
                {
                    Self::Protobuf
                }
                "application/openmetrics-text"
                    if parameter("version").is_none_or(|version| version == "1.0.0") =>
                {
                    Self::Text(Form::OpenMetrics)
                }
                "text/plain" | "text/*" | "*/*" => Self::Text(Form::Classic),
                _ => return None,
            };
            (quality > 0.0).then_some((quality, form))
        });
        let rank = |form: &Self| match form {
            Self::Protobuf => 2,
            Self::Text(Form::OpenMetrics) => 1,
            Self::Text(Form::Classic) => 0,
        };
        let best = known.max_by(|(a, form), (b, other)| {
            a.total_cmp(b).then_with(|| rank(form).cmp(&rank(other)))
        });
        best.map_or(Self::Text(Form::Classic), |(_, form)| form)
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
            Self::Text(Form::OpenMetrics) => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
            Self::Text(Form::Classic) => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The metrics in this form.
    pub fn of(self, metrics: &Metrics) -> Vec<u8> {
        let families = families(metrics);
        match self {
            Self::Protobuf => delimited(&families, metrics.since),
            Self::Text(form) => text(&families, form).into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scraper_gets_what_it_accepts_best() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let open = "application/openmetrics-text;version=1.0.0";
        let (open_metrics, classic) =
            (Exposition::Text(Form::OpenMetrics), Exposition::Text(Form::Classic));
        for (accept, form) in [
            (
                format!("{protobuf},{open};q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
                Exposition::Protobuf,
            ),
            (
                format!("{open},{open};q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
                open_metrics,
            ),
            (format!("{protobuf};q=0.1,{open};q=0.2"), open_metrics),
            (format!("text/plain, {open}, {protobuf}"), Exposition::Protobuf),
            (format!("{protobuf};q=0"), classic),
            ("application/vnd.google.protobuf;encoding=text".to_owned(), classic),
            ("application/openmetrics-text; version=2.0.0, text/html".to_owned(), classic),
            ("*/*".to_owned(), classic),
            (String::new(), classic),
        ] {
            assert_eq!(Exposition::accepted(&accept), form, "{accept}");
        }
    }
}
