/** SummaryWriter.graph: operations, edges, boxes and shapes, of modules and functions. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { eventsOf, type GraphNode } from "./events.ts";

let root: string;
let runs = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-graph-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Call = Parameters<dx.train.SummaryWriter["graph"]>;

/** The nodes that a new file has. */
async function nodesOf(...call: Call): Promise<GraphNode[]> {
  const folder = join(root, `run-${runs++}`);
  const writer = dx.train.summaryWriter(folder);
  expect(writer.graph(...call)).toBe(true);
  await writer.close();
  const [event, ...others] = eventsOf(folder);
  expect([others, event!.step, event!.graph!.producer]).toEqual([[], 0, 22]);
  const { nodes } = event!.graph!;
  // Each name once, and each edge from a node before.
  const seen = new Set<string>();
  for (const { name, inputs } of nodes) {
    for (const input of inputs) expect(seen).toContain(input.replace(/:\d+$/, ""));
    expect(seen).not.toContain(name);
    seen.add(name);
  }
  return nodes;
}

const edges = (nodes: readonly GraphNode[]): string[] => nodes.map(({ name, inputs }) => [name, ...inputs].join(" < "));

class Net extends dx.nn.Module {
  readonly fc: dx.nn.Linear;
  readonly norm: dx.nn.BatchNorm1d;
  readonly body: dx.nn.Sequential;

  constructor(options: { readonly device?: dx.DeviceLike } = {}) {
    super();
    this.fc = dx.nn.linear(4, 3, options);
    this.norm = dx.nn.batchNorm1d(3, options);
    this.body = dx.nn.sequential(dx.nn.relu(), dx.nn.linear(3, 2, options));
  }

  override forward(x: dx.Tensor): dx.Tensor {
    return this.body.forward(this.norm.forward(this.fc.forward(x)).reshape([-1, 3])).softmax(1);
  }
}

/** The edges of a Net in a box of this name, but for the output. */
function inNet(prefix: string): string[] {
  const state = ["running_mean", "running_var", "weight", "bias"].map((own) => `${prefix}/BatchNorm1d[norm]/${own}`);
  const inner = `${prefix}/Sequential[body]`;
  return [
    "input",
    `${prefix}/Linear[fc]/weight`,
    `${prefix}/Linear[fc]/bias`,
    `${prefix}/Linear[fc]/linear < input < ${prefix}/Linear[fc]/weight < ${prefix}/Linear[fc]/bias`,
    ...state,
    [`${prefix}/BatchNorm1d[norm]/batchNorm`, `${prefix}/Linear[fc]/linear`, ...state].join(" < "),
    `${inner}/ReLU[0]/relu < ${prefix}/BatchNorm1d[norm]/batchNorm`,
    `${inner}/Linear[1]/weight`,
    `${inner}/Linear[1]/bias`,
    `${inner}/Linear[1]/linear < ${inner}/ReLU[0]/relu < ${inner}/Linear[1]/weight < ${inner}/Linear[1]/bias`,
    `${prefix}/softmax < ${inner}/Linear[1]/linear`,
  ];
}

eachDevice("graphs", (device) => {
  test("a module: boxes, parameters, buffers, shapes; views are what they are of; the module stays as it is", async () => {
    const model = new Net({ device });
    const [weight, text] = [model.fc.weight, JSON.stringify(await model.norm.runningMean!.toArray())];
    for (let call = 0; call < 3; call++) {
      const nodes = await nodesOf(model, dx.zeros([8, 4], { device }));
      expect(edges(nodes)).toEqual([...inNet("Net"), "output < Net/softmax"]);
      const of = (name: string): GraphNode => nodes.find((node) => node.name === name)!;
      expect(of("Net/Linear[fc]/linear")).toMatchObject({ op: "linear", shapes: [[8, 3]], dtype: 1 });
      expect(of("Net/Linear[fc]/weight")).toMatchObject({ op: "parameter", shapes: [[3, 4]] });
      expect(of("output")).toMatchObject({ op: "output", shapes: [[8, 2]] });
    }
    expect(model.fc.weight).toBe(weight);
    expect([model.training, JSON.stringify(await model.norm.runningMean!.toArray())]).toEqual([true, text]);
  });

  test("a compiled function with its modules", async () => {
    const model = new Net({ device });
    const step = dx.compile((x: dx.Tensor, y: dx.Tensor) => dx.nn.functional.mseLoss(model.forward(x), y));
    const [x, y] = [dx.zeros([8, 4], { device }), dx.zeros([8, 2], { device })];
    step(x, y); // also after a call
    const nodes = await nodesOf(step, [x, y], { modules: { model } });
    expect(nodes.map(({ name }) => name)).toEqual(expect.arrayContaining(["input_0", "input_1", "Net[model]/Linear[fc]/linear", "output"]));
    expect(nodes.at(-1)!.shapes).toEqual([[]]);
    const usesTarget = nodes.find(({ inputs }) => inputs.includes("input_1"));
    expect(usesTarget?.inputs).toContain("Net[model]/softmax");
  });
});

test("several outputs, in-place writes, constants, integers, a module that is called twice", async () => {
  const layer = dx.nn.linear(4, 4);
  const nodes = await nodesOf(
    (x: dx.Tensor) => {
      const { values, indices } = dx.topk(layer.forward(layer.forward(x)), 2);
      const y = values.relu();
      y.add_(1);
      y.slice(1, 0, 1).zero_();
      return [y, indices];
    },
    { shape: [3, 4] },
    { modules: { layer } },
  );
  const lines = edges(nodes);
  expect(lines).toContain("Linear[layer]/linear_1 < Linear[layer]/linear < Linear[layer]/weight < Linear[layer]/bias");
  expect(lines).toContain("relu < topk");
  const [first, second] = nodes.slice(-2);
  expect(second!.inputs).toEqual(["topk:1"]);
  expect(second!.dtype).toBe(3); // int32
  const assigned = nodes.find(({ name }) => name === first!.inputs[0])!;
  expect(assigned.op).toBe("assign"); // a part of what add gave
  expect(assigned.inputs[0]).toMatch(/^add/);
});

test("training mode, lazy layers, and other modes afterwards", async () => {
  const model = dx.nn.sequential(dx.nn.linear(5, 3), dx.nn.dropout(0.5));
  const training = await nodesOf(model, [2, 5], { training: true });
  const evaluating = await nodesOf(model, [2, 5]);
  expect(training.length).toBeGreaterThan(evaluating.length);
  expect(evaluating.map(({ op }) => op)).toEqual(["input", "parameter", "parameter", "linear", "output"]);
  // A run on trial: what lacks its shape still does afterwards.
  const lazy = dx.nn.lazyLinear(3);
  for (let call = 0; call < 2; call++) expect((await nodesOf(lazy, [2, 5])).at(-1)!.shapes).toEqual([[2, 3]]);
  expect(model.training).toBe(true);
  expect((await nodesOf(() => dx.ones([2]), [])).at(-2)!.op).toBe("full");
});

test("typed errors", async () => {
  const writer = dx.train.summaryWriter(join(root, `run-${runs++}`));
  const model = dx.nn.linear(3, 2);
  expect(() => writer.graph(5 as never, [1, 3])).toThrow(dx.ValueError);
  expect(() => writer.graph(model, [1, 4])).toThrow(dx.DxError);
  expect(() => writer.graph((x: dx.Tensor) => model.forward(x), { shape: [1, 3] })).toThrow(dx.DxError);
  expect(() => writer.graph(model, [1, 3], { modules: { a: 1 as never } })).toThrow(dx.ValueError);
  expect(() => writer.graph(model, [1, 3], { wallTime: NaN })).toThrow(dx.ValueError);
  expect(() => writer.graph(async (x: dx.Tensor) => Promise.resolve(x), { shape: [1, 3] })).toThrow(/gives no promise/);
  expect(() => dx.compile((x: dx.Tensor) => (writer.graph(model, [1, 3]), x.add(1)))(dx.ones([2]))).toThrow(dx.TraceError);
  await writer.close();
  expect(() => writer.graph(model, [1, 3])).toThrow(dx.ValueError);
});
