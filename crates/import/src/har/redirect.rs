//! Redirects: a browser records each hop as an entry of its own.
//!
//! A chain becomes one operation with `follow`. Its target then comes from the answer of the run, such as the number of
//! what was just added; a recorded second request would go to what was added during the recording. A chain stays several
//! steps where only an answer on its way has a value that a later request needs, because captures read the last answer.

use std::collections::HashMap;

use super::entry::Entry;
use super::values::Values;

/// A browser follows a redirect at once; later requests to the same address are a person's. In milliseconds.
const AT_ONCE: f64 = 2000.0;
/// Longer chains are cut.
const LONGEST: usize = 20;

/// Places of the entries that one operation stands for, in order; never empty.
pub type Chain = Vec<usize>;

/// All entries in chains, in the order of their first entries.
pub fn chains(entries: &[Entry<'_>]) -> Vec<Chain> {
    let mut by_address: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        by_address.entry(without_fragment(entry)).or_default().push(place);
    }
    let mut is_taken = vec![false; entries.len()];
    let mut chains = Vec::new();
    for first in 0..entries.len() {
        if std::mem::replace(&mut is_taken[first], true) {
            continue;
        }
        let mut chain = vec![first];
        let mut last = first;
        while let Some(next) = next(entries, last, &by_address, &is_taken) {
            is_taken[next] = true;
            chain.push(next);
            last = next;
            if chain.len() > LONGEST {
                break;
            }
        }
        // `follow` would fail where the last answer leads further.
        match entries[last].redirect() {
            Some(_) => chains.extend(chain.into_iter().map(|place| vec![place])),
            None => chains.push(chain),
        }
    }
    chains.sort_by_key(|chain| chain[0]);
    chains
}

fn without_fragment(entry: &Entry<'_>) -> String {
    let text = entry.url.as_str();
    text.split('#').next().unwrap_or(text).to_owned()
}

/// The entry that follows the redirect of this one.
fn next(
    entries: &[Entry<'_>],
    from: usize,
    by_address: &HashMap<String, Vec<usize>>,
    is_taken: &[bool],
) -> Option<usize> {
    let entry = &entries[from];
    let target = entry.redirect()?;
    // Another origin gets load only if the file names it, so it stays a step of its own.
    if target.origin() != entry.url.origin() {
        return None;
    }
    let places = by_address.get(target.as_str())?;
    let later = &places[places.partition_point(|place| *place <= from)..];
    let place = later.iter().copied().find(|place| !is_taken[*place])?;
    // As browsers do, and `follow`.
    let method = match (entry.status, entry.method.as_str()) {
        (303, method) if method != "HEAD" => "GET",
        (301 | 302, "POST") => "GET",
        (_, method) => method,
    };
    let is_at_once = entries[place].start <= entry.end + AT_ONCE;
    (is_at_once && entries[place].method == method).then_some(place)
}

/// Divides chains whose answers on the way have values that are needed and in no other answer.
pub fn divide(chains: Vec<Chain>, values: &Values) -> Vec<Chain> {
    let mut chain_of = HashMap::new();
    for (at, chain) in chains.iter().enumerate() {
        chain_of.extend(chain.iter().map(|place| (*place, at)));
    }
    let is_last = |place: usize| chains[chain_of[&place]].last() == Some(&place);
    let mut is_divided = vec![false; chains.len()];
    for (at, chain) in chains.iter().enumerate() {
        let first = chain[0];
        for candidate in values.candidates[first].iter().filter(|one| !one.is_referer) {
            let is_other = |place: usize| chain_of.get(&place).is_some_and(|chain| *chain != at);
            let of_last = |place: usize| is_other(place) && is_last(place);
            if values.source(candidate, first, of_last).is_none()
                && let Some(source) = values.source(candidate, first, is_other)
            {
                is_divided[chain_of[&source.entry]] = true;
            }
        }
    }
    let mut divided: Vec<Chain> = Vec::new();
    for (chain, is_divided) in chains.into_iter().zip(is_divided) {
        match is_divided {
            true => divided.extend(chain.into_iter().map(|place| vec![place])),
            false => divided.push(chain),
        }
    }
    divided.sort_by_key(|chain| chain[0]);
    divided
}
