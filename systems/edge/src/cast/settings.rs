//! What a caster keeps to.

use serving::settings::Settings as Reader;

use super::address::Address;
use super::frame::{LEAST_FRAME, LONGEST_NAME, MOST_LANES};

/// Bounds and ways of a caster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Each of them gets every message.
    pub peers: Vec<Address>,
    /// For people to read at the monitor; at most 64 bytes.
    pub name: String,
    /// Bytes that may wait for each peer, divided among the lanes; a lane that is empty has room for one message.
    pub room_bytes: usize,
    /// Messages that may wait for each peer, likewise.
    pub room_messages: usize,
    /// Bytes that may be under way to each peer without its acknowledgement; what waits is taken as a whole, so that
    /// there may be as much more as may wait.
    pub window_bytes: usize,
    /// Bytes of the longest frame.
    pub longest_frame: usize,
    /// Lanes; threads beyond their number share some. 1 to 64.
    pub lanes: usize,
    /// Casts wait for room where there is a connection: the coupling that a port of Erlang's has.
    pub blocking: bool,
    /// NATS: the subject.
    pub subject: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            peers: Vec::new(),
            name: "caster".into(),
            room_bytes: 16 << 20,
            room_messages: 256 << 10,
            window_bytes: 4 << 20,
            longest_frame: 64 << 10,
            lanes: 8,
            blocking: false,
            subject: "casts".into(),
        }
    }
}

impl Settings {
    /// Reads `cast_to` (addresses with commas between them), `cast_room`, `cast_room_messages`, `cast_window`,
    /// `cast_longest`, `cast_blocking` and `cast_subject`; problems are reported there.
    pub fn read(settings: &Reader<'_>, name: &str) -> Self {
        let default = Self::default();
        let bytes = |key, default: usize| {
            usize::try_from(settings.size(key, default as u64)).unwrap_or(usize::MAX)
        };
        let messages = settings.count(
            "cast_room_messages",
            default.room_messages as u64,
            1..=u64::from(u32::MAX),
        );
        let mut name = name.to_owned();
        name.truncate(name.floor_char_boundary(LONGEST_NAME));
        Self {
            peers: peers(settings),
            name,
            room_bytes: bytes("cast_room", default.room_bytes),
            room_messages: messages as usize,
            window_bytes: bytes("cast_window", default.window_bytes),
            longest_frame: longest(settings, "cast_longest", default.longest_frame),
            lanes: default.lanes,
            blocking: settings.flag("cast_blocking", false),
            subject: subject(settings, "cast_subject", &default.subject),
        }
    }

    /// Lanes within their bounds.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.clamp(1, MOST_LANES)
    }
}

fn peers(settings: &Reader<'_>) -> Vec<Address> {
    let text = settings.text("cast_to", "");
    let mut peers = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        match Address::read(one) {
            Ok(address) => peers.push(address),
            Err(what) => settings.wrong("cast_to", what),
        }
    }
    peers
}

/// The longest frame, which must have room for what travels beside casts.
pub(crate) fn longest(settings: &Reader<'_>, key: &'static str, default: usize) -> usize {
    let longest = settings.size(key, default as u64);
    match usize::try_from(longest) {
        Ok(longest) if (LEAST_FRAME..=16 << 20).contains(&longest) => longest,
        _ => {
            settings.wrong(key, format!("expected {LEAST_FRAME}B to 16MiB, got {longest}B"));
            default
        }
    }
}

/// A subject to publish at: tokens with dots between them.
pub(crate) fn subject(settings: &Reader<'_>, key: &'static str, default: &str) -> String {
    let subject = settings.text(key, default);
    let is_plain = |token: &str| {
        let plain = |c: char| c.is_ascii_graphic() && c != '*' && c != '>';
        !token.is_empty() && token.chars().all(plain)
    };
    if !subject.split('.').all(is_plain) {
        settings.wrong(key, format!("expected a subject without wildcards, got \"{subject}\""));
    }
    subject
}

#[cfg(test)]
mod tests {
    use super::*;
    use serving::options::Options;

    #[test]
    fn settings_are_read_by_name_and_have_defaults() {
        let options = Options::default()
            .with("cast_to", "127.0.0.1:7171, nats://127.0.0.1:4222")
            .with("cast_room", "1KiB")
            .with("cast_room_messages", 5)
            .with("cast_window", "2KiB")
            .with("cast_longest", "1KiB")
            .with("cast_blocking", true)
            .with("cast_subject", "a.b");
        let reader = Reader::new(&options.settings);
        let read = Settings::read(&reader, &"ä".repeat(40));
        reader.finish("the test").unwrap();
        let peers =
            ["127.0.0.1:7171", "nats://127.0.0.1:4222"].map(|one| Address::read(one).unwrap());
        let expected = Settings {
            peers: peers.to_vec(),
            name: "ä".repeat(32),
            room_bytes: 1 << 10,
            room_messages: 5,
            window_bytes: 2 << 10,
            longest_frame: 1 << 10,
            blocking: true,
            subject: "a.b".into(),
            ..Settings::default()
        };
        assert_eq!(read, expected);
        let none = Options::default();
        let reader = Reader::new(&none.settings);
        assert_eq!(Settings::read(&reader, "caster"), Settings::default());
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let options = Options::default()
            .with("cast_to", "one,127.0.0.1:7171,two")
            .with("cast_longest", "255B")
            .with("cast_room_messages", 0)
            .with("cast_subject", "a.*");
        let reader = Reader::new(&options.settings);
        Settings::read(&reader, "caster");
        assert_eq!(reader.finish("the test").unwrap_err().problems.len(), 5);
    }
}
