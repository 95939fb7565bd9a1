// Carries out exchanges for the test, one JSON a line: {"sdk","url","tools"} comes in, {"calls"} goes out, {"results"}
// comes in, {"text"} goes out; or {"error"} at any point.
import readline from 'node:readline';
import { exchanges } from './exchanges.mjs';

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const hear = async () => JSON.parse((await lines.next()).value);

async function run(calls) {
  say({ calls });
  return (await hear()).results;
}

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const { sdk, url, tools } = JSON.parse(line.value);
  try {
    say({ text: await exchanges[sdk](url, tools, run) });
  } catch (error) {
    say({ error: String(error?.stack ?? error) });
  }
}
