// CMake's folders that CMake itself would refuse to configure again.
import { accessSync, constants, existsSync, readFileSync, rmSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

const COMPILERS = ["CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER"] as const;

/** Where PATH finds a program; null: nowhere. */
function pathOf(command: string, env: NodeJS.ProcessEnv): string | null {
  const isThere = (file: string) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  if (isAbsolute(command)) return isThere(command) ? command : null;
  return (env.PATH ?? "").split(delimiter).map((folder) => join(folder, command)).find(isThere) ?? null; // prettier-ignore
}

interface Configuration {
  /** CMake's source folder. */
  readonly source: string;
  /** What CMake is called with. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Removes CMake's folder if its cache is of another source folder, of compilers that are gone, or of others than the settings name: CMake would keep
 * the old ones, or forget all settings. Returns why, or null where the folder stays.
 */
export function dropForeignCache(folder: string, { source, settings = {}, env = process.env }: Configuration): string | null {
  const file = join(folder, "CMakeCache.txt");
  if (!existsSync(file)) return null;
  const text = readFileSync(file, "utf8");
  const cached = (name: string) => new RegExp(`^${name}:\\w+=(.*)$`, "m").exec(text)?.[1];
  const drop = (reason: string) => {
    rmSync(folder, { recursive: true });
    return reason;
  };
  const home = cached("CMAKE_HOME_DIRECTORY");
  if (home !== undefined && home !== source.replaceAll("\\", "/")) return drop(`it was made for ${home}`);
  for (const name of COMPILERS) {
    const before = cached(name);
    // A list is a program with its first argument, as of a toolchain file.
    if (before === undefined || before === "" || before.includes(";") || settings[name]?.includes(";")) continue;
    if (pathOf(before, env) === null) return drop(`${before} is gone`);
    const now = settings[name] === undefined ? null : pathOf(settings[name], env);
    if (now !== null && now !== pathOf(before, env)) return drop(`${name} was ${before} and is ${now}`);
  }
  return null;
}
