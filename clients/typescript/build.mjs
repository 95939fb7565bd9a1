// Compiles src to dist: before packing, and where the folder itself is installed (`npm install ./clients/typescript`).
// npm does not fetch the compiler for a folder that it links, so it is fetched here where it is missing.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

function compiler() {
  try {
    return createRequire(import.meta.url).resolve("typescript/bin/tsc");
  } catch {
    return undefined;
  }
}

function must(program, ...words) {
  const done = spawnSync(program, words, { cwd: here, stdio: ["ignore", "inherit", "inherit"] });
  if (done.status !== 0) {
    console.error(`sandgate: \`${program} ${words.join(" ")}\` failed`, done.error ?? "");
    process.exit(1);
  }
}

if (!compiler()) must("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
must(process.execPath, compiler(), "-p", "tsconfig.json");
