/** Two "machines", which are network namespaces with an address each, over a link that loses packets and that is cut: `npm run distributed`. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasEngine } from "./ranks.ts";
import { resumed, start, STEPS, type End } from "./resumed-training.ts";

const names = ["a", "b"].map((letter) => `dxtensor${process.pid}${letter}`);
const links = ["a", "b"].map((letter) => `dx${process.pid}${letter}`);
const addresses = ["10.231.77.1", "10.231.77.2"];
const sh = (...args: string[]): void => void execFileSync(args[0]!, args.slice(1), { stdio: ["ignore", "ignore", "pipe"] });
const inside = (i: number, ...args: string[]): void => sh("ip", "netns", "exec", names[i]!, ...args);

function remove(): void {
  for (const name of names) spawnSync("ip", ["netns", "del", name], { stdio: "ignore" });
}

/** Both namespaces and their link; false where this user or kernel may not. */
function make(): boolean {
  try {
    for (const name of names) sh("ip", "netns", "add", name);
    sh("ip", "link", "add", links[0]!, "netns", names[0]!, "type", "veth", "peer", "name", links[1]!, "netns", names[1]!);
    [0, 1].forEach((i) => {
      inside(i, "ip", "addr", "add", `${addresses[i]}/30`, "dev", links[i]!);
      for (const link of [links[i]!, "lo"]) inside(i, "ip", "link", "set", link, "up");
    });
    return true;
  } catch {
    remove();
    return false;
  }
}

/** One packet of twenty is lost, each way: by netem, else by a rule of the firewall for a kernel without it. */
function lose(): "netem" | "iptables" {
  try {
    [0, 1].forEach((i) => inside(i, "tc", "qdisc", "add", "dev", links[i]!, "root", "netem", "loss", "5%", "delay", "1ms"));
    return "netem";
  } catch {
    const rule = ["-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"];
    [0, 1].forEach((i) => inside(i, "iptables", "-A", "OUTPUT", "-o", links[i]!, ...rule));
    return "iptables";
  }
}

let folder: string;
const isThere = hasEngine && make();
if (hasEngine && !isThere) console.warn("NOT CHECKED: network namespaces need root, the command ip, and a kernel with veth.");
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-network-"));
});
afterAll(() => {
  if (isThere) remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Longer than three lost packets of a handshake take, which TCP sends again after 1, 2 and 4 s. */
const TIMEOUT_MS = 8000;

function train(name: string, pauseMs: number): { readonly ends: Promise<readonly End[]>; readonly folder: string; losses(): number[] } {
  const to = join(folder, name);
  writeFileSync(`${to}.mjs`, resumed(to, TIMEOUT_MS, pauseMs));
  const ends = [0, 1].map((i) => {
    const env = { RANK: String(i), WORLD_SIZE: "2", MASTER_ADDR: addresses[0]!, MASTER_PORT: "29500" };
    return start(["ip", "netns", "exec", names[i]!, process.execPath, `${to}.mjs`], env).end;
  });
  return { ends: Promise.all(ends), folder: to, losses: () => JSON.parse(readFileSync(`${to}.json`, "utf8")) as number[] };
}

it.runIf(isThere)(
  "two machines: packets are lost, the link is cut, and nothing of the last checkpoint is lost",
  { timeout: 120_000 },
  async () => {
    const whole = train("whole", 0);
    for (const { status, stderr, stdout } of await whole.ends) expect([status, stderr, stdout]).toEqual([0, "", ""]);
    const expected = whole.losses();
    expect(expected.length).toBe(STEPS);

    const how = lose();
    const lossy = train("lossy", 0);
    for (const { status, stderr, stdout } of await lossy.ends) expect([how, status, stderr, stdout]).toEqual([how, 0, "", ""]);
    expect(lossy.losses()).toEqual(expected);

    const cut = train("cut", 50);
    let early: readonly End[] | null = null;
    void cut.ends.then((ends) => (early = ends));
    while (!existsSync(cut.folder) || readdirSync(cut.folder).length < 2) {
      expect(early).toBe(null);
      await new Promise((done) => setTimeout(done, 10));
    }
    inside(0, "ip", "link", "set", links[0]!, "down");
    const from = performance.now();
    for (const { status, stderr, stdout } of await cut.ends) {
      expect([status, stderr]).toEqual([3, ""]);
      expect(JSON.parse(stdout)).toMatchObject({
        name: "DistributedError",
        reason: expect.stringMatching(/timeout|connection/) as unknown,
      });
    }
    expect(performance.now() - from).toBeLessThan(2 * TIMEOUT_MS + 10_000);
    expect(existsSync(`${cut.folder}.json`)).toBe(false);

    // The link is back: the same command continues from the last checkpoint, to the same losses.
    inside(0, "ip", "link", "set", links[0]!, "up");
    const again = train("cut", 0);
    for (const { status, stderr, stdout } of await again.ends) expect([status, stderr, stdout]).toEqual([0, "", ""]);
    expect(again.losses()).toEqual(expected);
  },
);
