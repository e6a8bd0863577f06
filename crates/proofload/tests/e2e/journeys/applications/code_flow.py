"""The authorization code flow of Keycloak as in experiments/journeys/code-flow.toml, with FastAPI: uvicorn serves
`code_flow:app`.

The form's address, the code and the token are each good for one request, and the form only with the cookie of its
page. `/tally` counts the requests that were in order, and the logins of each user.
"""

import csv
import html
import secrets
import urllib.parse
from collections import Counter
from pathlib import Path
from typing import Annotated

from fastapi import Cookie, FastAPI, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse

ACCOUNTS = Path(__file__).parents[6] / "experiments/journeys/accounts.csv"
passwords = {row["email"]: row["password"] for row in csv.DictReader(ACCOUNTS.open())}
CLIENT = "client-0"
REALM = "/realms/r0"

app = FastAPI()
tally: Counter[str] = Counter()
# Each is taken away by the request that uses it.
forms: dict[str, dict] = {}
codes: dict[str, str] = {}
tokens: set[str] = set()


def refuse_unless(holds: bool, why: str):
    if not holds:
        raise HTTPException(400, why)


@app.get(REALM + "/protocol/openid-connect/auth")
async def page(request: Request, response_type: str, scope: str, client_id: str, redirect_uri: str, state: str):
    refuse_unless((response_type, scope, client_id) == ("code", "openid", CLIENT), "not this client")
    session, execution = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
    forms[execution] = {"session": session, "redirect_uri": redirect_uri, "state": state}
    query = urllib.parse.urlencode({"execution": execution, "client_id": client_id, "tab_id": state})
    action = f"{request.base_url}{REALM[1:]}/login-actions/authenticate?{query}"
    # `&` is escaped, as anywhere in HTML.
    answer = HTMLResponse(f'<form id="kc-form-login" action="{html.escape(action)}" method="post"></form>')
    answer.set_cookie("AUTH_SESSION_ID", session, path=f"{REALM}/", httponly=True)
    tally["page"] += 1
    return answer


@app.post(REALM + "/login-actions/authenticate")
async def credentials(
    execution: str,
    client_id: str,
    tab_id: str,
    username: Annotated[str, Form()],
    password: Annotated[str, Form()],
    AUTH_SESSION_ID: Annotated[str, Cookie()],
):
    form = forms.pop(execution, None)
    refuse_unless(form is not None, "no such form")
    sent = (client_id, tab_id, AUTH_SESSION_ID)
    refuse_unless(sent == (CLIENT, form["state"], form["session"]), "another's form")
    refuse_unless(passwords.get(username) == password, "wrong password")
    code = secrets.token_urlsafe(32)
    codes[code] = form["redirect_uri"]
    query = urllib.parse.urlencode({"state": form["state"], "session_state": form["session"], "code": code})
    tally["credentials"] += 1
    tally[f"of {username}"] += 1
    return RedirectResponse(f"{form['redirect_uri']}?{query}", 302)


@app.post(REALM + "/protocol/openid-connect/token")
async def exchange(
    grant_type: Annotated[str, Form()],
    client_id: Annotated[str, Form()],
    redirect_uri: Annotated[str, Form()],
    code: Annotated[str, Form()],
):
    refuse_unless((grant_type, client_id) == ("authorization_code", CLIENT), "not this client")
    refuse_unless(codes.pop(code, None) == redirect_uri, "no such code")
    token = secrets.token_urlsafe(200)
    tokens.add(token)
    tally["exchange"] += 1
    return {"access_token": secrets.token_urlsafe(200), "id_token": token, "token_type": "Bearer"}


@app.get(REALM + "/protocol/openid-connect/logout")
async def logout(id_token_hint: str):
    refuse_unless(id_token_hint in tokens, "no such token")
    tokens.remove(id_token_hint)
    tally["logout"] += 1
    return HTMLResponse("You are logged out")


@app.get("/tally")
async def counted():
    return tally
