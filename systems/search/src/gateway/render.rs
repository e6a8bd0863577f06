//! The answer of a search, written once into one buffer.

use std::sync::Arc;

use serving::watch::Watch;

use super::times::{Times, nanoseconds};
use crate::metadata::Record;
use crate::playbook::Ranked;

/// A row of an answer.
#[derive(Debug)]
pub(super) struct Hit {
    pub ranked: Ranked,
    /// What is known about it, where that is wanted.
    pub record: Option<Arc<Record>>,
}

/// What an answer contains besides its rows.
#[derive(Debug)]
pub(super) struct AnswerContext {
    pub size: u64,
    pub sequence: u64,
    pub exact: bool,
    /// Whether the cache knew the query; none where there was nothing to embed.
    pub was_known: Option<bool>,
    /// Rows that were found and left out, as they were forgotten meanwhile.
    pub gone: usize,
}

/// Writes the answer; the times in it are complete but for the few bytes behind them.
pub(super) fn render(
    hits: &[Hit],
    context: &AnswerContext,
    times: &mut Times,
    watch: &Watch,
) -> Vec<u8> {
    let metadata = hits.iter().filter_map(|hit| hit.record.as_ref());
    let bytes: usize = metadata.map(|record| record.metadata.get().len()).sum();
    let mut json = Vec::with_capacity(bytes + 96 * hits.len() + 256);
    json.extend_from_slice(br#"{"results":["#);
    for (place, hit) in hits.iter().enumerate() {
        if place > 0 {
            json.push(b',');
        }
        push_hit(&mut json, hit);
    }
    json.extend_from_slice(br#"],"index_size":"#);
    push(&mut json, &context.size);
    json.extend_from_slice(br#","sequence":"#);
    push(&mut json, &context.sequence);
    json.extend_from_slice(br#","exact":"#);
    push(&mut json, &context.exact);
    json.extend_from_slice(br#","cache":"#);
    json.extend_from_slice(match context.was_known {
        Some(true) => br#""hit""#,
        Some(false) => br#""miss""#,
        None => b"null",
    });
    if context.gone > 0 {
        json.extend_from_slice(br#","gone":"#);
        push(&mut json, &context.gone);
    }
    json.extend_from_slice(br#","took_us":"#);
    times.gateway = nanoseconds(watch.total());
    times.render(&mut json);
    json.push(b'}');
    json
}

fn push_hit(json: &mut Vec<u8>, hit: &Hit) {
    json.extend_from_slice(br#"{"id":"#);
    push(json, &*hit.ranked.id);
    json.extend_from_slice(br#","score":"#);
    push(json, &hit.ranked.score);
    if let Some(boost) = &hit.ranked.boost {
        json.extend_from_slice(br#","boost":"#);
        push(json, boost);
    }
    if let Some(record) = &hit.record {
        json.extend_from_slice(br#","metadata":"#);
        json.extend_from_slice(record.metadata.get().as_bytes());
    }
    json.push(b'}');
}

fn push(json: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    serde_json::to_writer(json, value).expect("strings, numbers and flags always serialize");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ranked(id: &str, score: f32, boost: Option<f32>) -> Ranked {
        Ranked { id: id.into(), score, boost, born: 0 }
    }

    #[test]
    fn an_answer_is_json_whatever_names_and_metadata_hold() {
        let metadata = r#"{"role":"CNC \"five axis\"","years":7}"#.to_owned();
        let metadata = serde_json::value::RawValue::from_string(metadata).unwrap();
        let record = Record { text: "x".into(), metadata, vector: None };
        let hits = [
            Hit { ranked: ranked("w\"1", 0.25, None), record: Some(Arc::new(record)) },
            Hit { ranked: ranked("ü", -1.0, Some(0.5)), record: None },
        ];
        let context =
            AnswerContext { size: 2, sequence: 9, exact: true, was_known: Some(false), gone: 0 };
        let mut times = Times { embed: 1_500, search: 2, join: 3, gateway: 0 };
        let json = render(&hits, &context, &mut times, &Watch::start());
        let mut read: Value = serde_json::from_slice(&json).unwrap();
        let total = read["took_us"]["total"].take().as_f64().unwrap();
        assert!((total * 1e3 - times.gateway as f64).abs() < 1.0, "{total}");
        let expect = json!({
            "results": [
                { "id": "w\"1", "score": 0.25, "metadata": { "role": "CNC \"five axis\"", "years": 7 } },
                { "id": "ü", "score": -1.0, "boost": 0.5 },
            ],
            "index_size": 2, "sequence": 9, "exact": true, "cache": "miss",
            "took_us": { "embed": 1.5, "search": 0.002, "join": 0.003, "total": null },
        });
        assert_eq!(read, expect);
        let none = AnswerContext { was_known: None, gone: 7, ..context };
        let json = render(&[], &none, &mut times, &Watch::start());
        let read: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!((&read["results"], &read["cache"]), (&json!([]), &Value::Null));
        assert_eq!(read["gone"], 7);
    }
}
