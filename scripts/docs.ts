// npm run docs: the site of the documents, by VitePress and TypeDoc, in build/site/dist.
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildTypeScript } from "./build.ts";
import { apiPages } from "./site/api.ts";
import { errors, errorsPage } from "./site/errors.ts";
import { browse } from "./site/browse.ts";
import { readTable } from "./lib/operators-page.ts";
import { historyPage, readHistory } from "./site/history.ts";
import { deadAnchorsOfPages } from "./site/anchors.ts";
import { deadLinks } from "./site/links.ts";
import { operatorsPage, rowsOf } from "./site/operators.ts";
import { platformPage, platformsPage, readInstall, readPlatforms } from "./site/platforms.ts";
import { pagesWithoutStamp, stampsOf } from "./site/stamps.ts";
import { pytorchPage, tfjsPage } from "./site/names.ts";

const help = `npm run docs [-- OPTIONS]

Builds the site of the documents into build/site/dist: the pages of docs and examples, the API reference of the package's declarations, and
the tables of names and errors, which are generated from the sources. Fails on a dead link, and on a page without date or version. If there is a
Chromium, opens the pages in it: none may be wider than a window of 1280 or 390 pixels, and the install selector has to give what its data says.

  --check      checks the data of docs/platforms and docs/benchmarks and the links between files of Markdown, and builds nothing
  --no-browser does not open the built pages in Chromium
  --serve      serves the built site until Ctrl-C
  --port N     the port (4173)
  --repository URL  the repository's address, for links to commits (default: package.json's)
  --base PATH  base path of the site (/)
  --help       this text`;

const site = at("build", "site");
/** Next to the pages, and no part of them. */
const left = ["sample-report", "api", "platforms"];

/** VitePress and TypeDoc, by a lock file of their own: nobody who builds or tests needs them. */
async function install() {
  mkdirSync(site, { recursive: true });
  const lock = readFileSync(at("scripts", "site", "package-lock.json"), "utf8");
  const done = join(site, "node_modules", ".dxtensor-lock.json");
  if (existsSync(done) && readFileSync(done, "utf8") === lock) return;
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(at("scripts", "site", name), join(site, name));
  say("docs: installing VitePress and TypeDoc into build/site");
  const { failed } = await execa("npm", ["ci", "--no-audit", "--no-fund"], { cwd: site, stdio: ["ignore", 2, 2], reject: false });
  if (failed)
    throw new ScriptError("INSTALL", "VitePress and TypeDoc could not be installed; see above.", "They come from npm's registry.");
  writeFileSync(done, lock);
}

/** Links to what is no page become their text: they lead into the repository. */
const within = (text: string, folder: string, pages: ReadonlySet<string>) =>
  text.replaceAll(/(?<!!)\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, target: string) => {
    if (/^(https?:|#)/.test(target)) return link;
    const [path = "", anchor] = target.split("#");
    const file = join(folder, path);
    const page = file === join("..", "README.md") ? "index.md" : file.startsWith("..") ? pageOf[file] : file;
    if (page === undefined || !pages.has(page)) return existsSync(at("docs", file)) ? label : link;
    return `[${label}](/${page}${anchor === undefined ? "" : `#${anchor}`})`;
  });

/** The files of an example, as a page shows them: what runs first, then what it imports. */
function codeOf(name: string): string {
  const files = readdirSync(at("examples", name)).filter((file) => file.endsWith(".ts"));
  const ordered = files.toSorted((a, b) => Number(b === "main.ts") - Number(a === "main.ts") || (a < b ? -1 : 1));
  return ordered.map((file) => `\n## ${file}\n\n\`\`\`ts\n${readFileSync(at("examples", name, file), "utf8")}\`\`\`\n`).join("");
}

/** Pages of wide tables. */
const wide = "---\naside: false\npageClass: wide\n---\n\n";

const wideTables = ["software-adapter.md", "glossary.md"];

/** Pages that do not lie in docs. */
const pageOf: Record<string, string> = {
  [join("..", "CONTRIBUTING.md")]: "contributing.md",
  [join("..", "examples", "README.md")]: "examples/index.md",
};

function copyPages() {
  for (const name of readdirSync(site))
    if (!["node_modules", "package.json", "package-lock.json", "dist"].includes(name)) rmSync(join(site, name), { recursive: true });
  const own = readdirSync(at("docs"), { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".md") && !left.some((folder) => name.startsWith(folder)),
  );
  const examples = readdirSync(at("examples")).filter((name) => existsSync(at("examples", name, "README.md")));
  const made = [
    "pytorch.md",
    "tfjs.md",
    "errors.md",
    "api/index.md",
    "index.md",
    "platforms/index.md",
    ...readPlatforms().map(({ id }) => `platforms/${id}.md`),
  ];
  const sources: readonly (readonly [file: string, name: string, folder: string])[] = [
    ...own.map((name) => [at("docs", name), name, dirname(name)] as const),
    [at("examples", "README.md"), "examples/index.md", "../examples"] as const,
    ...examples.map((name) => [at("examples", name, "README.md"), `examples/${name}.md`, `../examples/${name}`] as const),
    [at("CONTRIBUTING.md"), "contributing.md", ".."] as const,
  ].filter(([file]) => existsSync(file));
  for (const name of examples) pageOf[join("..", "examples", name, "README.md")] = `examples/${name}.md`;
  for (const name of own) pageOf[join("..", "docs", name)] = name;
  const pages = new Set([...sources.map(([, name]) => name), ...made]);
  for (const [file, name, folder] of sources) {
    mkdirSync(dirname(join(site, name)), { recursive: true });
    const example = /^examples\/(?!index)(.*)\.md$/.exec(name)?.[1];
    const code = example === undefined ? "" : codeOf(example);
    const front = wideTables.includes(name) ? wide : "";
    writeFileSync(join(site, name), `${front}${within(readFileSync(file, "utf8"), folder, pages)}${code}`);
  }
  copyFileSync(at("scripts", "site", "index.md"), join(site, "index.md"));
  const table = readTable();
  writeFileSync(join(site, "operators.md"), `${wide}${operatorsPage(table)}`);
  writeFileSync(join(site, "operators-rows.json"), JSON.stringify(rowsOf(table)));
  return pages.size;
}

/** Platforms and the selector's data. */
function writePlatforms(settings: string): void {
  const platforms = readPlatforms();
  const install = readInstall(platforms);
  mkdirSync(join(site, "platforms"), { recursive: true });
  writeFileSync(join(site, "platforms", "index.md"), `${wide}${platformsPage(platforms)}`);
  for (const platform of platforms) writeFileSync(join(site, "platforms", `${platform.id}.md`), platformPage(platform, install));
  writeFileSync(join(settings, "theme", "install.json"), JSON.stringify(install));
  writeFileSync(
    join(settings, "platforms.json"),
    JSON.stringify(platforms.map(({ id, name }) => ({ text: name, page: `platforms/${id}` }))),
  );
}

/** What the pages of data are made of, and the links between files of Markdown, without building the site. */
function checkData(): void {
  const dead = deadAnchorsOfPages();
  if (dead.length > 0) throw new ScriptError("LINKS", `Links to a heading or a file that is not there:\n${dead.join("\n")}`);
  const platforms = readPlatforms();
  const { choices, managers, channels } = readInstall(platforms);
  const combinations = choices.length * managers.length * channels.length;
  say(
    `docs: ${platforms.length} platforms, ${combinations} combinations of the install selector, ${readHistory().length} runs of the bench`,
  );
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean", default: false },
      "no-browser": { type: "boolean", default: false },
      serve: { type: "boolean", default: false },
      port: { type: "string", default: "4173" },
      base: { type: "string", default: "/" },
      repository: { type: "string" },
    },
  });
  if (!/^\d{1,5}$/.test(values.port)) throw new ScriptError("PORT", `--port is a number; received ${values.port}.`);
  if (!/^\/(.*\/)?$/.test(values.base)) throw new ScriptError("BASE", `--base begins and ends with /; received ${values.base}.`);
  if (values.repository !== undefined && !/^https:\/\/\S+[^/]$/.test(values.repository))
    throw new ScriptError(
      "REPOSITORY",
      `--repository is an address that begins with https:// and ends without /; received ${values.repository}.`,
    );
  if (values.check) {
    checkData();
    return 0;
  }
  checkData();
  await buildTypeScript(["src"]);
  await install();
  copyPages();
  const settings = join(site, ".vitepress");
  mkdirSync(settings, { recursive: true });
  copyFileSync(at("scripts", "site", "config.mjs"), join(settings, "config.mjs"));
  cpSync(at("scripts", "site", "theme"), join(settings, "theme"), { recursive: true });
  writePlatforms(settings);
  const { repository } = JSON.parse(readFileSync(at("package.json"), "utf8")) as { readonly repository?: { readonly url: string } };
  const address = values.repository ?? repository?.url.replace(/^git\+|\.git$/g, "") ?? null;
  writeFileSync(join(site, "benchmarks", "history.md"), `${wide}${historyPage(readHistory(), address)}`);
  writeFileSync(join(settings, "stamps.json"), JSON.stringify(await stampsOf()));
  const list = errors();
  writeFileSync(join(site, "errors.json"), JSON.stringify(list));
  writeFileSync(join(site, "errors.md"), errorsPage(list));
  writeFileSync(join(site, "pytorch.md"), `${wide}${await pytorchPage()}`);
  writeFileSync(join(site, "tfjs.md"), `${wide}${await tfjsPage()}`);
  const api = await apiPages(site, join(site, "api"));
  writeFileSync(join(settings, "api.json"), JSON.stringify(api));
  const vitepress = join(site, "node_modules", "vitepress", "bin", "vitepress.js");
  const settled = { cwd: site, reject: false, env: { DXTENSOR_SITE_BASE: values.base } };
  const built = await execa(process.execPath, [vitepress, "build", "."], { ...settled, stdio: ["ignore", 2, 2] });
  if (built.failed) throw new ScriptError("SITE", "The site could not be built; see above.");
  const pages = readdirSync(join(site, "dist"), { recursive: true, encoding: "utf8" }).filter((name) => basename(name).endsWith(".html"));
  say(`docs: ${pages.length} pages in ${join("build", "site", "dist")}`);
  const dead = deadLinks(join(site, "dist"), pages, values.base);
  if (dead.length > 0) throw new ScriptError("LINKS", `Links that lead nowhere:\n${dead.join("\n")}`);
  const bare = pagesWithoutStamp(join(site, "dist"), pages);
  if (bare.length > 0) throw new ScriptError("STAMP", `Pages without a date or a version: ${bare.join(", ")}`);
  if (!values["no-browser"] && !(await browse(join(site, "dist"), pages, values.base))) return 1;
  if (!values.serve) return 0;
  const served = await execa(process.execPath, [vitepress, "preview", ".", "--port", values.port], { ...settled, stdio: "inherit" });
  return served.exitCode ?? 1;
}, help);
