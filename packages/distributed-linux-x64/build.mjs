// node build.mjs [FOLDER]: the package of the engines for x64, on x64.
import { buildEngine } from "./engine.mjs";

buildEngine("x64", process.argv[2]);
