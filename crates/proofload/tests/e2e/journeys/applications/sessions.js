// Express with express-session: each session counts its own requests.
const express = require("express");
const session = require("express-session");

const app = express();
app.use(express.json());
app.use(session({ secret: "for tests", resave: false, saveUninitialized: false }));

app.post("/login", (request, response) => {
  // A new session, and so a new cookie, as after any login.
  request.session.regenerate(() => {
    request.session.user = request.body.user;
    request.session.count = 0;
    response.redirect(303, "/count");
  });
});

app.get("/count", (request, response) => {
  if (!request.session.user) return response.sendStatus(401);
  request.session.count += 1;
  response.json({ user: request.session.user, count: request.session.count });
});

app.post("/logout", (request, response) => {
  request.session.destroy(() => response.clearCookie("connect.sid").sendStatus(204));
});

const server = app.listen(0, "127.0.0.1", () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`);
});
server.keepAliveTimeout = 60_000;
