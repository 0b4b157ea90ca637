// Clients of KairosDB and OpenTSDB for Node.js, as they were published, against a server.
//
//     node_clients.mjs FOLDER_OF_THE_PACKAGES HTTP_PORT TELNET_PORT SECONDS
//
// What they read is printed as JSON; a mistake ends the program.

import { createRequire } from "node:module";
import { promisify } from "node:util";

const [folder, http, telnet, seconds] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const require = createRequire(`${folder}/`);

const kairosdb = require("kairosdb").init("127.0.0.1", http);
const opentsdb = require("opentsdb");

/** The telnet protocol, over one connection. */
async function sendLines(lines) {
  const socket = opentsdb.socket().host("127.0.0.1").port(telnet);
  const closed = new Promise((resolve, reject) => socket.on("close", resolve).on("error", reject));
  await new Promise((resolve) => socket.on("connect", resolve).connect());
  for (const line of lines) {
    socket.write(line);
  }
  socket.end();
  await closed;
}

function query(metric, tags) {
  const asked = opentsdb.mquery().aggregator("sum").downsample("10s-max").metric(metric);
  for (const [tag, value] of Object.entries(tags)) {
    asked.tags(tag, value);
  }
  return asked;
}

const client = opentsdb.client().host("127.0.0.1").port(http);
const call = (name) => promisify(client[name]).call(client);

const found = {};
found.version = await promisify(kairosdb.version)();
const item = { name: "js.http", tags: { host: "web1" }, datapoints: [[seconds * 1000, 1], [(seconds + 1) * 1000, 2.5]] };
await promisify(kairosdb.datapoints)([item]);
const asked = { start_absolute: seconds * 1000, metrics: [{ name: "js.http" }] };
found.query = await promisify(kairosdb.query)(asked);
found.mistake = await promisify(kairosdb.datapoints)([{ name: "js.bad" }]).catch((error) => error.message);

await sendLines([0, 1].map((n) => `put js.telnet ${seconds + n} ${n} host=web${n}\n`));
while (!(await call("metrics")).includes("js.telnet")) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
found.metrics = await call("metrics");
found.aggregators = await call("aggregators");
found.opentsdb = await call("version");
client.start(seconds * 1000).end((seconds + 60) * 1000).queries(query("js.telnet", { host: "*" }));
found.pairs = await call("get");
client.arrays(false).ms(false).queries(query("js.http", {}), query("js.telnet", { host: "web0|web1" }));
found.members = await call("get");
// The client of KairosDB leaves the answer to its mistake unread, and with it a connection.
process.stdout.write(JSON.stringify(found), () => process.exit(0));
