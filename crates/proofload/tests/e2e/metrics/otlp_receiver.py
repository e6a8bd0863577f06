"""A receiver of OTLP over HTTP on the messages of OpenTelemetry: its port, then a line of JSON for each data point or span."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse


def spans(request):
    for resource in request.resource_spans:
        about = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                values = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
                yield {"span": span.name, "trace_id": span.trace_id.hex(), "span_id": span.span_id.hex(), "kind": span.kind,
                       "start": span.start_time_unix_nano, "end": span.end_time_unix_nano, "error": span.status.code == 2,
                       "labels": about | values}


def series(request):
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                yield from points(metric)


# By path: the request, its answer, and the lines that it makes.
KINDS = {
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse, series),
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse, spans),
}


def points(metric):
    kind = metric.WhichOneof("data")
    for point in getattr(metric, kind).data_points:
        line = {"name": metric.name, "unit": metric.unit, "kind": kind, "ended": point.flags == 1}
        line["labels"] = {one.key: one.value.string_value for one in point.attributes}
        line["start"], line["time"] = point.start_time_unix_nano, point.time_unix_nano
        if kind == "exponential_histogram":
            line["count"], line["sum"], line["scale"] = point.count, point.sum, point.scale
            line["zero"], line["offset"] = point.zero_count, point.positive.offset
            line["buckets"] = list(point.positive.bucket_counts)
            line["temporality"] = metric.exponential_histogram.aggregation_temporality
        elif not line["ended"]:
            line["value"] = point.as_double
        yield line


def unknown(message):
    """Fields that the schema does not have, anywhere in the message."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            found += sum(map(unknown, value)) if hasattr(value, "extend") else unknown(value)
    return found


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        kind, answer, lines = KINDS[self.path]
        request = kind.FromString(body)
        about = {
            "path": self.path,
            "type": self.headers["content-type"],
            "authorization": self.headers["authorization"],
            "unknown": unknown(request),
        }
        for line in lines(request):
            print(json.dumps(about | line))
        sys.stdout.flush()
        answer = answer().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
