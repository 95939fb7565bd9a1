// Compiled, not run: what a program may expect of the package's types.
import { CallTimeout, Gate, ToolError, type Approval, type Decision, type ReadFileResult } from "sandgate";

export async function use(workspace: string, signal: AbortSignal): Promise<string> {
  const gate = new Gate({ workspace, maxInFlight: 8, onStderr: (line: string) => void line });
  try {
    const read: ReadFileResult = await gate.readFile({ path: "a.txt", encoding: "auto" }, { signal, timeoutMs: 1000 });
    const stat: { size: number } = await gate.call<{ size: number }>("stat", { path: "a.txt" });
    const hint: string | undefined = read.hint;
    // @ts-expect-error there is no such encoding
    await gate.readFile({ path: "a.txt", encoding: "latin1" });
    // @ts-expect-error a path is required
    await gate.stat({});
    const onOutput = (stream: "stdout" | "stderr", text: string) => void `${stream}${text}`;
    const ran: string = (await gate.runCommand({ command: "true" }, { onOutput })).stdout;
    const program: number | undefined = (await gate.runCommand({ argv: ["true"] })).exit_code;
    // @ts-expect-error words, not a line
    await gate.runCommand({ argv: "true" });
    const message = await gate.handle({ function: { name: "stat", arguments: {} } });
    return `${program}${ran}${read.content}${hint}${stat.size}${String(message["content"])}`;
  } catch (error) {
    if (error instanceof ToolError && error.retryable) return error.code;
    if (error instanceof CallTimeout) return "late";
    throw error;
  } finally {
    await gate.close();
  }
}

export async function ask(workspace: string, show: (text: string) => Promise<boolean>): Promise<void> {
  const approver = async ({ summary, detail }: Approval): Promise<Decision> =>
    (await show(`${summary}\n${detail}`)) ? "once" : "no";
  const gate = new Gate({ workspace, approver, onApprovalOver: ({ id, state, by }) => void `${id}${state}${by ?? ""}` });
  new Gate({ approver: () => null });
  // @ts-expect-error a yes says how far it reaches
  new Gate({ approver: () => true });
  // @ts-expect-error there is no such scope
  await gate.approve("id", "forever");
  const state: "approved" | "denied" | "timed_out" | "cancelled" = (await gate.deny("id")).state;
  await gate.close({ drain: state === "denied" });
}
