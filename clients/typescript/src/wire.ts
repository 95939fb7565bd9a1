// Lines of `sandgate stdio`: how calls are written and answers are read.

import { ToolError } from "./errors.js";

export type Id = string | number;
export type Json = Record<string, unknown>;

/** A path. Bytes that are not UTF-8 are sent as base64. */
export type PathArgument = string | Uint8Array;

export interface CallOptions {
  /** Cancels the call when aborted; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which the call is cancelled and the promise rejects with CallTimeout. */
  timeoutMs?: number | undefined;
  /** Takes what a command prints, as it comes, before the promise settles. If it throws, the call is cancelled and rejects. */
  onOutput?: ((stream: "stdout" | "stderr", text: string) => void) | undefined;
}

// A cancel line must be shorter than 4,096 bytes, and each byte of an id may be written as six.
const ID_BYTES = 256;
// With the flag `u` a pair is one character, so this finds only halves.
const LONE = /\p{Surrogate}/u;
const LONE_ALL = /\p{Surrogate}/gu;

/** One line. Refuses lone surrogates: they cannot be written as UTF-8. */
export function encode(value: unknown): Uint8Array {
  return line(value, (text) => {
    if (LONE.test(text)) throw new TypeError("the request holds a lone surrogate: it cannot be written as UTF-8");
    return text;
  });
}

/** One line, with lone surrogates replaced by U+FFFD. What a model wrote should not stop its host. */
export function encodeMended(value: unknown): Uint8Array {
  return line(value, (text) => text.replace(LONE_ALL, "\ufffd"));
}

function line(value: unknown, check: (text: string) => string): Buffer {
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === "string") return check(item);
    if (typeof item === "number" && !Number.isFinite(item)) throw new TypeError(`the request holds ${item}`);
    if (isObject(item) && Object.keys(item).some((key) => LONE.test(key))) {
      return Object.fromEntries(Object.entries(item).map(([key, inner]) => [check(key), inner]));
    }
    return item;
  });
  return Buffer.from(text + "\n");
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function idKey(call: Json): "id" | "call_id" {
  // An item of the Responses API has an id of its own beside the call's.
  return call["type"] === "function_call" ? "call_id" : "id";
}

/** The id, if it can be sent and cancelled as it is. */
export function usableId(value: unknown): Id | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "" || LONE.test(value)) return undefined;
  return Buffer.byteLength(value) <= ID_BYTES ? value : undefined;
}

/** Where an answer says whose it is. */
export function answerIdKey(answer: Json): string | undefined {
  return ["id", "tool_call_id", "call_id", "tool_use_id"].find((key) => key in answer);
}

/** Gives a listener the text of an event that is about output; others are passed over. */
export function tellOutput(event: Json, onOutput: NonNullable<CallOptions["onOutput"]>): void {
  const { event: kind, stream, data, skipped } = event;
  if (kind !== "output" || (stream !== "stdout" && stream !== "stderr") || typeof data !== "string") return;
  // As the answer has it where something is left out.
  onOutput(stream, skipped ? `\n[... ${String(skipped)} bytes left out ...]\n${data}` : data);
}

/** The path under `name`, or its bytes under `name_b64` when they are not UTF-8. */
export function pathArgument(name: string, path: PathArgument | undefined): Record<string, string> {
  if (path === undefined) return {};
  if (typeof path === "string") return { [name]: path };
  try {
    return { [name]: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(path) };
  } catch {
    return { [`${name}_b64`]: Buffer.from(path).toString("base64") };
  }
}

/** What a successful call returned. Throws ToolError for a failed one, in any dialect's words. */
export function outcome(result: unknown): unknown {
  if (typeof result === "string" && result.startsWith("Error: ")) throw new ToolError("ERROR", result.slice(7));
  if (!isObject(result)) return result;
  if ((result["ok"] ?? result["success"]) === false) throw toolError(result["error"]);
  for (const key of ["result", "output"]) if (isObject(result[key])) return result[key];
  return result;
}

function toolError(error: unknown): ToolError {
  if (!isObject(error)) return new ToolError("ERROR", String(error));
  const { code, message, details, retryable, retry_after_ms: after } = error;
  return new ToolError(
    String(code ?? "ERROR"),
    String(message ?? ""),
    isObject(details) ? details : {},
    retryable === true,
    typeof after === "number" ? after : null,
  );
}
