/** npm run golden: PyTorch's recorded cases of a folder on a device, as a command. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import * as dx from "../../src/index.ts";
import { bfloat16Differences, differences, differencesPage } from "./differences.ts";
import { reportOf, runFolder, type Report } from "./report.ts";

const help = `npm run golden -- [OPTIONS]

Runs recorded PyTorch cases (index.json, cases/, traces/) and tells which pass.

  --device NAME   cpu (default), dml:0, …
  --cases FOLDER  where they lie (default: test/golden)
  --json FILE     writes {passed, failed, missing, outOfScope, failures, …} there
  --compiled      three calls of the compiled function each, the second with other data
  --strided       operands as views with an offset and gaps
  --ops PATTERN   only the operations whose name matches this regular expression
  --differences   writes docs/differences.md and runs nothing
  --missing       lists what does not exist here
  --help          this text

Exit status 0 when nothing failed but what differences.ts lists, 1 otherwise.`;

function print(report: Report, listMissing: boolean): void {
  for (const { id, reason } of report.failures) console.log(`failed ${id}: ${reason.split("\n")[0]}`);
  if (listMissing)
    for (const [reason, n] of Object.entries(report.missingByReason).toSorted(([, a], [, b]) => b - a))
      console.log(`missing ${n}: ${reason}`);
  const ways = Object.entries(report.ways).map(([way, n]) => `${n} ${way}`);
  console.log(
    `golden on ${report.device}: ${(100 * report.share).toFixed(2)} % of what is in scope; ${report.gradients} with gradients, ${report.inPlace} in place; ways: ${ways.join(", ")}`,
  );
  console.log(`${report.passed} passed, ${report.failed} failed, ${report.missing} missing, ${report.outOfScope} out of scope`);
}

const readOptions = () =>
  parseArgs({
    options: {
      device: { type: "string", default: "cpu" },
      cases: { type: "string", default: "test/golden" },
      json: { type: "string" },
      compiled: { type: "boolean", default: false },
      strided: { type: "boolean", default: false },
      ops: { type: "string" },
      missing: { type: "boolean", default: false },
      differences: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });

function optionsOrExit(): ReturnType<typeof readOptions>["values"] {
  try {
    return readOptions().values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(1);
  }
}

const values = optionsOrExit();
if (values.help) console.log(help);
else if (values.differences) writeFileSync(resolve("docs/differences.md"), differencesPage());
else {
  const mode = { compiled: values.compiled, strided: values.strided };
  const pattern = values.ops === undefined ? null : new RegExp(values.ops);
  const report = dx.withDevice(values.device, () =>
    reportOf(runFolder(resolve(values.cases), mode, { ops: pattern === null ? undefined : (op) => pattern.test(op) }), mode),
  );
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 1)}\n`);
  print(report, values.missing);
  const known = new Set([...differences, ...bfloat16Differences].flatMap((d) => d.ids));
  if (report.failures.some((f) => !known.has(f.id))) process.exitCode = 1;
}
