// Writes what the families of src/ops are known by: src/ops/index.generated.ts (the package's exports), src/ops/families.generated.ts
// (what the tensor's methods are made of) and src/nn/functional.generated.ts. `npm run build` runs it too, so that nobody edits them.
import { readFileSync, writeFileSync } from "node:fs";
import { readFamilies } from "./lib/families.mjs";
import { ScriptError, at } from "./lib/project.mjs";

const header = "// Made by scripts/generate-operations.mjs from the families in src/ops.\n";

function exportsText(families) {
  const lines = families.flatMap(({ file, namespace, exports }) => {
    if (namespace !== null) return [`export * as ${namespace} from "./${file}";`];
    if (exports.length === 0) return [];
    const names = exports.map(({ name, as, isType }) => `${isType ? "type " : ""}${name}${as === name ? "" : ` as ${as}`}`);
    return [`export { ${names.join(", ")} } from "./${file}";`];
  });
  return `${header}${lines.join("\n")}\n`;
}

function functionalText(families) {
  const lines = families.flatMap(({ file, exports }) => {
    const names = exports.flatMap(({ name, functional }) => functional.map((as) => (as === name ? name : `${name} as ${as}`)));
    return names.length === 0 ? [] : [`export { ${names.join(", ")} } from "../ops/${file}";`];
  });
  return `${header}/** The functions behind the layers, under PyTorch's names of torch.nn.functional in camelCase. */\n${lines.join("\n")}\n`;
}

function familiesText(families) {
  const withMethods = families.filter((f) => Object.keys(f.parts).length > 0);
  const imports = withMethods.map(({ name, file }) => `import * as ${name} from "./${file}";`);
  const part = (key) => {
    const rows = withMethods.filter((f) => key in f.parts).map((f) => `  ...${f.name}.${key},`);
    return `export const ${key} = {\n${rows.join("\n")}\n};`;
  };
  return `${header}${imports.join("\n")}\n\n${["methods", "inPlaceMethods", "overloaded"].map(part).join("\n")}\n`;
}

/** Writes the files that differ; with isCheck it writes nothing, and throws. */
export function generateOperations({ isCheck = false } = {}) {
  const families = readFamilies();
  for (const [file, text] of [
    ["src/ops/index.generated.ts", exportsText(families)],
    ["src/ops/families.generated.ts", familiesText(families)],
    ["src/nn/functional.generated.ts", functionalText(families)],
  ]) {
    let known = null;
    try {
      known = readFileSync(at(file), "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    if (known === text) continue;
    if (isCheck) throw new ScriptError("OUT_OF_DATE", `${file} is out of date.`, "Run: npm run generate");
    writeFileSync(at(file), text);
  }
}
