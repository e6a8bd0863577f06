//! Redis: a server that plays from a script, in virtual time.

mod commands;
mod sessions;
mod stand;
