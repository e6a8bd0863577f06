"""An office as in experiments/journeys/office.toml, with FastAPI: uvicorn serves `office:app`.

A session is a bearer token. Each page is there once, after those that a user opens before it; anything else is
refused. `/tally` counts the pages that were given out.
"""

import csv
import itertools
import secrets
from collections import Counter
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPBearer
from pydantic import BaseModel

ACCOUNTS = Path(__file__).parents[6] / "experiments/journeys/accounts.csv"
accounts = {row["email"]: row for row in csv.DictReader(ACCOUNTS.open())}
# Nobody lends vehicles: those who look for one have nothing to open.
EMPTY = "vehicle"
# What must have been opened before each page.
BEFORE = {
    "menu": set(),
    "me": set(),
    "pending": set(),
    "assets": {"menu", "me", "pending"},
    "asset": {"assets"},
    "mine": {"assets"},
    "logout": {"mine"},
}

app = FastAPI()
tally: Counter[str] = Counter()
numbers = itertools.count(1)


class Credentials(BaseModel):
    email: str
    password: str


class Session:
    def __init__(self, account):
        self.account = account
        self.opened: set[str] = set()
        self.asset: int | None = None

    def open(self, page: str):
        if page in self.opened or not BEFORE[page] <= self.opened:
            raise HTTPException(409, f"{page} after {sorted(self.opened)}")
        self.opened.add(page)
        tally[page] += 1


sessions: dict[str, Session] = {}


async def logged_in(token=Depends(HTTPBearer())) -> Session:
    if token.credentials not in sessions:
        raise HTTPException(401)
    return sessions[token.credentials]


Own = Annotated[Session, Depends(logged_in)]


@app.post("/api/auth/login")
async def login(sent: Credentials):
    account = accounts.get(sent.email)
    if account is None or account["password"] != sent.password:
        raise HTTPException(401)
    token = secrets.token_urlsafe(24)
    sessions[token] = Session(account)
    tally["login"] += 1
    return {"success": True, "data": {"accessToken": token}}


@app.get("/api/menus")
async def menus(own: Own):
    own.open("menu")
    return {"success": True}


@app.get("/api/users/me")
async def me(own: Own):
    own.open("me")
    return {"success": True, "data": {"email": own.account["email"]}}


@app.get("/api/approvals")
async def approvals(own: Own, state: str):
    if state != "pending":
        raise HTTPException(400)
    own.open("pending")
    return {"success": True}


@app.get("/api/assets")
async def assets(own: Own, category: str, size: int):
    if (category, size) != (own.account["category"], 20):
        raise HTTPException(400)
    own.open("assets")
    if category == EMPTY:
        return {"success": True, "data": {"content": []}}
    own.asset = next(numbers)
    return {"success": True, "data": {"content": [{"assetId": own.asset}, {"assetId": 0}]}}


@app.get("/api/assets/{number}")
async def asset(own: Own, number: int):
    if number != own.asset:
        raise HTTPException(404)
    own.open("asset")
    return {"success": True}


@app.get("/api/reservations/mine")
async def mine(own: Own):
    if own.asset is not None and "asset" not in own.opened:
        raise HTTPException(409)
    own.open("mine")
    return {"success": True}


@app.post("/api/auth/logout")
async def logout(own: Own, token=Depends(HTTPBearer())):
    own.open("logout")
    del sessions[token.credentials]
    return {"success": True}


@app.get("/tally")
async def counted():
    return tally
