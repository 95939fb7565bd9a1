export { Gate, type GateOptions } from "./gate.js";
export { CallTimeout, GateClosed, GateDied, GateError, GateNotFound, SandgateError, ToolError } from "./errors.js";
export type { CallOptions, PathArgument } from "./wire.js";
export type * from "./tools.js";
