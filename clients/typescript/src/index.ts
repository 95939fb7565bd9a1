export { Gate, type GateOptions } from "./gate.js";
export {
  ApprovalError,
  CallTimeout,
  GateClosed,
  GateDied,
  GateError,
  GateNotFound,
  SandgateError,
  ToolError,
} from "./errors.js";
export type { Approval, ApprovalOver, Approver, Decision, Scope } from "./approvals.js";
export type { CallOptions, PathArgument } from "./wire.js";
export type * from "./tools.js";
