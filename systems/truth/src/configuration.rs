//! The configuration that the settings describe: a mode and its parameters.

use serde::Serialize;
use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Memory for stamps is allocated at the start: 32 bytes each.
const MOST_STAMPS: u64 = 100_000_000;
/// Empty pieces cost time too, and all connections share one thread.
const MOST_PIECES: u64 = 10_000;
/// An answer that is not streamed is rendered whole, three bytes a token.
const MOST_TOKENS: u64 = 100_000;

/// How this target behaves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// The mode's name, as set.
    pub mode: &'static str,
    /// When answers are due.
    pub timing: Timing,
    /// What answers look like.
    #[serde(rename = "conduct")]
    pub behaviour: Behaviour,
    /// Share of requests (of connections in mode `refuse`) that get the mode's behaviour; the
    /// others are answered as in mode `constant`.
    pub share: f64,
    /// Bytes of an answer's body.
    pub body_bytes: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// The constant rate that `/observed` holds the arrivals against.
    pub planned_rate: Option<f64>,
    /// Arrivals that are kept; further ones are answered and counted, but not stamped.
    pub max_stamps: u64,
    /// Bounds on connections, sizes and times.
    pub limits: Limits,
}

/// When an answer is due, given when its request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// A fixed time after the arrival, independent of other requests; 0 is at once.
    Constant {
        /// The fixed time.
        service_ns: u64,
    },
    /// One server, first come first served, exponential service times.
    Mm1 {
        /// Services per second (μ).
        rate: f64,
    },
    /// One server, first come first served, each service 1/μ long.
    Md1 {
        /// Services per second (μ).
        rate: f64,
    },
    /// One of two fixed times, drawn for each request.
    Bimodal {
        /// Share of requests that are slow.
        slow_share: f64,
        /// The common time.
        fast_ns: u64,
        /// The other time.
        slow_ns: u64,
    },
    /// A fixed time, except that nothing is answered during a freeze.
    Freeze {
        /// The fixed time.
        service_ns: u64,
        /// Start of the first freeze, from the first arrival.
        at_ns: u64,
        /// Length of a freeze.
        length_ns: u64,
        /// From one start to the next; absent if there is only one freeze.
        every_ns: Option<u64>,
    },
    /// A time that grows with every request.
    Leak {
        /// For the first request.
        service_ns: u64,
        /// What each request adds for all later ones.
        growth_ns: u64,
    },
}

/// What the answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// 200 with a body of known length.
    Plain,
    /// The connection is closed as soon as it is accepted.
    Refuse {
        /// Connections accepted before the listener itself is closed, if ever.
        close_listener_after: Option<u64>,
    },
    /// The connection is reset instead of an answer.
    Reset,
    /// The body comes in pieces, evenly spread over a time.
    SlowBody {
        /// From the head to the last piece.
        over_ns: u64,
        /// Number of pieces.
        pieces: u64,
    },
    /// Another status than 200.
    Status {
        /// Three digits.
        code: u16,
    },
    /// Bytes that are no HTTP, then the end.
    Garbage,
    /// No answer, ever; the connection stays open.
    Hang,
    /// The connection ends half-way through the announced body.
    Half,
    /// Header lines without end, as fast as they are read.
    EndlessHeader,
    /// The announced length is not the body's.
    LyingLength {
        /// In which direction.
        lie: Lie,
    },
    /// A body of huge size, streamed from a fixed buffer.
    HugeBody,
    /// The body in chunked coding.
    Chunked {
        /// Number of chunks.
        pieces: u64,
    },
    /// Every answer closes its connection.
    Close,
    /// A chat completion, token by token.
    Tokens(TokenSettings),
}

/// The tokens of chat completions: how many, and the gaps between them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TokenSettings {
    /// Tokens of an answer, or their mean.
    pub count: u64,
    /// How the number of tokens is drawn.
    pub lengths: Lengths,
    /// Mean time from one token of a stream to the next, while no other stream emits tokens.
    pub gap_ns: u64,
    /// How gaps are drawn.
    pub gaps: Gaps,
    /// By which share of `gap_ns` each other stream lengthens the mean gap.
    pub batch: f64,
    /// Share of streams that end within an event.
    pub cut_share: f64,
}

/// How the number of tokens of an answer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// All answers have the same number.
    Constant,
    /// Geometric from 1 on: after each token, the answer ends with the same probability.
    Geometric,
}

/// How gaps between tokens are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// Each gap is the mean.
    Constant,
    /// Exponential around the mean.
    Exponential,
}

/// How a length lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lie {
    /// Announces fewer bytes than come: the rest looks like the next answer.
    Less,
    /// Announces more bytes than come: the reader waits in vain.
    More,
}

/// Every mode, in the order of the README.
pub const MODES: [&str; 21] = [
    "constant",
    "none",
    "mm1",
    "md1",
    "bimodal",
    "freeze",
    "periodic",
    "leak",
    "tokens",
    "refuse",
    "reset",
    "slow_body",
    "status",
    "garbage",
    "hang",
    "half",
    "endless_header",
    "lying_length",
    "huge_body",
    "chunked",
    "close",
];

/// Reads a configuration out of options.
///
/// Errors: every problem at once; a setting of another mode is unknown to this one
pub fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let mode = MODES[settings.choice("mode", &MODES, 0)];
    settings.check()?;
    let behaviour = read_behaviour(mode, &settings);
    let timing = read_timing(mode, &settings);
    let share = match behaviour {
        Behaviour::Plain | Behaviour::Tokens(_) => 1.0,
        _ => settings.ratio("share", 1.0),
    };
    let body_bytes = match behaviour {
        Behaviour::Tokens(_) => 0,
        _ => settings.size("body", default_body(behaviour)),
    };
    let configuration = Configuration {
        mode,
        timing,
        behaviour,
        share,
        body_bytes,
        seed: settings.count("seed", 1, 0..=u64::MAX),
        planned_rate: settings.optional_rate("planned_rate"),
        max_stamps: settings.count("max_stamps", 4_000_000, 0..=MOST_STAMPS),
        limits: Limits::read(&settings),
    };
    settings.finish(&format!("mode {mode}"))?;
    Ok(configuration)
}

/// All other modes answer after a constant service time, 0 by default.
fn read_timing(mode: &str, settings: &Settings<'_>) -> Timing {
    match mode {
        "constant" => Timing::Constant { service_ns: settings.time("service", MILLISECOND) },
        "none" => Timing::Constant { service_ns: 0 },
        "mm1" => Timing::Mm1 { rate: settings.rate("rate", 1000.0) },
        "md1" => Timing::Md1 { rate: settings.rate("rate", 1000.0) },
        "bimodal" => Timing::Bimodal {
            slow_share: settings.ratio("share", 0.1),
            fast_ns: settings.time("fast", MILLISECOND),
            slow_ns: settings.time("slow", 10 * MILLISECOND),
        },
        "freeze" => Timing::Freeze {
            service_ns: settings.time("service", MILLISECOND),
            at_ns: settings.time("at", 5 * SECOND),
            length_ns: settings.time("length", SECOND),
            every_ns: None,
        },
        "periodic" => read_periodic(settings),
        "leak" => Timing::Leak {
            service_ns: settings.time("service", MILLISECOND),
            growth_ns: settings.time("growth", 1_000),
        },
        "tokens" => read_prefill(settings),
        _ => Timing::Constant { service_ns: settings.time("service", 0) },
    }
}

/// In mode `tokens`, the timing is that of the first token.
fn read_prefill(settings: &Settings<'_>) -> Timing {
    let rate = settings.rate("rate", 1000.0);
    match settings.choice("prefill", &["exponential", "constant"], 0) {
        0 => Timing::Mm1 { rate },
        _ => Timing::Md1 { rate },
    }
}

fn read_tokens(settings: &Settings<'_>) -> TokenSettings {
    let lengths = [Lengths::Constant, Lengths::Geometric];
    let gaps = [Gaps::Exponential, Gaps::Constant];
    TokenSettings {
        count: settings.count("tokens", 50, 1..=MOST_TOKENS),
        lengths: lengths[settings.choice("lengths", &["constant", "geometric"], 0)],
        gap_ns: settings.time("gap", 20 * MILLISECOND),
        gaps: gaps[settings.choice("gaps", &["exponential", "constant"], 0)],
        batch: settings.ratio("batch", 0.0),
        cut_share: settings.ratio("cut", 0.0),
    }
}

fn read_periodic(settings: &Settings<'_>) -> Timing {
    let every_ns = settings.positive_time("every", 5 * SECOND);
    let length_ns = settings.time("length", SECOND / 10);
    if length_ns >= every_ns {
        settings.wrong("length", "must be less than `every`, or the freeze never ends");
    }
    Timing::Freeze {
        service_ns: settings.time("service", MILLISECOND),
        at_ns: settings.time("at", every_ns),
        length_ns,
        every_ns: Some(every_ns),
    }
}

fn read_behaviour(mode: &str, settings: &Settings<'_>) -> Behaviour {
    match mode {
        "refuse" => Behaviour::Refuse {
            close_listener_after: settings.optional_count("close_listener_after", 1..=u64::MAX),
        },
        "reset" => Behaviour::Reset,
        "slow_body" => Behaviour::SlowBody {
            over_ns: settings.time("over", SECOND),
            pieces: settings.count("pieces", 10, 1..=MOST_PIECES),
        },
        "status" => Behaviour::Status { code: settings.count("code", 500, 200..=599) as u16 },
        "garbage" => Behaviour::Garbage,
        "hang" => Behaviour::Hang,
        "half" => Behaviour::Half,
        "endless_header" => Behaviour::EndlessHeader,
        "lying_length" => Behaviour::LyingLength {
            lie: [Lie::Less, Lie::More][settings.choice("lie", &["less", "more"], 0)],
        },
        "huge_body" => Behaviour::HugeBody,
        "chunked" => Behaviour::Chunked { pieces: settings.count("pieces", 4, 1..=MOST_PIECES) },
        "close" => Behaviour::Close,
        "tokens" => Behaviour::Tokens(read_tokens(settings)),
        _ => Behaviour::Plain,
    }
}

/// A mode about bodies needs one; the others answer the least there is.
fn default_body(behaviour: Behaviour) -> u64 {
    match behaviour {
        Behaviour::SlowBody { .. } | Behaviour::Half | Behaviour::LyingLength { .. } => 1_000,
        Behaviour::Chunked { .. } => 1_000,
        Behaviour::HugeBody => 2 << 30,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use serving::error::Kind;

    use super::*;

    fn problems(options: Options) -> Vec<String> {
        read(&options).unwrap_err().sentences()
    }

    #[test]
    fn nothing_set_is_a_constant_millisecond() {
        let configuration = read(&Options::default()).unwrap();
        assert_eq!(configuration.mode, "constant");
        assert_eq!(configuration.timing, Timing::Constant { service_ns: 1_000_000 });
        assert_eq!(configuration.behaviour, Behaviour::Plain);
    }

    #[test]
    fn every_mode_reads_without_settings() {
        for mode in MODES {
            assert_eq!(read(&Options::default().with("mode", mode)).unwrap().mode, mode);
        }
    }

    #[test]
    fn the_readme_has_a_row_for_every_mode() {
        let readme = include_str!("../README.md");
        for mode in MODES {
            assert!(readme.contains(&format!("\n| `{mode}` | ")), "{mode}");
        }
    }

    #[test]
    fn settings_reach_their_mode() {
        let options = Options::default()
            .with("mode", "periodic")
            .with("every", "2s")
            .with("length", "300ms")
            .with("service", "5ms")
            .with("body", "1KiB");
        let configuration = read(&options).unwrap();
        let expect = Timing::Freeze {
            service_ns: 5_000_000,
            at_ns: 2_000_000_000,
            length_ns: 300_000_000,
            every_ns: Some(2_000_000_000),
        };
        assert_eq!(configuration.timing, expect);
        assert_eq!(configuration.body_bytes, 1024);
    }

    #[test]
    fn a_setting_of_another_mode_is_refused_with_what_exists() {
        let options = Options::default().with("mode", "none").with("rate", "5/s");
        let found = read(&options).unwrap_err().problems;
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("rate: no setting of mode none"), "{found:?}");
        let Kind::Unknown(known) = &found[0].kind else { panic!("{found:?}") };
        assert_eq!([known[0].name, known[1].name], ["body", "drain"]);
    }

    #[test]
    fn every_problem_is_reported() {
        let options = Options::default()
            .with("mode", "status")
            .with("code", 700)
            .with("share", "200%")
            .with("body", "12");
        assert_eq!(
            problems(options),
            [
                "code: expected a whole number from 200 to 599, got \"700\"",
                "share: expected a share such as 25% or 0.25, got \"200%\"",
                "body: expected a size such as 64KiB, got \"12\"",
            ]
        );
    }

    #[test]
    fn an_unknown_mode_is_the_only_problem_reported() {
        let found = problems(Options::default().with("mode", "mm2").with("rate", "1/s"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("mode: expected one of constant, none, mm1"));
    }

    #[test]
    fn tokens_have_a_prefill_and_no_body() {
        let options = Options::default().with("mode", "tokens").with("prefill", "constant");
        let configuration = read(&options.with("gap", "5ms").with("lengths", "geometric")).unwrap();
        assert_eq!(configuration.timing, Timing::Md1 { rate: 1000.0 });
        let tokens = TokenSettings {
            count: 50,
            lengths: Lengths::Geometric,
            gap_ns: 5_000_000,
            gaps: Gaps::Exponential,
            batch: 0.0,
            cut_share: 0.0,
        };
        assert_eq!(configuration.behaviour, Behaviour::Tokens(tokens));
        let options = Options::default().with("mode", "tokens").with("tokens", 0).with("cut", 2);
        assert_eq!(
            problems(options.with("body", "5B")),
            [
                "tokens: expected a whole number from 1 to 100000, got \"0\"",
                "cut: expected a share such as 25% or 0.25, got \"2\"",
                "body: no setting of mode tokens; did you mean max_body?",
            ]
        );
    }

    #[test]
    fn a_freeze_longer_than_its_period_is_refused() {
        let options = Options::default().with("mode", "periodic").with("length", "5s");
        assert_eq!(
            problems(options),
            ["length: must be less than `every`, or the freeze never ends"]
        );
    }
}
