/** The networks of the suite as ONNX models, with the weights of operations.ts. */
import type { OnnxNode } from "../onnxruntime/onnx.ts";
import type { Node } from "./nets.ts";
import { floats, integers, made, node, numbers, type OnnxWorkload, type Values } from "./onnx-values.ts";
import type { Kind } from "./workloads.ts";

type Weights = Record<string, Values>;

const filled = (count: number, value: number): Values => ({ shape: [count], data: new Float32Array(count).fill(value) });

/** Ends in the value `y`. */
function activation(which: "relu" | "relu6" | "none", x: string, y: string): OnnxNode {
  if (which === "none") return node("Identity", [x], y);
  return which === "relu" ? node("Relu", [x], y) : node("Clip", [x, "zero", "six"], y);
}

function layer(what: Node, y: string, weights: Weights): OnnxNode[] {
  const value = (i: number): string => `v${i}`;
  switch (what.op) {
    case "conv": {
      const { x, inputs, outputs, kernel, stride, groups, seed } = what;
      const [edge, fan] = [kernel >> 1, (inputs / groups) * kernel ** 2];
      const attributes = {
        kernel_shape: [kernel, kernel],
        pads: [edge, edge, edge, edge],
        strides: [stride, stride],
        group: { i: groups },
      };
      weights[`${y}w`] = floats(seed, [outputs, inputs / groups, kernel, kernel], Math.sqrt((12 * 1.2) / fan));
      weights[`${y}b`] = floats(seed + 1, [outputs], 0.2);
      weights[`zeros${outputs}`] = filled(outputs, 0);
      weights[`ones${outputs}`] = filled(outputs, 1);
      const [zeros, ones] = [`zeros${outputs}`, `ones${outputs}`];
      return [
        node("Conv", [value(x), `${y}w`], `${y}c`, attributes),
        node("BatchNormalization", [`${y}c`, ones, `${y}b`, zeros, ones], `${y}n`, { epsilon: 1e-5 }),
        activation(what.activation, `${y}n`, y),
      ];
    }
    case "maxpool":
      return [node("MaxPool", [value(what.x)], y, { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 2] })];
    case "add":
      return [node("Add", [value(what.x), value(what.y)], `${y}s`), activation(what.activation, `${y}s`, y)];
    case "classify":
      weights[`${y}w`] = floats(what.seed, [what.outputs, what.inputs], 2 / Math.sqrt(what.inputs));
      weights[`${y}b`] = floats(what.seed + 1, [what.outputs], 0.2);
      return [
        node("GlobalAveragePool", [value(what.x)], `${y}p`),
        node("Flatten", [`${y}p`], `${y}f`),
        node("Gemm", [`${y}f`, `${y}w`, `${y}b`], y, { transB: { i: 1 } }),
      ];
  }
}

export function net({ batch, nodes }: Kind & { kind: "net" }): OnnxWorkload {
  const weights: Weights = { zero: numbers(0), six: numbers(6) };
  const last = nodes.length;
  const all = nodes.flatMap((what, i) => layer(what, i + 1 === last ? "y" : `v${i + 1}`, weights));
  const end = nodes[last - 1]!;
  if (end.op !== "classify") throw new Error("a net ends in its classes");
  return made(all, [batch, end.outputs], { v0: floats(7, [batch, 3, 224, 224], 2) }, weights);
}

export function encoder({ batch, length, width, heads, layers }: Kind & { kind: "encoder" }): OnnxWorkload {
  const weights: Weights = {
    rows: integers([batch * length, width]),
    parts: integers([batch, length, 3, heads, width / heads]),
    part: integers([batch, heads, length, width / heads]),
    scale: numbers(1 / Math.sqrt(width / heads)),
    ones: filled(width, 1),
    zeros: filled(width, 0),
    whole: integers([batch, length, width]),
  };
  const nodes: OnnxNode[] = [node("Reshape", ["x", "rows"], "h0")];
  const linear = (l: number, i: number, x: string, y: string, outputs: number, inputs: number): OnnxNode => {
    weights[`${y}w`] = floats(2000 + 8 * l + 2 * i, [outputs, inputs], 2 * Math.sqrt(3 / inputs));
    weights[`${y}b`] = floats(2001 + 8 * l + 2 * i, [outputs], 0.1);
    return node("Gemm", [x, `${y}w`, `${y}b`], y, { transB: { i: 1 } });
  };
  const normalized = (x: string, y: string): OnnxNode =>
    node("LayerNormalization", [x, "ones", "zeros"], y, { axis: { i: -1 }, epsilon: 1e-5 });
  for (let l = 0; l < layers; l++) {
    const [x, at] = [`h${l}`, (name: string): string => `${name}${l}`];
    nodes.push(
      linear(l, 0, x, at("qkv"), 3 * width, width),
      node("Reshape", [at("qkv"), "parts"], at("r")),
      node("Transpose", [at("r")], at("t"), { perm: [2, 0, 3, 1, 4] }),
      { type: "Split", inputs: [at("t")], outputs: ["q", "k", "v"].map((name) => at(`${name}s`)), attributes: { axis: { i: 0 } } },
      ...["q", "k", "v"].map((name) => node("Reshape", [at(`${name}s`), "part"], at(name))),
      node("Transpose", [at("k")], at("kt"), { perm: [0, 1, 3, 2] }),
      node("MatMul", [at("q"), at("kt")], at("s")),
      node("Mul", [at("s"), "scale"], at("m")),
      node("Softmax", [at("m")], at("p"), { axis: { i: -1 } }),
      node("MatMul", [at("p"), at("v")], at("o")),
      node("Transpose", [at("o")], at("ot"), { perm: [0, 2, 1, 3] }),
      node("Reshape", [at("ot"), "rows"], at("of")),
      linear(l, 1, at("of"), at("out"), width, width),
      node("Add", [x, at("out")], at("a")),
      normalized(at("a"), at("n")),
      linear(l, 2, at("n"), at("wide"), 4 * width, width),
      node("Relu", [at("wide")], at("relu")),
      linear(l, 3, at("relu"), at("narrow"), width, 4 * width),
      node("Add", [at("n"), at("narrow")], at("b")),
      normalized(at("b"), `h${l + 1}`),
    );
  }
  nodes.push(node("Reshape", [`h${layers}`, "whole"]));
  return made(nodes, [batch, length, width], { x: floats(7, [batch, length, width], 2) }, weights);
}
