/** The base of everything this package throws on purpose, except TypeError for a request that cannot be sent. */
export class SandgateError extends Error {
  override name = "SandgateError";
}

/** The gate itself cannot be used, or no longer. */
export class GateError extends SandgateError {
  override name = "GateError";
}

/** There is no `sandgate` program, or it cannot be started. */
export class GateNotFound extends GateError {
  override name = "GateNotFound";
}

/** The gate was closed with `close()`. */
export class GateClosed extends GateError {
  override name = "GateClosed";
}

/** The gate ended by itself. Whether the calls under way had an effect is not known. */
export class GateDied extends GateError {
  override name = "GateDied";

  constructor(
    message: string,
    /** Its exit status, or null when a signal ended it. */
    readonly exitCode: number | null,
    readonly signal: string | null,
    /** The last lines it wrote to standard error. */
    readonly stderr: readonly string[],
  ) {
    super(message);
  }
}

/** No answer within `timeoutMs`. The call was cancelled; a write has happened or not. */
export class CallTimeout extends SandgateError {
  override name = "CallTimeout";
}

/** An answer to a question could not be given: it was decided first, or no rule can be made of the call. */
export class ApprovalError extends SandgateError {
  override name = "ApprovalError";
}

/** The gate answered that the call failed. The message is written for the model to act on. */
export class ToolError extends SandgateError {
  override name = "ToolError";

  constructor(
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly retryable = false,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}
