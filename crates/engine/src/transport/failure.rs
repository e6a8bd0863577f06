//! Maps errors of the operating system and of TLS to kinds of failure.

use std::io::{self, ErrorKind};

use record::FailureKind;
use rustix::io::Errno;

/// Errors that mean that this machine, not the target, has run out of a resource.
const LOCAL_LIMITS: [Errno; 5] =
    [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL, Errno::NOBUFS, Errno::NOMEM];

/// The kind of failure for an error of connecting, reading or writing.
///
/// A missing Unix socket counts as refused, and so does one with a full backlog: nothing accepts
/// there. The kernel's own time-out counts as `connect_timeout`, because on an established
/// connection the operation's time-out comes first.
pub fn failure_kind(error: &io::Error) -> FailureKind {
    if let Some(kind) = Errno::from_io_error(error).and_then(of_errno) {
        return kind;
    }
    if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>) {
        return FailureKind::Tls;
    }
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::WriteZero => FailureKind::Closed,
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => FailureKind::Refused,
        ErrorKind::TimedOut => FailureKind::ConnectTimeout,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
            FailureKind::Reset
        }
        _ => FailureKind::Unreachable,
    }
}

fn of_errno(errno: Errno) -> Option<FailureKind> {
    match errno {
        errno if LOCAL_LIMITS.contains(&errno) => Some(FailureKind::LocalLimit),
        Errno::CONNREFUSED | Errno::NOENT | Errno::AGAIN => Some(FailureKind::Refused),
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Some(FailureKind::Reset),
        Errno::TIMEDOUT => Some(FailureKind::ConnectTimeout),
        _ => None,
    }
}

/// The error in words: `connecting to 127.0.0.1:80: connection refused (os error 111)`.
pub(super) fn describe(what: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    format!("{what}: {}{}", first.map(String::from).unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(errno: Errno, kind: FailureKind) {
        assert_eq!(failure_kind(&io::Error::from(errno)), kind, "{errno:?}");
    }

    #[test]
    fn each_error_has_its_kind() {
        check(Errno::CONNREFUSED, FailureKind::Refused);
        check(Errno::NOENT, FailureKind::Refused);
        check(Errno::CONNRESET, FailureKind::Reset);
        check(Errno::PIPE, FailureKind::Reset);
        check(Errno::NETUNREACH, FailureKind::Unreachable);
        check(Errno::HOSTUNREACH, FailureKind::Unreachable);
        check(Errno::ACCESS, FailureKind::Unreachable);
        check(Errno::TIMEDOUT, FailureKind::ConnectTimeout);
        for errno in LOCAL_LIMITS {
            check(errno, FailureKind::LocalLimit);
        }
    }

    #[test]
    fn an_end_in_the_middle_is_closed_and_a_tls_alert_is_tls() {
        assert_eq!(failure_kind(&ErrorKind::UnexpectedEof.into()), FailureKind::Closed);
        let alert = io::Error::new(ErrorKind::InvalidData, rustls::Error::DecryptError);
        assert_eq!(failure_kind(&alert), FailureKind::Tls);
    }

    #[test]
    fn a_description_names_the_place_and_the_error() {
        let text = describe("connecting to a:1", &Errno::CONNREFUSED.into());
        assert_eq!(text, "connecting to a:1: connection refused (os error 111)");
    }
}
