//! One plan performed by agents on several machines, coordinated over NATS.
//!
//! The coordinator knows a trial as one call, whether threads of this process perform it or agents elsewhere do. Not
//! here: what a share is (see `plan::plan_share`), and judgement.

pub mod agent;
pub mod clock;
pub mod connection;
pub mod coordinator;
pub mod merger;
pub mod partial;
pub mod protocol;
