// The libraries of native backends that tests load, for Windows: the sample as its users build it, and the one that fails on demand. The cell has no compiler.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at } from "../../tools/project.ts";
import { runStep } from "../../tools/steps.ts";

/** What test/runtime/library-backend/faults.ts exports: read as data, for no script needs tests to be loaded. */
interface Faults {
  readonly FAULTS: Readonly<Record<string, readonly string[]>>;
  faultArguments(fault: string, paths: Readonly<Record<"source" | "include" | "output", string>>): string[];
}

const compiler = "x86_64-w64-mingw32-gcc-posix";

/** Builds them with mingw-w64, and puts them where test/runtime/library-backend/build.ts looks for them in the bundle at `stage`. */
export async function buildTestBackends(stage: string): Promise<void> {
  const folder = at("build", "windows", "native-backend");
  const target = join(stage, "test", "runtime", "library-backend", "compiled");
  mkdirSync(target, { recursive: true });
  const toolchain = [`-DCMAKE_TOOLCHAIN_FILE=${at("native", "cmake", "mingw.cmake")}`, "-DCMAKE_BUILD_TYPE=Release"];
  await runStep("CMake for the sample backend", "cmake", ["-S", at("examples", "native-backend"), "-B", folder, ...toolchain]);
  await runStep("The sample backend", "cmake", ["--build", folder]);
  copyFileSync(join(folder, "sample.dll"), join(target, "sample.dll"));
  const include = at("native", "include");
  // Without -static it needs libraries of the compiler's, which the cell has not.
  const needy = ["-std=c++17", "-shared", "-I", include, at("examples", "native-backend", "backend.cpp"), "-o", join(target, "needy.dll")];
  await runStep("The sample backend without its libraries", compiler.replace("gcc", "g++"), needy);
  const [source, faults] = ["faulty.c", "faults.ts"].map((file) => at("test", "runtime", "library-backend", file)) as [string, string];
  const { FAULTS, faultArguments } = (await import(pathToFileURL(faults).href)) as Faults;
  for (const fault of Object.keys(FAULTS))
    await runStep(`The backend ${fault}`, compiler, faultArguments(fault, { source, include, output: join(target, `${fault}.dll`) }));
}
