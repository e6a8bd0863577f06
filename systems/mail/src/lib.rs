//! A mail server that receives: an SMTP session on every connection, and a promise kept behind each 250.
//!
//! A message is accepted only after it is where the store said that it would be: nowhere at all, in memory,
//! in a maildir on the disk, or with whoever answers a hook. A door beside it, over HTTP, counts, lists and
//! shows what was stored, for people who test code that sends mail, and answers as an observer.
//!
//! Not here: relaying, queues, spam, the instrument (nothing of it is known), SMTP's grammar (a library's).
//!
//! In reading order. Words: [`envelope`], [`refusal`]. What becomes of a message: [`store`]. Beside it: [`crowd`], sessions
//! that say nothing.

pub mod crowd;
pub mod envelope;
pub mod refusal;
pub mod store;
