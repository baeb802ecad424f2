/** Ranks as processes over the built package: what each prints, and how it ended. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** `npm run distributed` builds the engine, and sets the variable. */
export const hasEngine = process.env.DXTENSOR_GLOO_TESTS === "1";

const index = pathToFileURL(join(process.cwd(), "dist", "bundle", "dxtensor.js")).href;

/** How a rank ended. */
export interface RankEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it said by tell(), in order. */
  readonly told: readonly unknown[];
  readonly stderr: string;
  readonly seconds: number;
}

/**
 * Runs a module in `size` processes. It has the library as `dx` and `d`, `rank`, `size`, `init(options)` that joins by a store in a folder, `store` that
 * folder, tell(value), and error(fn): what an error says.
 */
export async function runRanks(
  size: number,
  code: string,
  { env = {}, seconds = 60 }: { readonly env?: Readonly<Record<string, string>>; readonly seconds?: number } = {},
): Promise<RankEnd[]> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-ranks-"));
  const file = join(folder, "rank.mjs");
  writeFileSync(
    file,
    `import * as dx from ${JSON.stringify(index)};
const d = dx.distributed;
const rank = Number(process.env.RANK), size = Number(process.env.WORLD_SIZE), store = ${JSON.stringify(join(folder, "store"))};
const tell = (value) => process.stdout.write(JSON.stringify(value, (_, v) => typeof v === "bigint" ? String(v) : v) + "\\n");
const init = (options = {}) => d.initProcessGroup({ store: d.fileStore(store), timeoutMs: 20000, ...options });
const error = async (fn) => { try { await fn(); return null; } catch (e) { return { name: e.name, reason: e.reason, rank: e.rank, peer: e.peer, group: e.group, sequence: e.sequence, operation: e.operation, message: e.message }; } };
const list = (t) => t.toArraySync();
${code}
`,
  );
  try {
    return await Promise.all(
      Array.from({ length: size }, (_, rank) => {
        const start = performance.now();
        const child = spawn(process.execPath, [file], {
          env: { ...process.env, DXTENSOR_DEVICE: "cpu", DXTENSOR_THREADS: "1", RANK: String(rank), WORLD_SIZE: String(size), ...env },
          stdio: ["ignore", "pipe", "pipe"],
        });
        let [stdout, stderr] = ["", ""];
        child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
        child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
        const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
        return new Promise<RankEnd>((done) => {
          child.on("close", (status, signal) => {
            clearTimeout(timer);
            const told = stdout
              .split("\n")
              .filter((line) => line !== "")
              .map((line) => JSON.parse(line) as unknown);
            done({ status, signal, told, stderr, seconds: (performance.now() - start) / 1000 });
          });
        });
      }),
    );
  } finally {
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  }
}
