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
//! In reading order: what was asked for ([`options`], [`settings`], [`quantity`], [`error`]), what
//! is kept to ([`limits`], [`listener`], [`stop`]), how it begins ([`start`]) in a
//! [`program`] of its own, a part of it as a process of its own
//! ([`child`]), which may be kept alive ([`keeper`]), and what that leaves behind ([`orphans`]), what is told
//! ([`ready`], [`metrics`], [`observed`], after the [`nonce`] of what arrived, how long parts took by a [`watch`], as
//! [`timing`] tells it, and what is waited for to less than a millisecond by a [`timer`]), and a plain HTTP/1.1 server
//! over all of it ([`http`]), with paths as they were meant ([`percent`]), and who a server is over TLS ([`tls`]).

pub mod child;
pub mod error;
pub mod http;
pub mod keeper;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod nonce;
pub mod observed;
pub mod options;
pub mod orphans;
pub mod percent;
pub mod program;
pub mod quantity;
pub mod ready;
pub mod settings;
pub mod start;
pub mod stop;
pub mod timer;
pub mod timing;
pub mod tls;
pub mod watch;
