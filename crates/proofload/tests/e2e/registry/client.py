"""A sender and receivers of the registry in another language, written from its documentation alone.

    client.py embedded HOST:PORT        WebSocket and server-sent events
    client.py nats HOST:PORT URL        NATS, with what must arrive in JetStream
    client.py leave HOST:PORT           what is sent to a named receiver that is away is stored
    client.py return HOST:PORT          and is there when it comes back
"""

import asyncio
import base64
import http.client
import json
import sys

import nats
import websockets

NAMESPACE = "client"
# No text, with what would break a careless framing.
PAYLOAD = b"{\"\xff\n\n\x00data: }\r\n"


def ask(method, path, body=None, headers=()):
    """Status and JSON of one request."""
    connection = http.client.HTTPConnection(registry, timeout=30)
    body = None if body is None else json.dumps(body)
    connection.request(method, f"/v1/{NAMESPACE}/{path}", body, dict(headers))
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer.status, told


def register(name, **metadata):
    status, told = ask("POST", "register", {"identity": name, "ttl_seconds": 0, "metadata": metadata})
    assert status == 200 and told["identity"] == name, told


def multicast(semantics, **more):
    """What became of the payload; to be awaited while something receives."""
    payload = base64.b64encode(PAYLOAD).decode()
    body = {"payload_base64": payload, "content_type": "x/y", "semantics": semantics, "statuses": True, **more}
    return asyncio.to_thread(ask, "POST", "multicast", body)


def check_told(answer, message, **counts):
    status, told = answer
    assert status == 200, told
    seen = {key: told[f"{key}_count"] for key in ("delivered", "pending", "failed", "timeout")}
    expected = {"delivered": 0, "pending": 0, "failed": 0, "timeout": 0, **counts}
    assert seen == expected, told
    assert message is None or told["message"] == message, (told, message)
    return {one["identity"]: one["status"] for one in told["statuses"]}


def check_delivery(header, payload, to, semantics):
    assert payload == PAYLOAD, payload
    assert sorted(header["to"]) == to and header["namespace"] == NAMESPACE, header
    assert header["content_type"] == "x/y" and header["sent_at"] > 1_700_000_000_000, header
    assert ("ack" in header) == (semantics == "at_least_once"), header


def split(frame):
    head, payload = frame.split(b"\n", 1)
    return json.loads(head), payload


def talk():
    """Everything that needs no receiver."""
    register("user-1", kind="sensor", battery=0.15)
    register("user-2", kind="actuator", battery=0.8)
    status, told = ask("POST", "register", {"identity": "user-1"})
    assert (status, told["error"]["code"]) == (409, "ALREADY_EXISTS"), told
    status, told = ask("POST", "register", {"identity": "user-1", "replace": True, "metadata": {"battery": 0.1}})
    assert status == 200, told
    assert told["expires_at"] - told["registered_at"] == 300_000, "five minutes unless given"
    register("user-3", battery=None)
    status, told = ask("POST", "enumerate", {"filter": {"battery.lt": 0.2}})
    assert status == 200 and told["total_count"] == 1, told
    assert told["identities"][0]["metadata"] == {"battery": 0.1}, told
    page = {"limit": 2, "sort_by": ["metadata.battery desc"], "include_metadata": False}
    status, first = ask("POST", "enumerate", page)
    assert status == 200 and len(first["identities"]) == 2 and "metadata" not in first["identities"][0], first
    status, rest = ask("POST", "enumerate", {**page, "cursor": first["next_cursor"]})
    names = [one["identity"] for one in first["identities"] + rest["identities"]]
    assert sorted(names) == ["user-1", "user-2", "user-3"] and "next_cursor" not in rest, (first, rest)
    status, told = ask("POST", "enumerate", {"filter": {"$or": [{"a": 1}, {"kind.starts_with": "s"}]}})
    assert status == 400 and told["error"]["code"] == "INVALID_FILTER", told
    assert told["error"]["at"].startswith("/filter/$or/1"), told
    assert ask("GET", "identities/user-2")[1]["metadata"]["kind"] == "actuator"
    assert ask("GET", "identities/nobody")[0] == 404
    assert ask("POST", "unregister", {"identity": "user-3"}) == (200, {"unregistered": True})
    assert ask("POST", "unregister", {"identity": "user-3"}) == (200, {"unregistered": False})


def listen_for_events(pattern):
    """A stream of server-sent events, in effect when this returns."""
    connection = http.client.HTTPConnection(registry, timeout=30)
    connection.request("GET", f"/v1/{NAMESPACE}/subscribe/{pattern}", headers={"accept": "text/event-stream"})
    stream = connection.getresponse()
    assert stream.status == 200, stream.read()
    assert stream.readline() == b": subscribed\n" and stream.readline() == b"\n"
    return stream


def next_event(stream):
    """Id and data of the next event; `None` at the end of the stream."""
    fields = {}
    while line := stream.readline():
        if line == b"\n" and fields:
            return fields["id"], json.loads(fields["data"])
        if line.strip() and not line.startswith(b":"):
            name, value = line.decode().rstrip("\n").split(": ", 1)
            fields[name] = value
    return None


async def embedded():
    register("probe-1", kind="probe")
    events = await asyncio.to_thread(listen_for_events, "probe-1")
    uri = f"ws://{registry}/v1/{NAMESPACE}/subscribe/user-*"
    async with websockets.connect(uri, max_size=None) as socket:
        for semantics in ("at_most_once", "at_least_once"):
            sent = asyncio.create_task(multicast(semantics))
            header, payload = split(await socket.recv())
            check_delivery(header, payload, ["user-1", "user-2"], semantics)
            name, data = await asyncio.to_thread(next_event, events)
            assert name == data["delivery"] and data["message"] == header["message"], data
            check_delivery(data, base64.b64decode(data["payload_base64"]), ["probe-1"], semantics)
            if semantics == "at_least_once":
                await socket.send(json.dumps({"ack": [header["delivery"]]}))
                answer = await asyncio.to_thread(ask, "POST", "ack", {"ack": [name]})
                assert answer == (200, {"acknowledged": 1}), answer
            statuses = check_told(await sent, header["message"], delivered=3)
            assert set(statuses.values()) == {"DELIVERED"} and len(statuses) == 3, statuses
        # Nobody acknowledges this one, and nothing is stored.
        check_told(await multicast("at_least_once", timeout_ms=50, filter={"kind": "actuator"}), None, timeout=1)
        await socket.recv()
    # The subscription of an identity ends with it.
    assert ask("POST", "unregister", {"identity": "probe-1"})[1] == {"unregistered": True}
    assert await asyncio.to_thread(next_event, events) is None


async def over_nats(url):
    client = await nats.connect(url)
    subject = f"registry.{NAMESPACE}.r-1"
    presence = {"receiver": "r-1", "namespace": NAMESPACE, "pattern": "user-*", "subject": subject}
    inbox = await client.subscribe(subject)

    async def say(**more):
        answer = await client.request("registry.presence", json.dumps({**presence, **more}).encode(), timeout=30)
        told = json.loads(answer.data)
        assert told["ok"], told
        return told

    async def acknowledge(message, header):
        await client.publish(header["ack"], json.dumps({"ack": [header["delivery"]]}).encode())
        if message.reply.startswith("$JS.ACK."):
            await message.ack()
        await client.flush()

    async def beat():
        while True:
            await asyncio.sleep(1)
            await client.publish("registry.presence", json.dumps(presence).encode())

    assert (await say())["durable"], "JetStream is on"
    heart = asyncio.create_task(beat())
    for semantics in ("at_most_once", "at_least_once"):
        sent = asyncio.create_task(multicast(semantics))
        message = await inbox.next_msg(timeout=30)
        header, payload = split(message.data)
        check_delivery(header, payload, ["user-1", "user-2"], semantics)
        if semantics == "at_least_once":
            await acknowledge(message, header)
        check_told(await sent, header["message"], delivered=2)
    # Away, and back.
    heart.cancel()
    await say(gone=True)
    check_told(await multicast("at_most_once"), None, failed=2)
    answer = await multicast("at_least_once")
    check_told(answer, None, pending=2)
    await say()
    # What was acknowledged a moment ago may come again, so it is told apart by its id.
    while True:
        message = await inbox.next_msg(timeout=30)
        header, payload = split(message.data)
        await acknowledge(message, header)
        if header["message"] == answer[1]["message"]:
            break
    check_delivery(header, payload, ["user-1", "user-2"], "at_least_once")
    await say(gone=True, forget=True)
    await client.drain()


NAMED = "subscribe/user-*?name=r-1"


async def leave():
    async with websockets.connect(f"ws://{registry}/v1/{NAMESPACE}/{NAMED}", max_size=None):
        pass
    check_told(await multicast("at_least_once"), None, pending=2)


async def come_back():
    status, told = ask("POST", "enumerate", {})
    assert status == 200 and told["total_count"] == 2, told
    async with websockets.connect(f"ws://{registry}/v1/{NAMESPACE}/{NAMED}", max_size=None) as socket:
        header, payload = split(await socket.recv())
        check_delivery(header, payload, ["user-1", "user-2"], "at_least_once")
        await socket.send(json.dumps({"ack": [header["delivery"]]}))


what, registry = sys.argv[1:3]
if what != "return":
    talk()
if what == "nats":
    asyncio.run(over_nats(sys.argv[3]))
else:
    asyncio.run({"embedded": embedded, "leave": leave, "return": come_back}[what]())
print("all of it holds")
