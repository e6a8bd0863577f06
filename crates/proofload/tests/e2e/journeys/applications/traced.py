"""A service that OpenTelemetry watches, with FastAPI: uvicorn serves `traced:app`.

Its spans are written as JSON lines to the file that SPANS names. `/work/NUMBER` takes a time that the number tells,
`/fail` fails.
"""

import asyncio
import json
import os

from fastapi import FastAPI, HTTPException
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

app = FastAPI()


class Lines(SpanExporter):
    """Each span as a line of JSON, as soon as it has ended."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def export(self, spans):
        for span in spans:
            line = {
                "trace_id": f"{span.context.trace_id:032x}",
                "kind": span.kind.name,
                "name": span.name,
                "from_remote": span.parent is not None and span.parent.is_remote,
                "start_ns": span.start_time,
                "end_ns": span.end_time,
                "status": span.attributes.get("http.status_code"),
            }
            self.file.write(json.dumps(line) + "\n")
        return SpanExportResult.SUCCESS


@app.get("/work/{number}")
async def work(number: int):
    # The slowest differ by far more than a busy machine adds: up to 400 ms, a tenth of them by half of that.
    await asyncio.sleep(0.4 * (number * 7 % 400 / 400) ** 4)
    return {"number": number}


@app.get("/fail")
async def fail():
    raise HTTPException(500)


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Lines(os.environ["SPANS"])))
FastAPIInstrumentor.instrument_app(app, tracer_provider=provider)
