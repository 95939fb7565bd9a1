// Programs that answer for their gate. Runs as gate.test.mjs does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test as nodeTest } from "node:test";

import { ApprovalError, Gate, GateClosed, GateDied, ToolError } from "sandgate";

/** A test with a workspace and settings of its own, in which every change is asked about. */
function test(name, body) {
  nodeTest(name, { timeout: 30_000 }, async () => {
    const scratch = fs.mkdtempSync(join(tmpdir(), "node-"));
    fs.chmodSync(scratch, 0o711); // a gate run as root works as another user
    const workspace = join(scratch, "ws");
    fs.mkdirSync(workspace);
    fs.mkdirSync(join(scratch, "state"), { mode: 0o700 });
    fs.writeFileSync(join(workspace, "a.txt"), "alpha\n");
    const env = { ...process.env, XDG_CONFIG_HOME: join(scratch, "config"), XDG_STATE_HOME: join(scratch, "state") };
    delete env.SANDGATE_APPROVAL_DEFAULT;
    const exists = (path) => fs.existsSync(join(workspace, path));
    try {
      await body({ workspace, env }, { scratch, exists });
    } finally {
      fs.rmSync(scratch, { recursive: true });
    }
  });
}

async function withGate(options, body) {
  const gate = new Gate({ onStderr: () => undefined, ...options });
  try {
    await body(gate);
  } finally {
    await gate.close();
  }
}

/** Answers all questions alike and remembers them. */
function asked(decision) {
  const asked = { decision, questions: [], overs: [] };
  asked.options = {
    approver: (approval) => {
      asked.questions.push(approval);
      return asked.decision;
    },
    onApprovalOver: (over) => asked.overs.push(over),
  };
  return asked;
}

async function until(what) {
  for (let n = 0; !what(); n++) {
    assert.ok(n < 3000, "it does not happen");
    await sleep(5);
  }
}

function hasty(scratch) {
  const config = join(scratch, "hasty.json");
  fs.writeFileSync(config, JSON.stringify({ approval: { timeoutMs: 200 } }), { mode: 0o644 });
  return config;
}

/** The warnings of this process from now on; they are told a moment after they were made. */
function warnings() {
  const heard = [];
  process.on("warning", (warning) => heard.push(warning.message));
  return heard;
}

const code = (word) => (error) => error instanceof ToolError && error.code === word;
const write = (path, content = "x") => ({ path, content });

test("once", async (place) => {
  const one = asked("once");
  await withGate({ ...place, ...one.options }, async (gate) => {
    assert.equal((await gate.readFile({ path: "a.txt" })).content, "alpha\n");
    assert.equal(one.questions.length, 0);
    await gate.writeFile(write("b", "one\n"));
    await gate.writeFile(write("b", "two\n"));
    const [first, second] = one.questions;
    assert.deepEqual([first.tool, first.callId, first.rule], ["write_file", "2", "approval.default"]);
    assert.match(first.summary, /write_file: b/);
    assert.match(second.detail, /-one\n\+two\n/);
    assert.ok(first.expiresAt > new Date());
    assert.deepEqual(one.overs.map((over) => over.state), ["approved", "approved"]);
    assert.match(one.overs[0].by, /stdio --approver/);
  });
});

test("no", async (place, { exists }) => {
  for (const decision of ["no", false, Promise.resolve("no")]) {
    const one = asked(decision);
    await withGate({ ...place, ...one.options }, async (gate) => {
      await assert.rejects(gate.writeFile(write("b")), code("APPROVAL_DENIED"));
      assert.equal(one.overs[0].state, "denied");
    });
    assert.ok(!exists("b"));
  }
});

test("for the session", async (place) => {
  for (let n = 0; n < 2; n++) {
    const one = asked(Promise.resolve("session"));
    await withGate({ ...place, ...one.options }, async (gate) => {
      await gate.writeFile(write("b"));
      await gate.writeFile(write("b"));
      assert.equal(one.questions.length, 1);
    });
  }
});

test("always", async (place) => {
  const one = asked("always");
  await withGate({ ...place, ...one.options }, async (gate) => void (await gate.writeFile(write("b"))));
  assert.match(fs.readFileSync(join(place.env.XDG_CONFIG_HOME, "sandgate/approved.json"), "utf8"), /write_file/);
  assert.equal(JSON.parse(one.questions[0].proposal).toolName, "write_file");
  await withGate({ ...place, ...one.options }, async (gate) => void (await gate.writeFile(write("b"))));
  assert.equal(one.questions.length, 1);
});

test("nobody answers in time", async (place, { scratch, exists }) => {
  const one = asked(null);
  await withGate({ ...place, ...one.options, config: hasty(scratch) }, async (gate) => {
    await assert.rejects(gate.writeFile(write("b")), code("APPROVAL_TIMEOUT"));
    assert.deepEqual(one.overs, [{ id: one.questions[0].id, state: "timed_out", by: null }]);
    await assert.rejects(gate.approve(one.questions[0].id), (error) => {
      assert.match(error.message, /no call waits/);
      return error instanceof ApprovalError;
    });
    await assert.rejects(gate.deny(one.questions[0].id), ApprovalError);
    one.decision = undefined;
    await assert.rejects(gate.writeFile(write("b")), code("APPROVAL_TIMEOUT"));
    one.decision = new Promise(() => undefined);
    await assert.rejects(gate.writeFile(write("b")), code("APPROVAL_TIMEOUT"));
    assert.equal(one.questions.length, 3);
  });
  assert.ok(!exists("b"));
});

test("decided elsewhere", async (place, { exists }) => {
  const elsewhere = (verb, id) => execFileSync(process.env.SANDGATE, [verb, id], { env: place.env, stdio: "ignore" });
  const overs = [];
  const heard = warnings();
  const tooLate = (approval) => {
    elsewhere("approve", approval.id);
    return "no";
  };
  await withGate({ ...place, approver: tooLate, onApprovalOver: (over) => overs.push(over) }, async (gate) => {
    await gate.writeFile(write("b"));
    assert.equal(overs[0].state, "approved");
    assert.match(overs[0].by, /by sandgate approve/);
    await until(() => heard.some((text) => /was not taken/.test(text)));
  });
  let late;
  const approver = (approval) => {
    elsewhere("deny", approval.id);
    late = assert.rejects(gate.approve(approval.id), ApprovalError);
    return null;
  };
  const gate = new Gate({ ...place, approver });
  await assert.rejects(gate.writeFile(write("c")), code("APPROVAL_DENIED"));
  await late;
  await gate.close();
  assert.ok(!exists("c"));
});

test("what is thrown, rejected or no decision denies", async (place, { exists }) => {
  const wrong = [
    [() => assert.fail("thrown"), /thrown/],
    [() => Promise.reject(new Error("rejected")), /rejected/],
    [async () => Promise.reject(), undefined],
    ...[true, 1, 0, "yes", "", "Once", {}, ["once"], Symbol("once")].map((word) => [() => word, /an approver says/]),
  ];
  for (const [approver, message] of wrong) {
    const overs = [];
    const options = { ...place, maxInFlight: 1, approver, onApprovalOver: (over) => overs.push(over.state) };
    await withGate(options, async (gate) => {
      const [settled] = await Promise.allSettled([gate.writeFile(write("b"))]);
      assert.equal(settled.status, "rejected");
      if (message) assert.match(settled.reason.message, message);
      else assert.equal(settled.reason, undefined);
      assert.equal((await gate.readFile({ path: "a.txt" }, { timeoutMs: 15_000 })).content, "alpha\n");
      assert.deepEqual(overs, ["denied"]);
    });
    assert.ok(!exists("b"));
  }
});

test("two at once, answered later", async (place, { exists }) => {
  const one = asked(null);
  await withGate({ ...place, ...one.options }, async (gate) => {
    const calls = ["b", "c"].map((path) => gate.writeFile(write(path)));
    const refused = assert.rejects(calls[1], code("APPROVAL_DENIED"));
    await until(() => one.questions.length === 2);
    assert.equal((await gate.readFile({ path: "a.txt" })).content, "alpha\n");
    const ids = Object.fromEntries(one.questions.map(({ callId, id }) => [callId, id]));
    await assert.rejects(gate.approve(ids[1], "no"), TypeError);
    await assert.rejects(gate.approve(ids[1], "forever"), TypeError);
    assert.equal((await gate.deny(ids[2])).state, "denied");
    await refused;
    const [yes, again] = await Promise.allSettled([gate.approve(ids[1]), gate.approve(ids[1])]);
    assert.equal(yes.value.state, "approved");
    assert.match(again.reason.message, /answered already/);
    assert.equal((await calls[0]).bytes_written, 1);
    await assert.rejects(gate.approve("never"), ApprovalError);
  });
  assert.ok(!exists("c"));
});

test("64 questions at once", async (place) => {
  const overs = [];
  const approver = async ({ summary }) => {
    await sleep(Math.random() * 50);
    return summary.includes("yes") ? "once" : "no";
  };
  await withGate({ ...place, approver, onApprovalOver: (over) => overs.push(over) }, async (gate) => {
    // Together, at once: one that is denied while the reads are awaited has somebody who hears of it.
    const calls = Promise.allSettled(
      [...Array(64).keys()].map((n) => gate.writeFile(write(`${n % 2 ? "yes" : "not"}${n}`))),
    );
    const reads = [...Array(20).keys()].map(() => gate.readFile({ path: "a.txt" }));
    for (const read of await Promise.all(reads)) assert.equal(read.content, "alpha\n");
    for (const [n, { status, reason }] of (await calls).entries()) {
      assert.ok(n % 2 ? status === "fulfilled" : reason.code === "APPROVAL_DENIED", String(reason));
    }
    assert.equal(overs.length, 64);
  });
});

test("no rule can be made", async (place) => {
  const one = asked("always");
  const heard = warnings();
  const name = Buffer.from("636166e9", "hex"); // not UTF-8
  await withGate({ ...place, ...one.options }, async (gate) => {
    await assert.rejects(gate.writeFile(write(name)), code("APPROVAL_DENIED"));
    await until(() => heard.some((text) => /approve it once/.test(text)));
    one.decision = null;
    const call = gate.writeFile(write(name));
    await until(() => one.questions.length === 2);
    await assert.rejects(gate.approve(one.questions[1].id, "session"), /approve it once/);
    await gate.approve(one.questions[1].id);
    assert.ok((await call).created);
  });
});

test("a gate that ends while it asks", async (place, { exists }) => {
  const one = asked(null);
  await withGate({ ...place, ...one.options }, async (gate) => {
    const call = assert.rejects(gate.writeFile(write("b")), GateDied);
    await until(() => one.questions.length === 1);
    process.kill(gate.pid, "SIGKILL");
    await call;
    await assert.rejects(gate.approve(one.questions[0].id), GateDied);
  });
  let decide;
  one.decision = new Promise((resolve) => (decide = resolve));
  await withGate({ ...place, ...one.options }, async (gate) => {
    const ended = (error) => error instanceof GateClosed || error instanceof ToolError;
    const call = assert.rejects(gate.writeFile(write("b")), ended);
    await until(() => one.questions.length === 2);
    await gate.close();
    await call;
    decide("once");
    await assert.rejects(gate.approve(one.questions[1].id), GateClosed);
  });
  assert.ok(!exists("b"));
});

test("drain waits for answers", async (place) => {
  const one = asked(null);
  const gate = new Gate({ ...place, ...one.options });
  const calls = { 1: gate.writeFile(write("b")), 2: gate.writeFile(write("c")) };
  await until(() => one.questions.length === 2);
  const closed = gate.close({ drain: true });
  for (const { id, callId } of one.questions) {
    await gate.approve(id);
    assert.ok((await calls[callId]).created);
  }
  await closed;
});

test("a model's calls", async (place) => {
  const one = asked("once");
  await withGate({ ...place, ...one.options, format: "openai" }, async (gate) => {
    const function_ = { name: "write_file", arguments: JSON.stringify(write("b")) };
    const call = { id: "call_1", type: "function", function: function_ };
    assert.match((await gate.handle(call)).content, /"ok":true/);
    assert.equal(one.questions[0].callId, "call_1");
    one.decision = "no";
    assert.match((await gate.handle(call)).content, /APPROVAL_DENIED/);
  });
});

test("a listener that throws does no harm", async (place) => {
  const heard = warnings();
  const onApprovalOver = () => assert.fail("of a listener");
  await withGate({ ...place, approver: () => "once", onApprovalOver }, async (gate) => {
    await gate.writeFile(write("b"));
    assert.equal((await gate.readFile({ path: "b" })).content, "x");
    await until(() => heard.some((text) => /of a listener/.test(text)));
  });
});

test("without an approver nothing is approved", (place, { scratch }) =>
  withGate({ ...place, config: hasty(scratch) }, async (gate) => {
    await assert.rejects(gate.writeFile(write("b")), code("APPROVAL_TIMEOUT"));
    await assert.rejects(gate.approve("abc"), /approver/);
  }));

test("someone else was faster", async () => {
  const one = asked(null);
  const fake = { program: process.env.FAKE_GATE, env: { ...process.env, FAKE: "contrary" } };
  await withGate({ ...fake, ...one.options }, async (gate) => {
    for (const [n, verb] of ["approve", "deny"].entries()) {
      const call = gate.call("x");
      await until(() => one.questions.length === n + 1);
      await assert.rejects(gate[verb](one.questions[n].id), /by another/);
      await call;
    }
    assert.deepEqual(one.overs.map((over) => over.state), ["denied", "approved"]);
  });
});

test("questions that cannot be read", async () => {
  const one = asked("once");
  const heard = warnings();
  const fake = { program: process.env.FAKE_GATE, env: { ...process.env, FAKE: "questions" } };
  await withGate({ ...fake, ...one.options }, async (gate) => {
    assert.deepEqual((await gate.call("x")).said, { approve: "good", scope: "once" });
    assert.deepEqual(one.questions.map(({ id }) => id), ["good"]);
    assert.deepEqual(one.overs, []); // in a way that nobody knows
    await until(() => heard.filter((text) => /cannot be read/.test(text)).length > 20);
    one.decision = null;
    const call = assert.rejects(gate.call("x"), GateDied);
    await until(() => one.questions.length === 2);
    await assert.rejects(gate.approve("late"), GateDied); // it ends with the answer
    await call;
  });
});
