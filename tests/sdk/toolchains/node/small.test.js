const assert = require("node:assert");
const child = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const {Worker} = require("node:worker_threads");
const semver = require("semver");

test("a dependency", () => assert(semver.gt("1.10.0", "1.9.0")));

test("who it is", () => {
  assert.strictEqual(os.userInfo().username, "agent");
  assert.strictEqual(os.userInfo().homedir, os.homedir());
  assert(os.cpus().length > 0);
});

test("a child and a thread", async () => {
  assert.strictEqual(child.execSync("echo hi", {encoding: "utf8"}), "hi\n");
  const code = await new Promise((done) => new Worker("process.exit(3)", {eval: true}).on("exit", done));
  assert.strictEqual(code, 3);
});

test("a folder that is watched", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "small-"));
  const seen = new Promise((done) => {
    const watcher = fs.watch(folder, (_, name) => watcher.close(done(name)));
  });
  fs.writeFileSync(path.join(folder, "new"), "x");
  assert.strictEqual(await seen, "new");
});

test("the loopback", async () => {
  const server = http.createServer((_, answer) => answer.end("hi")).listen(0, "127.0.0.1");
  await new Promise((done) => server.on("listening", done));
  const answer = await fetch(`http://127.0.0.1:${server.address().port}`);
  assert.strictEqual(await answer.text(), "hi");
  server.close();
});
