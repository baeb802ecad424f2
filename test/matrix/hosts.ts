/** Machines that plans are made for. */
import type { Host } from "../../matrix/plan/host.ts";

/** Linux with an engine and no GPU. */
export const linux: Host = {
  system: "linux",
  arch: "x64",
  glibc: "2.36",
  windowsBuild: null,
  distribution: null,
  distributions: [],
  nodes: ["20", "22", "24", "26"],
  adapters: [],
  engines: ["local"],
  engineProblem: null,
  scripts: ["verify:linux", "verify:windows"],
};

/** Windows 10 with one distribution and a GPU. */
export const windows: Host = {
  ...linux,
  system: "win32",
  glibc: null,
  windowsBuild: 19045,
  distributions: ["Ubuntu-20.04"],
  nodes: ["22"],
  adapters: [{ index: 0, name: "NVIDIA GeForce RTX 3070" }],
};
