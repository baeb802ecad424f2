/** `matrix report`: the reports of a run once more, as after a change of their looks. */
import { loadConfig } from "../config/load.ts";
import { writeReports } from "../report/write.ts";
import { Store } from "../run/store.ts";

export function rewriteReport(name: string, config: string): number {
  const written = writeReports(Store.open(name), loadConfig(config));
  for (const file of Object.values(written)) process.stdout.write(`${file}\n`);
  return 0;
}
