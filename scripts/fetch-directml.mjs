// npm run fetch:directml: Microsoft's libdirectml.so with its licence, checked against a pinned digest, into ./directml.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { ScriptError, at, main, say } from "./lib/project.mjs";
import { checkLibrary, pinned, readWheel, sha256 } from "./lib/directml.mjs";

const help = `npm run fetch:directml [-- OPTIONS]

Puts Microsoft's libdirectml.so (Linux x64, MIT licence) with its licence and notice into ./directml, where the
library looks for it. It comes out of the wheel ${pinned.wheel}, which pip downloads; nothing of the
wheel is installed or run.

  --from PATH     take it from libdirectml.so, from the wheel, or from a folder that holds one of them
  --sha256 HEX    accept the library with this digest instead of the pinned one
  --to FOLDER     put it elsewhere (then name it in DXTENSOR_DIRECTML)
  --force         replace what is there even if it is right
  --json          one line of JSON on stdout: {ok, path, sha256, changed} or {ok, code, message, hint}
  --help          this text`;

const isLicence = (name) => /^(LICENSE|NOTICE)(\.\w+)?$/i.test(name);

async function findPython() {
  for (const command of ["python3", "python"]) {
    const done = await execa(command, ["-m", "pip", "--version"], { reject: false });
    if (!done.failed) return command;
  }
  throw new ScriptError(
    "PIP_MISSING",
    "pip is needed to download the wheel, and was not found.",
    "Install it (Debian, Ubuntu: sudo apt-get install -y python3-pip; Fedora: sudo dnf install -y python3-pip), or give a copy: npm run fetch:directml -- --from FILE_OR_FOLDER",
  );
}

async function downloadWheel(folder, isQuiet) {
  const python = await findPython();
  say(`fetch:directml: downloading ${pinned.wheel} with pip`);
  const args = [
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--python-version",
    "3.10",
    "--platform",
    "manylinux2010_x86_64",
    "--disable-pip-version-check",
    "-d",
    folder,
    pinned.wheel,
  ];
  const done = await execa(python, args, { reject: false, stdin: "ignore", stdout: isQuiet ? "ignore" : 2, stderr: ["inherit", "pipe"] });
  const wheel = readdirSync(folder).find((name) => name.endsWith(".whl"));
  if (done.failed || wheel === undefined) {
    throw new ScriptError(
      "DOWNLOAD",
      `pip could not download ${pinned.wheel}: ${done.stderr.trim().split("\n").at(-1)}`,
      "Check the network and pip's index (PIP_INDEX_URL), or give a copy: npm run fetch:directml -- --from FILE_OR_FOLDER",
    );
  }
  return join(folder, wheel);
}

/** The file to read: itself, or what a folder holds. */
function locate(given) {
  const path = resolve(given);
  if (!existsSync(path))
    throw new ScriptError(
      "NOT_FOUND",
      `${path} does not exist.`,
      "Give libdirectml.so, the torch-directml wheel, or a folder with one of them.",
    );
  if (!statSync(path).isDirectory()) return path;
  const names = readdirSync(path);
  const name = names.find((file) => file === "libdirectml.so") ?? names.find((file) => /^torch_directml-.*\.whl$/.test(file));
  if (name === undefined)
    throw new ScriptError(
      "NOT_FOUND",
      `${path} holds neither libdirectml.so nor a torch_directml wheel.`,
      "Give the file itself, or fetch it: npm run fetch:directml",
    );
  return join(path, name);
}

/** Library and licences as [{name, bytes}]. */
function collect(file) {
  const bytes = readFileSync(file);
  if (file.endsWith(".whl") || file.endsWith(".zip")) return readWheel(bytes, basename(file));
  const beside = readdirSync(dirname(file)).filter(isLicence);
  return [{ name: "libdirectml.so", bytes }, ...beside.map((name) => ({ name, bytes: readFileSync(join(dirname(file), name)) }))];
}

async function fetchDirectml(options) {
  const folder = resolve(options.to ?? at("directml"));
  const path = join(folder, "libdirectml.so");
  const wanted = (options.sha256 ?? pinned.sha256).toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(wanted)) throw new ScriptError("USAGE", `--sha256 must be 64 hexadecimal digits; received ${options.sha256}.`);
  if (!options.force && existsSync(path) && sha256(readFileSync(path)) === wanted) return { path, sha256: wanted, changed: false };
  const work = mkdtempSync(join(tmpdir(), "dxtensor-directml-"));
  try {
    const file = options.from === undefined ? await downloadWheel(work, options.json) : locate(options.from);
    const files = collect(file);
    checkLibrary(files.find(({ name }) => name === "libdirectml.so").bytes, file, wanted);
    mkdirSync(folder, { recursive: true });
    for (const { name, bytes } of files) {
      writeFileSync(join(folder, `${name}.new`), bytes);
      renameSync(join(folder, `${name}.new`), join(folder, name));
    }
    return { path, sha256: wanted, changed: true, licences: files.map(({ name }) => name).filter(isLicence) };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await main(
  async () => {
    const { values: options } = parseArgs({
      options: {
        from: { type: "string" },
        sha256: { type: "string" },
        to: { type: "string" },
        force: { type: "boolean" },
        json: { type: "boolean" },
      },
    });
    const done = await fetchDirectml(options);
    if (options.json) console.log(JSON.stringify({ ok: true, ...done }));
    else
      say(
        done.changed
          ? `fetch:directml: ${done.path}${done.licences.length > 0 ? `, with ${done.licences.join(", ")}` : " (no licence lay beside it)"}`
          : `fetch:directml: ${done.path} is there already`,
      );
  },
  help,
  { tellsFailures: true },
);
