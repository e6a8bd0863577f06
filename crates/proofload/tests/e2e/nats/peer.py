"""A peer of loads on NATS, with the client of the NATS project.

    peer.py URL     answers requests to `time.now` and `refuse.>`, keeps the streams ORDERS (of `orders.*`) and FULL
                    (of `full`, one message), prints a line when ready and, once its input ends, what it has seen
"""

import asyncio
import json
import sys

import nats
import nats.js.api

seen = {"published": 0, "bytes": 0, "headers": 0}


async def count(message):
    seen["published"] += 1
    seen["bytes"] += len(message.data)
    seen["headers"] += (message.headers or {}).get("a") == "b"


async def tell(message):
    await message.respond(json.dumps({"length": len(message.data), "ok": True}).encode())


async def refuse(message):
    fields = {"Nats-Service-Error": "not today", "Nats-Service-Error-Code": "429"}
    await message._client.publish(message.reply, b"", headers=fields)


async def main():
    client = await nats.connect(sys.argv[1])
    stream = client.jetstream()
    await stream.add_stream(name="ORDERS", subjects=["orders.*"])
    discard = nats.js.api.DiscardPolicy.NEW
    await stream.add_stream(name="FULL", subjects=["full"], max_msgs=1, discard=discard)
    for subject, handle in [("counted.*", count), ("time.now", tell), ("refuse.>", refuse)]:
        await client.subscribe(subject, cb=handle)
    await client.flush()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    # What was sent before this is delivered before its answer.
    await client.flush()
    seen["stored"] = (await stream.stream_info("ORDERS")).state.messages
    await client.drain()
    print(json.dumps(seen), flush=True)


asyncio.run(main())
