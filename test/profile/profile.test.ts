/** dx.profile: events of eager and compiled calls, tables, traces, and what a profile leaves behind. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { TapeNode } from "../../src/autograd/tape.ts";
import { interceptor } from "../../src/core/tracer.ts";
import { traceOf } from "../../src/profile/chrome-trace.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice } from "../device.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-profile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = (report: dx.ProfileReport, kind: dx.ProfileKind): string[] => report.events.filter((e) => e.kind === kind).map((e) => e.name);
const row = (table: dx.ProfileTable, name: string, phase: dx.ProfilePhase = "forward"): dx.ProfileRow | undefined =>
  table.rows.find((r) => r.name === name && r.phase === phase);

function network(): { readonly model: dx.nn.Sequential; readonly step: () => number } {
  const model = dx.nn.sequential(dx.nn.linear(4, 8), dx.nn.relu(), dx.nn.linear(8, 1));
  const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.1 });
  const x = dx.arange(64).reshape([16, 4]).div(64);
  const step = (): number => {
    optimizer.zeroGrad();
    const loss = model.forward(x).square().mean();
    loss.backward();
    optimizer.step();
    return loss.itemSync();
  };
  return { model, step };
}

eachDevice("profile", (device) => {
  it("counts operations with the user's line, shapes, FLOP and memory", () => {
    const [a, b] = [dx.ones([8, 16]), dx.ones([16, 4])];
    const report = dx.profile(() => {
      for (let i = 0; i < 3; i++) a.matmul(b);
      return a.matmul(b).sum().itemSync();
    });
    expect(report.result).toBe(8 * 4 * 16);
    const matmul = report.events.filter((e) => e.kind === "operation" && e.name === "matmul");
    expect(matmul).toHaveLength(4);
    expect(matmul[0]).toMatchObject({
      kind: "operation",
      phase: "forward",
      device,
      inputs: "float32[8, 16], float32[16, 4]",
      module: null,
    });
    expect(matmul[0]!.flops).toBe(2 * 8 * 16 * 4);
    expect(matmul[0]!.memoryInBytes).toBeGreaterThanOrEqual(8 * 4 * 4);
    expect(matmul[0]!.line).toMatch(/profile\.test\.ts:\d+$/);
    expect(matmul[3]!.line).not.toBe(matmul[0]!.line);
    expect(row(report.table(), "matmul")).toMatchObject({ calls: 4, flops: 4 * 2 * 8 * 16 * 4 });
    expect(row(report.table({ by: "line" }), matmul[0]!.line!)).toMatchObject({ calls: 3 });
    expect(report.dropped).toBe(0);
    expect(report.memory.length).toBeGreaterThan(0);
    expect(report.devices.find((d) => d.device === device)!.peakInBytes).toBeGreaterThan(0);
  });

  it("times nest: self times add up to no more than the whole", () => {
    const { step } = network();
    step();
    const report = dx.profile(step);
    const self = report.events.filter((e) => e.kind !== "read").reduce((sum, e) => sum + e.selfMs, 0);
    expect(self).toBeLessThanOrEqual(report.durationMs);
    const byId = new Map(report.events.map((e) => [e.id, e]));
    for (const e of report.events) {
      expect(e.selfMs).toBeLessThanOrEqual(e.durationMs);
      const outer = e.parent === null ? undefined : byId.get(e.parent)!;
      if (outer !== undefined) expect(e.startMs).toBeGreaterThanOrEqual(outer.startMs);
    }
  });

  it("tells forward, backward and optimizer apart, by module", () => {
    const { model, step } = network();
    step();
    const report = dx.profile(step, { modules: { net: model } });
    expect(names(report, "module")).toEqual(["net", "net.0", "net.1", "net.2"]);
    const modules = report.table({ by: "module" });
    expect(row(modules, "net")!.calls).toBe(1);
    expect(row(modules, "net.0")!.flops).toBe(2 * 16 * 4 * 8);
    // The gradient of the weight alone: the data requires none.
    expect(row(modules, "net.0", "backward")!.flops).toBe(2 * 16 * 4 * 8);
    const linear = report.events.find((e) => e.name === "linear")!;
    const gradient = report.events.find((e) => e.phase === "backward" && e.module === "net.2")!;
    expect(gradient.line).toBe(linear.line);
    expect(report.events.some((e) => e.phase === "optimizer" && e.kind === "operation")).toBe(true);
    expect(names(report, "backward")).toEqual(["backward"]);
    expect(names(dx.profile(step), "module")[2]).toBe("Sequential.1");
  });

  it("shows where JavaScript waits for the device", async () => {
    const x = dx.ones([4]);
    const report = dx.profile(() => {
      x.add(1).dataSync();
      x.add(1).dataSync();
    });
    const { rows } = report.table({ by: "wait" });
    expect(rows).toHaveLength(2);
    expect(rows[0]!.name).toMatch(/^readSync at .*profile\.test\.ts:\d+$/);
    const later = await dx.profile(async () => {
      await x.add(1).data();
      await dx.synchronize();
    });
    expect(names(later, "read")).toEqual(["read", "synchronize"]);
    expect(row(later.table(), "read")!.waits).toBe(1);
    expect(row(later.table(), "synchronize")!.waits).toBe(1);
  });

  it("compiled functions: the first call, further ones, other shapes", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(2).add(1).relu().sum(), { name: "f" });
    const call = (n: number) => dx.profile(() => f(dx.ones([n])).itemSync());
    const [first, second, other] = [call(8), call(8), call(9)];
    expect([first.result, second.result, other.result]).toEqual([24, 24, 27]);
    for (const report of [first, second, other]) {
      expect(names(report, "compiled")).toEqual(["f"]);
      expect(names(report, "program")).toEqual(["f"]);
    }
    expect(names(first, "compile").some((n) => n.startsWith("f"))).toBe(true);
    expect(names(second, "compile").filter((n) => n.startsWith("f"))).toEqual([]);
    expect(names(other, "compile").some((n) => n.startsWith("f"))).toBe(true);
    f.dispose();
  });

  it("FLOP of compiled programs: as those of the eager operations, by program and by operation", () => {
    const layers = dx.nn.sequential(dx.nn.conv2d(2, 4, 3), dx.nn.relu(), dx.nn.flatten(), dx.nn.linear(4 * 4 * 4, 8));
    const weights = layers.parameters();
    const loss = (x: dx.Tensor) => dx.nn.functional.layerNorm(layers(x) as dx.Tensor, [8]).matmul(dx.ones([8, 8])).square().sum(); // prettier-ignore
    const x = dx.ones([3, 2, 6, 6]);
    const forward = dx.nn.summary(layers, [3, 2, 6, 6]).flops + 2 * 3 * 8 * 8 + 2 * 4 * 3 * 8;
    const whole = dx.compile((t: dx.Tensor) => loss(t), { name: "whole" });
    const step = dx.compile((t: dx.Tensor) => dx.grad(loss(t), weights), { name: "step" });
    const plain = dx.compile((t: dx.Tensor) => t.exp(), { name: "plain" });
    const sum = (events: readonly dx.ProfileEvent[]) => events.reduce((all, e) => all + (e.flops ?? 0), 0);
    const ofKind = (report: dx.ProfileReport, kind: string) => report.events.filter((e) => e.kind === kind);
    for (const f of [whole, step, plain]) f(x);
    for (let call = 0; call < 2; call++) {
      const report = dx.profile(() => (whole(x), step(x), plain(x)));
      expect(ofKind(report, "program").map((e) => e.flops)).toEqual([forward, expect.any(Number), null]);
      const eager = dx.profile(() => dx.grad(loss(x), weights));
      expect(ofKind(report, "program")[1]!.flops).toBe(sum(ofKind(eager, "operation")));
      expect(row(report.table(), "program whole")!.flops).toBe(forward);
      expect(row(report.table({ by: "module" }), "(no module)")!.flops).toBe(sum(ofKind(report, "program")));
      const nodes = ofKind(report, "node");
      if (nodes.length === 0) continue;
      // A device with a clock: each dispatch, or kernel of a graph, has its own.
      expect(sum(nodes)).toBe(sum(ofKind(report, "program")));
      const matmul = row(report.table(), "matmul");
      if (matmul !== undefined && matmul.deviceMs! > 0) expect(matmul.flopsPerSecond).toBeCloseTo((1000 * matmul.flops!) / matmul.deviceMs!, -3); // prettier-ignore
      const traced = traceOf(report).traceEvents.find((e) => e["name"] === "whole" && e["tid"] !== 1 && "args" in e);
      expect(traced!["args"]).toMatchObject({ flops: forward, flopsPerSecond: expect.any(Number) as number });
    }
    for (const f of [whole, step, plain]) f.dispose();
  });

  it("dynamic sizes, and a backward pass through a compiled function", () => {
    const w = dx.ones([3]).requiresGrad_();
    const f = dx.compile((x: dx.Tensor) => x.mul(w).sum(), { name: "f", dynamic: [0] });
    for (const n of [2, 3, 5]) {
      const report = dx.profile(() => f(dx.ones([n, 3])).backward());
      expect(names(report, "program")).toHaveLength(2);
      expect(report.events.filter((e) => e.kind === "program").map((e) => e.phase)).toEqual(["forward", "backward"]);
    }
    expect([...w.grad!.dataSync()]).toEqual([10, 10, 10]);
    f.dispose();
  });

  it("times the device: of operations, and of a program's nodes by their lines", () => {
    const [a, b] = [dx.ones([64, 64]), dx.ones([64, 64])];
    const f = dx.compile(
      (x: dx.Tensor) => {
        const y = x.matmul(b);
        return y.exp().sum();
      },
      { name: "f" },
    );
    f(a);
    const report = dx.profile(() => {
      for (let i = 0; i < 3; i++) a.matmul(b);
      return [f(a), f(b)].map((t) => t.itemSync());
    });
    const { deviceTime, reason } = report.devices.find((d) => d.device === device)!;
    expect(reason).toBeNull();
    expect(deviceTime).toBeGreaterThan(0);
    for (const e of report.events.filter((one) => one.name === "matmul" && one.kind === "operation")) {
      expect(e.deviceMs).toBeGreaterThan(0);
      expect(e.deviceStartMs).toBeGreaterThanOrEqual(0);
      expect(e.deviceStartMs! + e.deviceMs!).toBeLessThanOrEqual(report.durationMs + 1);
      expect(e.queueMs).toBeGreaterThanOrEqual(0);
    }
    const programs = report.events.filter((e) => e.kind === "program");
    expect(programs).toHaveLength(2);
    for (const program of programs) {
      const nodes = report.events.filter((e) => e.kind === "node" && e.parent === program.id);
      expect(nodes.length).toBeGreaterThan(0);
      expect(nodes.reduce((sum, e) => sum + e.deviceMs!, 0)).toBeCloseTo(program.deviceMs!, 6);
      expect(nodes.some((e) => /profile\.test\.ts:\d+$/.test(e.line ?? ""))).toBe(true);
    }
    expect(dx.profile(() => a.matmul(b), { deviceTime: false }).devices.every((d) => d.deviceTime === null && d.reason !== null)).toBe(
      true,
    );
    f.dispose();
  });

  it("recorded programs, during a profile and after it, also where the device is closed meanwhile", () => {
    const total = dx.zeros([3]);
    const f = dx.compile(
      (x: dx.Tensor) => {
        total.add_(x);
        return x.mul(2).add(total);
      },
      { name: "f", lists: 2 },
    );
    const call = (): number[] => Array.from(f(dx.ones([3])).dataSync(), Number);
    expect(call()).toEqual([3, 3, 3]);
    const report = dx.profile(() => [call(), call(), call()]);
    expect(report.result).toEqual([4, 5, 6].map((n) => [n, n, n]));
    const programs = report.events.filter((e) => e.kind === "program");
    expect(programs.map((e) => e.deviceMs !== null && e.deviceMs > 0)).toEqual([true, true, true]);
    expect([call(), call(), call()]).toEqual([7, 8, 9].map((n) => [n, n, n]));
    f.dispose();
    total.dispose();
    const closed = dx.profile(() => {
      dx.ones([2]).add(1);
      dx.closeDevice(device);
    });
    expect(closed.devices.find((d) => d.device === device)).toMatchObject({ deviceTime: null, reason: "the device was closed" });
    expect([...dx.ones([2]).add(1).dataSync()]).toEqual([2, 2]);
  });

  it("times thousands of dispatches, and operations after the profile as before", () => {
    const x = dx.zeros([4]);
    const report = dx.profile(
      () => {
        for (let i = 0; i < 2100; i++) x.add(1).dispose();
      },
      { lines: false, memory: false },
    );
    const times = report.events.filter((e) => e.name === "add" && e.kind === "operation").map((e) => e.deviceMs);
    expect(times).toHaveLength(2100);
    expect(times.every((t) => t !== null && t >= 0)).toBe(true);
    expect([...x.add(2).dataSync()]).toEqual([2, 2, 2, 2]);
  });

  it("operations without elements, and without arguments", () => {
    const empty = dx.zeros([0, 3]);
    const report = dx.profile(() => {
      empty.add(1);
      return dx.zeros([2]).add(empty.sum()).dataSync();
    });
    expect([...report.result]).toEqual([0, 0]);
    expect(names(report, "operation").filter((n) => n === "add")).toHaveLength(2);
  });

  it("keeps maxEvents events, and counts the others", () => {
    const x = dx.ones([2]);
    const report = dx.profile(
      () => {
        for (let i = 0; i < 3000; i++) x.add(1).dispose();
      },
      { maxEvents: 100, memory: false, lines: false },
    );
    expect(report.events).toHaveLength(100);
    expect(report.dropped).toBeGreaterThanOrEqual(2900);
    expect(String(report)).toContain("events were left out");
    expect(report.events[5]).toMatchObject({ line: null, memoryInBytes: null });
  });

  it("leaves nothing behind: after a result, an error, a rejection", async () => {
    const native = nativeDevice(dx.device(device));
    const before = { binding: native.binding, backward: TapeNode.prototype.backward, forward: dx.nn.Linear.prototype.forward };
    const isClean = (): void => {
      expect(interceptor()).toBeNull();
      expect(native.binding).toBe(before.binding);
      expect(TapeNode.prototype.backward).toBe(before.backward);
      expect(dx.nn.Linear.prototype.forward).toBe(before.forward);
    };
    dx.profile(() => 1);
    isClean();
    expect(() =>
      dx.profile(() => {
        dx.ones([2]).add(dx.ones([3]));
      }),
    ).toThrow(dx.ShapeError);
    isClean();
    await expect(
      dx.profile(async () => {
        await dx.ones([2]).data();
        throw new RangeError("mine");
      }),
    ).rejects.toThrow("mine");
    isClean();
  });

  it("around vmap, cond and scan: results as without it, and errors pass", () => {
    const x = dx.tensor([1, 2, 3]);
    const bodies: readonly (() => dx.Tensor)[] = [
      () => dx.vmap((t: dx.Tensor) => t.mul(2))(x),
      () => dx.vmap(dx.gradOf((t: dx.Tensor) => t.square()))(x),
      () => dx.cond(x.sum().gt(0), (t: dx.Tensor) => t.mul(2), (t: dx.Tensor) => t, [x]), // prettier-ignore
      () => dx.scan((c: dx.Tensor, v: dx.Tensor) => [c.add(v), v.mul(2)], dx.tensor(0), x)[1],
    ];
    for (const body of bodies)
      for (const run of [body, dx.compile(body)]) {
        expect([...dx.profile(() => run().dataSync()).result]).toEqual([2, 4, 6]);
        expect(interceptor()).toBeNull();
      }
    const failing = dx.vmap((_: dx.Tensor): dx.Tensor => { throw new RangeError("mine"); }); // prettier-ignore
    expect(() => dx.profile(() => failing(x))).toThrow("mine");
    expect(interceptor()).toBeNull();
    expect([
      ...dx
        .vmap((t: dx.Tensor) => dx.profile(() => t.mul(2)).result)(x)
        .dataSync(),
    ]).toEqual([2, 4, 6]);
  });

  it("work that fn leaves running ends with the profile", async () => {
    let late: Promise<unknown> = Promise.resolve();
    const report = dx.profile(() => {
      late = dx.ones([4]).add(1).data();
    });
    await late;
    expect(names(report, "read")).toEqual(["read"]);
    expect(report.events.every((e) => e.startMs + e.durationMs <= report.durationMs)).toBe(true);
  });

  it("in a hook of a backward pass", () => {
    const x = dx.ones([3]).requiresGrad_();
    const y = x.mul(2);
    let inside: dx.ProfileReport<dx.Tensor> | null = null;
    y.registerHook((grad) => {
      inside = dx.profile(() => grad.mul(3));
      return inside.result;
    });
    y.sum().backward();
    expect([...x.grad!.dataSync()]).toEqual([6, 6, 6]);
    expect(names(inside!, "operation")).toContain("mul");
  });

  it("tables: sorts, limits, JSON, trace", async () => {
    const { step } = network();
    const report = dx.profile(step, { name: "training" });
    const byCalls = report.table({ sort: "calls", limit: 2 });
    expect(byCalls.rows[0]!.calls).toBeGreaterThanOrEqual(byCalls.rows.at(-1)!.calls);
    expect(String(byCalls).split("\n")).toHaveLength(2 + 2 + 1);
    expect(String(byCalls)).toContain(`${byCalls.rows.length - 2} more rows`);
    const byName = report.table({ sort: "name" }).rows.map((r) => r.name);
    expect(byName).toEqual([...byName].sort());
    const plain = JSON.parse(JSON.stringify(report)) as { events: unknown[]; name: string };
    expect(plain.name).toBe("training");
    expect(plain.events).toHaveLength(report.events.length);
    const file = join(folder, `${device.replace(":", "-")}.json`);
    await report.saveTrace(file);
    const page = join(folder, `${device.replace(":", "-")}.html`);
    await report.savePage(page);
    const html = readFileSync(page, "utf8");
    expect(html).not.toMatch(/(?:src|href)="(?!data:)|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    expect(html).toContain("<h1>training</h1>");
    const { traceEvents } = JSON.parse(readFileSync(file, "utf8")) as { traceEvents: Record<string, unknown>[] };
    const phases = new Set(["M", "X", "b", "e", "C"]);
    for (const e of traceEvents) {
      expect(phases.has(e.ph as string)).toBe(true);
      expect(e.pid).toBe(1);
      if (e.ph === "X") expect([typeof e.ts, typeof e.dur, typeof e.tid]).toEqual(["number", "number", "number"]);
    }
    expect(traceEvents.some((e) => e.ph === "M" && (e.args as { name: string }).name === "JavaScript")).toBe(true);
    expect(traceEvents.some((e) => e.ph === "C" && e.name === `${device} memory`)).toBe(true);
  });
});

describe("sessions", () => {
  it("a schedule records its active steps", () => {
    const reports: dx.ProfileReport[] = [];
    const session = dx.startProfile({
      schedule: { skipFirst: 1, wait: 1, warmup: 1, active: 2, repeat: 2 },
      onReport: (report) => void reports.push(report),
    });
    for (let i = 0; i < 12; i++) {
      dx.ones([i + 1]).add(1);
      session.step();
    }
    expect(session.stop()).toBe(reports[1]);
    const inputs = reports.map((r) => r.events.filter((e) => e.kind === "operation" && e.name === "add").map((e) => [e.inputs, e.step]));
    expect(inputs.map((list) => list.map(([, step]) => step))).toEqual([
      [0, 1],
      [0, 1],
    ]);
    expect(inputs.flat().map(([text]) => /\[(\d+)\]/.exec(text as string)![1])).toEqual(["4", "5", "8", "9"]);
    expect(reports.map((r) => r.steps)).toEqual([2, 2]);
    expect(interceptor()).toBeNull();
  });

  it("using stops it, stop() is idempotent, and a session without steps has all", () => {
    let kept: dx.ProfileSession;
    {
      using session = dx.startProfile();
      kept = session;
      dx.ones([2]).add(1);
    }
    expect(interceptor()).toBeNull();
    expect(names(kept.report!, "operation")).toContain("add");
    expect(kept.stop()).toBe(kept.report);
    kept.step();
  });

  it("records the next round after a callback that throws", () => {
    let isBad = true;
    const reports: dx.ProfileReport<undefined>[] = [];
    using session = dx.startProfile({
      schedule: { active: 1 },
      onReport: (report) => {
        reports.push(report);
        if (isBad) throw new RangeError("mine");
      },
    });
    dx.ones([2]).add(1);
    expect(() => {
      session.step();
    }).toThrow("mine");
    isBad = false;
    dx.ones([2]).mul(2);
    session.step();
    expect(reports.map((r) => names(r, "operation").filter((name) => name !== "full"))).toEqual([["add"], ["mul"]]);
  });

  it("refuses what is wrong", () => {
    const nested = () => dx.profile(() => dx.profile(() => 1));
    expect(nested).toThrow(dx.DxError);
    expect(nested).toThrow(/no other profile is on/);
    expect(() => dx.profile(() => dx.startProfile())).toThrow(dx.DxError);
    const f = dx.compile((x: dx.Tensor) => dx.profile(() => x.add(1)).result);
    expect(() => f(dx.ones([1]))).toThrow(dx.TraceError);
    expect(() => dx.profile(() => 1, { modules: { f: () => 1 } })).toThrow(/modules\.f must be a module/);
    expect(() => dx.profile(() => 1, { maxEvents: 0 })).toThrow(dx.ValueError);
    expect(() => dx.startProfile({ schedule: { active: 0 } })).toThrow(/schedule\.active/);
    expect(() => dx.startProfile({ schedule: { active: 1, wait: -1 } })).toThrow(/schedule\.wait/);
    const report = dx.profile(() => 1);
    expect(() => report.table({ by: "class" as "line" })).toThrow(dx.ValueError);
    expect(() => report.table({ sort: "best" as "js" })).toThrow(dx.ValueError);
    expect(() => report.table({ limit: -1 })).toThrow(dx.ValueError);
    expect(interceptor()).toBeNull();
  });
});

it("fallbacks are counted", () => {
  const x = dx.tensor([
    [2, 0],
    [0, 4],
  ]);
  const report = dx.profile(() => dx.linalg.inv(x).sum().itemSync());
  expect(report.result).toBeCloseTo(0.75);
  expect(report.fallbacks.reduce((sum, f) => sum + f.calls, 0)).toBeGreaterThan(0);
});

it("each thread has profiles of its own", async () => {
  const index = pathToFileURL(join(process.cwd(), "dist", "index.js")).href;
  const code = `import(${JSON.stringify(index)}).then((dx) => {
    const x = dx.ones([4], { device: "cpu" });
    const { events } = dx.profile(() => x.add(1));
    require("node:worker_threads").parentPort.postMessage(events.filter((e) => e.name === "add" && e.kind === "operation").length);
  })`;
  const count = await dx.profile(async () => once(new Worker(code, { eval: true }), "message"));
  expect(count.result).toEqual([1]);
  expect(names(count, "operation")).toEqual([]);
});
