//! `GET /truth/report`: the query and the answer as JSON.

use serde::Serialize;

use crate::configuration::{Configuration, Timing};
use crate::schedule::{self, Distribution};
use crate::stamps::{Arrival, Stamps, TokenStamps};

/// Which arrivals a report covers and the rate that it compares them with.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReportQuery {
    /// The planned constant rate; without it the report has no schedule error.
    pub rate: Option<f64>,
    /// Arrivals left out at the beginning, such as those of a warm-up.
    pub skip: usize,
    /// Arrivals looked at after those; all if absent.
    pub take: Option<usize>,
}

impl ReportQuery {
    /// Reads the query of the request: `rate=1000`, `arrivals=constant`, `skip=`, `take=`.
    ///
    /// Errors: one sentence about what is wrong
    pub fn parse(query: &str) -> Result<Self, String> {
        let mut read = Self::default();
        let mut constant = true;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let wrong = |expected: &str| format!("{key}: expected {expected}, got \"{value}\"");
            match key {
                "rate" => read.rate = Some(parse_rate(value).ok_or(wrong("a rate above 0"))?),
                "arrivals" if value == "constant" => constant = true,
                "arrivals" if value == "poisson" => constant = false,
                "arrivals" => return Err(wrong("constant or poisson")),
                "skip" => read.skip = value.parse().map_err(|_| wrong("a whole number"))?,
                "take" => read.take = Some(value.parse().map_err(|_| wrong("a whole number"))?),
                _ => {
                    return Err(format!("{key}: unknown key; use rate, arrivals, skip or take"));
                }
            }
        }
        if !constant {
            read.rate = None;
        }
        Ok(read)
    }
}

/// `1000`, `1000/s`, or `1000%2Fs` as some clients write it.
fn parse_rate(value: &str) -> Option<f64> {
    let number = value.trim_end_matches("%2Fs").trim_end_matches("/s");
    number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}

/// The report's fields beside those that every observer has.
pub const COUNTS: [&str; 12] = [
    "stamped",
    "first_ns",
    "last_ns",
    "started_rate",
    "planned_rate",
    "schedule_error_ns",
    "gaps_ns",
    "gap_variation",
    "service_ns",
    "waiting_ns",
    "true_response_ns",
    "answer_lateness_ns",
];

/// The fields that it has in mode `tokens`, too.
pub const TOKEN_COUNTS: [&str; 5] =
    ["first_token_ns", "gap_ns", "last_token_ns", "tokens", "streams_cut"];

/// The answer. Unknown fields are `null`.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// All requests since the start or the last reset.
    received: u64,
    /// Arrivals that this report looks at.
    stamped: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    /// Arrivals per second between the first and the last.
    started_rate: Option<f64>,
    /// The rate that the errors are taken against.
    planned_rate: Option<f64>,
    schedule_error_ns: Option<Distribution>,
    gaps_ns: Option<Distribution>,
    /// Standard deviation of the gaps over their mean: 0 for constant, 1 for Poisson arrivals.
    gap_variation: Option<f64>,
    service_ns: Option<Distribution>,
    waiting_ns: Option<Distribution>,
    true_response_ns: Option<Distribution>,
    /// How long after its planned instant an answer was written: an error of this target.
    answer_lateness_ns: Option<Distribution>,
    #[serde(flatten)]
    tokens: Option<TokenReport>,
    service: Service<'a>,
}

/// What was planned for tokens, and how many were sent.
#[derive(Debug, Serialize)]
struct TokenReport {
    /// From an arrival to its first token, over the arrivals that the report looks at.
    first_token_ns: Option<Distribution>,
    /// From one token of an answer to the next, over all answers since the last reset.
    gap_ns: Option<Distribution>,
    /// From an arrival to its last token, over all answers since the last reset that were whole.
    last_token_ns: Option<Distribution>,
    tokens: u64,
    streams_cut: u64,
}

impl TokenReport {
    fn of(tokens: &TokenStamps, first_token_ns: Option<Distribution>) -> Self {
        Self {
            first_token_ns,
            gap_ns: Distribution::of(tokens.gaps_ns().to_vec()),
            last_token_ns: Distribution::of(tokens.last_token_ns().to_vec()),
            tokens: tokens.tokens(),
            streams_cut: tokens.streams_cut(),
        }
    }
}

/// How answers were timed.
#[derive(Debug, Serialize)]
struct Service<'a> {
    mode: &'a str,
    timing: Timing,
    seed: u64,
}

/// Makes the report.
///
/// Cost:   O(n log n) and copies of the stamps; ask after the load, not during it
pub fn report<'a>(
    stamps: &Stamps,
    configuration: &'a Configuration,
    query: ReportQuery,
) -> Report<'a> {
    let part = select(stamps.arrivals(), query);
    let mut sorted: Vec<u64> = part.iter().map(|arrival| arrival.arrived_ns).collect();
    sorted.sort_unstable();
    let errors = query.rate.map(|rate| schedule::schedule_errors(&sorted, rate));
    let gaps = Distribution::of(schedule::gaps(&sorted));
    let spread =
        |value: fn(&Arrival) -> u64| Distribution::of(part.iter().map(value).collect::<Vec<_>>());
    let responses = spread(|arrival| arrival.response_ns);
    Report {
        received: stamps.received(),
        stamped: part.len() as u64,
        first_ns: sorted.first().copied(),
        last_ns: sorted.last().copied(),
        started_rate: schedule::started_rate(&sorted),
        planned_rate: query.rate,
        schedule_error_ns: errors.and_then(Distribution::of),
        gap_variation: gaps.filter(|gaps| gaps.mean > 0.0).map(|gaps| gaps.stdev / gaps.mean),
        gaps_ns: gaps,
        service_ns: spread(|arrival| arrival.service_ns),
        waiting_ns: spread(|arrival| arrival.response_ns.saturating_sub(arrival.service_ns)),
        true_response_ns: responses,
        answer_lateness_ns: Distribution::of(stamps.lateness_ns().to_vec()),
        tokens: stamps.tokens().map(|tokens| TokenReport::of(tokens, responses)),
        service: Service {
            mode: configuration.mode,
            timing: configuration.timing,
            seed: configuration.seed,
        },
    }
}

fn select(arrivals: &[Arrival], query: ReportQuery) -> &[Arrival] {
    let from = query.skip.min(arrivals.len());
    let rest = &arrivals[from..];
    &rest[..query.take.unwrap_or(rest.len()).min(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::read;
    use crate::model::Planned;
    use serde_json::{Value, json};
    use serving::options::Options;

    fn ask(stamps: &Stamps, query: &str) -> Value {
        let configuration = read(&Options::default()).unwrap();
        let query = ReportQuery::parse(query).unwrap();
        serde_json::to_value(report(stamps, &configuration, query)).unwrap()
    }

    fn thousand() -> Stamps {
        let mut stamps = Stamps::new(1000);
        for index in 0..1000 {
            let arrived_ns = 7_000_000_000 + index * 1_000_000;
            let planned = Planned { service_ns: 10, due_ns: arrived_ns + 10 + index };
            stamps.arrived(arrived_ns, planned);
            stamps.answered(5);
        }
        stamps
    }

    #[test]
    fn its_counts_are_known_by_name() {
        let report = ask(&thousand(), "");
        let names: Vec<&String> = report.as_object().unwrap().keys().collect();
        let known: Vec<&str> = ["received"].into_iter().chain(COUNTS).chain(["service"]).collect();
        assert_eq!(names.len(), known.len());
        assert!(known.iter().all(|name| report.get(name).is_some()), "{names:?}");
    }

    #[test]
    fn tokens_have_figures_in_their_mode_only() {
        let mut stamps = Stamps::with_tokens(1000);
        for index in 0..10 {
            stamps.arrived(100, Planned { service_ns: 3, due_ns: 110 + index });
            let tokens = stamps.tokens_mut().unwrap();
            tokens.sent(2);
            tokens.gap(7 + index);
            tokens.finished(50);
        }
        stamps.tokens_mut().unwrap().cut();
        let report = ask(&stamps, "skip=9");
        assert!(TOKEN_COUNTS.iter().all(|name| report.get(name).is_some()), "{report}");
        assert_eq!(report["first_token_ns"]["max"], 19);
        assert_eq!((&report["gap_ns"]["p50"], &report["gap_ns"]["max"]), (&json!(11), &json!(16)));
        assert_eq!(report["last_token_ns"]["mean"], 50.0);
        assert_eq!((&report["tokens"], &report["streams_cut"]), (&json!(20), &json!(1)));
        assert!(TOKEN_COUNTS.iter().all(|name| ask(&thousand(), "").get(name).is_none()));
    }

    #[test]
    fn the_figures_are_those_of_the_stamps() {
        let report = ask(&thousand(), "arrivals=constant&rate=1000");
        assert_eq!(report["received"], 1000);
        assert_eq!(report["first_ns"], 7_000_000_000_u64);
        assert_eq!(report["last_ns"], 7_999_000_000_u64);
        assert_eq!(report["started_rate"], 1000.0);
        assert_eq!(report["schedule_error_ns"]["max"], 0);
        assert_eq!(report["gaps_ns"]["p50"], 1_000_000);
        assert_eq!(report["gap_variation"], 0.0);
        assert_eq!(report["waiting_ns"]["max"], 999);
        assert_eq!(report["true_response_ns"]["p99"], 999);
        assert_eq!(report["answer_lateness_ns"]["mean"], 5.0);
        assert_eq!(report["service"]["mode"], "constant");
        assert_eq!(report["service"]["timing"], json!({"constant": {"service_ns": 1_000_000}}));
    }

    #[test]
    fn a_part_can_be_asked_for() {
        let report = ask(&thousand(), "skip=10&take=5");
        assert_eq!(report["stamped"], 5);
        assert_eq!(report["first_ns"], 7_010_000_000_u64);
        assert_eq!(report["schedule_error_ns"], Value::Null);
        assert_eq!(ask(&thousand(), "skip=5000")["stamped"], 0);
    }

    #[test]
    fn nothing_seen_is_told_as_null() {
        let report = ask(&Stamps::new(4), "rate=1000");
        assert_eq!((&report["received"], &report["first_ns"]), (&json!(0), &Value::Null));
        assert_eq!(report["true_response_ns"], Value::Null);
    }

    #[test]
    fn queries_are_read_or_refused() {
        assert_eq!(ReportQuery::parse("rate=20/s").unwrap().rate, Some(20.0));
        assert_eq!(ReportQuery::parse("rate=20%2Fs").unwrap().rate, Some(20.0));
        assert_eq!(ReportQuery::parse("arrivals=poisson&rate=20").unwrap().rate, None);
        for query in ["rate=0", "rate=inf", "arrivals=bursty", "skip=-1", "speed=1"] {
            assert!(ReportQuery::parse(query).is_err(), "{query}");
        }
    }
}
