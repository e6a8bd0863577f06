//! What each bundled system shares, so that all of them start, report and stop alike.
//!
//! A system is given [`Options`](options::Options), reads its settings out of them, binds a
//! listener, announces itself with one [`Ready`](ready::Ready) line, serves until
//! [`Stop`](stop::Stop) is pulled, drains, and returns.
//!
//! Not here: anything about one system, anything about the instrument, and no printing but that of a
//! [`program`], which writes the ready line and says why a start failed. There is no global state;
//! metrics are a value that is handed around.
//!
//! In reading order: settings ([`options`], [`settings`], [`error`]); limits and
//! stopping ([`limits`], [`listener`], [`stop`]); the start ([`start`]) in a [`program`]; parts as
//! child processes ([`child`]), restarted when they die ([`supervisor`]), and their leftovers ([`orphans`]); reports
//! ([`ready`], [`metrics`], [`observed`], of what [`deliveries`] count); times ([`watch`],
//! [`timing`]); an HTTP/1.1 server ([`http`]) with its
//! errors ([`api_error`]), [`percent`] decoding and [`tls`].

pub mod api_error;
pub mod child;
pub mod deliveries;
pub mod error;
pub mod http;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod observed;
pub mod options;
pub mod orphans;
pub mod percent;
pub mod program;
pub mod ready;
pub mod settings;
pub mod start;
pub mod stop;
pub mod supervisor;
pub mod timing;
pub mod tls;
pub mod watch;
