//! The settings of a front.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;
use serving::supervisor::ChildSpec;

use super::handler::AnswerPolicy;
use super::producer_process::ProducerAddresses;
use crate::request::USERS;
use crate::{producer, race, spin};

/// The producer's settings are the front's with this before their names.
const PREFIX: &str = "producer_";
/// Those that it has, prefixed.
const PASSED: &[&str] = &[
    "producer_users",
    "producer_seed",
    "producer_folder",
    "producer_slots",
    "producer_answer_room",
    "producer_clients",
    "producer_max_shared",
    "producer_workers",
    "producer_spin",
    "producer_max_prepared",
    "producer_max_answers",
    "producer_threads",
    "producer_max_connections",
    "producer_max_head",
    "producer_max_body",
    "producer_idle",
    "producer_read",
    "producer_drain",
];

/// Who is asked.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A producer that is started beside the front.
    Own(ChildSpec),
    /// One that runs already.
    Elsewhere(ProducerAddresses),
}

/// The configuration in force.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    pub source: Source,
    pub policy: AnswerPolicy,
    /// Connections to the producer, for HTTP and the Unix socket each.
    pub connections: usize,
    /// How long an answer over shared memory is looked for before its task sleeps.
    pub spin: Duration,
    /// The file in the place of shared memory, and how long it is left alone after it was written.
    pub race: Option<Duration>,
    pub threads: usize,
    pub limits: Limits,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let race = race(&settings);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let configuration = Configuration {
        source: source(&settings, race.is_some()),
        policy: policy(&settings),
        connections: settings.count("connections", 64, 1..=4_096) as usize,
        spin: spin::read(&settings),
        race,
        threads: settings.count("threads", processors, 1..=1_024) as usize,
        limits: Limits::read(&settings),
    };
    settings.finish("exchange")?;
    Ok(configuration)
}

fn policy(settings: &Settings<'_>) -> AnswerPolicy {
    let (least, most) = (u64::from(*USERS.start()), u64::from(*USERS.end()));
    AnswerPolicy {
        users: settings.count("users", 100, least..=most) as u32,
        deadline: Duration::from_nanos(settings.positive_time("deadline", 2_000_000_000)),
        reencodes: settings.flag("reencode", true),
        room: settings.size("max_answers", 512 << 20),
    }
}

fn race(settings: &Settings<'_>) -> Option<Duration> {
    let is_wanted = settings.flag("file_race", false);
    let hold = settings.time("race_hold", 0);
    if hold > 0 && !is_wanted {
        settings.idle("race_hold", "has no effect without file_race=true");
    }
    is_wanted.then(|| Duration::from_nanos(hold))
}

fn source(settings: &Settings<'_>, has_race: bool) -> Source {
    let mut spec = ChildSpec::read(settings, PREFIX, PASSED, &producer::SYSTEM);
    if let Some(addresses) = elsewhere(settings) {
        if !spec.settings.is_empty() {
            settings.wrong("producer_…", "has no effect on a producer at another address");
        }
        if has_race {
            settings.wrong(
                "file_race",
                "needs a producer that the front starts: remove http, unix and shm",
            );
        }
        return Source::Elsewhere(addresses);
    }
    if has_race {
        spec.settings.insert(race::SETTING.to_owned(), json!(true));
    }
    Source::Own(spec)
}

/// Where a producer is that runs already: all three places, or none.
fn elsewhere(settings: &Settings<'_>) -> Option<ProducerAddresses> {
    let [http, unix, shm] = ["http", "unix", "shm"].map(|key| settings.text(key, ""));
    let given = [&http, &unix, &shm].iter().filter(|text| !text.is_empty()).count();
    if given == 0 {
        return None;
    }
    if given < 3 {
        settings.refuse("http, unix, shm: give all three addresses of the producer, or none");
    }
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let address = http.parse().unwrap_or_else(|_| {
        if !http.is_empty() {
            settings.wrong("http", format!("expected HOST:PORT in digits, got \"{http}\""));
        }
        nowhere
    });
    Some(ProducerAddresses { http: address, unix: unix.into(), shm: shm.into() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn problems(options: Options) -> Vec<String> {
        let bad = read(&options).err().unwrap_or_default();
        bad.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_has_a_default() {
        let plain = read(&Options::default()).unwrap();
        let policy = AnswerPolicy {
            users: 100,
            deadline: Duration::from_secs(2),
            reencodes: true,
            room: 512 << 20,
        };
        assert_eq!((plain.policy, plain.race), (policy, None));
        assert!(matches!(plain.source, Source::Own(spec) if spec.settings.is_empty()));
    }

    #[test]
    fn the_producers_settings_are_passed_on_and_judged_by_it() {
        let given = Options::default().with("producer_slots", 8).with("file_race", true);
        let Source::Own(spec) = read(&given).unwrap().source else { panic!() };
        let passed = [("slots".to_owned(), json!(8)), (race::SETTING.to_owned(), json!(true))];
        assert_eq!(spec.settings, BTreeMap::from(passed));
        let text = problems(Options::default().with("producer_slots", "many"));
        assert!(text.len() == 1 && text[0].starts_with("producer_slots: expected"), "{text:?}");
        for key in PASSED {
            let text = problems(Options::default().with(key, json!([])));
            assert!(text.iter().all(|problem| !problem.contains("no setting of")), "{text:?}");
        }
    }

    #[test]
    fn a_setting_of_the_producer_is_known_by_its_name_there() {
        for (key, text) in [
            (
                "answer_room",
                "answer_room: no setting of exchange; did you mean producer_answer_room?",
            ),
            ("max_shared", "max_shared: no setting of exchange; did you mean producer_max_shared?"),
            ("spn", "spn: no setting of exchange; did you mean spin?"),
        ] {
            assert_eq!(problems(Options::default().with(key, "0")), [text]);
        }
        for key in ["spin", "producer_spin"] {
            let text = problems(Options::default().with(key, "1h"));
            let expected = format!("{key}: expected a time of at most 1s such as 20us, got 3600s");
            assert_eq!(text, [expected]);
        }
    }

    #[test]
    fn a_producer_elsewhere_has_three_places_and_no_settings() {
        let there = Options::default()
            .with("http", "127.0.0.1:80")
            .with("unix", "/run/u")
            .with("shm", "/run/c");
        let Source::Elsewhere(addresses) = read(&there).unwrap().source else { panic!() };
        let expected = ProducerAddresses {
            http: ([127, 0, 0, 1], 80).into(),
            unix: "/run/u".into(),
            shm: "/run/c".into(),
        };
        assert_eq!(addresses, expected);
        for (options, text) in [
            (there.clone().with("producer_seed", 2), "no effect on a producer"),
            (there.clone().with("file_race", true), "needs a producer that the front starts"),
            (there.clone().with("http", "here"), "http: expected HOST:PORT in digits"),
            (Options::default().with("unix", "/run/u"), "give all three addresses"),
            (Options::default().with("race_hold", "1s"), "without file_race=true"),
        ] {
            let problems = problems(options);
            assert!(problems.len() == 1 && problems[0].contains(text), "{text}: {problems:?}");
        }
    }
}
