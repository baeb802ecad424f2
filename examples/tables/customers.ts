/** A table of made-up customers, some of whom leave: text, numbers, missing values, and a chance that no column tells alone. */
import type * as dx from "dxtensor";

export const plans = ["basic", "plus", "pro"] as const;

/** Columns of the file, as dx.data.csv reads them. */
export const columns = {
  age: "float32",
  plan: "string",
  months: "float32",
  calls: "float32",
  spend: "float32",
  left: "int32",
} as const;

/** The text of a CSV file with a header and `rows` customers. One in ten has no age. */
export function customers(rows: number, generator: dx.Generator): string {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  const lines = Array.from({ length: rows }, () => {
    const age = 18 + Math.floor(uniform() * 60);
    const plan = generator.nextBelow(plans.length);
    const months = Math.floor(uniform() ** 2 * 72);
    const calls = Math.floor(-2 * Math.log(1 - uniform()));
    const spend = 10 + 20 * plan + 15 * uniform();
    // New customers leave after many calls, old ones when the plan is dear; the young sooner.
    const leaning = months < 12 ? 1.6 * calls - 3 : (spend - 42) / 6 - 1.5;
    const chance = 1 / (1 + Math.exp(-leaning - (age < 30 ? 1.5 : 0)));
    const left = Number(uniform() < chance);
    return [uniform() < 0.1 ? "" : age, plans[plan], months, calls, spend.toFixed(2), left].join(",");
  });
  return `${Object.keys(columns).join(",")}\n${lines.join("\n")}\n`;
}
