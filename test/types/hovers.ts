/** The hover texts of the published declarations, from TypeScript's language service: of every exported name, member and option. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** What is used of TypeScript's classic API, which API Extractor brings along: TypeScript 7 has none. */
interface Api {
  readonly SymbolFlags: {
    readonly Alias: number;
    readonly Value: number;
    readonly Module: number;
    readonly Class: number;
    readonly Optional: number;
  };
  readonly ModifierFlags: { readonly Private: number; readonly Protected: number };
  readonly SignatureKind: { readonly Call: number; readonly Construct: number };
  readonly ScriptSnapshot: { fromString(text: string): object };
  readonly sys: { readFile(path: string): string | undefined; fileExists(path: string): boolean; directoryExists(path: string): boolean };
  createLanguageService(host: object): Service;
  getDefaultLibFilePath(options: object): string;
  getCombinedModifierFlags(declaration: Node): number;
  displayPartsToString(parts: readonly object[] | undefined): string;
}
interface Node {
  readonly pos: number;
  getSourceFile(): { readonly fileName: string };
  readonly typeParameters?: readonly object[];
}
interface Symbol {
  readonly name: string;
  readonly flags: number;
  readonly declarations?: readonly Node[];
  readonly valueDeclaration?: Node;
  getDocumentationComment(checker: Checker): readonly object[];
  getJsDocTags(checker: Checker): readonly Tag[];
}
interface Tag {
  readonly name: string;
  readonly text?: readonly object[];
}
interface Type {
  readonly types?: readonly Type[];
  readonly symbol?: Symbol;
}
interface Signature {
  readonly parameters: readonly Symbol[];
}
interface Checker {
  getSymbolAtLocation(node: object): Symbol | undefined;
  getExportsOfModule(symbol: Symbol): readonly Symbol[];
  getAliasedSymbol(symbol: Symbol): Symbol;
  getDeclaredTypeOfSymbol(symbol: Symbol): Type;
  getTypeOfSymbol(symbol: Symbol): Type;
  getPropertiesOfType(type: Type): readonly Symbol[];
  getSignaturesOfType(type: Type, kind: number): readonly Signature[];
}
interface Service {
  getProgram(): { getTypeChecker(): Checker; getSourceFile(path: string): object | undefined };
  getCompletionsAtPosition(
    file: string,
    at: number,
    options: object,
  ): { readonly entries: readonly { readonly name: string; readonly kindModifiers?: string }[] } | undefined;
  getQuickInfoAtPosition(
    file: string,
    at: number,
  ): { readonly displayParts?: readonly object[]; readonly documentation?: readonly object[]; readonly tags?: readonly Tag[] } | undefined;
}

export interface Hover {
  /** "nn.Linear.weight", "nn.linear(options.bias)". */
  readonly name: string;
  /** What the editor shows above, "function nn.linear(…): nn.Linear", and below. */
  readonly display: string;
  readonly documentation: string;
}

const require = createRequire(import.meta.url);

/** TypeScript's language service over a program next to a file of declarations, which it imports as `dx`. */
function opened(types: string, name: string): { ts: Api; service: Service; probe: string; begin: string; write: (text: string) => void } {
  const ts = createRequire(require.resolve("@microsoft/api-extractor"))("typescript") as Api;
  const probe = join(dirname(types), name);
  const begin = `import * as dx from "./${types.slice(dirname(types).length + 1).replace(/\.d\.ts$/, ".js")}";\n`;
  let text = begin;
  let version = 0;
  const options = {
    target: 9,
    module: 199,
    moduleResolution: 99,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
    strict: true,
    types: [],
  };
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [probe],
    getScriptVersion: () => String(version),
    getScriptSnapshot: (path: string) => {
      const content = path === probe ? text : ts.sys.readFile(path);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => dirname(types),
    getDefaultLibFileName: (o: object) => ts.getDefaultLibFilePath(o),
    readFile: (path: string) => ts.sys.readFile(path),
    fileExists: (path: string) => path === probe || ts.sys.fileExists(path),
    directoryExists: (path: string) => ts.sys.directoryExists(path),
  });
  const write = (next: string): void => {
    text = next;
    version++;
  };
  return { ts, service, probe, begin, write };
}

/** What an editor offers at the | of each line, and whether it strikes the name through. */
export function completions(types: string, lines: readonly string[]): readonly ReadonlyMap<string, "plain" | "struck">[] {
  const { service, probe, begin, write } = opened(types, "completions.ts");
  const offsets: number[] = [];
  let text = `${begin}declare const x: dx.Tensor;\n`;
  for (const line of lines) {
    offsets.push(text.length + line.indexOf("|"));
    text += `${line.replace("|", "")}\n`;
  }
  write(text);
  return offsets.map((at) => {
    const entries = service.getCompletionsAtPosition(probe, at, {})?.entries ?? [];
    return new Map(entries.map((e) => [e.name, /\bdeprecated\b/.test(e.kindModifiers ?? "") ? "struck" : "plain"]));
  });
}

/** Every hover over a file of declarations. */
export function hovers(types: string): readonly Hover[] {
  const { ts, service, probe, begin, write } = opened(types, "probe.ts");
  let text = begin;
  const program = service.getProgram();
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(types);
  const root = file === undefined ? undefined : checker.getSymbolAtLocation(file);
  if (root === undefined) throw new Error(`${types} is no module`);

  /** The comment, and where a name is deprecated what stands for it, as editors show both. */
  const textOf = (comment: readonly object[] | undefined, tags: readonly Tag[] = []): string =>
    [ts.displayPartsToString(comment), ...tags.filter((t) => t.name === "deprecated").map((t) => ts.displayPartsToString(t.text))]
      .filter((text) => text !== "")
      .join("\n");

  const asked: { name: string; at: number }[] = [];
  const found: Hover[] = [];
  const ask = (name: string, before: string, word: string, after: string): void => {
    asked.push({ name, at: text.length + before.length });
    text += `${before}${word}${after};\n`;
  };
  const isOurs = (symbol: Symbol): boolean => (symbol.declarations ?? []).some((d) => d.getSourceFile().fileName === types);
  const isHidden = (symbol: Symbol): boolean =>
    !/^[A-Za-z_]\w*$/.test(symbol.name) ||
    symbol.name.startsWith("__") ||
    (symbol.declarations ?? []).some(
      (d) => (ts.getCombinedModifierFlags(d) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0,
    );
  const seen = new Set<object>();
  const isNew = (symbol: Symbol): boolean => {
    const [first] = symbol.declarations ?? [];
    if (first === undefined || seen.has(first)) return false;
    seen.add(first);
    return true;
  };

  /** Fields of options that a signature takes in place. */
  const fieldsOf = (name: string, type: Type): void => {
    for (const kind of [ts.SignatureKind.Call, ts.SignatureKind.Construct])
      for (const signature of checker.getSignaturesOfType(type, kind))
        for (const parameter of signature.parameters)
          for (const part of partsOf(checker.getTypeOfSymbol(parameter)))
            if (part.symbol?.name === "__type")
              for (const field of checker.getPropertiesOfType(part))
                if (isOurs(field) && isNew(field)) {
                  const documentation = textOf(field.getDocumentationComment(checker), field.getJsDocTags(checker));
                  found.push({ name: `${name}(${parameter.name}.${field.name})`, display: field.name, documentation });
                }
  };
  const partsOf = (type: Type): readonly Type[] => type.types?.flatMap(partsOf) ?? [type];

  let count = 0;
  const membersOf = (path: string, written: string, type: Type): void => {
    const list = checker.getPropertiesOfType(type).filter((p) => isOurs(p) && !isHidden(p) && isNew(p));
    if (list.length === 0) return;
    const own = `v${count++}`;
    text += `declare const ${own}: ${written};\n`;
    for (const p of list) {
      ask(`${path}.${p.name}`, `${own}.`, p.name, "");
      fieldsOf(`${path}.${p.name}`, checker.getTypeOfSymbol(p));
    }
  };

  const visit = (path: string, symbol: Symbol): void => {
    for (const entry of checker.getExportsOfModule(symbol)) {
      const target = (entry.flags & ts.SymbolFlags.Alias) === 0 ? entry : checker.getAliasedSymbol(entry);
      const name = path === "" ? entry.name : `${path}.${entry.name}`;
      const before = `dx.${path === "" ? "" : `${path}.`}`;
      const arity = Math.max(0, ...(target.declarations ?? []).map((d) => d.typeParameters?.length ?? 0));
      const isValue = (target.flags & ts.SymbolFlags.Value) !== 0;
      const args =
        arity === 0 || (isValue && (target.flags & ts.SymbolFlags.Class) === 0)
          ? ""
          : `<${Array.from({ length: arity }, () => "any").join(", ")}>`;
      if (isValue) ask(name, before, entry.name, "");
      else ask(name, `type T${count++} = ${before}`, entry.name, args);
      if ((target.flags & ts.SymbolFlags.Module) !== 0) {
        visit(name, target);
        continue;
      }
      if (isValue) {
        const type = checker.getTypeOfSymbol(target);
        fieldsOf(name, type);
        if ((target.flags & ts.SymbolFlags.Class) !== 0) {
          ask(`new ${name}`, `new ${before}`, entry.name, "()");
          for (const p of checker.getPropertiesOfType(type))
            if (isOurs(p) && !isHidden(p) && p.name !== "prototype" && isNew(p))
              ask(`${name}.${p.name}`, `${before}${entry.name}.`, p.name, "");
        }
      }
      if (!isValue || (target.flags & ts.SymbolFlags.Class) !== 0)
        membersOf(name, `${before}${entry.name}${args}`, checker.getDeclaredTypeOfSymbol(target));
    }
  };
  visit("", root);
  write(text);
  for (const { name, at } of asked) {
    const info = service.getQuickInfoAtPosition(probe, at);
    found.push({ name, display: ts.displayPartsToString(info?.displayParts), documentation: textOf(info?.documentation, info?.tags) });
  }
  return found;
}
