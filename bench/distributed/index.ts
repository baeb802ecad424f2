/** npm run bench -- --distributed: what an all-reduce costs, measured here and predicted for more ranks. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { allReduceSeconds, bestAlgorithm, efficiency, fitLink, shareOf, type Link, type Measured } from "./cost-model.ts";
import { costPage } from "./cost-page.ts";
import { glooSeconds } from "./runs.ts";
import { NETWORKS, networkOf, scalingOf, type Scaling } from "./scaling.ts";

const help = `npm run bench -- --distributed [OPTIONS]

Estimates a cost model of links from all-reduces of two ranks measured here, compares it with measurement for two and four ranks, and predicts 8 to
1,024 ranks, by ring and by tree. Then trains networks: by one process on one core, by two processes without a group on two cores, which is the most
that two ranks can reach here, and by two ranks under DistributedDataParallel, each with half of the batch.

  --latency US     of a link between machines, in microseconds, in place of the estimated one
  --bandwidth GBS  of the link, in gigabytes a second
  --reduction GBS  what one rank adds (default: 4)
  --cores N        of this machine (default: all)
  --networks LIST  which are trained, of ${NETWORKS.join(", ")}; none: an empty list (default: all); NAME:BATCH sets the whole batch
  --eager          steps that are not compiled
  --torch PYTHON   a Python that has PyTorch, whose DistributedDataParallel over Gloo is measured too
  --seconds S      how long each is timed (default: 2)
  --rounds N       of which the best counts (default: 3)
  --page FILE      write a page with a picture
  --json           one object of JSON instead of tables
  --help           this text`;

const RANKS = [8, 16, 32, 64, 128, 256, 512, 1024];
const MEASURED = [4096, 65_536, 2 ** 20, 2 ** 23, 2 ** 26];
const PREDICTED = [65_536, 2 ** 20, 25 * 2 ** 20, 2 ** 26];
/** A step of 100 ms, two thirds of which are backward, during which buckets are reduced. */
const STEP = { seconds: 0.1, hidden: 0.066 };

const { values } = parseArgs({
  options: {
    distributed: { type: "boolean" },
    json: { type: "boolean", default: false },
    page: { type: "string" },
    networks: { type: "string", default: NETWORKS.join(",") },
    torch: { type: "string" },
    eager: { type: "boolean", default: false },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    latency: { type: "string" },
    bandwidth: { type: "string" },
    reduction: { type: "string", default: "4" },
    cores: { type: "string", default: String(availableParallelism()) },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  console.log(help);
  process.exit(0);
}

function number(name: "latency" | "bandwidth" | "reduction" | "cores" | "seconds" | "rounds"): number | null {
  const text = values[name];
  if (text === undefined) return null;
  const value = Number(text);
  if (!(value > 0)) {
    console.error(`bench: --${name} must be a number above 0; it is ${text}`);
    process.exit(2);
  }
  return value;
}

async function measuredHere(): Promise<readonly Measured[] | null> {
  const list: Measured[] = [];
  for (const ranks of [2, 4]) {
    const answer = await glooSeconds(ranks, MEASURED, 21);
    if (answer === null) return null;
    MEASURED.forEach((bytes, i) => list.push({ ranks, bytes, seconds: answer.wall[i]! }));
  }
  return list;
}

const names = values.networks.split(",").filter((name) => name !== "");
const networks = names.map((name) => networkOf(name));
const unknown = names.find((_, i) => networks[i] === null);
if (unknown !== undefined) {
  console.error(`bench: --networks must be of ${NETWORKS.join(", ")}, with an even batch; it has ${unknown}`);
  process.exit(2);
}
const cores = number("cores")!;
const reduction = number("reduction")! * 1e9;
const measured = await measuredHere();
if (measured === null) {
  console.error("bench: Gloo's program could not be built: apt-get install libgloo-dev g++");
  process.exit(1);
}
const estimated = fitLink(
  measured.filter(({ ranks }) => ranks === 2),
  reduction,
  cores,
);
const compared = measured.map(({ ranks, bytes, seconds }) => {
  const predicted = allReduceSeconds("ring", ranks, bytes, estimated, shareOf(ranks, cores));
  return { ranks, bytes, measured: seconds, predicted, ratio: predicted / seconds };
});
const [latency, bandwidth] = [number("latency"), number("bandwidth")];
const link: Link = {
  latency: latency === null ? estimated.latency : latency * 1e-6,
  bandwidth: bandwidth === null ? estimated.bandwidth : bandwidth * 1e9,
  reduction,
};
const predictions = RANKS.flatMap((ranks) =>
  PREDICTED.map((bytes) => {
    const [ring, tree] = (["ring", "tree"] as const).map((algorithm) => allReduceSeconds(algorithm, ranks, bytes, link));
    const best = bestAlgorithm(ranks, bytes, link);
    return { ranks, bytes, ring: ring!, tree: tree!, best, efficiency: efficiency(STEP.seconds, Math.min(ring!, tree!), STEP.hidden) };
  }),
);
const training: Scaling[] = [];
for (const network of networks)
  training.push(await scalingOf(network!, !values.eager, number("seconds")!, number("rounds")!, values.torch ?? null));
const report = { processor: cpus()[0]?.model ?? "unknown", cores, estimated, compared, link, step: STEP, predictions, training };
if (values.page !== undefined) writeFileSync(values.page, costPage(report));
if (values.json) console.log(JSON.stringify(report, null, 2));
else {
  const ms = (seconds: number): number => Number((seconds * 1e3).toPrecision(3));
  console.log(
    `Fitted to two ranks here: latency ${(estimated.latency * 1e6).toFixed(1)} us, bandwidth ${(estimated.bandwidth / 1e9).toFixed(2)} GB/s.`,
  );
  console.table(
    compared.map((row) => ({ ...row, measured: ms(row.measured), predicted: ms(row.predicted), ratio: Number(row.ratio.toFixed(2)) })),
  );
  console.log(
    `Predicted for a link of ${(link.latency * 1e6).toFixed(1)} us and ${(link.bandwidth / 1e9).toFixed(2)} GB/s between ranks, in ms:`,
  );
  console.table(
    predictions.map((row) => ({ ...row, ring: ms(row.ring), tree: ms(row.tree), efficiency: Number(row.efficiency.toFixed(3)) })),
  );
  if (training.length > 0) {
    const times = (a: number, b: number): number => Number((a / b).toFixed(2));
    console.log(
      `${values.eager ? "Eager" : "Compiled"} training steps, one thread a process, samples a second of two processes over those of one:`,
    );
    console.table(
      training.map(({ network, batch, one, oneHalf, apart, ranks, torch }) => ({
        network,
        batch,
        "one, samples/s": Math.round(one),
        "one with half, over one": times(oneHalf, one),
        "two without a group, over one": times(apart, one),
        "two without a group, over one with half": times(apart, oneHalf),
        "two ranks, over one": times(ranks, one),
        "two ranks, over two without a group": times(ranks, apart),
        ...(torch === null
          ? {}
          : {
              "PyTorch, one, samples/s": Math.round(torch.one),
              "PyTorch, two without a group, over one": times(torch.apart, torch.one),
              "PyTorch, two ranks, over one": times(torch.ranks, torch.one),
            }),
      })),
    );
  }
}
