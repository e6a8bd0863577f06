//! `--quick`: a shortened run that exercises everything but proves nothing.

use std::time::Duration;

use serde_json::Value;

use crate::load::{ArrivalProcess, Load, Model, Stop, WarmUp};
use crate::order::{self, Blocks, Order};
use crate::plan::{Arm, Plan};

/// Longest measuring time of all trials together.
const IN_ALL: Duration = Duration::from_secs(15);
/// Longest measuring time of each trial of a designed experiment.
const DESIGNED: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);
const BLOCKS: u32 = 2;
/// Operations of a closed load that stops by count, because their duration is unknown in advance.
const OPERATIONS: u64 = 1000;

/// The plan of a rehearsal. With one arm: its first 15 s. With several: the baseline and the
/// extreme level of each factor, in two blocks of equally short trials.
pub(crate) fn shortened(plan: Plan) -> Plan {
    let designed = plan.arms.len() > 1;
    let arms = if designed { kept(&plan) } else { plan.arms.clone() };
    let count = if designed { BLOCKS } else { 1 };
    let blocks = Blocks { count, order: Order::Random, aa: None, duet: plan.is_duet(), spare: 0 };
    let trials = order::trials(arms.len(), &blocks, plan.seed);
    let length = if designed { DESIGNED.min(IN_ALL / trials.len() as u32) } else { IN_ALL };
    let arms: Vec<Arm> = arms.into_iter().map(|arm| cut(arm, length)).collect();
    // Shortened arms are not extended again.
    Plan { rehearsal: true, adaptive: None, arms, trials, spare: 0, ..plan }
}

/// Arms with each factor at its baseline or at the level farthest from it; the first and the last
/// arm if exclusions leave fewer than two of those.
fn kept(plan: &Plan) -> Vec<Arm> {
    let keeps = |arm: &&Arm| {
        arm.factors.iter().all(|(factor, level)| {
            let (baseline, extreme) = ends(plan, factor);
            *level == baseline || *level == extreme
        })
    };
    let corners: Vec<Arm> = plan.arms.iter().filter(keeps).cloned().collect();
    match (&corners[..], &plan.arms[..]) {
        ([] | [_], [first, .., last]) => vec![first.clone(), last.clone()],
        _ => corners,
    }
}

/// The baseline of a factor (from its comparison, otherwise its first level), and the level at the
/// other end of the list.
fn ends(plan: &Plan, factor: &str) -> (Value, Value) {
    let mut levels: Vec<&Value> = Vec::new();
    for level in plan.arms.iter().filter_map(|arm| arm.factors.get(factor)) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let declared = plan.comparisons.iter().find(|comparison| comparison.factor == factor);
    let baseline = declared.map_or(levels[0], |comparison| &comparison.baseline);
    let last = levels[levels.len() - 1];
    let extreme = if last == baseline { levels[0] } else { last };
    (baseline.clone(), extreme.clone())
}

fn cut(mut arm: Arm, length: Duration) -> Arm {
    let load = &mut arm.load;
    load.warm_up = WarmUp::Fixed { length: load.warm_up.length().min(WARM_UP) };
    match &mut load.model {
        Model::Open { arrivals: ArrivalProcess::Stages { stages, .. } } => {
            shorten(stages.iter_mut().map(|stage| &mut stage.over).collect(), length);
        }
        Model::Users { ramp: Some(ramp), .. } => {
            shorten(ramp.stages.iter_mut().map(|stage| &mut stage.over).collect(), length);
        }
        _ => {}
    }
    let whole = load.measure_time();
    load.stop = stop(load, length);
    if let (Some(whole), Some(cut)) = (whole, load.measure_time()) {
        let share = cut.as_secs_f64() / whole.as_secs_f64();
        for fault in &mut arm.faults {
            fault.at = fault.at.mul_f64(share);
            fault.undone_after = fault.undone_after.map(|after| after.mul_f64(share));
        }
    }
    arm
}

/// Cuts stages that take longer than this together, all in proportion.
fn shorten(stages: Vec<&mut Duration>, length: Duration) {
    let total: Duration = stages.iter().map(|over| **over).sum();
    if total > length {
        let share = length.as_secs_f64() / total.as_secs_f64();
        stages.into_iter().for_each(|over| *over = over.mul_f64(share));
    }
}

fn stop(load: &Load, length: Duration) -> Stop {
    match load.stop {
        Stop::Duration { after } => Stop::Duration { after: after.min(length) },
        Stop::Operations { count } => match load.measure_time() {
            Some(time) if time <= length => Stop::Operations { count },
            Some(_) => Stop::Duration { after: length },
            None => Stop::Operations { count: count.min(OPERATIONS) },
        },
    }
}
