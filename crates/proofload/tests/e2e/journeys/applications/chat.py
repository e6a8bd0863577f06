"""Answers that are streams, as FastAPI with sse-starlette and Starlette alone send them, well and badly."""

import asyncio
import gzip
import json

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from sse_starlette.sse import EventSourceResponse

app = FastAPI()
sent = {"streams": 0, "tokens": 0}


def chunk(content):
    return json.dumps({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": content}]})


@app.post("/v1/chat/completions")
async def chat(request: Request):
    asked = await request.json()
    tokens = asked["max_tokens"]
    text = asked["messages"][-1]["content"]

    async def events():
        yield {"data": chunk({"role": "assistant", "content": ""})}
        for number in range(tokens):
            yield {"event": "token", "id": str(number), "data": chunk({"content": f"{text} größe\n"})}
            sent["tokens"] += 1
            await asyncio.sleep(0.002)
        usage = {"choices": [], "usage": {"completion_tokens": tokens}}
        yield {"data": json.dumps(usage, indent=1)}
        yield {"data": "[DONE]"}
        sent["streams"] += 1

    return EventSourceResponse(events())


@app.get("/sent")
async def count():
    return sent


def lines(count):
    return StreamingResponse(
        (json.dumps({"number": number, "done": number == count - 1}) + "\n" for number in range(count)),
        media_type="application/x-ndjson",
    )


@app.get("/lines")
async def json_lines():
    return lines(5)


async def failing(text):
    yield text
    await asyncio.sleep(0.001)
    raise RuntimeError("the stream breaks off, as the test wants")


@app.get("/cut")
async def cut():
    return StreamingResponse(failing("data: a\n\ndata: b"), media_type="text/event-stream")


@app.get("/early")
async def early():
    return PlainTextResponse("data: a\n\n", media_type="text/event-stream")


@app.get("/within")
async def within():
    return PlainTextResponse("data: a\n\ndata: [DO", media_type="text/event-stream")


@app.get("/json")
async def whole():
    return JSONResponse({"choices": []})


@app.get("/busy")
async def busy():
    return JSONResponse({"error": "later"}, status_code=429)


@app.get("/packed")
async def packed():
    body = gzip.compress(b"data: a\n\ndata: [DONE]\n\n")
    return Response(body, media_type="text/event-stream", headers={"content-encoding": "gzip"})


@app.get("/endless")
async def endless():
    async def text():
        for _ in range(64):
            yield "data: " + "x" * 65536
            await asyncio.sleep(0)

    return StreamingResponse(text(), media_type="text/event-stream")


@app.get("/silent")
async def silent():
    async def text():
        yield "data: a\n\n"
        while True:
            await asyncio.sleep(0.05)
            yield ": still here\n\n"

    return StreamingResponse(text(), media_type="text/event-stream")


@app.get("/stuck")
async def stuck():
    async def text():
        yield "not a stream"
        await asyncio.sleep(3600)

    return StreamingResponse(text(), status_code=500)


@app.get("/slow")
async def slow():
    async def text():
        yield "data: a\n\n"
        await asyncio.sleep(0.2)
        yield "data: b\n\ndata: [DONE]\n\n"

    return StreamingResponse(text(), media_type="text/event-stream")
