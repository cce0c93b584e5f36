// npm's SDK as a client of the replicas: `replicas-client.mjs MODULES URL NAME CALLS`. It begins anew when its session has
// ended. For each call it prints how that ended: `done ID`, `unknown ID` or `refused ID`.
import { pathToFileURL } from "node:url";

const [modules, url, name, calls] = process.argv.slice(2);
const sdk = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`));
const { Client } = await sdk("client/index.js");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp.js");

let client = null;

const connected = async () => {
  while (client === null) {
    const fresh = new Client({ name, version: "1" });
    try {
      await fresh.connect(new StreamableHTTPClientTransport(new URL(url)));
      client = fresh;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return client;
};

for (let number = 0; number < Number(calls); number += 1) {
  const id = `${name}-${number}`;
  const own = await connected();
  try {
    const result = await own.callTool({ name: "record_work", arguments: { id } }, undefined, { timeout: 20_000 });
    const text = result.content?.[0]?.text ?? "";
    console.log(text === id ? `done ${id}` : text.includes("unknown") ? `unknown ${id}` : `refused ${id}`);
  } catch (error) {
    // Nobody knows whether a call ran whose connection broke off.
    console.log(`${/ 404| 503|ECONNREFUSED/.test(String(error)) ? "refused" : "unknown"} ${id}`);
    client = null;
    own.close().catch(() => {});
  }
}
process.exit(0);
