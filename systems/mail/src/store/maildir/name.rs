//! Unique names as <https://cr.yp.to/proto/maildir.html> requires: seconds, then microseconds, process and number of
//! the delivery, then the host.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most bytes of the host in a name: file systems allow 255 for the whole name.
const LONGEST_HOST: usize = 180;

/// Generates unique names.
#[derive(Debug)]
pub(super) struct UniqueNames {
    host: String,
    process: u32,
    deliveries: AtomicU64,
}

impl UniqueNames {
    /// Names of this process on a host with this name.
    pub fn new(host: &str, process: u32) -> Self {
        // The page's escapes of `/` and `:` in a host's name; other unusual characters are escaped the same way.
        let escaped = host.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("\\{byte:03o}"),
        });
        let mut host: String = escaped.collect();
        host.truncate(LONGEST_HOST);
        Self { host, process, deliveries: AtomicU64::new(0) }
    }

    /// The next name.
    pub fn next(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = self.deliveries.fetch_add(1, Ordering::Relaxed);
        let (seconds, micros) = (now.as_secs(), now.subsec_micros());
        format!("{seconds}.M{micros:06}P{}Q{number}.{}", self.process, self.host)
    }

    /// Which process of this host gave a name; `None` for the names of others.
    pub fn process_of(&self, name: &str) -> Option<u32> {
        let (_, rest) = name.split_once('.')?;
        let (middle, host) = rest.split_once('.')?;
        let (_, process) = middle.strip_prefix('M')?.split_once('P')?;
        let (process, _) = process.split_once('Q')?;
        if host == self.host { process.parse().ok() } else { None }
    }
}

/// When a name was made, in milliseconds since 1970; 0 if the name does not contain it.
pub(super) fn given_at(name: &str) -> i64 {
    let Some((seconds, rest)) = name.split_once('.') else { return 0 };
    let seconds: i64 = seconds.parse().unwrap_or(0);
    let micros = rest.strip_prefix('M').and_then(|rest| rest.get(..6));
    let micros: i64 = micros.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(micros / 1_000)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_who_gave_them() {
        let names = UniqueNames::new("mail.example", 42);
        let given: HashSet<String> = (0..1_000).map(|_| names.next()).collect();
        assert_eq!(given.len(), 1_000);
        for name in &given {
            assert_eq!(names.process_of(name), Some(42), "{name}");
            assert!(given_at(name) > 1_700_000_000_000, "{name}");
            assert_eq!(UniqueNames::new("other.example", 42).process_of(name), None);
        }
        for other in ["", "x", "1.x.mail.example", "1.M1P.mail.example", "1.M1PxQ1.mail.example"] {
            assert_eq!(names.process_of(other), None, "{other}");
        }
        assert_eq!(given_at("1700000001.M250000P1Q1.h"), 1_700_000_001_250);
        assert_eq!((given_at("x"), given_at("7.x")), (0, 7_000));
    }

    #[test]
    fn a_name_fits_into_a_folder_whatever_the_host() {
        for host in ["a".repeat(255), ":".repeat(255)] {
            let names = UniqueNames::new(&host, u32::MAX);
            names.deliveries.store(u64::MAX, Ordering::Relaxed);
            let name = names.next();
            assert!(name.len() <= 255, "{name}");
            assert_eq!(names.process_of(&name), Some(u32::MAX), "{name}");
        }
    }

    #[test]
    fn a_host_never_leaves_the_folder() {
        let name = UniqueNames::new("../a:b c\n", 1).next();
        assert!(name.ends_with("...\\057a\\072b\\040c\\012"), "{name}");
        assert!(!name.contains(['/', ':', ' ', '\n']), "{name}");
    }
}
