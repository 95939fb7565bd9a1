// Calls that wait for a yes, and whoever is asked about them. Nothing but an answer that was understood whole approves:
// all that goes wrong here denies, or leaves the question to its timeout.

import { ApprovalError } from "./errors.js";
import { encode, type Id, type Json } from "./wire.js";

/** How far a yes reaches: this call, what is like it as long as the gate or its session lasts, or for good. */
export type Scope = "once" | "session" | "always";

/** What an approver says. With null the answer comes later, by `approve` or `deny`. */
export type Decision = Scope | "no" | false | null;

/** A call that waits for a yes. Its texts have no control characters, but for the line ends in `detail` and `proposal`. */
export interface Approval {
  /** By which it is answered. */
  readonly id: string;
  /** The id with which the call was sent; null for one of another program over the same session. */
  readonly callId: Id | null;
  readonly tool: string;
  /** Why it is asked. */
  readonly rule: string;
  /** What would be done, in one line. */
  readonly summary: string;
  /** More of it, a diff for example; may be empty. */
  readonly detail: string;
  /** When it counts as denied. */
  readonly expiresAt: Date;
  /** The rule that "always" writes, to be shown before; null: none can be made of the call, and only "once" works. */
  readonly proposal: string | null;
}

/** The end of a wait, whoever brought it about. */
export interface ApprovalOver {
  readonly id: string;
  readonly state: "approved" | "denied" | "timed_out" | "cancelled";
  /** Who decided, where that is known. */
  readonly by: string | null;
}

export type Approver = (approval: Approval) => Decision | Promise<Decision>;

/** What is needed of the core. */
interface Lines {
  /** Throws when the gate takes no more. */
  send(line: Uint8Array): void;
  /** Ends a call with the caller's own failure. False: nobody waits for it. */
  fail(callId: Id | null, error: unknown): boolean;
}

/** An answer that the gate was sent and has not reacted to. */
interface Answer {
  decision: Scope | "no";
  taken: (over: ApprovalOver) => void;
  refused: (error: Error) => void;
}

const REQUEST_ID = /^[0-9A-Za-z]{1,15}$/; // as the gate makes them, and takes them back
const SCOPES: readonly unknown[] = ["once", "session", "always"];
const STATES: readonly unknown[] = ["approved", "denied", "timed_out", "cancelled"];

function readApproval(event: Json): Approval | undefined {
  const { requestId: id, id: call, tool, rule, summary, detail, expiresAt, proposal = null } = event;
  if (typeof id !== "string" || !REQUEST_ID.test(id)) return undefined;
  if (typeof tool !== "string" || typeof rule !== "string") return undefined;
  if (typeof summary !== "string" || typeof detail !== "string" || typeof expiresAt !== "string") return undefined;
  if (proposal !== null && typeof proposal !== "string") return undefined;
  const expires = new Date(expiresAt);
  if (Number.isNaN(expires.getTime())) return undefined;
  const callId = typeof call === "string" || typeof call === "number" ? call : null;
  return { id, callId, tool, rule, summary, detail, expiresAt: expires, proposal };
}

function whatBecame(over: ApprovalOver | undefined): string {
  if (!over) return "it is over";
  return `it was ${over.state.replace("_", " ")}${over.by === null ? "" : ` by ${over.by}`}`;
}

const warn = (text: string): void => process.emitWarning(text, "SandgateWarning");

/** The questions of one gate. */
export class Approvals {
  private readonly open = new Set<string>();
  private readonly answers = new Map<string, Answer>();
  private ended: Error | undefined;

  constructor(
    private readonly approver: Approver,
    private readonly onOver: ((over: ApprovalOver) => void) | undefined,
    private readonly lines: Lines,
  ) {}

  /** Whether the gate has yet to react to an answer. */
  get busy(): boolean {
    return this.answers.size > 0;
  }

  /** Takes what the gate tells; events that are not known are passed over. */
  happened(event: Json): void {
    const kind = event["event"];
    if (kind === "approval") this.asked(event);
    else if (kind === "approval_over") this.over(event);
    else if (kind === "error") this.refused(event);
  }

  /** The gate has ended. */
  end(reason: Error): void {
    this.ended = reason;
    const left = [...this.answers.values()];
    this.answers.clear();
    this.open.clear();
    for (const answer of left) answer.refused(reason);
  }

  /** Answers a question; rejects where that cannot be done. */
  answer(id: string, decision: Scope | "no"): Promise<ApprovalOver> {
    return new Promise((taken, refused) => {
      if (this.ended) throw this.ended;
      if (!this.open.has(id)) {
        const why = "it was decided, timed out or cancelled";
        throw new ApprovalError(`no call waits for the answer to ${JSON.stringify(id)}: ${why}`);
      }
      if (this.answers.has(id)) throw new ApprovalError(`${id} is being answered already`);
      if (decision !== "no" && !SCOPES.includes(decision)) {
        throw new TypeError(`a scope is "once", "session" or "always", not ${String(decision)}`);
      }
      this.answers.set(id, { decision, taken, refused });
      try {
        this.lines.send(encode(decision === "no" ? { deny: id } : { approve: id, scope: decision }));
      } catch (error) {
        this.answers.delete(id);
        throw error;
      }
    });
  }

  private asked(event: Json): void {
    const approval = readApproval(event);
    if (!approval) {
      warn("a question of the gate that cannot be read is left to others");
      return;
    }
    if (this.open.has(approval.id)) return;
    this.open.add(approval.id);
    void this.ask(approval);
  }

  private async ask(approval: Approval): Promise<void> {
    let decision: unknown;
    try {
      decision = await this.approver(approval);
      if (decision === null || decision === undefined) return;
      if (decision === false) decision = "no";
      if (decision !== "no" && !SCOPES.includes(decision)) {
        throw new TypeError(`an approver says "once", "session", "always", "no", false or null, not ${String(decision)}`);
      }
    } catch (error) {
      // That is a no, and the call ends with it.
      this.deny(approval);
      if (!this.lines.fail(approval.callId, error)) {
        warn(`the approver failed, ${approval.summary} was denied: ${String(error)}`);
      }
      return;
    }
    if (!this.open.has(approval.id)) return; // decided elsewhere meanwhile
    try {
      await this.answer(approval.id, decision as Scope | "no");
    } catch (error) {
      if (!(error instanceof ApprovalError)) return; // the gate has ended, and its calls say so
      warn(`the answer ${String(decision)} to ${approval.summary} was not taken: ${error.message}`);
      this.deny(approval); // nobody would answer it any more
    }
  }

  private deny(approval: Approval): void {
    this.answer(approval.id, "no").catch(() => undefined); // it is over, or the gate is
  }

  private over(event: Json): void {
    const { requestId: id, state, by } = event;
    if (typeof id !== "string" || !this.open.delete(id)) return;
    let over: ApprovalOver | undefined;
    if (STATES.includes(state)) {
      over = { id, state: state as ApprovalOver["state"], by: typeof by === "string" ? by : null };
    }
    const answer = this.answers.get(id);
    this.answers.delete(id);
    if (answer) {
      const wanted = answer.decision === "no" ? "denied" : "approved";
      if (over?.state === wanted) answer.taken(over);
      else answer.refused(new ApprovalError(`${id} was not ${wanted} by this answer: ${whatBecame(over)}`));
    }
    if (!over || !this.onOver) return;
    try {
      this.onOver(over);
    } catch (error) {
      warn(`onApprovalOver failed: ${String(error)}`);
    }
  }

  private refused(event: Json): void {
    const { requestId: id, message } = event;
    const answer = typeof id === "string" ? this.answers.get(id) : undefined;
    if (typeof id !== "string" || !answer) return;
    this.answers.delete(id);
    answer.refused(new ApprovalError(String(message)));
  }
}
