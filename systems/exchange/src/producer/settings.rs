//! What a producer is started with.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;
use shm_channel::Geometry;

use crate::request::{LONGEST, USERS};
use crate::{race, spin};

/// The settings of `exchange-producer`.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// How many `GET /users` gives where it is not said.
    pub users: u32,
    /// Of the records.
    pub seed: u64,
    /// Where the sockets are; `None` for a fresh folder.
    pub folder: Option<PathBuf>,
    /// The shape of the channel.
    pub shm: shm_channel::Settings,
    /// Bytes of payloads that are kept prepared.
    pub max_prepared: u64,
    /// Bytes of answers that are on their way over HTTP and the Unix socket.
    pub max_answers: u64,
    /// Of connections and times.
    pub limits: Limits,
    /// Whether requests may have the file of [`race`] written.
    pub file_race: bool,
    /// Threads that serve HTTP and the Unix socket.
    pub threads: usize,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let users = settings.count("users", 100, u64::from(*USERS.start())..=u64::from(*USERS.end()));
    let folder = settings.text("folder", "");
    let limits = Limits::read(&settings);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let configuration = Configuration {
        users: users as u32,
        seed: settings.count("seed", 1, 0..=u64::MAX),
        folder: (!folder.is_empty()).then(|| folder.into()),
        shm: shm(&settings, limits.drain()),
        max_prepared: settings.size("max_prepared", 128 << 20),
        max_answers: settings.size("max_answers", 1 << 30),
        file_race: settings.flag(race::SETTING, false),
        limits,
        threads: settings.count("threads", processors, 1..=1_024) as usize,
    };
    settings.finish("the exchange's producer")?;
    Ok(configuration)
}

fn shm(settings: &Settings<'_>, drain: Duration) -> shm_channel::Settings {
    let shm = shm_channel::Settings {
        slots: settings.count("slots", 64, 1..=4_096) as u32,
        request_room: LONGEST as u64,
        answer_room: settings.size("answer_room", 512 << 10),
        clients: settings.count("clients", 128, 1..=u64::from(u32::MAX)) as u32,
        memory: settings.size("max_shared", 8 << 30),
        workers: settings.count("workers", 1, 1..=1_024) as usize,
        spin: spin::read(settings),
        drain,
    };
    let shape = Geometry::new(shm.slots, shm.request_room, shm.answer_room);
    if !shm.slots.is_power_of_two() {
        settings.wrong("slots", format!("expected a power of two, got {}", shm.slots));
    } else if let Err(error) = shape {
        settings.wrong("answer_room", error.to_string());
    } else if let Err(error) = shm.limit() {
        settings.wrong("max_shared", error.to_string());
    }
    shm
}

impl Configuration {
    /// The part of the ready line.
    pub(super) fn effective(&self) -> Value {
        json!({
            "users": self.users,
            "seed": self.seed,
            "shm": {
                "slots": self.shm.slots,
                "answer_room_bytes": self.shm.answer_room,
                "clients": self.shm.limit().ok(),
                "workers": self.shm.workers,
                "spin_ns": self.shm.spin.as_nanos() as u64,
            },
            "max_shared_bytes": self.shm.memory,
            "max_prepared_bytes": self.max_prepared,
            "max_answers_bytes": self.max_answers,
            "file_race": self.file_race,
            "limits": self.limits,
            "threads": self.threads,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_default_and_all_problems_are_told_at_once() {
        let plain = read(&Options::default()).unwrap();
        assert_eq!((plain.users, plain.seed, plain.folder), (100, 1, None));
        assert_eq!(plain.shm.spin, Duration::from_micros(20));
        let bad = Options::default()
            .with("users", 0)
            .with("slots", 3)
            .with("spin", "20")
            .with("threads", "none")
            .with("cache", "1MiB");
        let problems = read(&bad).unwrap_err().problems;
        assert_eq!(problems.len(), 5, "{problems:?}");
        assert!(problems.iter().any(|one| one.to_string().starts_with("slots: expected a power")));
        let problems = read(&Options::default().with("spin", "1h")).unwrap_err().problems;
        assert_eq!((problems.len(), &*problems[0].key), (1, "spin"));
        let none = Options::default().with("max_shared", "1MiB");
        let problems = read(&none).unwrap_err().problems;
        assert_eq!((problems.len(), &*problems[0].key), (1, "max_shared"));
        let large = Options::default().with("slots", 4_096).with("answer_room", "4GiB");
        let problems = read(&large).unwrap_err().problems;
        assert_eq!((problems.len(), &*problems[0].key), (1, "answer_room"));
    }

    #[test]
    fn the_ready_line_tells_what_is_in_force() {
        let set = Options::default().with("users", 7).with("spin", "0").with("answer_room", "1MiB");
        let effective = read(&set).unwrap().effective();
        assert_eq!(effective["shm"]["clients"], 127, "of 64.3 MiB each in 8 GiB");
        assert_eq!(effective["users"], 7);
        assert_eq!(effective["shm"]["spin_ns"], 0);
        assert_eq!(effective["shm"]["answer_room_bytes"], 1 << 20);
    }
}
