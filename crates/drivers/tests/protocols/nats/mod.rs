//! NATS: a server that plays from a script, in virtual time.

mod bad_input;
mod operations;
mod sessions;
mod stand;
