"""A school's site as in experiments/journeys/attempts.toml, with FastAPI: uvicorn serves `attempts:app`.

The front page begins a visit, and only that visit's cookie opens the login page, once. `/tally` counts the answers that
were given as asked for.
"""

import secrets
from collections import Counter
from typing import Annotated

from fastapi import Cookie, FastAPI, HTTPException
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

KNOWN = "test@example.com"

app = FastAPI()
tally: Counter[str] = Counter()
visits: set[str] = set()


class Credentials(BaseModel):
    email: str
    password: str


@app.post("/api/auth/login")
async def login(sent: Credentials):
    # Nobody is meant to get in: an answer that the experiment does not expect.
    if sent.email != KNOWN or sent.password != "wrong":
        raise HTTPException(403)
    tally["login"] += 1
    raise HTTPException(401)


@app.get("/")
async def front():
    visit = secrets.token_urlsafe(16)
    visits.add(visit)
    tally["front"] += 1
    answer = HTMLResponse("<a href=\"/login\">Log in</a>")
    answer.set_cookie("visit", visit)
    return answer


@app.get("/login")
async def login_page(visit: Annotated[str, Cookie()]):
    if visit not in visits:
        raise HTTPException(403)
    visits.remove(visit)
    tally["login_page"] += 1
    return HTMLResponse("<form></form>")


@app.get("/api/health")
async def health():
    tally["health"] += 1
    return {"status": "ok"}


@app.get("/tally")
async def counted():
    return tally
