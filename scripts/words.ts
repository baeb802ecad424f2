// node scripts/run.mjs words: fails where a word is used that the project avoids, and names the glossary's term. npm run lint runs it.
import { parseArgs } from "node:util";
import { findAvoided } from "./lib/words.ts";
import { main, root, say } from "./tools/project.ts";

const help = `node scripts/run.mjs words

Fails where an identifier, a file name, a comment, a text or a page has a word that docs/glossary.md replaces. npm run lint runs it.

  --help  this text`;

await main(() => {
  parseArgs({ options: {} });
  const hits = findAvoided(root);
  for (const h of hits) say(`words: ${h.file}:${h.line}: ${h.kind} with "${h.found}": say ${h.term} (docs/glossary.md)`);
  return hits.length === 0 ? 0 : 1;
}, help);
