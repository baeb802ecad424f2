/** Direct3D 12 as two sets of headers have it: Microsoft's for WSL's programs, and vkd3d's, which libvkd3d was compiled with. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";

export interface Side {
  readonly include: readonly string[];
  readonly source: string;
  readonly language: "c" | "c++";
}

/** A slot of an interface's table: its name, and the kinds of result and arguments. */
export interface Slot {
  readonly name: string;
  readonly result: string;
  readonly parameters: readonly string[];
}

export const microsoft = (headers: string): Side => ({
  include: [join(headers, "wsl", "stubs"), headers],
  source: "#include <wsl/winadapter.h>\n#include <directx/d3d12.h>\n",
  language: "c++",
});
export const vkd3d = (folder: string): Side => ({
  include: [join(folder, "include"), join(folder, "include", "vkd3d")],
  source: "#include <vkd3d/vkd3d_windows.h>\n#include <vkd3d/vkd3d_d3d12.h>\n",
  language: "c",
});

const includes = (side: Side): string[] => side.include.flatMap((folder) => ["-I", folder]);
const group = (match: RegExpMatchArray, index: number): string => match[index] ?? "";

/** The C text of a side. Both have interfaces as C structures. */
export async function preprocess(side: Side): Promise<string> {
  return (await execa("gcc", ["-E", "-P", "-x", "c", "-", ...includes(side)], { input: side.source })).stdout;
}

/** Pointers by depth, values by name, where the two spell one thing differently. */
function kind(type: string): string {
  const words = type.replaceAll("const", " ").match(/\w+|\*/g) ?? [];
  const base = words.filter((word) => word !== "*").join(" ");
  const isPointerName = ["LPCWSTR", "LPCSTR", "LPVOID"].includes(base);
  const depth = words.length - words.filter((word) => word !== "*").length + (isPointerName ? 1 : 0);
  if (depth > 0) return `pointer ${depth}`;
  return { float: "FLOAT", D3D12_RECT: "RECT", WINBOOL: "BOOL" }[base] ?? base;
}

const parameterKind = (text: string): string =>
  kind(text.replace(/\w+\s*(\[[\s\d]*\])?$/, (_, array: string | undefined) => (array ? "*" : "")));

export function tables(text: string): Map<string, Slot[]> {
  const found = new Map<string, Slot[]>();
  for (const match of text.matchAll(/typedef struct (\w+)Vtbl\s*\{([^]*?)\}\s*\1Vtbl;/g)) {
    const slots: Slot[] = [];
    const method = /([^;]*?)\(\s*(?:__attribute__\(\(ms_abi\)\)\s*)?\*\s*(\w+)\s*\)\s*\(([^]*?)\);/g;
    for (const slot of group(match, 2).matchAll(method)) {
      let result = group(slot, 1).trim();
      let parameters = group(slot, 3).split(",").slice(1);
      // A structure by value: C++ returns it, widl's C writes it through a first argument.
      if (parameters[0]?.trim().endsWith("__ret") === true) {
        result = result.slice(0, -1);
        parameters = parameters.slice(1);
      }
      slots.push({ name: group(slot, 2), result: kind(result), parameters: parameters.map((p) => parameterKind(p.trim())) });
    }
    found.set(group(match, 1), slots);
  }
  return found;
}

/** Structures with the names of their fields; members of unnamed unions count as the structure's own. */
export function structures(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const match of text.matchAll(/typedef struct (D3D12_\w+)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\1;/g)) {
    const body = group(match, 2).replace(/[{}]/g, " ; ");
    const fields = [...body.matchAll(/([A-Za-z_]\w*)\s*(?:\[\s*\w+\s*\])*;/g)].map((field) => group(field, 1));
    found.set(
      group(match, 1),
      fields.filter((name) => name !== "union"),
    );
  }
  return found;
}

/** Size, alignment and offsets of structures as a compiler lays them out: one line for each. */
export async function layouts(side: Side, names: ReadonlyMap<string, readonly string[]>): Promise<string[]> {
  const prints = [...names].map(([name, fields]) => `P(${name}) ${fields.map((field) => `F(${name}, ${field})`).join(" ")}`);
  const source = [
    "#include <stdio.h>\n#include <stddef.h>",
    side.source,
    '#define P(n) printf("\\n%s %zu %zu", #n, sizeof(n), __alignof__(n));',
    '#define F(n, f) printf(" %s@%zu", #f, offsetof(n, f));',
    `int main(void) {\n${prints.join("\n")}\nreturn 0;\n}\n`,
  ].join("\n");
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-abi-"));
  try {
    const program = join(folder, "layouts");
    await execa("gcc", ["-w", "-x", side.language, "-", ...includes(side), "-o", program], { input: source });
    return (await execa(program)).stdout.trim().split("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
