//! SMTP as the engine sees it: scripted peers in virtual time, and real sockets.

mod dialogues;
mod failures;
mod offers;
mod sockets;
mod stand;
mod trials;
