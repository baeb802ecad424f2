/** Single nodes of com.microsoft and ai.onnx.ml, and nodes of texts, with ONNX Runtime's results. */
import { describe, expect, test } from "vitest";
import { fileURLToPath } from "node:url";
import * as dx from "../../src/index.ts";
import { modelFrom } from "../../src/onnx/read-model.ts";
import { operatorNames } from "../../src/onnx/operators/names.ts";
import { Constant, Pairs, Texts } from "../../src/onnx/format/value.ts";
import { clean, devices, numbers } from "../device.ts";
import { share } from "../share.ts";
import { readCases, type Case } from "./cases.ts";
import { runCase } from "./run.ts";
import { attribute, graph, model, node, value } from "./write.ts";

const casesOf = (name: string): readonly Case[] => readCases(fileURLToPath(new URL(name, import.meta.url)));
const cases = [...casesOf("microsoft.jsonl.gz"), ...casesOf("learning.jsonl.gz")];

/** What fails, and what is missing or out of scope: nothing here may be. */
const problems = (list: readonly Case[], device: string, compiled: boolean): string[] =>
  list
    .map((c) => runCase(c, device, { compiled }))
    .filter((o) => o.result !== "passed")
    .map((o) => `${o.id}: ${o.reason ?? o.result}`);

/** Texts are no tensors of a program, and some numbers are computed on the host. */
const isOnHost = (c: Case): boolean => /texts|CategoryMapper|String|LabelEncoder|SVM.*(two classes|probabilities)/.test(c.name);

const FLOAT = 1;

/** A node of ai.onnx.ml over inputs without a type. */
const learned = (type: string, attributes: Parameters<typeof node>[3]): Uint8Array =>
  model({
    opset: 18,
    domains: { "ai.onnx.ml": 3 },
    graph: graph({
      inputs: [value("x", FLOAT, ["n", 2])],
      outputs: [value("y", FLOAT, ["n"])],
      nodes: [node(type, ["x"], ["y"], attributes, "ai.onnx.ml")],
    }),
  });

describe.each(devices)("a node with ONNX Runtime's results on %s", (device) => {
  test("eagerly", () => clean(device, () => expect(problems(share(cases, 3), device, false)).toEqual([]), { collect: true }));

  test("compiled", () =>
    clean(
      device,
      () =>
        expect(
          problems(
            share(
              cases.filter((c) => !isOnHost(c)),
              9,
              4,
            ),
            device,
            true,
          ),
        ).toEqual([]),
      { collect: true },
    ));

  test("rows become maps, and maps rows", () =>
    clean(device, () =>
      dx.scope(() => {
        using zip = modelFrom(learned("ZipMap", [attribute.texts("classlabels_strings", ["cat", "dog"])]), { device }, null);
        const [maps] = zip.run([
          dx.tensor(
            [
              [0.25, 0.75],
              [1, 0],
            ],
            { device },
          ),
        ]) as [Pairs[]];
        expect(maps.map((m) => m.keys)).toEqual([
          ["cat", "dog"],
          ["cat", "dog"],
        ]);
        expect(maps.map((m) => numbers(m.values as dx.Tensor))).toEqual([
          [0.25, 0.75],
          [1, 0],
        ]);
        using dict = modelFrom(learned("DictVectorizer", [attribute.texts("string_vocabulary", ["dog", "bird", "cat"])]), { device }, null);
        expect(numbers(dict.run([maps[0]!])[0] as dx.Tensor)).toEqual([0.75, 0, 0.25]);
        using cast = modelFrom(learned("CastMap", [attribute.text("map_form", "SPARSE"), attribute.int("max_map", 4)]), { device }, null);
        const sparse = new Pairs([3n, 1n], new Constant("float32", [2], Float32Array.of(0.5, 2)));
        expect((cast.run([sparse])[0] as Constant).numbers()).toEqual([0, 2, 0, 0.5]);
        expect(() => zip.run([dx.zeros([1, 3], { device })])).toThrow(dx.ValueError);
      }),
    ));

  test("refuses by name what it does not compute", () =>
    clean(device, () =>
      dx.scope(() => {
        const of = (type: string, attributes: Parameters<typeof node>[3], inputs: readonly string[]): Uint8Array =>
          model({
            opset: 18,
            domains: { "com.microsoft": 1 },
            graph: graph({
              inputs: inputs.filter((n) => n !== "").map((n) => value(n, FLOAT, ["a", "b", "c"])),
              outputs: [value("y", FLOAT, ["n"])],
              nodes: [node(type, inputs, ["y"], attributes, "com.microsoft")],
            }),
          });
        const refused = (bytes: Uint8Array, what: RegExp, ...inputs: dx.Tensor[]): void => {
          using loaded = modelFrom(bytes, { device }, null);
          expect(() => loaded.run(inputs)).toThrow(what);
          expect(() => loaded.run(inputs)).toThrow(dx.UnsupportedError);
        };
        const x = dx.zeros([1, 2, 4], { device });
        refused(of("Attention", [attribute.int("num_heads", 2), attribute.int("do_rotary", 1)], ["x", "w"]), /do_rotary/, x, dx.zeros([4, 12], { device })); // prettier-ignore
        refused(of("GroupQueryAttention", [attribute.int("sliding_window_cache", 1)], ["x"]), /sliding_window_cache/, x);
        refused(of("MatMulNBits", [attribute.int("bits", 3), attribute.int("N", 1), attribute.int("K", 4), attribute.int("block_size", 16)], ["x", "w"]), /bits 3/, x, x); // prettier-ignore
        refused(of("MoE", [attribute.text("activation_type", "geglu")], ["x", "r", "a", "", "b"]), /geglu/, dx.zeros([2, 4], { device }), dx.zeros([2, 2], { device }), dx.zeros([2, 3, 4], { device }), dx.zeros([2, 4, 3], { device })); // prettier-ignore
        refused(of("FusedConv", [attribute.text("activation", "Swoosh")], ["x", "w"]), /Swoosh/, dx.zeros([1, 1, 3], { device }), dx.zeros([1, 1, 1], { device })); // prettier-ignore
        refused(of("CDist", [attribute.text("metric", "cosine")], ["x", "z"]), /cosine/, dx.zeros([1, 2], { device }), dx.zeros([1, 2], { device })); // prettier-ignore
      }),
    ));

  test("takes inputs that do not fit as typed errors", () =>
    clean(
      device,
      () => {
        const thrown: string[] = [];
        for (const domain of ["com.microsoft", "ai.onnx.ml"])
          for (const name of operatorNames()[domain]!)
            for (const [n, shape] of [
              [1, []],
              [4, [2]],
              [9, [1, 2, 4]],
            ] as const)
              // prettier-ignore
              try {
                const inputs = Array.from({ length: n }, (_, i) => `i${i}`);
                const attributes = ["num_heads", "kv_num_heads", "block_size", "k"].map((a) => attribute.int(a, 2));
                const bytes = model({
                  opset: 21,
                  domains: { [domain]: domain === "ai.onnx.ml" ? 5 : 1 },
                  graph: graph({
                    inputs: inputs.map((i) => value(i, FLOAT, ["a"])),
                    outputs: [value("o", FLOAT, ["n"])],
                    nodes: [node(name, inputs, ["o"], attributes, domain)],
                  }),
                });
                dx.scope(() => {
                  using loaded = modelFrom(bytes, { device }, null);
                  loaded.run(inputs.map(() => dx.zeros(shape, { device })));
                });
              } catch (error) {
                if (!(error instanceof dx.DxError) || !error.message.includes(" In node "))
                  thrown.push(`${domain}.${name}: ${String(error)}`);
              }
        expect(thrown).toEqual([]);
      },
      { collect: true },
    ));

  test("keeps texts in their order", () =>
    clean(device, () => {
      using unique = modelFrom(
        model({
          opset: 18,
          graph: graph({
            inputs: [value("x", 8, ["n"])],
            outputs: [value("y", 8, ["m"]), value("at", 7, ["m"])],
            nodes: [node("Unique", ["x"], ["y", "at"])],
          }),
        }),
        { device },
        null,
      );
      const [y, at] = dx.scope(() => {
        const [found, first] = unique.run([new Texts([4], ["pear", "fig", "pear", "apple"])]);
        return [(found as Texts).elements, numbers(first as dx.Tensor)];
      });
      expect(y).toEqual(["apple", "fig", "pear"]);
      expect(at).toEqual([3, 1, 0]);
    }));
});
