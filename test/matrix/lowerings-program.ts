/**
 * The lowering of every recorded call on each device of the `dml` list: prints JSON lines {operation, forms}, one form for each device.
 * The matrix bundles and runs it over simulated profiles; equal forms mean that one run serves for all.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../src/index.ts";
import { Call, operandsOf } from "../golden/call.ts";
import { Missing, readIndex, type Case } from "../golden/cases.ts";
import { entryOf, type Result } from "../golden/table/index.ts";

const [folder, perDType = "2"] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: lowerings-program FOLDER_OF_RECORDED_CALLS [CALLS_OF_EACH_DTYPE]");

/** Identities of values differ from trace to trace; their order and kinds do not. */
const strip = (text: string): string => text.replace(/%\d+(?:\+\d+)?/g, "%");

const isTensors = (result: Result): boolean => result instanceof dx.Tensor || (Array.isArray(result) && result.every(isTensors));

/** The nodes of the call's program, or why there is none. */
function formOf(c: Case, device: string): string | null {
  return dx.scope(() =>
    dx.withDevice(device, () => {
      const before = JSON.stringify(dx.fallbackStats());
      try {
        const call = new Call(c, operandsOf(c));
        if (!isTensors(dx.noGrad(() => entryOf(c.op)!.run(call)))) return null;
        const compiled = dx.compile(() => entryOf(c.op)!.run(call), { name: c.op });
        try {
          dx.noGrad(() => compiled());
          return compiled
            .explain()
            .nodes.map((n) => strip(`${n.operator}(${n.inputs.join(", ")})->${n.outputs.join(", ")} ${n.activation ?? ""}`))
            .join("; ");
        } finally {
          compiled.dispose();
        }
      } catch (error) {
        if (error instanceof Missing) return null;
        if (JSON.stringify(dx.fallbackStats()) !== before) return "runs on the software adapter";
        return error instanceof dx.TraceError ? "runs eagerly" : `throws ${(error as Error).name}`;
      }
    }),
  );
}

/** "CAST, GEMM, CAST": short enough to read; forms that differ in shapes or dtypes alone get a digest. */
function short(form: string): string {
  if (!form.includes("(")) return form;
  const names = form.split("; ").map((node) => node.slice(0, node.indexOf("(")));
  return `${names.join(", ")} #${createHash("sha256").update(form).digest("hex").slice(0, 6)}`;
}

const count = dx.dml.deviceCount();
const files = readIndex(folder);
for (const { op, file } of files) {
  if (entryOf(op) === null) continue;
  const seen = new Map<string, number>();
  const lines = gunzipSync(readFileSync(join(folder, file)))
    .toString("utf8")
    .split("\n");
  for (const line of lines) {
    if (line === "") continue;
    const c = JSON.parse(line) as Case;
    const times = seen.get(c.dtype) ?? 0;
    if (c.kind !== "ok" || times >= Number(perDType)) continue;
    const forms = Array.from({ length: count }, (_, i) => formOf(c, `dml:${i}`));
    if (forms.some((form) => form === null)) continue;
    seen.set(c.dtype, times + 1);
    console.log(JSON.stringify({ operation: `${op} ${c.dtype}`, forms: forms.map((form) => short(form!)) }));
  }
}
