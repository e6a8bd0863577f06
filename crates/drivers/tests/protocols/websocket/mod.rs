//! WebSocket: a server that plays from a script of bytes, in virtual time.

mod asking;
mod hostile;
mod opening;
mod stand;
