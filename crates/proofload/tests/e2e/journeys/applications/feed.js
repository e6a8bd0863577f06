// A feed on `ws`: what is posted is sent to every socket.
const http = require("http");
const { WebSocketServer } = require("ws");

const sockets = new WebSocketServer({ noServer: true });
const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const message = JSON.stringify({ posted: Buffer.concat(parts).toString() });
    sockets.clients.forEach((socket) => socket.send(message));
    response.end("published");
  });
});
server.on("upgrade", (request, socket, head) => sockets.handleUpgrade(request, socket, head, (one) => one.send("welcome")));

server.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
