/**
 * generate-vulkan OUT.c INTERFACES HEADER...: the wrappers of native/vulkan from vkd3d's headers. INTERFACES is a file with the
 * names of the interfaces that libvkd3d implements, one a line. scripts/build-vulkan.ts bundles and runs it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseHeaders } from "./vulkan/headers.ts";
import { writeWrappers } from "./vulkan/wrappers.ts";

const [output, interfaces, ...headers] = process.argv.slice(2);
if (output === undefined || interfaces === undefined || headers.length === 0) {
  process.stderr.write("usage: generate-vulkan OUT.c INTERFACES HEADER...\n");
  process.exitCode = 2;
} else {
  const wanted = readFileSync(interfaces, "utf8").split(/\s+/).filter(Boolean);
  writeFileSync(output, writeWrappers(parseHeaders(headers.map((file) => readFileSync(file, "utf8")).join("\n")), wanted));
}
