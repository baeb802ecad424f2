/** The type of a problem, and the problems that every platform shares. Pure. */
import { compareVersions } from "./executable.ts";
import { published } from "../native/published.ts";
import type { Facts, LibraryFact } from "./facts.ts";

export interface Problem {
  /** Stable name, for programs: "directml.missing". */
  readonly code: string;
  /** error: something that should work here does not. note: worth knowing, nothing is broken. */
  readonly severity: "error" | "note";
  readonly text: string;
  /** What to type or do, one line; the first thing to try. */
  readonly mend: string;
}

export const error = (code: string, text: string, mend: string): Problem => ({ code, severity: "error", text, mend });
export const note = (code: string, text: string, mend: string): Problem => ({ code, severity: "note", text, mend });

/** Why a declared backend was not loaded, where nobody wanted it to be. */
export const AUTOLOAD_OFF = "autoload is off";

export const library = (facts: Facts, name: string): LibraryFact => facts.libraries.find((fact) => fact.name === name)!;
export const isUsable = (fact: LibraryFact): boolean => fact.path !== null && fact.problem === null;

export const fetchDirectml = ({ dxtensor }: Facts): string => (dxtensor.isRepository ? "npm run fetch:directml" : "npx dxtensor fetch");

export const buildNative = ({ dxtensor, system }: Facts): string => {
  if (dxtensor.isRepository) return "npm run setup && npm run build:native";
  const platform = `${system.platform}-${system.arch}`;
  return published.includes(platform)
    ? `npm install @dxtensor/${platform}`
    : "build it from the repository (npm run setup && npm run build:native) and name build/native/Release/dxtensor.node in DXTENSOR_NATIVE";
};

/** A file that a variable names and that is missing, or a file that cannot be used. */
export function fileProblem(facts: Facts, fact: LibraryFact, code: string, mend: string): Problem[] {
  if (fact.problem !== null)
    return [
      error(
        `${code}.wrong`,
        `${fact.path} can't be used: ${fact.problem}.`,
        fact.variable === null ? mend : `correct or unset ${fact.variable}`,
      ),
    ];
  if (fact.path === null && fact.variable !== null)
    return [
      error(`${code}.missing`, `${fact.variable} names ${fact.tried[0]}, which does not exist.`, `correct or unset ${fact.variable}`),
    ];
  return [];
}

/** Whether Microsoft's own library is present, complete and new enough. */
export function directmlProblems(facts: Facts): Problem[] {
  const directml = library(facts, "directml");
  const isWindows = facts.system.platform === "win32";
  const mend = isWindows
    ? "put DirectML.dll of the NuGet package Microsoft.AI.DirectML next to the others, or name it in DXTENSOR_DIRECTML"
    : fetchDirectml(facts);
  const wrong = fileProblem(facts, directml, "directml", mend);
  if (wrong.length > 0) return wrong;
  if (directml.path === null) {
    const text = isWindows
      ? "Microsoft's DirectML.dll is missing."
      : "Microsoft's libdirectml.so is missing; neither WSL nor Linux includes it.";
    return [error("directml.missing", text, mend)];
  }
  // Windows' own: 1.8 has feature level 5.0 (learn.microsoft.com/windows/ai/directml/dml-version-history).
  if (isWindows && /^1\.\d+\./.test(directml.version ?? "") && compareVersions(directml.version!, "1.8") < 0)
    return [error("directml.old", `${directml.path} is DirectML ${directml.version}; feature level 5.0 needs 1.8 or later.`, mend)];
  return [];
}
