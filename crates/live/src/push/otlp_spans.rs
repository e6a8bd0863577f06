//! Slow and failed operations as spans of OTLP: each is the client's part of the trace whose id its request carried.
//!
//! Source: `trace_service.proto` and `trace.proto` of opentelemetry-proto 1.9; the messages hold only the fields that are
//! used

use std::collections::BTreeMap;

use pages::wall_clock::measure_start_of;
use plan::trace::TraceContext;
use prost::Message;
use record::event::EventKind;
use record::summary::ListedOperation;

use super::otlp::{AnyValue, KeyValue, Resource, Scope, attributes, scope};
use crate::audience::News;

/// Spans in a request, at most.
const MOST_SPANS: usize = 500;
/// `SPAN_KIND_CLIENT`.
const CLIENT: i32 = 3;
/// `STATUS_CODE_ERROR`.
const ERROR: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start: u64,
    #[prost(fixed64, tag = "8")]
    end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    #[prost(int32, tag = "3")]
    code: i32,
}

/// The outcome of an operation that did not fail.
const SUCCEEDED: &str = "succeeded";

/// Makes spans of the operations that a run lists.
#[derive(Debug, Default)]
pub struct Spans {
    run: String,
    arms: Vec<String>,
    arm: usize,
    /// Start of the measure phase by arm, in nanoseconds since the epoch.
    starts: BTreeMap<usize, i64>,
}

impl Spans {
    /// The requests that this makes necessary, each with its number of spans.
    pub fn take(&mut self, news: &News) -> Vec<(ExportRequest, u64)> {
        match news {
            News::Begin(head, plan) => {
                self.run.clone_from(&head.run);
                self.arms = plan.arms.iter().map(|arm| plan.secrets.redact(&arm.name)).collect();
                self.arm = head.trial.arm;
                self.starts.clear();
                Vec::new()
            }
            News::Beside(arm, news) => self.of(*arm, news),
            news => self.of(self.arm, news),
        }
    }

    fn of(&mut self, arm: usize, news: &News) -> Vec<(ExportRequest, u64)> {
        let (listed, are_failures) = match news {
            News::Event(event) => {
                if let Some(start) = measure_start_of(event) {
                    self.starts.insert(arm, i64::try_from(start).unwrap_or(i64::MAX));
                }
                match &event.kind {
                    EventKind::FailuresListed { failures } => (failures, true),
                    _ => return Vec::new(),
                }
            }
            News::Slowest(slowest) => (slowest, false),
            _ => return Vec::new(),
        };
        let Some(start) = self.starts.get(&arm) else { return Vec::new() };
        // A slow operation that failed was listed when it did.
        let listed = listed.iter().filter(|one| are_failures || one.outcome == SUCCEEDED);
        let spans: Vec<Span> = listed.filter_map(|one| span(one, *start)).collect();
        spans.chunks(MOST_SPANS).map(|some| (self.request(arm, some), some.len() as u64)).collect()
    }

    fn request(&self, arm: usize, spans: &[Span]) -> ExportRequest {
        let arm = self.arms.get(arm).map_or("", String::as_str);
        let labels =
            [("service.name", "proofload"), ("proofload.run", &self.run), ("proofload.arm", arm)];
        let resource = Resource { attributes: attributes(&labels) };
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans: spans.to_vec() }];
        ExportRequest {
            resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans }],
        }
    }
}

/// From the intended start to the end; `None` without a trace id.
fn span(one: &ListedOperation, measure_start: i64) -> Option<Span> {
    let trace = TraceContext::of(one.trace_id?.0)?;
    let start = u64::try_from(measure_start.saturating_add(one.at_ns)).ok()?;
    let is_failed = one.outcome != SUCCEEDED;
    Some(Span {
        trace_id: trace.trace_id.get().to_be_bytes().to_vec(),
        span_id: trace.parent_id.get().to_be_bytes().to_vec(),
        name: one.operation.clone(),
        kind: CLIENT,
        start,
        end: start.saturating_add(one.response_time_ns),
        attributes: details(one),
        status: is_failed.then(|| Status { message: one.outcome.clone(), code: ERROR }),
    })
}

fn details(one: &ListedOperation) -> Vec<KeyValue> {
    let mut details = attributes(&[("proofload.outcome", &one.outcome)]);
    if let record::Status::Name(name) = &one.status {
        details.extend(attributes(&[("proofload.status", name.as_str())]));
    }
    if let Some(step) = &one.step {
        details.extend(attributes(&[("proofload.step", step)]));
    }
    let mut number = |key: &str, value: u64| {
        let value = AnyValue { int_value: i64::try_from(value).ok(), ..AnyValue::default() };
        details.push(KeyValue { key: key.to_owned(), value: Some(value) });
    };
    if one.status.code() > 0 {
        number("http.response.status_code", u64::from(one.status.code()));
    }
    number("proofload.index", one.index);
    number("proofload.dispatch_lag_ns", one.dispatch_lag_ns);
    number("proofload.queue_wait_ns", one.queue_wait_ns);
    number("proofload.prepare_ns", one.prepare_ns);
    number("proofload.service_time_ns", one.service_time_ns);
    for (name, ns) in &one.spans {
        number(&format!("proofload.{name}_ns"), *ns);
    }
    details
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use record::TraceId;
    use record::event::Event;

    use super::*;
    use crate::tests::{measuring, plan};

    const ID: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;

    fn listed(trace: u128, outcome: &str) -> ListedOperation {
        ListedOperation {
            operation: "home".to_owned(),
            at_ns: 1_500,
            outcome: outcome.to_owned(),
            status: 500.into(),
            response_time_ns: 250,
            spans: [("first_byte".to_owned(), 7)].into(),
            trace_id: trace.try_into().ok().map(TraceId),
            ..ListedOperation::default()
        }
    }

    fn begun() -> Spans {
        let mut spans = Spans::default();
        let [begin, _] = measuring(&Arc::clone(&plan(&[], &["home"])), &[]);
        let kind = EventKind::Dated { wall_clock: "1970-01-01T00:00:10.000000Z".to_owned() };
        for news in [begin, News::Event(Event { at_ns: -2_000_000_000, kind })] {
            assert!(spans.take(&news).is_empty());
        }
        spans
    }

    #[test]
    fn a_failure_is_the_parent_of_the_servers_span() {
        let failures = vec![listed(ID, "timeout"), listed(0, "refused")];
        let event = Event { at_ns: 0, kind: EventKind::FailuresListed { failures } };
        let requests = begun().take(&News::Event(event));
        let [(request, 1)] = &requests[..] else { panic!("{requests:?}") };
        let span = &request.resource_spans[0].scope_spans[0].spans[0];
        assert_eq!(span.trace_id, ID.to_be_bytes());
        assert_eq!(span.span_id, 0xa3ce_929d_0e0e_4736_u64.to_be_bytes());
        assert_eq!((span.start, span.end), (12_000_001_500, 12_000_001_750));
        assert_eq!(span.status, Some(Status { message: "timeout".to_owned(), code: ERROR }));
        let status = span.attributes.iter().find(|one| one.key == "http.response.status_code");
        let status = status.and_then(|one| one.value.clone()).and_then(|value| value.int_value);
        assert_eq!(status, Some(500));
    }

    #[test]
    fn slow_operations_have_no_error_and_many_are_several_requests() {
        let slowest = vec![listed(ID, "succeeded"); MOST_SPANS + 1];
        let requests = begun().take(&News::Slowest(slowest));
        assert_eq!(requests.iter().map(|(_, spans)| *spans).collect::<Vec<_>>(), [500, 1]);
        let span = &requests[1].0.resource_spans[0].scope_spans[0].spans[0];
        assert_eq!((span.status.is_none(), span.name.as_str()), (true, "home"));
    }
}
