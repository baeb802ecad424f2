/** backend.yaml: the operations, dtypes and fallbacks of a backend. Errors name the line and the key. */
import { LineCounter, isMap, isScalar, isSeq, parseDocument, type Node } from "yaml";
import { requireBackendName } from "../backend/registry.ts";
import { meant } from "../core/did-you-mean.ts";
import { DTYPES, isDType, type DType } from "../core/dtype.ts";
import { DxError, FormatError } from "../core/errors.ts";
import { OPERATORS } from "../dml/operators.generated.ts";

export const OPERATION = "backend generate";

/** An operator of DirectML's, or an operation of the library's, that the backend has a kernel for. */
export interface SpecOperation {
  readonly name: string;
  readonly isOperator: boolean;
  readonly dtypes: readonly DType[];
  /** Its kernel may refuse a call, which then falls back. */
  readonly mayFallBack: boolean;
}

export interface BackendSpec {
  readonly name: string;
  readonly version: string;
  readonly dtypes: readonly DType[];
  readonly operations: readonly SpecOperation[];
}

const KEYS = ["name", "version", "dtypes", "operations", "fallback"] as const;
type Key = (typeof KEYS)[number];

class Reader {
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #entries = new Map<Key, Node>();
  readonly #known: readonly string[];
  #end = 0;

  constructor(file: string, text: string, operations: readonly string[]) {
    this.#file = file;
    this.#known = [...Object.keys(OPERATORS), ...operations];
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    this.#end = text.trimEnd().length;
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) this.#refuse(problem.pos[0], "", "YAML", problem.message);
    const root = document.contents;
    if (!isMap(root)) return this.#refuse(0, "", `a map with ${KEYS.join(", ")}`, shown(root));
    for (const { key, value } of root.items) {
      const name = isScalar(key) ? String(key.value) : shown(key);
      const at = (key as Node | null)?.range?.[0] ?? 0;
      if (!(KEYS as readonly string[]).includes(name))
        this.#refuse(at, name, `one of the keys ${KEYS.join(", ")}`, name, meant(name, KEYS));
      if (value === null) this.#refuse(at, name, "a value", "nothing");
      this.#entries.set(name as Key, value as Node);
    }
  }

  #refuse(offset: number, key: string, expected: string, received: string, hint?: string): never {
    const { line } = this.#lines.linePos(Math.max(0, Math.min(offset, this.#end)));
    throw new FormatError(OPERATION, `${this.#file}:${line}${key === "" ? "" : ` ${key}`}`, expected, received, hint);
  }

  #at(node: Node, key: string, expected: string, hint?: string): never {
    return this.#refuse(node.range?.[0] ?? 0, key, expected, shown(node), hint);
  }

  #required(key: Key): Node {
    return this.#entries.get(key) ?? this.#refuse(this.#end, key, "there", "nothing", `Add the key ${key}.`);
  }

  #text(node: Node, key: string, expected: string): string {
    return isScalar(node) && typeof node.value === "string" && node.value !== "" ? node.value : this.#at(node, key, expected);
  }

  #list(node: Node, key: string, expected: string): Node[] {
    if (!isSeq(node) || node.items.length === 0) return this.#at(node, key, expected);
    return node.items as Node[];
  }

  #unique(names: readonly string[], nodes: readonly Node[], key: string): void {
    names.forEach((name, i) => {
      if (names.indexOf(name) !== i) this.#at(nodes[i]!, `${key}[${i}]`, `no second ${name}`);
    });
  }

  #dtypes(node: Node, key: string, allowed: readonly DType[]): DType[] {
    const items = this.#list(node, key, "a list of dtypes, as [float32]");
    const list = items.map((item, i): DType => {
      const name = this.#text(item, `${key}[${i}]`, `one of ${allowed.join(", ")}`);
      if (isDType(name) && allowed.includes(name)) return name;
      return this.#at(item, `${key}[${i}]`, `one of ${allowed.join(", ")}`, meant(name, allowed));
    });
    this.#unique(list, items, key);
    return list;
  }

  #operation(item: Node, key: string, dtypes: readonly DType[]): Omit<SpecOperation, "mayFallBack"> {
    let [node, own] = [item, dtypes];
    if (isMap(item)) {
      const [entry] = item.items;
      if (item.items.length !== 1 || entry === undefined || entry.value === null)
        this.#at(item, key, "one name with its dtypes, as GEMM: [float32]");
      node = entry!.key as Node;
      own = this.#dtypes(entry!.value as Node, `${key}.${shown(node)}`, dtypes);
    }
    const name = this.#text(node, key, "the name of an operator of DirectML's or of an operation of the library's");
    if (!this.#known.includes(name))
      this.#at(
        node,
        key,
        "the name of an operator of DirectML's (GEMM) or of an operation of the library's (softmax)",
        meant(name, this.#known),
      );
    return { name, isOperator: Object.hasOwn(OPERATORS, name), dtypes: own };
  }

  /** Names of the operations whose kernels may refuse a call. */
  #fallback(names: readonly string[]): readonly string[] {
    const node = this.#entries.get("fallback");
    if (node === undefined) return names;
    const expected = "all, none, or a list of the operations whose kernels may refuse a call";
    if (isScalar(node)) return node.value === "all" ? names : node.value === "none" ? [] : this.#at(node, "fallback", expected);
    const items = this.#list(node, "fallback", expected);
    const list = items.map((item, i) => {
      const name = this.#text(item, `fallback[${i}]`, "the name of an operation");
      return names.includes(name) ? name : this.#at(item, `fallback[${i}]`, "one of operations", meant(name, names));
    });
    this.#unique(list, items, "fallback");
    return list;
  }

  read(): BackendSpec {
    const nameNode = this.#required("name");
    const name = this.#text(nameNode, "name", "the type of the devices, as tiny");
    try {
      requireBackendName(OPERATION, "name", name);
    } catch (error) {
      if (!(error instanceof DxError)) throw error;
      this.#at(nameNode, "name", error.expected!);
    }
    if (["cpu", "dml", "meta"].includes(name)) this.#at(nameNode, "name", "a name that the library does not have itself");
    const version = this.#text(this.#required("version"), "version", 'the version as text, as "0.1.0"');
    const dtypes = this.#dtypes(this.#required("dtypes"), "dtypes", Object.keys(DTYPES) as DType[]);
    const items = this.#list(this.#required("operations"), "operations", "a list of names, as [ELEMENT_WISE_ADD, softmax]");
    const operations = items.map((item, i) => this.#operation(item, `operations[${i}]`, dtypes));
    const names = operations.map((operation) => operation.name);
    this.#unique(names, items, "operations");
    const refusing = this.#fallback(names);
    return { name, version, dtypes, operations: operations.map((one) => ({ ...one, mayFallBack: refusing.includes(one.name) })) };
  }
}

/** A node for an error's text. */
function shown(node: unknown): string {
  if (isScalar(node)) return node.value === null ? "nothing" : String(node.value);
  return isMap(node) ? "a map" : isSeq(node) ? (node.items.length === 0 ? "an empty list" : "a list") : "nothing";
}

/** Reads backend.yaml. `operations`: the library's own, by name. Throws FormatError. */
export const readSpec = (file: string, text: string, operations: readonly string[]): BackendSpec =>
  new Reader(file, text, operations).read();
