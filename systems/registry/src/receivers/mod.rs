//! Receivers: subscribe before a load begins, acknowledge what arrives, and report it.
//!
//! One process with one connection per pattern; each connection serves every matching identity. It is the other half
//! of a registry's figures: the sender reports *delivered*, and *received* is counted here.
//!
//! In reading order: [`arrivals`] counts messages by their nonces, [`websocket`] and [`nats`] receive them, for each
//! `subscription_task`; `devices` registers identities of their own, `server` combines everything.

pub mod arrivals;
mod devices;
mod nats;
mod server;
mod settings;
mod subscription_task;
mod websocket;

pub use server::SYSTEM;
