/** Which files of the repository a script is made of. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Files that these files import at run time, and scripts that they start as programs, themselves included. */
export function imported(entries: readonly string[]): string[] {
  const found = new Set<string>();
  const open = [...entries];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const text = readFileSync(join(root, file), "utf8");
    const statements = text.matchAll(/^(?:import|export) (?!type )(?:[^;"]*? from )?"(\.[^"]+)";$/gms);
    const calls = text.matchAll(/\bimport\("(\.[^"]+)"\)/g);
    for (const [, name] of text.matchAll(/\bscript\("([\w-]+)"/g)) open.push(`scripts/${name}.ts`);
    for (const [, path] of [...statements, ...calls]) {
      const target = join(dirname(file), path!);
      // Text of files that a script writes names modules next to those files.
      if (existsSync(join(root, target))) open.push(target);
    }
  }
  return [...found].toSorted();
}
