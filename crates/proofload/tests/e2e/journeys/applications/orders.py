"""Orders behind bearer tokens, with FastAPI: uvicorn serves `orders:app`.

Each user has orders of their own; another user's do not exist for them. `/tally` counts what was received.
"""

import hashlib
import itertools
import secrets
from collections import Counter
from typing import Annotated

from fastapi import Depends, FastAPI, Form, HTTPException, UploadFile
from fastapi.security import OAuth2PasswordBearer

app = FastAPI()
users: dict[str, str] = {}
# Of each export: its owner, and how often it was asked for.
exports: dict[int, list] = {}
numbers = itertools.count(1)
tally: Counter[str] = Counter()


def logged_in(token: Annotated[str, Depends(OAuth2PasswordBearer(tokenUrl="login"))]) -> str:
    if token not in users:
        raise HTTPException(401)
    return users[token]


User = Annotated[str, Depends(logged_in)]


def own(user: str, order: str) -> None:
    if not order.startswith(f"{user}-"):
        raise HTTPException(404)


@app.post("/login")
async def login(username: Annotated[str, Form()], password: Annotated[str, Form()]):
    if password != f"secret of {username}":
        raise HTTPException(401)
    token = secrets.token_urlsafe(24)
    users[token] = username
    tally["login"] += 1
    return {"access_token": token, "token_type": "bearer"}


@app.get("/orders")
async def orders(user: User, size: int):
    return [{"id": f"{user}-{number}", "total": number * 10} for number in range(size)]


@app.get("/orders/{order}")
async def open_order(user: User, order: str):
    own(user, order)
    tally["open"] += 1
    return {"id": order, "owner": user}


@app.put("/orders/{order}/invoice")
async def upload(user: User, order: str, note: Annotated[str, Form()], invoice: UploadFile):
    own(user, order)
    content = await invoice.read()
    tally["bytes"] += len(content)
    digest = hashlib.sha256(content).hexdigest()
    return {"name": invoice.filename, "type": invoice.content_type, "note": note, "size": len(content), "digest": digest}


@app.post("/exports", status_code=202)
async def export(user: User):
    number = next(numbers)
    exports[number] = [user, 0]
    return {"export": number}


@app.get("/exports/{number}")
async def poll(user: User, number: int):
    if exports.get(number, [None])[0] != user:
        raise HTTPException(404)
    exports[number][1] += 1
    tally["poll"] += 1
    return {"state": "done" if exports[number][1] >= 3 else "running"}


@app.get("/tally")
async def counted():
    return tally
