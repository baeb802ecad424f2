// node build.mjs [FOLDER], on arm64: the same steps as on x64.
if (process.arch !== "arm64") throw new Error(`The package for arm64 is built on arm64, and this is ${process.arch}.`);
await import("../distributed-linux-x64/build.mjs");
