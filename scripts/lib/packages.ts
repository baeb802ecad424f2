// The npm packages of a release: what each is called, what is in it, and how it is packed.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { transformSync } from "rolldown/utils";
import { execa } from "execa";
import { ask } from "../tools/program.ts";
import { ScriptError, at } from "../tools/project.ts";
import { errors, errorsPage } from "../site/errors.ts";
import { common, manifest, repository } from "./manifest.ts";
import { entries as readers } from "./entries.ts";
import { bundlePackage } from "./package-bundles.ts";
import { packageLinks } from "./package-links.ts";
import { pinnedDirectml } from "./directml.ts";
import { ensureVkd3d, vkd3d } from "../vulkan/vkd3d.ts";

export const platforms = ["linux-x64", "linux-arm64", "win32-x64", "win32-arm64"];
/** Published with the main package. */
export const optional = [...platforms, "directml-linux-x64", "vulkan-linux-x64"];

/** Pages for who works on the library. */
const internal = /^(architecture|commands|devcontainer|docker|gpu|matrix|soak|operations|setup|releases)\.md$/;

const { version, license, engines } = manifest;

/** An entry: bundlers find one copy under "module", whoever asks; Node has one core under both of its own conditions. */
const entry = (name: string) => {
  const file = `./dist/bundle/${name}`;
  return {
    import: { types: `${file}.d.ts`, module: `${file}.js`, default: `${file}.mjs` },
    require: { types: `${file}.d.cts`, module: `${file}.js`, default: `${file}.cjs` },
  };
};
const entries = {
  ".": entry("dxtensor"),
  ...Object.fromEntries(readers.map(({ name }) => [`./${name}`, entry(name)])),
  "./package.json": "./package.json",
};

function mainManifest() {
  const { name, description, keywords, bin, binary, peerDependencies, peerDependenciesMeta } = manifest;
  return {
    name,
    ...common,
    description,
    keywords,
    type: "module",
    main: "./dist/bundle/dxtensor.cjs",
    module: "./dist/bundle/dxtensor.js",
    types: "./dist/bundle/dxtensor.d.cts",
    exports: entries,
    bin,
    engines,
    binary,
    sideEffects: false,
    peerDependencies,
    peerDependenciesMeta,
    optionalDependencies: Object.fromEntries(optional.map((name) => [`@dxtensor/${name}`, version])),
  };
}

/** @dxtensor/NAME for one system: npm leaves it out elsewhere. */
function platformManifest(name: string, description: string, licence = license) {
  const [os, cpu] = name.split("-").slice(-2);
  const libc = os === "linux" ? { libc: ["glibc"] } : {};
  return { name: `@dxtensor/${name}`, ...common, license: licence, description, os: [os], cpu: [cpu], ...libc };
}

const stage = (name: string) => at("build", "packages", name);

/** The folder of a package, empty but for its manifest, README and licence. */
function start(name: string, made: object, readme: string, licence: string | null = at("LICENSE")) {
  const folder = stage(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(made, null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), readme);
  if (licence !== null) copyFileSync(licence, join(folder, "LICENSE"));
  return folder;
}

/** The address of a file of the repository at this version. */
function addressOf(): ((path: string) => string) | null {
  const url = typeof repository === "object" ? /^(?:git\+)?(https:.+?)(?:\.git)?$/.exec(repository.url)?.[1] : undefined;
  return url === undefined ? null : (path) => `${url}/blob/v${version}/${path}`;
}

/** Examples that users run: each file of TypeScript, and next to it the JavaScript that any Node runs. */
function stageExamples(folder: string) {
  for (const name of readdirSync(at("examples"), { recursive: true, encoding: "utf8" })) {
    const file = at("examples", name);
    if (name === "tsconfig.json" || statSync(file).isDirectory()) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(file, join(folder, name));
    if (!name.endsWith(".ts")) continue;
    const { code, errors, helpersUsed } = transformSync(file, readFileSync(file, "utf8"), {
      lang: "ts",
      target: "es2023",
      typescript: { onlyRemoveTypeImports: true },
      tsconfig: false,
    });
    const [error] = errors;
    if (error !== undefined) throw new ScriptError("EXAMPLE", `examples/${name}: ${error.message}`);
    const [helper] = Object.keys(helpersUsed);
    if (helper !== undefined)
      throw new ScriptError("EXAMPLE", `examples/${name}: the statement needs a helper of the compiler, ${helper}, which users lack.`);
    writeFileSync(join(folder, `${name.slice(0, -3)}.js`), code.replaceAll(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
  }
}

/** dxtensor: code, types, the command, the pages for users, and the examples. */
export async function stageMain() {
  const folder = start("dxtensor", mainManifest(), readFileSync(at("README.md"), "utf8"));
  await bundlePackage(join(folder, "dist", "bundle"));
  copyFileSync(at("CHANGELOG.md"), join(folder, "CHANGELOG.md"));
  mkdirSync(join(folder, "docs"));
  for (const name of readdirSync(at("docs")))
    if (/\.(md|svg)$/.test(name) && !internal.test(name)) copyFileSync(at("docs", name), join(folder, "docs", name));
  stageExamples(join(folder, "examples"));
  // For native backends.
  mkdirSync(join(folder, "native", "include"), { recursive: true });
  copyFileSync(at("native", "include", "dxtensor_backend.h"), join(folder, "native", "include", "dxtensor_backend.h"));
  // What the site makes of the sources; without its settings.
  writeFileSync(join(folder, "docs", "errors.md"), errorsPage(errors()).replace(/^---\n[\s\S]*?\n---\n\s*/, ""));
  relink(folder);
  return folder;
}

/** Links of all pages lead somewhere, as the package lies. */
function relink(folder: string) {
  const files = new Set(readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/")));
  for (const name of files) {
    if (!name.endsWith(".md")) continue;
    const file = join(folder, name);
    writeFileSync(file, packageLinks(readFileSync(file, "utf8"), name, files, addressOf()));
  }
}

/** Without symbols: the same code, a fraction of the size. */
function copyLibrary(file: string, folder: string, platform: string) {
  const target = join(folder, basename(file));
  copyFileSync(file, target);
  chmodSync(target, 0o755);
  const strips: Readonly<Record<string, string>> = {
    "linux-x64": "x86_64-linux-gnu-strip",
    "linux-arm64": "aarch64-linux-gnu-strip",
    "win32-x64": "x86_64-w64-mingw32-strip",
  };
  // zig's linker has left them out of the others.
  const strip = strips[platform];
  if (strip !== undefined) ask(strip, ["--strip-unneeded", target]);
}

/** @dxtensor/PLATFORM: the addon and the software adapter. */
export function stagePlatform(platform: string, files: readonly string[]) {
  const about = `dxtensor's native binary for ${platform}`;
  const folder = start(
    platform,
    platformManifest(platform, about),
    `# @dxtensor/${platform}\n\n${about}. Install [dxtensor](https://www.npmjs.com/package/dxtensor), which brings it.\n`,
  );
  for (const file of files) copyLibrary(file, folder, platform);
  return folder;
}

/** @dxtensor/directml-linux-x64: Microsoft's library as it is, with its licence and notice. */
export function stageDirectml(from: string) {
  const pinned = pinnedDirectml();
  const name = "directml-linux-x64";
  const about = `Microsoft's libdirectml.so (DirectML feature level 6.2) for dxtensor, from ${pinned.wheel}`;
  const folder = start(
    name,
    platformManifest(name, about),
    `# @dxtensor/${name}\n\n${about}, unchanged (SHA-256 ${pinned.sha256}). Its licence (MIT) and notice are next to it.\n`,
    null,
  );
  const files = readdirSync(from).filter((file) => file === "libdirectml.so" || /^(LICENSE|NOTICE)/i.test(file));
  if (!files.some((file) => /^LICENSE/i.test(file)))
    throw new ScriptError(
      "LICENCE_MISSING",
      `${from} has no licence file next to libdirectml.so.`,
      "Fetch it again: npm run fetch:directml -- --force",
    );
  for (const file of files) copyFileSync(join(from, file), join(folder, file));
  return folder;
}

/** @dxtensor/vulkan-linux-x64: ours, with libvkd3d linked in. */
export async function stageVulkan(files: readonly string[]) {
  const name = "vulkan-linux-x64";
  const about = "libdxcore.so and libd3d12.so over Vulkan for dxtensor";
  const readme = `# @dxtensor/${name}

${about}. The code is dxtensor's (MIT, LICENSE), with libvkd3d and libvkd3d-shader of ${vkd3d} linked in (LGPL 2.1 or later,
LICENSE-vkd3d). To use another version of these, build the two libraries with it and name their folder:

    git clone ${repository?.url.replace(/^git\+/, "") ?? "the repository of dxtensor"} && npm ci && npm run setup
    npm run build:vulkan -- --vkd3d PREFIX        # what ./configure --enable-static --prefix=PREFIX of vkd3d installed
    DXTENSOR_LIBRARY_FOLDER=$PWD/build/vulkan     # goes before this package

The source of that version: https://sources.debian.org/src/vkd3d/${vkd3d.replace(/^vkd3d-/, "")}/
`;
  const folder = start(name, platformManifest(name, about, "MIT AND LGPL-2.1-or-later"), readme);
  for (const file of files) copyLibrary(file, folder, "linux-x64");
  const copyright = join(await ensureVkd3d(undefined), "share", "doc", "libvkd3d-dev", "copyright");
  copyFileSync(copyright, join(folder, "LICENSE-vkd3d"));
  return folder;
}

interface Packed {
  readonly filename: string;
}

/** npm pack: the tarball's path. */
export async function pack(folder: string, into: string) {
  mkdirSync(into, { recursive: true });
  const done = await execa("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", into], {
    cwd: folder,
    reject: false,
    env: { npm_config_loglevel: "error", npm_config_update_notifier: "false" },
  });
  if (done.failed) throw new ScriptError("PACK_FAILED", `npm pack in ${folder} failed: ${done.stderr}`);
  const answer = JSON.parse(done.stdout) as Packed[] | Record<string, Packed>;
  const { filename } = Object.values(answer)[0]!;
  return join(into, filename.replace(/^@/, "").replaceAll("/", "-"));
}

export const sizeOf = (file: string) => statSync(file).size;
