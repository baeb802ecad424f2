/** A shader as text, one statement a line. */
import { constantOf, type Block, type Memory, type Shader, type Statement, type Value } from "./ir.ts";

function formatNumber(v: Value, n: number): string {
  if (v.type === "bool") return n === 0 ? "false" : "true";
  if (v.type !== "f32") return `${n}${v.type === "u32" ? "u" : ""}`;
  return Object.is(n, -0) ? "-0.0" : Number.isInteger(n) ? n.toFixed(1) : String(n);
}

function formatValue(v: Value): string {
  const n = constantOf(v);
  if (n !== null) return formatNumber(v, n);
  if (v.leaf === null) return `%${v.id}`;
  return v.leaf.kind === "uniform" ? v.leaf.uniform.name : v.leaf.kind;
}

const list = (values: readonly Value[]): string => values.map(formatValue).join(", ");
const at = (s: { readonly memory: Memory; readonly at: Value; readonly raw: boolean; readonly checked: boolean }): string =>
  `${s.memory.name}[${s.raw ? "byte " : ""}${formatValue(s.at)}]${s.checked ? "" : "!"}`;

function lines(block: Block, indent: string): string[] {
  return block.flatMap((s) => linesOf(s, indent));
}

function linesOf(s: Statement, indent: string): string[] {
  const inner = `${indent}  `;
  switch (s.kind) {
    case "operate":
      return [`${indent}${formatValue(s.result)} = ${s.name} ${list(s.args)}`];
    case "load":
      return [`${indent}${list(s.results)} = load ${at(s)}`];
    case "store":
      return [`${indent}store ${at(s)} = ${list(s.values)}`];
    case "atomic": {
      const expected = s.expected === null ? "" : ` if ${formatValue(s.expected)}`;
      return [
        `${indent}${s.result === null ? "" : `${formatValue(s.result)} = `}atomic ${s.name} ${at(s)}${expected}, ${formatValue(s.value)}`,
      ];
    }
    case "declare":
      return [`${indent}var v${s.variable.id}: ${s.variable.type} = ${formatValue(s.value)}`];
    case "get":
      return [`${indent}${formatValue(s.result)} = v${s.variable.id}`];
    case "assign":
      return [`${indent}v${s.variable.id} = ${formatValue(s.value)}`];
    case "if":
      return [
        `${indent}if ${formatValue(s.condition)}`,
        ...lines(s.body, inner),
        ...(s.otherwise.length === 0 ? [] : [`${indent}else`, ...lines(s.otherwise, inner)]),
      ];
    case "for":
      return [
        `${indent}for ${formatValue(s.index)} from ${formatValue(s.start)} to ${formatValue(s.end)} by ${formatValue(s.step)}`,
        ...lines(s.body, inner),
      ];
    case "while":
      return [`${indent}loop`, ...lines(s.head, inner), `${inner}break unless ${formatValue(s.condition)}`, ...lines(s.body, inner)];
    case "barrier":
      return [`${indent}barrier ${s.scope}`];
    case "print":
      return [`${indent}print ${JSON.stringify(s.label)} ${list(s.values)}`.trimEnd()];
    case "break":
    case "continue":
      return [`${indent}${s.kind}`];
    default:
      return s satisfies never;
  }
}

export function printShader(shader: Shader): string {
  const buffers = shader.buffers.map((b) => `${b.isWritable ? "out" : "in"} ${b.name}: ${b.element}`);
  const shared = shader.shared.map((m) => `shared ${m.name}: ${m.element}[${m.length}]`);
  const uniforms = shader.uniforms.map((u) => `uniform ${u.name}: ${u.type}`);
  return [`shader ${shader.name}, ${shader.threads} threads`, ...buffers, ...uniforms, ...shared, ...lines(shader.body, "")].join("\n");
}
