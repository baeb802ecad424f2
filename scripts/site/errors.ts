// The errors that the sources throw, by class and text.
import { readFileSync, readdirSync } from "node:fs";
import { Visitor, parseSync, type ESTree } from "rolldown/utils";
import { ScriptError, at } from "../tools/project.ts";

/** What is known of an error's data. */
type Data = Readonly<Record<string, string | undefined>>;
interface Found {
  readonly name: string;
  readonly text: string;
}

/** A part of a text as far as the source says it: what comes at run time is an ellipsis. */
function textOf(node: ESTree.Argument): string {
  if (node.type === "Literal") return String(node.value);
  if (node.type === "TemplateLiteral")
    return node.quasis
      .map((q, i) => {
        const next = node.expressions[i];
        return `${q.value.cooked}${next === undefined ? "" : textOf(next)}`;
      })
      .join("");
  if (node.type === "ConditionalExpression") {
    const [a, b] = [textOf(node.consequent), textOf(node.alternate)];
    return a === b ? a : "…";
  }
  return "…";
}

const propertiesOf = (node: ESTree.Argument | undefined): Data =>
  node?.type !== "ObjectExpression"
    ? {}
    : Object.fromEntries(
        node.properties.flatMap((p) => (p.type === "Property" && p.key.type === "Identifier" ? [[p.key.name, textOf(p.value)]] : [])),
      );

/** The text that errors.ts makes of the same data. */
function messageOf({ operation, argument, expected, received, hint }: Data): string {
  const subject = argument === undefined ? "" : `${argument} `;
  const rule = expected === undefined ? "" : `${subject}must be ${expected}`;
  const got = received === undefined ? "" : `${rule === "" ? subject : ""}received ${received}`;
  return `${operation}: ${[rule, got].filter((part) => part !== "").join("; ")}.${hint === undefined ? "" : ` ${hint}`}`;
}

/** Classes whose constructor takes (operation, argument, expected, received, hint); others take an object of the same. */
const listed = ["ShapeError", "DTypeError", "ValueError", "IndexError", "DeviceError", "DisposedError", "FormatError"];
const objects = ["AutogradError", "UnsupportedError", "TraceError", "DxError"];

/** Every `new Name(…)` of a program. */
function created(program: ESTree.Program): readonly ESTree.NewExpression[] {
  const found: ESTree.NewExpression[] = [];
  new Visitor({ NewExpression: (node) => void found.push(node) }).visit(program);
  return found;
}

function errorOf({ callee, arguments: args }: ESTree.NewExpression): Found | null {
  if (callee.type !== "Identifier") return null;
  const { name } = callee;
  if (listed.includes(name)) {
    const [operation, argument, expected, received, hint] = args.map(textOf);
    return { name, text: messageOf({ operation, argument, expected, received: received === undefined ? undefined : "…", hint }) };
  }
  if (objects.includes(name)) {
    const data = propertiesOf(args[0]);
    return data["operation"] === undefined ? null : { name, text: messageOf(data) };
  }
  return null;
}

/** Its class, its text, and the file. */
export interface ThrownError extends Found {
  readonly file: string;
}

/** Every error of src. */
export function errors(): readonly ThrownError[] {
  const all = new Map<string, ThrownError>();
  for (const file of readdirSync(at("src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.includes(".generated.")) continue;
    const { program } = parseSync(file, readFileSync(at("src", file), "utf8"), { lang: "ts" });
    for (const node of created(program)) {
      const found = errorOf(node);
      // An error of which nothing is known but its class helps nobody.
      if (found === null || !/[a-z]{3}/.test(found.text.replaceAll(/must be|received/g, ""))) continue;
      all.set(`${found.name} ${found.text}`, { ...found, file: file.replaceAll("\\", "/") });
    }
  }
  // Those that many functions share come last.
  const isShared = (e: Found): number => (e.text.startsWith("…") ? 1 : 0);
  const list = [...all.values()].toSorted((a, b) => isShared(a) - isShared(b) || a.text.localeCompare(b.text, "en"));
  if (list.length < 300) throw new ScriptError("ERRORS", `Only ${list.length} errors were found in src.`);
  return list;
}

const meanings = {
  ShapeError: "Shapes that do not fit each other or the operation.",
  DTypeError: "A dtype that the operation does not take: convert by `x.to(dtype)`.",
  ValueError: "A number, text or option out of its range, or one that is not known.",
  IndexError: "An index outside the axis, list or tensor.",
  DeviceError: "Tensors on different devices (move one by `x.to(device)`), or a device that is not there (`npx dxtensor doctor`).",
  DisposedError: "Use of a tensor after `dispose()`, or after the scope that made it ([memory](memory.md)).",
  AutogradError: "Misuse of autograd: backward twice, a saved tensor changed in place ([autograd](autograd.md)).",
  UnsupportedError: "What the device lacks, in strict mode or where no fallback exists.",
  TraceError: "Misuse of compile, such as reading data while tracing ([compile](compile.md)).",
  LinAlgError: "A matrix that is singular or not positive definite, or a decomposition that did not converge ([linalg](linalg.md)).",
  FormatError: "A file that breaks the rules of its format.",
  NativeError: "A native call that failed; HRESULT and operator are properties ([failures](failures.md)).",
  DeviceRemovedError: "The device was removed: `dx.closeDevice()` lets the next use open it again ([failures](failures.md)).",
  DeviceTimeoutError: "The device finished nothing for as long as `DXTENSOR_TIMEOUT_MS` allows.",
  OutOfMemoryError: "The device's memory, or the limit set for it, is exhausted ([memory](memory.md)).",
  NativeLoadError: "The addon or a library could not be loaded: which, every path tried, and the remedy ([runtimes](runtimes.md)).",
};

export const errorsPage = (list: readonly ThrownError[]): string => `---
outline: false
---

# Errors

All errors are classes of \`dx\` that extend \`dx.DxError\` and hold their data: \`operation\`, \`argument\`, \`expected\`, \`received\`, \`hint\`.
The text is made of them: \`operation: argument must be expected; received received. hint\`.

| class | means |
| --- | --- |
${Object.entries(meanings)
  .map(([name, text]) => `| \`${name}\` | ${text} |`)
  .join("\n")}

## By their text

Made of the sources: ${list.length} texts. \`…\` stands for what is known when it happens. The name in front is the function that
you called. What the types of a function's arguments do not take is refused in one form by all: \`relu: x must be a tensor; received 3.\`

<script setup>
import list from "./errors.json";
</script>

<ErrorList :list="list" />
`;
