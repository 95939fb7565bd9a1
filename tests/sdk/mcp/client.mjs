// Talks with the server on its command line through the npm SDK and prints what came back as one JSON. The SDK
// itself holds structuredContent against outputSchema and throws where it does not fit.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, env: process.env });
// The SDK tells the transport which revision was agreed on.
let version;
transport.setProtocolVersion = (agreed) => {
  version = agreed;
};
const client = new Client({ name: "sdk-test", version: "1" });
const call = (name, args) => client.callTool({ name, arguments: args });
const told = async (promise) => {
  try {
    return { result: await promise };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};

await client.connect(transport);
const report = {
  version,
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools,
  calls: {},
};
report.calls.write = await told(call("write_file", { path: "made/by sdk.txt", content: 'a "b"\n\\ü\n' }));
report.calls.read = await told(call("read_file", { path: "made/by sdk.txt" }));
report.calls.list = await told(call("list_files", { path: "made" }));
report.calls.stat = await told(call("stat", { path: "made/by sdk.txt" }));
report.calls.time = await told(call("time_now", {}));
report.calls.missing = await told(call("read_file", { path: "missing" }));
report.calls.wrong = await told(call("read_file", { path: "x", max_bytes: "many" }));
report.calls.unknown = await told(call("no_such_tool", {}));
report.many = (
  await Promise.all(Array.from({ length: 200 }, (_, i) => call("read_file", { path: `many/${i}` })))
).map((result) => (result.structuredContent ? result.structuredContent.content : result.content[0].text));

const abort = new AbortController();
const long = told(client.callTool({ name: "read_file", arguments: { path: "sparse", hash: true } }, undefined, { signal: abort.signal }));
setTimeout(() => abort.abort("enough"), 50);
report.cancelled = "message" in (await long);
await client.ping();
report.calls.after = await told(call("read_file", { path: "many/7" }));
await client.close();
console.log(JSON.stringify(report));
