//! SMTP as the engine sees it: scripted peers in virtual time, and real sockets.

#[path = "../planned/mod.rs"]
mod planned;
#[path = "../self_signed/mod.rs"]
mod self_signed;

mod dialogues;
mod failures;
mod offers;
mod sockets;
mod stand;
mod trials;
