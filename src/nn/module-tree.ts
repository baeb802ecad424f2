/** The tree of modules as text. @package */
import type { Module } from "./module.ts";

/** Module.toString(), which is `plain`: modules with what `options` says of each; those with a toString() of their own by that. */
export function treeOf(root: Module, plain: () => string, options: (module: Module) => string): string {
  const text = (module: Module, around: readonly Module[]): string => {
    const head = `${module.constructor.name}(${options(module)}`;
    const inner = [...module.namedChildren()].map(([name, m]) => {
      if (around.includes(m)) return `  (${name}): ${m.constructor.name}(…)`;
      const child = m.toString === plain ? text(m, [...around, m]) : m.toString();
      return `  (${name}): ${child.replaceAll("\n", "\n  ")}`;
    });
    return inner.length === 0 ? `${head})` : `${head}\n${inner.join("\n")}\n)`;
  };
  return text(root, [root]);
}
