/**
 * At each error, vitest looks up each frame of the stack in its source map; compile() makes a stack for each operation that it traces, which took a
 * fifth of its tests' time. Here a frame is looked up once.
 */
type Prepare = (error: Error, frames: NodeJS.CallSite[]) => string;

const isKept = Symbol.for("dxtensor.test.stack-traces");
const before = Error.prepareStackTrace as (Prepare & { [isKept]?: true }) | undefined;

if (before !== undefined && before[isKept] !== true) {
  const known = new Map<string, string>();
  const nobody = { name: "", message: "" } as Error;
  const textOf = (frame: NodeJS.CallSite): string => {
    const key = String(frame);
    let text = known.get(key);
    if (text === undefined) {
      const made = before(nobody, [frame]);
      text = made.slice(made.indexOf("\n"));
      known.set(key, text);
    }
    return text;
  };
  const prepare: Prepare = ({ name, message }, frames) => `${name || "Error"}: ${message || ""}${frames.map(textOf).join("")}`;
  Error.prepareStackTrace = Object.assign(prepare, { [isKept]: true as const });
}
