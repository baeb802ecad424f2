/** Writes programs for record.py: node --import ./scripts/typescript.mjs test/compile/histories/programs-main.ts FIRST LAST FILE */
import { writeFileSync } from "node:fs";
import { programOf } from "./programs.ts";

const [first, last, file] = process.argv.slice(2);
const seeds = Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
writeFileSync(file!, JSON.stringify(seeds.map(programOf)));
