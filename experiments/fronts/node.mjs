// A front in Node as many are written: one process, node:http, kept connections to the upstream.
//
//   node experiments/fronts/node.mjs PORT HOST:PORT [PREFIX]
//
// What is asked for under PREFIX (/_go/ unless said; / for everything) is re-framed: the JSON of the request is read whole, parsed and written anew, and so is the
// answer's. Everything else is piped through as it is. Stops on SIGTERM when what is under way is answered.
import http from "node:http";
import { pipeline } from "node:stream";

const [port, upstream, prefix = "/_go/"] = process.argv.slice(2);
const [, hostname, upstreamPort] = /^(.+):(\d+)$/.exec(upstream ?? "") ?? [];
if (!/^\d+$/.test(port ?? "") || !hostname) {
  console.error("usage: node node.mjs PORT HOST:PORT [PREFIX]");
  process.exit(2);
}
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];
const LARGEST = 16 * 1024 * 1024;

function endToEnd(headers) {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !named.includes(name)),
  );
}

function onward(request, path) {
  const headers = endToEnd(request.headers);
  headers["x-forwarded-for"] = request.socket.remoteAddress;
  headers["x-forwarded-host"] = request.headers.host ?? "";
  headers["x-forwarded-proto"] = "http";
  return { agent, hostname: hostname.replace(/^\[|\]$/g, ""), port: upstreamPort, path, method: request.method, headers };
}

async function read(stream) {
  const pieces = [];
  let length = 0;
  for await (const piece of stream) {
    length += piece.length;
    if (length > LARGEST) throw Object.assign(new Error("the body is too large"), { status: 413 });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

// JSON that was parsed and written anew; what is no JSON stays as it is.
function reframed(headers, body) {
  if (body.length === 0 || !(headers["content-type"] ?? "").startsWith("application/json")) return body;
  return Buffer.from(JSON.stringify(JSON.parse(body)));
}

function refuse(answer, error) {
  if (answer.headersSent) return answer.destroy();
  const status = error.status ?? (error instanceof SyntaxError ? 400 : 502);
  answer.writeHead(status, { "content-type": "text/plain" }).end(`${error.message}\n`);
}

async function reframe(request, answer, path) {
  const body = reframed(request.headers, await read(request));
  const options = onward(request, path);
  delete options.headers["content-length"];
  if (body.length > 0) options.headers["content-length"] = body.length;
  const told = await new Promise((resolve, reject) => {
    const sent = http.request(options, resolve).on("error", reject);
    answer.on("close", () => answer.writableEnded || sent.destroy());
    sent.end(body);
  });
  const whole = await read(told);
  const headers = endToEnd(told.headers);
  if (request.method !== "HEAD" && told.statusCode !== 304) {
    const anew = reframed(headers, whole);
    if (told.statusCode !== 204) headers["content-length"] = anew.length;
    answer.writeHead(told.statusCode, headers).end(anew);
  } else {
    answer.writeHead(told.statusCode, headers).end();
  }
}

function pass(request, answer) {
  const sent = http.request(onward(request, request.url), (told) => {
    answer.writeHead(told.statusCode, endToEnd(told.headers));
    pipeline(told, answer, () => {});
  });
  sent.on("error", (error) => refuse(answer, error));
  answer.on("close", () => answer.writableEnded || sent.destroy());
  pipeline(request, sent, () => {});
}

const server = http.createServer((request, answer) => {
  if (request.url.startsWith(prefix)) {
    reframe(request, answer, "/" + request.url.slice(prefix.length)).catch((error) => refuse(answer, error));
  } else {
    pass(request, answer);
  }
});
server.keepAliveTimeout = 90_000;
server.listen(Number(port), "127.0.0.1");
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
