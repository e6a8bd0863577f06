//! An edge: a caching proxy between clients and a programmable origin, and a monitor of the
//! messages that it sends about each request.

pub mod origin;
pub mod proxy;
