/** Imports between the rooms of src point one way: what a room needs of another lies further down the list. Types may look up. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

/** Rooms from the top down. */
const rooms = [
  "cli",
  "doctor",
  "fetch",
  "verify",
  "measure",
  "index.ts",
  "public",
  "data",
  "io",
  "onnx",
  "optim",
  "nn",
  "compile",
  "fft",
  "complex",
  "ops",
  "dispatch",
  "autograd",
  "runtime",
  "graph",
  "shader",
  "dml",
  "native",
  "host",
  "core",
];

const roomOf = (file: string): string => relative(src, file).split(/[\\/]/)[0]!;
const heightOf = (file: string): number => rooms.indexOf(roomOf(file));

it("imports between the rooms of src point one way", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).flatMap((f) => (f.endsWith(".ts") ? [join(src, f)] : []));
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => heightOf(file) < 0).map((file) => relative(src, file))).toEqual([]);
  const wrong = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*? from "(\.[^"]+)";$/gms)]
      .map((m) => normalize(join(dirname(file), m[1]!)))
      .filter((target) => heightOf(target) < heightOf(file))
      .map((target) => `${relative(src, file)} → ${relative(src, target)}`),
  );
  expect(wrong).toEqual([]);
});

it("decompositions and solvers alone run on the host", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).flatMap((f) =>
    f.endsWith(".ts") ? [f.replaceAll("\\", "/")] : [],
  );
  const users = files.filter((f) => /\bdefineHost\b|lapack\/engine|\bhost: \(\[/.test(readFileSync(join(src, f), "utf8")));
  expect(users).toContain("ops/linalg/svd.ts");
  expect(users.filter((f) => !/^ops\/linalg\/|^runtime\/(host\.ts$|lapack\/)/.test(f))).toEqual([]);
});

it("each file of graph, compile, autograd and runtime has its test at the same path", () => {
  const test = fileURLToPath(new URL(".", import.meta.url));
  const lacking = ["graph", "compile", "autograd", "runtime"].flatMap((room) =>
    readdirSync(join(src, room), { recursive: true, encoding: "utf8" })
      .filter((f) => f.endsWith(".ts") && !f.endsWith(".generated.ts"))
      .map((f) => join(room, f.replace(/\.ts$/, ".test.ts")))
      .filter((f) => !existsSync(join(test, f))),
  );
  expect(lacking).toEqual([]);
});
