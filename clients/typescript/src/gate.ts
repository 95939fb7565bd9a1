/// <reference lib="esnext.disposable" preserve="true" />
import { execFile } from "node:child_process";

import type { ApprovalOver, Approver, Scope } from "./approvals.js";
import { Core, type Flight } from "./core.js";
import { ApprovalError, CallTimeout, GateError, GateNotFound } from "./errors.js";
import { Tools } from "./tools.js";
import { answerIdKey, encode, encodeMended, idKey, isObject, outcome, tellOutput, usableId } from "./wire.js";
import type { CallOptions, Json } from "./wire.js";

export interface GateOptions {
  /** Folder to work in; the current one when left out. */
  workspace?: string;
  /** The sandgate program; else $SANDGATE, else `sandgate` in PATH. */
  program?: string;
  /** Which tools, and how results look: `native` (default), `toolhost`. */
  dialect?: string;
  /** `tool_call` (default) for `call` and the typed methods; `openai` and others for `handle`. */
  format?: string;
  /** The options of `sandgate stdio` with these names. */
  session?: string;
  project?: string;
  pkg?: string;
  state?: string;
  agent?: string;
  run?: string;
  config?: string;
  /** More words for its command line. */
  options?: readonly string[];
  /** The environment and working directory of the gate; this program's own when left out. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /**
   * Calls sent at once (128); more wait here. Keep it below the gate's `limits.maxInFlight`, or a cancel may have to
   * wait until a call is done.
   */
  maxInFlight?: number;
  /** Takes each line the gate writes to standard error; this program's own standard error when left out. */
  onStderr?: (line: string) => void;
  /**
   * Is asked about each call that needs a yes: says how far its yes reaches, or no, now or by a promise; with null the
   * answer comes later, by `approve` or `deny`. What it throws or rejects with denies the call and comes out of it. It
   * speaks for a person: keep the model's text away from what it decides by.
   */
  approver?: Approver;
  /** Is told of each question that is over, whoever decided it. */
  onApprovalOver?: (over: ApprovalOver) => void;
}

const STDIO_OPTIONS = ["workspace", "session", "project", "pkg", "state", "agent", "run", "config"] as const;

/** A running `sandgate stdio`. Any number of calls may be under way at once. */
export class Gate extends Tools {
  readonly format: string;
  private readonly program: string;
  private readonly dialect: string;
  private readonly place: { env: Record<string, string | undefined> | undefined; cwd: string | undefined };
  private readonly core: Core;

  constructor(options: GateOptions = {}) {
    super();
    const maxInFlight = options.maxInFlight ?? 128;
    if (!(maxInFlight >= 1)) throw new RangeError("maxInFlight must be at least 1");
    this.program = options.program ?? (process.env["SANDGATE"] || "sandgate");
    this.dialect = options.dialect ?? "native";
    this.format = options.format ?? "tool_call";
    this.place = { env: options.env, cwd: options.cwd };
    const words = ["stdio", "--dialect", this.dialect, "--format", this.format];
    if (options.approver) words.push("--approver");
    for (const name of STDIO_OPTIONS) {
      const value = options[name];
      if (value !== undefined) words.push(`--${name}`, value);
    }
    words.push(...(options.options ?? []));
    const onStderr = options.onStderr ?? ((line: string) => void process.stderr.write(line + "\n"));
    const { env, cwd, approver, onApprovalOver } = options;
    this.core = new Core(this.program, words, env, cwd, maxInFlight, onStderr, approver, onApprovalOver);
  }

  get pid(): number | undefined {
    return this.core.process.pid;
  }

  /** Calls a tool and returns its result. A failed call rejects with ToolError. */
  async call<T = Json>(name: string, arguments_: object = {}, options?: CallOptions): Promise<T> {
    return outcome(await this.callRaw(name, arguments_, options)) as T;
  }

  /** Calls a tool and returns the dialect's answer as it is, failed or not. */
  async callRaw<T = unknown>(name: string, arguments_: object = {}, options?: CallOptions): Promise<T> {
    if (this.format !== "tool_call") {
      throw new TypeError(`this gate speaks the format ${this.format}: it takes calls through handle()`);
    }
    return (await this.run({ tool_call: { name, arguments: arguments_ } }, encode, options)) as T;
  }

  /** Runs a tool call as the model's SDK gave it and returns the message to append. Failures are in it. */
  async handle<T = Json>(call: object, options?: CallOptions): Promise<T> {
    if (!isObject(call)) throw new TypeError("a tool call is an object");
    return (await this.run(call, encodeMended, options)) as T;
  }

  /**
   * Answers a question with yes. Rejects with ApprovalError where that cannot be done: it is over, or no rule can be made
   * of the call for `session` or `always`; then it still waits.
   */
  async approve(id: string, scope: Scope = "once"): Promise<ApprovalOver> {
    if ((scope as string) === "no") throw new TypeError("a scope is once, session or always");
    return this.decide(id, scope);
  }

  /** Answers a question with no. Rejects with ApprovalError when it is over. */
  async deny(id: string): Promise<ApprovalOver> {
    return this.decide(id, "no");
  }

  private decide(id: string, decision: Scope | "no"): Promise<ApprovalOver> {
    if (!this.core.approvals) throw new ApprovalError("this gate has no `approver`: it cannot approve");
    return this.core.approvals.answer(id, decision);
  }

  /** The tools with their schemas, in this gate's format or another; `full` has everything. */
  tools(format: string = this.format): Promise<Json[]> {
    const words = ["tools", "--dialect", this.dialect, "--format", format];
    const limits = { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 };
    return new Promise((resolve, reject) => {
      execFile(this.program, words, { ...this.place, ...limits }, (error, stdout, stderr) => {
        if (!error) return resolve(JSON.parse(stdout) as Json[]);
        if (typeof error.code === "string") {
          return reject(new GateNotFound(`cannot start ${JSON.stringify(this.program)}: ${error.message}`));
        }
        return reject(new GateError(`no list of tools (exit status ${error.code}): ${stderr.trim()}`));
      });
    });
  }

  /**
   * Ends the gate. Calls under way are cancelled; with `drain` they are waited for. A gate that has not ended after
   * `timeoutMs` (5,000, with `drain` no limit) is killed. May be called twice.
   */
  close({ drain = false, timeoutMs }: { drain?: boolean; timeoutMs?: number } = {}): Promise<void> {
    return this.core.close(drain, timeoutMs);
  }

  private run(call: Json, write: (value: unknown) => Uint8Array, options: CallOptions = {}): Promise<unknown> {
    const { signal, timeoutMs, onOutput } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const key = idKey(call);
      const id = this.core.reserve(usableId(call[key]));
      let line: Uint8Array;
      try {
        line = write({ ...call, [key]: id });
      } catch (error) {
        this.core.release(id);
        return reject(error);
      }
      const settle = (end: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        end();
      };
      const giveUp = (reason: unknown) => {
        this.core.abandon(flight);
        settle(() => reject(reason));
      };
      const abort = () => giveUp(signal?.reason);
      const flight: Flight = {
        id,
        line,
        answered: (answer) => settle(() => resolve(this.restored(call, key, answer))),
        failed: (error) => settle(() => reject(error)),
        happened: (event) => {
          try {
            if (onOutput) tellOutput(event, onOutput);
          } catch (error) {
            giveUp(error);
          }
        },
      };
      const late = () => giveUp(new CallTimeout("no answer in time; the call was cancelled"));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", abort, { once: true });
      this.core.submit(flight);
    });
  }

  /** The dialect's result in format `tool_call`, else the message, with the id that the caller gave. */
  private restored(call: Json, given: string, answer: Json): unknown {
    if (this.format === "tool_call") return answer["result"];
    const key = answerIdKey(answer);
    // Ollama's calls need not have an id. They are given one, else nothing would tell their answers apart.
    if (key !== undefined && !(given in call) && this.format === "ollama") delete answer[key];
    else if (key !== undefined) answer[key] = call[given] ?? null;
    return answer;
  }
}

// `await using gate = new Gate()`, where the runtime knows the symbol.
export interface Gate {
  [Symbol.asyncDispose](): Promise<void>;
}

const dispose: symbol | undefined = Symbol.asyncDispose;
if (dispose) {
  Object.defineProperty(Gate.prototype, dispose, {
    value(this: Gate) {
      return this.close();
    },
    configurable: true,
    writable: true,
  });
}
