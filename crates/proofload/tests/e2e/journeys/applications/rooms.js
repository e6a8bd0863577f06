// A chat on `ws`: answers come in another order than the questions, and between news that nobody asked for.
const http = require("http");
const { WebSocketServer } = require("ws");

const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => (offered.has("chat.v2") ? "chat.v2" : false) });
const server = http.createServer((request, response) => response.writeHead(404).end());
let opened = 0;

server.on("upgrade", (request, socket, head) => {
  if (request.url.startsWith("/members") && request.headers.authorization !== "Bearer s3cret-token") {
    return socket.end("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  }
  sockets.handleUpgrade(request, socket, head, (one) => sockets.emit("connection", one, request));
});

sockets.on("connection", (socket) => {
  opened += 1;
  let waiting = [];
  const answer = () => {
    waiting.reverse().forEach((question) => socket.send(JSON.stringify({ reply_to: question.id, text: question.text, opened })));
    waiting = [];
    socket.send(JSON.stringify({ news: "something happened" }));
  };
  socket.on("message", (data) => {
    waiting.push(JSON.parse(data));
    if (waiting.length === 1) setImmediate(answer);
  });
});

server.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
