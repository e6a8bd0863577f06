//! Finds the agents that wait for work.

use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::{FleetAddress, User};
use crate::connection::FleetError;
use crate::protocol::{AgentInfo, Call, DEFAULT_FLEET, call_subject, hello_subject, mark};

/// Time between two calls.
const CALL_EACH: Duration = Duration::from_millis(500);

/// Calls agents, and hears those that answer.
struct Caller<'a> {
    client: &'a Client,
    fleet: &'a str,
    call: Vec<u8>,
    hellos: Subscriber,
}

impl<'a> Caller<'a> {
    /// Errors: the servers refuse
    async fn new(client: &'a Client, fleet: &'a str, run: &str) -> Result<Self, FleetError> {
        let call = serde_json::to_vec(&Call { run: run.to_owned() }).map_err(refused)?;
        let hellos = client.subscribe(hello_subject(fleet, run)).await.map_err(refused)?;
        Ok(Self { client, fleet, call, hellos })
    }

    /// Errors: the servers refuse
    async fn call(&self) -> Result<(), FleetError> {
        let subject = call_subject(self.fleet);
        self.client.publish(subject, self.call.clone().into()).await.map_err(refused)
    }

    /// The next agent that answers before this instant.
    async fn next(&mut self, before: Instant) -> Option<AgentInfo> {
        loop {
            let message = timeout_at(before, self.hellos.next()).await.ok()??;
            if let Ok(info) = serde_json::from_slice(&message.payload) {
                return Some(info);
            }
        }
    }
}

fn refused(error: impl std::fmt::Display) -> FleetError {
    FleetError::new(format!("NATS refuses: {error}"))
}

/// The first agents that answer.
///
/// Errors: too few do in time, or one is of another version
pub(super) async fn agents(
    client: &Client,
    address: &FleetAddress,
    run: &str,
    version: &str,
    user: &mut User<'_>,
) -> Result<Vec<AgentInfo>, FleetError> {
    let mut caller = Caller::new(client, &address.name, run).await?;
    let wanted = address.agents as usize;
    let deadline = Instant::now() + address.within;
    let mut found: Vec<AgentInfo> = Vec::new();
    while found.len() < wanted {
        if (user.stopped)() {
            return Err(FleetError::new("stopped while waiting for agents"));
        }
        if Instant::now() >= deadline {
            return Err(too_few(address, &found));
        }
        caller.call().await?;
        let next_call = Instant::now() + CALL_EACH;
        while found.len() < wanted
            && let Some(info) = caller.next(next_call).await
        {
            if info.version != version {
                return Err(other_version(&info, version));
            }
            if found.iter().any(|known| known.id == info.id) {
                continue;
            }
            let AgentInfo { name, machine, .. } = &info;
            (user.say)(&format!("agent {}: {name}, {} cores", found.len() + 1, machine.cores));
            found.push(info);
        }
    }
    Ok(found)
}

/// The agents that answer one call in time.
///
/// Errors: the servers refuse
pub(super) async fn present(
    client: &Client,
    fleet: &str,
    within: Duration,
) -> Result<Vec<AgentInfo>, FleetError> {
    let mut caller = Caller::new(client, fleet, &mark()).await?;
    caller.call().await?;
    let deadline = Instant::now() + within;
    let mut found = Vec::new();
    while let Some(info) = caller.next(deadline).await {
        found.push(info);
    }
    Ok(found)
}

fn too_few(address: &FleetAddress, found: &[AgentInfo]) -> FleetError {
    let FleetAddress { agents, within, servers, name, .. } = address;
    let what = format!("{} of {agents} agents answered within {} s", found.len(), within.as_secs());
    let which = if name == DEFAULT_FLEET { String::new() } else { format!(" --fleet {name}") };
    FleetError::new(what).hint(format!(
        "start `proofload agent --via {}{which}` on each machine, or use fewer `--agents`",
        nats_address::shown(servers)
    ))
}

fn other_version(info: &AgentInfo, version: &str) -> FleetError {
    FleetError::new(format!(
        "agent {} is of version {}, and this is {version}",
        info.name, info.version
    ))
    .hint("install the same version on every machine")
}
