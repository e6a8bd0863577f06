//! Rates, lengths and concurrency: R09 to R11, R13 to R18, R32, R33, R41, R50, A9, A10, A15, A16, A18.

use crate::imports::figure::{Figure, leading};
use crate::imports::report::{LoadModel, MeasuredFrom, Row, Run};
use plan::number::{percent, rate, significant};

use super::rule::{Noticed, time};

/// Requests per second over the time in which they were sent, and the most that it can have been: an unknown part of
/// the length was spent waiting for the last answers, at most as long as the slowest request took.
fn sent_rate(run: &Run) -> Option<(f64, f64)> {
    let n = run.count()? as f64;
    let window = run.window().filter(|window| window.low() > 0.0)?;
    let slowest = run.all().filter_map(|row| row.max).map(|max| max.high()).fold(0.0, f64::max);
    let waited = if run.send_window.is_some() { 0.0 } else { slowest };
    let least = (window.low() - waited).max(1e-9);
    Some((n / window.value, n / least))
}

/// R09: the requested rate was not reached.
pub fn target_missed(run: &Run) -> Option<Noticed> {
    let target = run.target_rate?.value;
    let (achieved, at_most) = sent_rate(run).or_else(|| {
        let printed = run.whole()?.rate?;
        Some((printed.value, printed.high()))
    })?;
    (target > 0.0 && at_most < 0.99 * target).then(|| {
        Noticed::new(format!(
            "{} was asked for and {} reached ({}): nothing here was measured at the rate it is labelled with",
            rate(target),
            rate(achieved),
            percent(achieved / target)
        ))
        .with("target_per_second", target)
        .with("achieved_per_second", achieved)
    })
}

/// R10: the send time includes the wait for the last answers.
pub fn drain_counted(run: &Run) -> Option<Noticed> {
    let (window, whole) = (run.send_window?, run.duration?);
    let printed = run.whole()?.rate?;
    let n = run.count()? as f64;
    let over = |length: Figure| printed.may_be(n / length.high(), n / length.low());
    let longer = window.low() > 0.0 && whole.low() - window.high() > 0.01 * whole.value;
    (longer && over(whole) && !over(window)).then(|| {
        Noticed::new(format!(
            "{} is over {}, of which requests were sent for {}: while sending it was {}",
            rate(printed.value),
            time(whole.value),
            time(window.value),
            rate(n / window.value)
        ))
        .with("printed_per_second", printed.value)
        .with("sending_per_second", n / window.value)
    })
}

/// R11: the printed rate is not the count over the length.
pub fn rate_of_count(run: &Run) -> Option<Noticed> {
    let row = run.whole()?;
    let lengths: Vec<Figure> = [run.send_window, run.duration]
        .into_iter()
        .flatten()
        .filter(|length| length.low() > 0.0)
        .collect();
    let check = |what: &str, printed: Option<Figure>, counts: [Option<u64>; 2]| {
        let printed = printed?;
        let counts: Vec<f64> = counts.into_iter().flatten().map(|n| n as f64).collect();
        let fits = |n: &f64| {
            lengths.iter().any(|length| printed.may_be(n / length.high(), n / length.low()))
        };
        let (n, length) = (counts.first()?, lengths.first()?);
        (!counts.iter().any(fits)).then(|| {
            Noticed::new(format!(
                "the {what} {} is not {n} in {} ({})",
                rate(printed.value),
                time(length.value),
                rate(n / length.value)
            ))
            .with("printed_per_second", printed.value)
            .with("counted_per_second", n / length.value)
        })
    };
    check("rate", row.rate, [row.count(), row.ok])
        .or_else(|| check("goodput", row.goodput, [row.ok, None]))
}

/// R11: the first interval holds a burst that makes the whole look faster.
pub fn burst(run: &Run) -> Option<Noticed> {
    let speed = |one: &crate::imports::report::Period| one.count as f64 / (one.to - one.from);
    let [first, rest @ ..] = &run.intervals[..] else { return None };
    if rest.len() < 3 || run.intervals.iter().any(|one| one.to <= one.from) {
        return None;
    }
    let mut speeds: Vec<f64> = rest.iter().map(speed).collect();
    speeds.sort_by(f64::total_cmp);
    let (least, median, most) = (speeds[0], speeds[speeds.len() / 2], speeds[speeds.len() - 1]);
    let even = most - least < 0.05 * median;
    let excess = (speed(first) - median) * (first.to - first.from);
    let n = run.count()? as f64;
    let length = run.duration?.value;
    (even && speed(first) > 1.1 * median).then(|| {
        Noticed::new(format!(
            "the first interval ran at {:.2}/s, all others at {median:.2}/s: {excess:.0} requests of a burst; steady it is {:.2}/s, \
             over all {:.2}/s",
            speed(first),
            (n - excess) / length,
            n / length
        ))
        .with("first_per_second", speed(first))
        .with("steady_per_second", (n - excess) / length)
        .with("whole_per_second", n / length)
    })
}

/// R13: think times, not the system, set the rate.
pub fn think_time(run: &Run) -> Option<Noticed> {
    let (users, think) = (run.users?, run.think?);
    let (achieved, mean) = (run.rate()?, run.mean()?);
    let ceiling = users / (think + mean);
    let mostly = think / (think + mean) >= 0.9;
    (mostly && (achieved - ceiling).abs() < 0.03 * achieved).then(|| {
        Noticed::new(format!(
            "{users:.0} users who think {} cannot ask more than {ceiling:.2}/s; {achieved:.2}/s were seen: this is the \
             generator's ceiling, whatever the system can do",
            time(think)
        ))
        .with("ceiling_per_second", ceiling)
        .with("achieved_per_second", achieved)
        .weak_if(run.capacity.is_none())
    })
}

/// R14: a few slow requests set the length of a run with a closed load.
pub fn stragglers(run: &Run) -> Option<Noticed> {
    if run.model == Some(LoadModel::Open) {
        return None;
    }
    let row = run.whole()?;
    let (median, max) = (row.quantile(0.5)?.value, row.max?.value);
    let (workers, length, achieved) = (run.workers?, run.duration?.value, run.rate()?);
    let ceiling = workers / (median + run.think.unwrap_or(0.0));
    let lost = 1.0 - achieved / ceiling;
    (lost > 0.1 && max > 0.1 * length).then(|| {
        Noticed::new(format!(
            "{workers:.0} workers at the median would do {ceiling:.0}/s, seen were {achieved:.0}/s (−{:.0} %); the slowest \
             request took {} of the run: stragglers set the rate",
            lost * 100.0,
            percent(max / length)
        ))
        .with("ceiling_per_second", ceiling)
        .with("achieved_per_second", achieved)
        .with("lost_percent", lost * 100.0)
        .with("max_of_run_percent", max / length * 100.0)
        .weak_if(run.capacity.is_none())
    })
}

/// R15: almost nothing was in flight.
pub fn idle(run: &Run) -> Option<Noticed> {
    let in_flight = run.rate()? * run.mean()?;
    let nominal = run.users.or(run.workers);
    let beside = nominal.map_or(String::new(), |n| format!(", of {n:.0} users or workers"));
    (in_flight < 0.5).then(|| {
        Noticed::new(format!(
            "{in_flight:.2} requests were in flight on average{beside}: times of an idle system"
        ))
        .with("in_flight", in_flight)
    })
}

/// R16: the report omits the mean, and it is far from the median.
pub fn missing_mean(run: &Run) -> Option<Noticed> {
    let row = run.whole()?;
    if row.mean.is_some() || run.think.is_some() || run.model == Some(LoadModel::Open) {
        return None;
    }
    let mean = run.workers? / run.rate()?;
    let ratio = mean / row.quantile(0.5)?.value;
    (ratio > 3.0).then(|| {
        Noticed::new(format!(
            "the mean is not printed; workers over rate make it {}, {ratio:.1} times the median: two kinds of answers at least",
            time(mean)
        ))
        .with("mean_ms", mean * 1e3)
        .with("mean_over_median", ratio)
    })
}

/// R17: waiting time that was not measured.
pub fn omission(run: &Run) -> Option<Noticed> {
    let why = match (run.measured_from?, run.model) {
        (MeasuredFrom::Intended, _) => return None,
        (MeasuredFrom::Corrected, _) => {
            "times that were never measured were added to the table afterwards"
        }
        (MeasuredFrom::Sent, Some(LoadModel::Open)) => {
            "times start when a request was sent, not when it was due"
        }
        (MeasuredFrom::Sent, _) => "a worker that waits for a slow answer sends nothing meanwhile",
    };
    Some(Noticed::new(format!(
        "{why}: a stall counts once, no matter how many requests it would have delayed"
    )))
}

/// R18: sending took longer than its schedule.
pub fn pacing_slip(run: &Run) -> Option<Noticed> {
    let (target, window, n) = (run.target_rate?.value, run.send_window?, run.count()?);
    if !run.first_to_last || n < 2 || target <= 0.0 {
        return None;
    }
    let planned = (n - 1) as f64 / target;
    let slip = window.value - planned;
    (slip - window.step > (0.001 * planned).min(0.001)).then(|| {
        Noticed::new(format!(
            "{n} requests at {} span {:.4} s and took {:.4} s: {:.1} ms late, which no time shows",
            rate(target),
            planned,
            window.value,
            slip * 1e3
        ))
        .with("slip_ms", slip * 1e3)
    })
}

/// R32: the number of failures is close to the number in flight when the tool stopped.
pub fn cancelled(run: &Run, row: &Row) -> Option<Noticed> {
    let items = row.items.as_ref()?;
    let (failed, each) = (items.failed? as f64, items.population.filter(|each| *each > 0)? as f64);
    let in_flight = row.count()? as f64 * row.mean?.value / run.window()?.value;
    let requests = failed / each;
    let same = requests > 1.0 && (requests / in_flight - 1.0).abs() < 0.25;
    same.then(|| {
        Noticed::new(format!(
            "{in_flight:.2} requests were in flight on average, and what failed is the items of {requests:.1}: these look \
             like requests that the generator itself cut off at its end"
        ))
        .with("in_flight", in_flight)
        .with("requests_failed", requests)
    })
}

/// R33: the slowest request takes more than half of the run.
pub fn longest(run: &Run, row: &Row) -> Option<Noticed> {
    let (max, length) = (row.max?.value, run.duration?.value);
    let begun = (length - max).max(0.0);
    (max > 0.5 * length && length >= 10.0).then(|| {
        Noticed::new(format!(
            "a request took {} of a run of {}, so that it began in the first {}",
            time(max),
            time(length),
            time(begun)
        ))
        .with("began_within_s", begun)
    })
}

/// R41: the run is too short for its claims.
pub fn short(run: &Run) -> Option<Noticed> {
    let length = run.duration.or(run.send_window)?.value;
    let max = run.all().filter_map(|row| row.max).map(|max| max.value).fold(0.0, f64::max);
    (length < 30.0 || length < 100.0 * max).then(|| {
        let why =
            if length < 30.0 { "under 30 s" } else { "under a hundred times its slowest request" };
        Noticed::new(format!("measured for {}, {why}: it may miss rare events", time(length)))
            .with("duration_s", length)
    })
}

/// R50: the label does not match the measurement.
pub fn label(run: &Run) -> Option<Noticed> {
    label_of_length(run).or_else(|| label_of_rate(run))
}

fn label_of_length(run: &Run) -> Option<Noticed> {
    let (asked, took) = (run.asked_duration?, run.duration?);
    let off = (took.value - asked.value).abs() - asked.step - took.step;
    (off > 0.05 * asked.value).then(|| {
        Noticed::new(format!("called a run of {}, it took {}", time(asked.value), time(took.value)))
            .with("asked_s", asked.value)
            .with("took_s", took.value)
    })
}

/// R50 for a rate in the name of the run; R09 covers a requested rate.
fn label_of_rate(run: &Run) -> Option<Noticed> {
    const UNITS: [&str; 8] =
        ["/s", "rps", "qps", "req/s", "requests/s", "msg/s", "messages/s", "ops/s"];
    let words: Vec<&str> = run.name.split([' ', ',', ';', '(', ')']).collect();
    let joined = words.iter().filter_map(|word| leading(word));
    let apart = words.windows(2).filter_map(|pair| Some((leading(pair[0])?.0, pair[1])));
    let mut labels = joined.chain(apart).filter(|(_, unit)| UNITS.contains(unit));
    let called = labels.next().filter(|_| run.target_rate.is_none())?.0.value;
    let (sent, at_most) = sent_rate(run)?;
    (at_most < 0.95 * called || sent > 1.05 * called).then(|| {
        Noticed::new(format!("called a run at {}, it sent {}", rate(called), rate(sent)))
            .with("called_per_second", called)
            .with("sent_per_second", sent)
    })
}

/// Least and greatest number of busy workers that the mean time implies, and the number of workers.
fn busy(run: &Run) -> Option<(f64, f64, f64)> {
    let row = run.whole()?;
    if run.model == Some(LoadModel::Open) || run.measured_from != Some(MeasuredFrom::Sent) {
        return None;
    }
    let (workers, length) = (run.workers?, run.duration.filter(|length| length.low() > 0.0)?);
    let n = row.timed? as f64;
    let mean = row.mean?;
    Some((n * mean.low().max(0.0) / length.high(), n * mean.high() / length.low(), workers))
}

/// A9: Little's law: no more requests in flight than workers.
pub fn little(run: &Run) -> Option<Noticed> {
    let (least, _, workers) = busy(run)?;
    (least > workers * 1.01).then(|| {
        Noticed::new(format!(
            "rate times mean time is {} requests in flight, of {} workers",
            significant(least),
            significant(workers)
        ))
        .with("in_flight", least)
        .with("workers", workers)
    })
}

/// A10: a rate was requested, but a closed loop ran at its limit.
pub fn hidden_closed_loop(run: &Run) -> Option<Noticed> {
    let target = run.target_rate?.value;
    let row = run.whole()?;
    let busy = run.rate()? * row.mean?.value;
    let workers = run.workers?;
    (busy >= 0.95 * workers && run.rate()? < 0.99 * target).then(|| {
        Noticed::new(format!(
            "{busy:.1} of {workers:.0} connections were busy while {} was asked for: in truth a closed loop at its limit",
            rate(target)
        ))
        .with("in_flight", busy)
    })
}

/// A15: an answer took longer than its time-out.
pub fn timeout(run: &Run, row: &Row) -> Option<Noticed> {
    let (limit, max) = (run.timeout?, row.max?);
    (max.low() > limit.high() * 1.05 + 0.1).then(|| {
        Noticed::new(format!(
            "a request took {}, the time-out is {}",
            time(max.value),
            time(limit.value)
        ))
    })
}

/// A16: start, end and length are inconsistent, or a time is negative.
pub fn clock(run: &Run) -> Option<Noticed> {
    let negative = run
        .all()
        .any(|row| [row.min, row.mean, row.max].into_iter().flatten().any(|one| one.value < 0.0));
    if negative {
        return Some(Noticed::new("a time is negative"));
    }
    if run.intervals.windows(2).any(|pair| pair[1].from < pair[0].to - 1e-9) {
        return Some(Noticed::new("intervals overlap"));
    }
    let (begin, end) = (run.started_at?, run.ended_at?);
    let length = run.duration?;
    let apart = ((end - begin) - length.value).abs() - length.step;
    (apart > 1.0 + 0.01 * length.value).then(|| {
        Noticed::new(format!(
            "from begin to end it is {}, the length says {}",
            time(end - begin),
            time(length.value)
        ))
        .with("span_s", end - begin)
    })
}

/// A18: rate times time is off by a power of a thousand.
pub fn units(run: &Run) -> Option<Noticed> {
    let (least, most, workers) = busy(run)?;
    if run.think.is_some() || least <= 0.0 {
        return None;
    }
    let mixed = [1e3, 1e6, 1e-3, 1e-6].iter().find(|factor| {
        least <= workers * **factor * 1.02 && most >= workers * **factor * 0.9 && most < least * 2.0
    })?;
    Some(Noticed::new(format!(
        "rate times mean time is {} in flight, which is {} workers times {mixed}: units are mixed up",
        significant(least),
        significant(workers)
    )))
}
