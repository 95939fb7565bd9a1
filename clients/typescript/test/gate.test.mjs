// Runs against the installed package and $SANDGATE, a real gate; against $FAKE_GATE where that does not do what a test
// needs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test as nodeTest } from "node:test";

import { CallTimeout, Gate, GateClosed, GateDied, GateError, GateNotFound, SandgateError, ToolError } from "sandgate";

const quiet = () => undefined;

function children() {
  const list = `/proc/self/task/${process.pid}/children`;
  return fs.existsSync(list) ? fs.readFileSync(list, "utf8").split(" ").filter(Boolean) : [];
}

/** A test with a workspace of its own, after which no child is left. */
function test(name, body) {
  nodeTest(name, { timeout: 30_000 }, async () => {
    const scratch = fs.mkdtempSync(join(tmpdir(), "node-"));
    fs.chmodSync(scratch, 0o711); // a gate run as root works as another user
    const workspace = join(scratch, "ws");
    fs.mkdirSync(workspace);
    fs.writeFileSync(join(workspace, "a.txt"), "alpha\n");
    try {
      await body(workspace);
      assert.deepEqual(children(), []);
    } finally {
      fs.rmSync(scratch, { recursive: true });
    }
  });
}

/** Runs the body with a gate and closes it. */
async function withGate(options, body) {
  const gate = new Gate({ onStderr: quiet, ...options });
  try {
    await body(gate);
  } finally {
    await gate.close();
  }
}

const fake = (kind, more = {}) => ({ program: process.env.FAKE_GATE, env: { ...process.env, FAKE: kind, ...more } });

function endless(workspace) {
  fs.closeSync(fs.openSync(join(workspace, "endless"), "a")); // never empty again while a call may open it
  fs.truncateSync(join(workspace, "endless"), 2 ** 36);
  return { path: "endless", hash: true };
}

const code = (word) => (error) => error instanceof ToolError && error.code === word;

test("typed methods", (workspace) =>
  withGate({ workspace }, async (gate) => {
    const written = await gate.writeFile({ path: "new/b.txt", content: "béta\n", create_only: true });
    assert.deepEqual([written.bytes_written, written.created], [6, true]);
    const read = await gate.readFile({ path: "new/b.txt", start_line: 1, end_line: 1 });
    assert.deepEqual([read.content, read.sha256], ["béta\n", written.sha256]);
    assert.deepEqual((await gate.listFiles()).entries.map((entry) => entry.path), ["a.txt", "new"]);
    assert.equal((await gate.stat({ path: "new" })).type, "directory");
    assert.ok(Math.abs((await gate.timeNow()).unix_ms - Date.now()) < 60_000);
  }));

test("a failed call rejects", (workspace) =>
  withGate({ workspace }, async (gate) => {
    await assert.rejects(gate.call("read_file", { path: "missing" }), (error) => {
      assert.ok(error instanceof ToolError && error instanceof SandgateError);
      assert.deepEqual([error.code, error.retryable, error.retryAfterMs], ["NOT_FOUND", false, null]);
      assert.match(error.message, /missing/);
      return error.details.tier === "full";
    });
    const raw = await gate.callRaw("read_file", { path: "missing" });
    assert.deepEqual([raw.ok, raw.error.code], [false, "NOT_FOUND"]);
  }));

test("another dialect", (workspace) =>
  withGate({ dialect: "toolhost", project: workspace }, async (gate) => {
    assert.equal((await gate.call("fs.read", { path: "@project/a.txt" })).content, "alpha\n");
    await assert.rejects(gate.call("fs.read", { path: "@project/none" }), code("ENOENT"));
  }));

test("many at once", (workspace) =>
  withGate({ workspace, maxInFlight: 16 }, async (gate) => {
    const numbers = [...Array(600).keys()];
    const results = await Promise.all(numbers.map((n) => gate.writeFile({ path: `f${n}`, content: `${n}` })));
    assert.deepEqual(results.map((result) => result.path), numbers.map((n) => `f${n}`));
  }));

test("large content both ways", (workspace) =>
  withGate({ workspace }, async (gate) => {
    const text = "中文字符…\0\n".repeat(800_000);
    const written = await gate.writeFile({ path: "large", content: text });
    assert.equal(written.bytes_written, Buffer.byteLength(text));
    const reads = [1, 2].map(() => gate.readFile({ path: "large", max_bytes: 16 << 20 }));
    for (const read of await Promise.all(reads)) assert.ok(read.content === text);
    const data = randomBytes(16 << 20);
    fs.writeFileSync(join(workspace, "bytes"), data);
    const read = await gate.readFile({ path: "bytes", max_bytes: 16 << 20, encoding: "base64", hash: true });
    assert.ok(Buffer.from(read.content, "base64").equals(data));
    assert.equal(read.sha256, createHash("sha256").update(data).digest("hex"));
  }));

test("paths that are not UTF-8", (workspace) =>
  withGate({ workspace }, async (gate) => {
    const raw = Buffer.from("636166e92e747874", "hex");
    await gate.writeFile({ path: raw, content: "x" });
    assert.ok(fs.readdirSync(workspace, { encoding: "buffer" }).some((name) => name.equals(raw)));
    assert.equal((await gate.readFile({ path: new Uint8Array(raw) })).content, "x");
    assert.equal((await gate.readFile({ path: Buffer.from("a.txt") })).content, "alpha\n");
  }));

test("what cannot be sent is refused, and the next call works", (workspace) =>
  withGate({ workspace }, async (gate) => {
    const loop = {};
    loop.loop = loop;
    for (const arguments_ of [{ path: "a\ud800" }, { path: NaN }, { path: loop }, { "\udc00": "x" }, { path: 1n }]) {
      await assert.rejects(gate.call("read_file", arguments_), TypeError);
    }
    assert.equal((await gate.readFile({ path: "a.txt" })).content, "alpha\n");
    const smile = "😀\u2028\x7f\\ud800";
    await gate.writeFile({ path: "smile", content: smile });
    assert.equal(fs.readFileSync(join(workspace, "smile"), "utf8"), smile);
  }));

test("requests whose id the gate cannot read", (workspace) =>
  withGate({ workspace }, async (gate) => {
    let deep = "x";
    for (let n = 0; n < 100; n++) deep = [deep];
    const slow = new AbortController();
    const running = gate.readFile(endless(workspace), { signal: slow.signal });
    const calls = [gate.call("stat", { path: deep }), gate.call("stat", { path: "y".repeat(33 << 20) })];
    const checks = [
      assert.rejects(running, { name: "AbortError" }),
      assert.rejects(calls[0], code("INVALID_ARGUMENTS")),
      assert.rejects(calls[1], code("TOO_LARGE")),
    ];
    assert.equal((await gate.readFile({ path: "a.txt" })).content, "alpha\n");
    slow.abort();
    await Promise.all(checks);
    assert.equal((await gate.readFile({ path: "a.txt" })).content, "alpha\n");
  }));

test("an AbortSignal cancels", (workspace) =>
  withGate({ workspace, maxInFlight: 1 }, async (gate) => {
    await assert.rejects(gate.timeNow({ signal: AbortSignal.abort(new Error("before")) }), /before/);
    const [running, waiting] = [new AbortController(), new AbortController()];
    const call = gate.readFile(endless(workspace), { signal: running.signal });
    const behind = gate.readFile({ path: "a.txt" });
    const never = gate.writeFile({ path: "never", content: "x" }, { signal: waiting.signal });
    waiting.abort(new Error("not needed"));
    await assert.rejects(never, /not needed/);
    running.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    assert.equal((await behind).content, "alpha\n"); // the gate had only room for one
    assert.ok(!fs.existsSync(join(workspace, "never")));
  }));

test("timeout", (workspace) =>
  withGate({ workspace, maxInFlight: 1 }, async (gate) => {
    await assert.rejects(gate.readFile(endless(workspace), { timeoutMs: 50 }), CallTimeout);
    assert.equal((await gate.readFile({ path: "a.txt" }, { timeoutMs: 15_000 })).content, "alpha\n");
  }));

test("output as it comes", (workspace) =>
  withGate({ workspace }, async (gate) => {
    const heard = [];
    let begin;
    const begun = new Promise((resolve) => (begin = resolve));
    const onOutput = (stream, text) => {
      heard.push([stream, text]);
      begin();
    };
    const command = "printf 'a\\303'; until [ -e go ]; do sleep 0.01; done; printf '\\251\\377\\n'; echo wrong >&2";
    const call = gate.runCommand({ command }, { onOutput });
    await begun;
    assert.deepEqual(heard, [["stdout", "a"]]);
    fs.writeFileSync(join(workspace, "go"), "");
    const result = await call;
    assert.deepEqual([result.stdout, result.stderr], ["aé\ufffd\n", "wrong\n"]);
    for (const stream of ["stdout", "stderr"]) {
      assert.equal(heard.filter(([name]) => name === stream).map(([, text]) => text).join(""), result[stream]);
    }
    assert.equal((await gate.runCommand({ command: "echo unheard" })).stdout, "unheard\n");
  }));

test("what onOutput throws ends the call", (workspace) =>
  withGate({ workspace, maxInFlight: 1 }, async (gate) => {
    const onOutput = (_, text) => {
      throw new Error(text);
    };
    await assert.rejects(gate.runCommand({ command: "echo begun; sleep 100; echo more" }, { onOutput }), /begun/);
    assert.equal((await gate.readFile({ path: "a.txt" }, { timeoutMs: 15_000 })).content, "alpha\n"); // it was cancelled
  }));

test("events that are not known", () =>
  withGate(fake("events"), async (gate) => {
    const heard = [];
    assert.equal((await gate.call("x", { n: 1 })).asked.arguments.n, 1);
    await gate.call("x", { n: 2 }, { onOutput: (...piece) => heard.push(piece) });
    assert.deepEqual(heard, [["stdout", "é\0"], ["stderr", "\n[... 7 bytes left out ...]\nend"]]);
  }));

test("tools", (workspace) =>
  withGate({ workspace }, async (gate) => {
    assert.ok((await gate.tools()).some((tool) => tool.name === "read_file"));
    assert.equal((await gate.tools("openai"))[0].type, "function");
    await assert.rejects(gate.tools("nonsense"), (error) => error instanceof GateError && /nonsense/.test(error.message));
  }));

const openaiCall = (id, path) => ({
  id,
  type: "function",
  function: { name: "read_file", arguments: JSON.stringify({ path }) },
});

test("handle, format openai", (workspace) =>
  withGate({ workspace, format: "openai" }, async (gate) => {
    assert.equal((await gate.tools())[0].function.name, "read_file");
    const message = await gate.handle(openaiCall("call_1", "a.txt"));
    assert.deepEqual([message.role, message.tool_call_id], ["tool", "call_1"]);
    assert.equal(JSON.parse(message.content).result.content, "alpha\n");
    const failed = await gate.handle(openaiCall("call_1", "none"));
    assert.equal(JSON.parse(failed.content).error.code, "NOT_FOUND");
    const item = { type: "function_call", id: "fc", call_id: "c", name: "stat", arguments: '{"path":"."}' };
    const output = await gate.handle(item);
    assert.deepEqual([output.type, output.call_id], ["function_call_output", "c"]);
    await assert.rejects(gate.call("stat", { path: "." }), /handle/);
  }));

test("ids that are alike or cannot be sent", () =>
  withGate({ format: "openai", ...fake("openai") }, async (gate) => {
    for (const pair of [["same", "same"], [null, ""], ["x".repeat(5000), true], [1, "1"], ["\ud800", "\0"]]) {
      const messages = await Promise.all(pair.map((id, n) => gate.handle(openaiCall(id, String(n)))));
      assert.deepEqual(messages.map((message) => message.tool_call_id), pair);
      messages.forEach((message, n) => assert.match(message.content, new RegExp(`path\\\\":\\\\"${n}\\\\"`)));
    }
  }));

test("handle, format anthropic", () =>
  withGate({ format: "anthropic", ...fake("anthropic") }, async (gate) => {
    const use = (n) => ({ type: "tool_use", id: `toolu_${n}`, name: "x", input: { n: `${n}\ud83d` } });
    const messages = await Promise.all([0, 1].map((n) => gate.handle(use(n))));
    assert.deepEqual(messages.map((message) => message.tool_use_id), ["toolu_0", "toolu_1"]);
    assert.deepEqual(messages.map((message) => JSON.parse(message.content).n), ["0\ufffd", "1\ufffd"]);
  }));

test("handle, format ollama", () =>
  withGate({ format: "ollama", ...fake("ollama") }, async (gate) => {
    const calls = [...Array(20).keys()].map((n) => gate.handle({ function: { name: "x", arguments: { n } } }));
    for (const [n, message] of (await Promise.all(calls)).entries()) {
      assert.deepEqual(message, { role: "tool", tool_name: "x", content: `{"n": ${n}}` });
    }
  }));

test("no program", async (workspace) => {
  await withGate({ program: "/nonexistent/sandgate" }, async (gate) => {
    await assert.rejects(gate.timeNow(), GateNotFound);
    await assert.rejects(gate.timeNow(), GateNotFound);
    await assert.rejects(gate.tools(), GateNotFound);
  });
  const { SANDGATE, PATH } = process.env;
  fs.symlinkSync(SANDGATE, join(workspace, "sandgate"));
  delete process.env.SANDGATE;
  process.env.PATH = workspace;
  try {
    await withGate({ workspace }, async (gate) => void (await gate.timeNow()));
  } finally {
    Object.assign(process.env, { SANDGATE, PATH });
  }
});

test("a gate that cannot start", (workspace) =>
  withGate({ workspace: join(workspace, "missing") }, async (gate) => {
    for (let n = 0; n < 2; n++) {
      await assert.rejects(gate.timeNow(), (error) => {
        assert.match(error.message, /exit status 2.*missing/s);
        return error instanceof GateDied && error.exitCode === 2;
      });
    }
  }));

test("a killed gate", (workspace) =>
  withGate({ workspace, maxInFlight: 2 }, async (gate) => {
    await gate.timeNow();
    const calls = [1, 2, 3, 4].map(() => gate.readFile(endless(workspace)));
    process.kill(gate.pid, "SIGKILL");
    for (const result of await Promise.allSettled(calls)) {
      assert.ok(result.reason instanceof GateDied && result.reason.signal === "SIGKILL", String(result.reason));
    }
    await assert.rejects(gate.timeNow(), GateDied);
  }));

test("a gate that dies with words", async () => {
  const said = [];
  await withGate({ ...fake("dies"), onStderr: (line) => said.push(line) }, async (gate) => {
    await assert.rejects(gate.call("x"), (error) => {
      assert.deepEqual([error.exitCode, error.stderr.length], [3, 20]);
      assert.deepEqual(error.stderr.slice(-2), ["line 29", "no newline at the end"]);
      return /line 29\nno newline at the end/.test(error.message);
    });
  });
  assert.equal(said.length, 31);
});

test("a child that keeps the pipes", () =>
  withGate(fake("leaves_child"), async (gate) => {
    await assert.rejects(gate.call("x", {}, { timeoutMs: 10_000 }), GateDied);
  }));

test("lines in pieces", () =>
  withGate(fake("pieces"), async (gate) => {
    const results = await Promise.all([...Array(20).keys()].map((n) => gate.call("x", { n })));
    results.forEach((result, n) => assert.deepEqual([result.asked.arguments, result.text], [{ n }, "é".repeat(50)]));
  }));

test("no JSON", () =>
  withGate(fake("junk"), async (gate) => {
    await assert.rejects(gate.call("x"), /no answer: "this is no JSON"/);
  }));

test("answers without an id find their calls", () =>
  withGate(fake("unreadable"), async (gate) => {
    const calls = ["bad", "good", "bad", "good"].map((name, n) => gate.callRaw(name, { n: String(n) }));
    for (const [n, raw] of (await Promise.all(calls)).entries()) {
      assert.equal(n % 2 ? raw.result.asked.arguments.n : raw.error.message, String(n));
    }
  }));

test("no more in flight than allowed", async () => {
  await withGate({ maxInFlight: 5, ...fake("counts", { FAKE_CALLS: "5" }) }, async (gate) => {
    await Promise.all([...Array(50).keys()].map((n) => gate.call("x", { n })));
  });
  await withGate({ maxInFlight: 4, ...fake("counts", { FAKE_CALLS: "5" }) }, async (gate) => {
    // Four wait for the fifth, which is the first to give up: it must not have gone out.
    const calls = [...Array(5).keys()].map((n) => gate.call("x", { n }, { timeoutMs: n === 4 ? 300 : 2000 }));
    const settled = await Promise.allSettled(calls);
    assert.ok(settled.every((one) => one.reason instanceof CallTimeout));
  });
});

test("closing while calls run", async (workspace) => {
  const gate = new Gate({ workspace, maxInFlight: 1 });
  await gate.timeNow();
  const running = gate.readFile(endless(workspace));
  const waiting = gate.timeNow();
  const checks = [
    assert.rejects(running, (error) => error instanceof GateClosed || error.code === "CANCELLED"),
    assert.rejects(waiting, GateClosed),
  ];
  await Promise.all([gate.close(), gate.close(), ...checks]);
  await assert.rejects(gate.timeNow(), GateClosed);
  await gate.close();
});

test("drain", async (workspace) => {
  const gate = new Gate({ workspace, maxInFlight: 3 });
  const calls = [...Array(30).keys()].map((n) => gate.writeFile({ path: `w${n}`, content: `${n}`.repeat(100_000) }));
  await gate.close({ drain: true });
  for (const written of await Promise.all(calls)) assert.ok(written.created);
});

test("a gate that does not want to end", async () => {
  let call;
  await new Promise((ready) => {
    const gate = new Gate({ ...fake("silent"), onStderr: () => ready(gate) });
    call = assert.rejects(gate.call("x"), GateClosed);
  }).then((gate) => gate.close({ timeoutMs: 300 }));
  await call;
});

test("Symbol.asyncDispose", async (workspace) => {
  if (!Symbol.asyncDispose) return;
  const gate = new Gate({ workspace });
  await gate.timeNow();
  await gate[Symbol.asyncDispose]();
  await assert.rejects(gate.timeNow(), GateClosed);
});

for (const [name, text] of [
  ["without close", ""],
  ["without close, by process.exit() during a call", "gate.readFile({ path: 'endless', hash: true }); process.exit(0);"],
]) {
  test(`a program ends ${name}, and so does its gate`, async (workspace) => {
    endless(workspace);
    const program = `import { Gate } from "sandgate"; const gate = new Gate({ workspace: ${JSON.stringify(workspace)} });
      await gate.timeNow(); console.log(gate.pid); ${text}`;
    const words = ["--input-type=module", "-e", program];
    const done = spawnSync(process.execPath, words, { encoding: "utf8", timeout: 20_000, cwd: new URL(".", import.meta.url).pathname });
    assert.deepEqual([done.status, done.stderr], [0, ""]);
    for (let n = 0; fs.existsSync(`/proc/${done.stdout.trim()}`); n++) {
      assert.ok(n < 1500, "the gate lives on");
      await sleep(10);
    }
  });
}
