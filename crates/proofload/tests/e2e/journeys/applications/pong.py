"""Answers `ping N` with `pong N` over TLS, and closes the socket of whoever says anything else."""

import asyncio
import ssl
import sys

from websockets.asyncio.server import serve


async def answer(socket):
    async for message in socket:
        if not message.startswith("ping "):
            await socket.close(1008, "ping expected")
            return
        await socket.send(message.replace("ping", "pong"))


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("certificate.pem", "key.pem")
    async with serve(answer, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"listening on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
        await server.serve_forever()


asyncio.run(main())
