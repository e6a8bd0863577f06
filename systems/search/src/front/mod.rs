//! The front: a reverse proxy before a service, and how it is started as a child process.

pub mod child;
