// A running `sandgate stdio` and the calls under way in it. Knows lines and ids, no tools.

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";

import { Approvals, type ApprovalOver, type Approver } from "./approvals.js";
import { GateClosed, GateDied, GateNotFound, type GateError } from "./errors.js";
import { answerIdKey, encode, isObject, type Id, type Json } from "./wire.js";

const ANSWER_BYTES = 256 * 1024 * 1024; // 16 MiB of content, every byte escaped as six, and again inside a string
const STDERR_LINES = 20;
const STDERR_LINE_BYTES = 1000;
const END_MS = 5000; // the gate itself gives a call 2 s to stop
const NEWLINE = 10;

/** One call from its submission to its answer. */
export interface Flight {
  id: Id;
  line: Uint8Array;
  answered: (answer: Json) => void;
  failed: (error: unknown) => void;
  happened: (event: Json) => void;
  abandoned?: boolean;
}

const running = new Set<Core>();

// A gate whose caller is gone would finish the calls it has, which can take a while.
process.on("exit", () => {
  for (const core of running) core.process.kill("SIGTERM");
});

/** Cuts a stream into lines. A line that comes in many pieces is joined once. */
class Lines {
  private pieces: Buffer[] = [];
  bytes = 0;

  feed(data: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
      lines.push(Buffer.concat([...this.pieces, data.subarray(start, end)]));
      this.pieces = [];
      this.bytes = 0;
      start = end + 1;
    }
    if (start < data.length) {
      this.pieces.push(data.subarray(start));
      this.bytes += data.length - start;
    }
    return lines;
  }

  take(): Buffer {
    const rest = Buffer.concat(this.pieces);
    this.pieces = [];
    this.bytes = 0;
    return rest;
  }
}

export class Core {
  readonly process: ChildProcessWithoutNullStreams;
  readonly approvals: Approvals | undefined;
  private readonly ids = new Set<Id>();
  private readonly waiting: Flight[] = [];
  private readonly pending = new Map<Id, Flight>(); // sent, in this order
  private orphans: Json[] = []; // answers that do not say whose they are
  private suspects = new Set<Id>(); // whose they can be
  private readonly answers = new Lines();
  private readonly said = new Lines();
  private readonly stderr: string[] = [];
  private readonly exited: Promise<void>;
  private number = 0;
  private closing = false;
  private draining = false;
  private breach = "";
  private died: (() => GateError) | undefined;

  constructor(
    program: string,
    words: string[],
    env: Record<string, string | undefined> | undefined,
    cwd: string | undefined,
    private readonly maxInFlight: number,
    private readonly onStderr: (line: string) => void,
    approver: Approver | undefined,
    onApprovalOver: ((over: ApprovalOver) => void) | undefined,
  ) {
    this.approvals = approver && new Approvals(approver, onApprovalOver, this);
    // A session of its own: Ctrl-C in a terminal is for this program to handle.
    this.process = spawn(program, words, { stdio: "pipe", detached: true, env, cwd });
    this.process.stdin.on("error", () => undefined); // it no longer reads: its end will say why
    this.process.stdout.on("error", () => undefined);
    this.process.stderr.on("error", () => undefined);
    this.process.stdout.on("data", (data: Buffer) => this.takeAnswers(data));
    this.process.stderr.on("data", (data: Buffer) => this.takeStderr(data));
    // Output may end before the process does, and must not be waited for: a process that lingers is ended.
    this.process.stdout.on("end", () => setTimeout(() => this.process.kill("SIGKILL"), END_MS).unref());
    // A child of it may keep its output open.
    this.process.on("exit", () => setTimeout(() => this.endOutput(), 1000).unref());
    this.exited = new Promise((resolve) => {
      this.process.on("error", (error) => {
        if (this.process.pid === undefined) {
          const hint = program === "sandgate" ? "; give `program`, set $SANDGATE, or put it in PATH" : "";
          this.finish(() => new GateNotFound(`cannot start ${JSON.stringify(program)}: ${error.message}${hint}`));
          resolve();
        }
      });
      this.process.on("close", (code, signal) => {
        if (this.said.bytes > 0) this.takeStderr(Buffer.from("\n"));
        this.finish(() => this.obituary(code, signal));
        resolve();
      });
    });
    running.add(this);
    this.hold();
  }

  /** An id nobody else uses: the wanted one if it is free. */
  reserve(wanted: Id | undefined): Id {
    let id = wanted ?? String(++this.number);
    while (this.ids.has(id)) id = String(++this.number);
    this.ids.add(id);
    return id;
  }

  release(id: Id): void {
    this.ids.delete(id);
  }

  /** Sends a call, or keeps it until there is room for it. */
  submit(flight: Flight): void {
    if (this.closing || this.died) {
      this.ids.delete(flight.id);
      flight.failed(this.reason());
      return;
    }
    this.waiting.push(flight);
    this.pump();
  }

  /** Stops a call whose answer nobody waits for any more. Its id stays taken until the gate has answered. */
  abandon(flight: Flight): void {
    flight.answered = flight.failed = flight.happened = () => undefined;
    flight.abandoned = true;
    if (this.pending.get(flight.id) === flight) {
      this.write(encode({ cancel: flight.id }));
      return;
    }
    const at = this.waiting.indexOf(flight);
    if (at < 0) return;
    this.waiting.splice(at, 1);
    this.ids.delete(flight.id);
    this.hold();
  }

  /** Sends a line that is no call. */
  send(line: Uint8Array): void {
    if (this.died || (this.closing && !this.draining) || !this.process.stdin.writable) throw this.reason();
    this.write(line);
    this.hold();
  }

  /** Ends a call with the caller's own failure. False: nobody waits for it. */
  fail(callId: Id | null, error: unknown): boolean {
    const flight = callId === null ? undefined : this.pending.get(callId);
    if (!flight || flight.abandoned) return false;
    const { failed } = flight;
    this.abandon(flight);
    failed(error);
    return true;
  }

  async close(drain: boolean, timeoutMs: number | undefined): Promise<void> {
    this.closing = true;
    this.draining ||= drain;
    if (this.died) return this.exited;
    this.hold();
    if (drain) this.endInput();
    else this.process.kill("SIGTERM");
    const limit = timeoutMs ?? (drain ? undefined : END_MS);
    const timer = limit === undefined ? undefined : setTimeout(() => this.process.kill("SIGKILL"), limit);
    await this.exited;
    clearTimeout(timer);
  }

  private reason(): GateError {
    return this.died ? this.died() : new GateClosed("the gate is closed");
  }

  private pump(): void {
    // Fewer than the gate takes at once (256): so it goes on reading, and a cancel is seen.
    while (this.pending.size < this.maxInFlight) {
      const flight = this.waiting.shift();
      if (!flight) break;
      this.pending.set(flight.id, flight);
      this.write(flight.line);
      flight.line = Buffer.alloc(0);
    }
    this.hold();
    if (this.draining) this.endInput();
  }

  private write(data: Uint8Array): void {
    if (this.process.stdin.writable) this.process.stdin.write(data);
  }

  private endOutput(): void {
    this.process.stdout.destroy();
    this.process.stderr.destroy();
  }

  private endInput(): void {
    // Calls may wait for an answer that goes this way.
    if (this.approvals && this.pending.size > 0) return;
    if (this.waiting.length === 0 && this.process.stdin.writable) this.process.stdin.end();
  }

  /** A gate nobody waits for does not keep the program from ending; its input then ends, and so does the gate. */
  private hold(): void {
    const calls = this.pending.size + this.waiting.length > 0;
    const busy = calls || this.approvals?.busy || (this.closing && !this.died);
    const word = busy ? "ref" : "unref";
    this.process[word]();
    for (const pipe of [this.process.stdin, this.process.stdout, this.process.stderr]) {
      (pipe as unknown as Partial<Record<"ref" | "unref", () => void>>)[word]?.();
    }
  }

  private takeAnswers(data: Buffer): void {
    if (this.breach) return;
    for (const line of this.answers.feed(data)) {
      let answer: unknown;
      try {
        answer = JSON.parse(line.toString("utf8"));
      } catch {
        answer = undefined;
      }
      if (!isObject(answer)) {
        this.fault(`it wrote a line that is no answer: ${JSON.stringify(line.toString("utf8", 0, 200))}`);
        return;
      }
      // What is told about a call while it runs.
      if (this.approvals && "event" in answer && answer["event"] !== "output") this.approvals.happened(answer);
      else if ("event" in answer) this.pending.get(answer["id"] as Id)?.happened(answer);
      else this.arrived(answer);
    }
    if (this.answers.bytes > ANSWER_BYTES) this.fault(`it wrote an answer of more than ${ANSWER_BYTES} bytes`);
    if (!this.closing || this.draining) this.pump();
    else this.hold();
  }

  private fault(text: string): void {
    this.breach = text;
    this.process.kill("SIGKILL");
  }

  private arrived(answer: Json): void {
    const key = answerIdKey(answer);
    const flight = key === undefined ? undefined : this.pending.get(answer[key] as Id);
    if (flight) {
      this.suspects.delete(flight.id);
      this.complete(flight, answer);
    } else {
      this.orphans.push(answer);
      for (const id of this.pending.keys()) this.suspects.add(id);
    }
    // The gate could not read the id of some requests: those that stay unanswered when all others are answered.
    // Requests are refused in the order in which they were sent.
    if (this.orphans.length > 0 && this.suspects.size <= this.orphans.length) {
      const orphans = this.orphans;
      const left = [...this.pending.values()].filter((one) => this.suspects.has(one.id));
      this.orphans = [];
      this.suspects = new Set();
      left.forEach((one, at) => this.complete(one, orphans[at] as Json));
    }
  }

  private complete(flight: Flight, answer: Json): void {
    this.pending.delete(flight.id);
    this.ids.delete(flight.id);
    flight.answered(answer);
  }

  private takeStderr(data: Buffer): void {
    const lines = this.said.feed(data);
    if (this.said.bytes > STDERR_LINE_BYTES) lines.push(this.said.take());
    for (const line of lines) {
      const text = line.toString("utf8", 0, STDERR_LINE_BYTES);
      this.stderr.push(text);
      if (this.stderr.length > STDERR_LINES) this.stderr.shift();
      this.onStderr(text);
    }
  }

  private finish(why: () => GateError): void {
    if (this.died) return;
    running.delete(this);
    this.died = this.closing ? () => new GateClosed("the gate was closed") : why;
    const left = [...this.pending.values(), ...this.waiting];
    this.pending.clear();
    this.waiting.length = 0;
    this.ids.clear();
    for (const flight of left) flight.failed(this.reason());
    this.approvals?.end(this.reason());
  }

  private obituary(code: number | null, signal: string | null): GateDied {
    const how = this.breach || (signal ? `signal ${signal}` : `exit status ${code}`);
    const said = this.stderr.length > 0 ? `it said:\n${this.stderr.join("\n")}` : "it said nothing";
    return new GateDied(`the gate ended (${how}); ${said}`, code, signal, [...this.stderr]);
  }
}
