// node build.mjs [FOLDER [ROOT]]: the same steps as for x64, on arm64, or on another CPU by a cross compiler with ROOT: a folder with the files of Debian's packages
// for arm64.
import { buildEngine } from "../distributed-linux-x64/engine.mjs";

buildEngine("arm64", process.argv[2], process.argv[3]);
