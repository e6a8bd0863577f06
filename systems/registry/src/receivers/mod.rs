//! Receivers: subscribe before a load begins, acknowledge what arrives, and report it.
//!
//! One process with one connection a pattern, each serving every identity that fits. It is the
//! other half of a registry's figures: *delivered* is what the sender says, *received* what is
//! counted here.
//!
//! In reading order: the [`arrivals`] counts messages by their marks, [`websocket`] and [`nats`] bring
//! them, for each `subscription_task`; `devices` registers identities of their own, `server` puts it together.

pub mod arrivals;
mod devices;
mod nats;
mod server;
mod settings;
mod subscription_task;
mod websocket;

pub use server::SYSTEM;
