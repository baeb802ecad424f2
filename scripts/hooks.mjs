// Node's hook that gives the JavaScript of a TypeScript file: compiled once, cached in build/typescript with the digest of its source.
// @ts-check
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const kept = new URL("../build/typescript/", import.meta.url);
const require = createRequire(import.meta.url);
const self = readFileSync(new URL(import.meta.url), "utf8");

/** @param {string[]} parts */
const digest = (...parts) => createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 32);

/** @param {string} url */
const isOurs = (url) => url.startsWith("file:") && url.endsWith(".ts") && !url.includes("/node_modules/");

/**
 * @param {string} path
 * @param {string} source
 * @param {typeof import("rolldown/utils")} compiler
 */
function compile(path, source, { transformSync }) {
  const { code, map, errors } = transformSync(path, source, {
    lang: "ts",
    sourcemap: true,
    target: "es2023",
    typescript: { onlyRemoveTypeImports: true },
    tsconfig: false,
  });
  const [error] = errors;
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`);
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}\n`;
}

/**
 * @param {URL} file
 * @param {string} code
 */
function keep(file, code) {
  try {
    mkdirSync(kept, { recursive: true });
    const temporary = new URL(`${file.href}.${process.pid}`);
    writeFileSync(temporary, code);
    renameSync(temporary, file);
  } catch {
    // A folder that can't be written to: compiled again the next time.
  }
}

/**
 * What is kept of a file, or how to make it.
 * @param {string} url
 */
function find(url) {
  const path = fileURLToPath(url);
  const source = readFileSync(path, "utf8");
  const file = new URL(`${digest(path)}.mjs`, kept);
  const mark = `/* ${digest(self, source)} */ `;
  /** @param {typeof import("rolldown/utils")} compiler */
  const make = (compiler) => {
    const code = mark + compile(path, source, compiler);
    keep(file, code);
    return code;
  };
  try {
    const code = readFileSync(file, "utf8");
    return { code: code.startsWith(mark) ? code : null, make };
  } catch {
    return { code: null, make };
  }
}

/** @param {string} source */
const answer = (source) => ({ format: /** @type {const} */ ("module"), source, shortCircuit: true });

/** @type {import("node:module").LoadHook} */
export async function load(url, context, next) {
  if (!isOurs(url)) return next(url, context);
  const { code, make } = find(url);
  return answer(code ?? make(await import("rolldown/utils")));
}

/**
 * @param {string} url
 * @param {import("node:module").LoadHookContext} context
 * @param {(url: string, context?: import("node:module").LoadHookContext) => import("node:module").LoadFnOutput} next
 */
export function loadSync(url, context, next) {
  if (!isOurs(url)) return next(url, context);
  const { code, make } = find(url);
  return answer(code ?? make(require("rolldown/utils")));
}
