// npm run lint: types and promises (oxlint), formatting of TypeScript (prettier) and C++ (clang-format), generated files,
// the report of public types, data of the site's pages, words to avoid.
// npm run format (--fix) writes what can be written.
import { parseArgs } from "node:util";
import { execa } from "execa";
import { glob } from "zx";
import { main, root, say, script, tool } from "./tools/project.ts";

const help = `npm run lint [-- OPTIONS]

Checks types, promises, formatting of TypeScript and C++, generated files, the report of public types, the data
of docs/platforms and docs/benchmarks, and words to avoid (docs/glossary.md).

  --fix   fixes what can be fixed automatically (npm run format)
  --help  this text`;

/** Versions of clang-format disagree; 14 is Debian 12's and Ubuntu 22.04's. */
const clangVersion = 14;

async function findClangFormat() {
  for (const command of [`clang-format-${clangVersion}`, "clang-format"]) {
    const done = await execa(command, ["--version"], { reject: false });
    if (!done.failed && new RegExp(`version ${clangVersion}\\.`).test(done.stdout)) return command;
  }
  return null;
}

async function step(name: string, command: string, args: readonly string[]) {
  const start = performance.now();
  const done = await execa(command, args, { cwd: root, stdio: ["ignore", 2, 2], reject: false });
  say(`lint: ${name}: ${done.failed ? "FAILED" : "ok"} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return !done.failed;
}

await main(async () => {
  const { values } = parseArgs({ options: { fix: { type: "boolean", default: false } } });
  const isFix = values.fix;
  const results = [await step("types of sources and tests", tool("tsc"), ["-b"])];
  results.push(await step("oxlint", tool("oxlint"), ["--type-aware", "--deny-warnings", ...(isFix ? ["--fix"] : [])]));
  results.push(await step("prettier", tool("prettier"), [isFix ? "--write" : "--check", "--log-level", "warn", "."]));
  const clang = await findClangFormat();
  if (clang === null) {
    say(`lint: clang-format ${clangVersion} was not found; C++ was not looked at (sudo apt-get install -y clang-format-${clangVersion})`);
    // Elsewhere it is a comfort; in CI its absence would hide a failure.
    if (process.env.CI) results.push(false);
  } else {
    const files = await glob(
      ["native/**/*.{c,h,cpp}", "scripts/**/*.{c,h,cpp}", "bench/**/*.{h,cpp}", "examples/**/*.{h,cpp}", "test/runtime/**/*.{c,h,cpp}"],
      { cwd: root },
    );
    results.push(await step(`clang-format of ${files.length} files`, clang, isFix ? ["-i", ...files] : ["--dry-run", "-Werror", ...files]));
  }
  results.push(await step("generated files", process.execPath, script("generate", ...(isFix ? [] : ["--check"]))));
  results.push(await step("public types", process.execPath, script("api", ...(isFix ? [] : ["--check"]))));
  results.push(await step("data of the site's pages", process.execPath, script("docs", "--check")));
  results.push(await step("what git ignores", process.execPath, script("ignored")));
  results.push(await step("words to avoid", process.execPath, script("words")));
  return results.every(Boolean) ? 0 : 1;
}, help);
