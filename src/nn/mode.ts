/** The mode of modules: training or use. @package */
import { changing, modes } from "../core/journal.ts";
import type { Module } from "./module.ts";

/** Module.train(). A call of a compiled function that fails takes it back. */
export function setTraining(module: Module, mode: boolean): void {
  for (const m of module.modules()) {
    if (m.training === mode) continue;
    modes.changes++;
    changing(m, () => {
      const before = m.training;
      return () => {
        m.training = before;
        modes.changes++;
      };
    });
    m.training = mode;
  }
}
