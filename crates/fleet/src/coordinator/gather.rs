//! Finds the agents that wait for work.

use std::time::Duration;

use async_nats::Client;
use tokio::time::Instant;

use super::{FleetAddress, User, next_before};
use crate::connection::{FleetError, shown};
use crate::protocol::{AgentInfo, Call, call_subject, hello_subject};

/// Time between two calls.
const CALL_EACH: Duration = Duration::from_millis(500);

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
    let failed = |error: &dyn std::fmt::Display| FleetError::new(format!("NATS refuses: {error}"));
    let hello = hello_subject(&address.name, run);
    let mut hellos = client.subscribe(hello).await.map_err(|error| failed(&error))?;
    let call = serde_json::to_vec(&Call { run: run.to_owned() }).map_err(|error| failed(&error))?;
    let deadline = Instant::now() + address.within;
    let mut found: Vec<AgentInfo> = Vec::new();
    while found.len() < address.agents as usize {
        if (user.stopped)() {
            return Err(FleetError::new("stopped while waiting for agents"));
        }
        if Instant::now() >= deadline {
            return Err(too_few(address, &found));
        }
        let called = client.publish(call_subject(&address.name), call.clone().into()).await;
        called.map_err(|error| failed(&error))?;
        let next_call = Instant::now() + CALL_EACH;
        while let Some(payload) = next_before(&mut hellos, next_call).await {
            let Ok(info) = serde_json::from_slice::<AgentInfo>(&payload) else { continue };
            if info.version != version {
                return Err(other_version(&info, version));
            }
            if found.iter().any(|known| known.id == info.id) {
                continue;
            }
            (user.say)(&format!(
                "agent {}: {}, {} cores",
                found.len() + 1,
                info.name,
                info.machine.cores
            ));
            found.push(info);
            if found.len() == address.agents as usize {
                break;
            }
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
    run: &str,
    within: Duration,
) -> Result<Vec<AgentInfo>, FleetError> {
    let failed = |error: &dyn std::fmt::Display| FleetError::new(format!("NATS refuses: {error}"));
    let subscribed = client.subscribe(hello_subject(fleet, run)).await;
    let mut hellos = subscribed.map_err(|error| failed(&error))?;
    let call = serde_json::to_vec(&Call { run: run.to_owned() }).map_err(|error| failed(&error))?;
    let called = client.publish(call_subject(fleet), call.into()).await;
    called.map_err(|error| failed(&error))?;
    let deadline = Instant::now() + within;
    let mut found = Vec::new();
    while let Some(payload) = next_before(&mut hellos, deadline).await {
        found.extend(serde_json::from_slice::<AgentInfo>(&payload).ok());
    }
    Ok(found)
}

fn too_few(address: &FleetAddress, found: &[AgentInfo]) -> FleetError {
    let FleetAddress { agents, within, servers, name, .. } = address;
    let what = format!("{} of {agents} agents answered within {} s", found.len(), within.as_secs());
    let which = if name == DEFAULT { String::new() } else { format!(" --fleet {name}") };
    FleetError::new(what).hint(format!(
        "start `proofload agent --via {}{which}` on each machine, or use fewer `--agents`",
        shown(servers)
    ))
}

/// The fleet of agents that were given no other name.
pub(super) const DEFAULT: &str = "default";

fn other_version(info: &AgentInfo, version: &str) -> FleetError {
    FleetError::new(format!(
        "agent {} is of version {}, and this is {version}",
        info.name, info.version
    ))
    .hint("install the same version on every machine")
}
