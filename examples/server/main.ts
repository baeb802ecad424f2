/** A server that answers with the network that it is training. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import * as dx from "dxtensor";
import { exampleCommand, isMain, port, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";

interface Options extends CommonOptions {
  readonly port: number;
  readonly steps: number;
}

const command = exampleCommand("server", "Answers over HTTP which of two spirals a point lies on, while it is learning that.")
  .option("--port <n>", "port on 127.0.0.1; 0 takes any", port, 8080)
  .option("--steps <n>", "training steps; the server stays until Ctrl-C", whole(0), 4000);

/** n points [n, 2] and which of the two spirals each lies on, [n] of 0 and 1. */
export function spirals(n: number, generator: dx.Generator): [points: dx.Tensor, labels: dx.Tensor] {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  const points = new Float32Array(2 * n);
  const labels = Int32Array.from({ length: n }, (_, i) => i % 2);
  for (let i = 0; i < n; i++) {
    const r = Math.sqrt(uniform());
    const angle = 2 * Math.PI * r + Math.PI * labels[i]!;
    points[2 * i] = r * Math.cos(angle) + 0.02 * (uniform() - 0.5);
    points[2 * i + 1] = r * Math.sin(angle) + 0.02 * (uniform() - 0.5);
  }
  return [dx.tensor(points, { shape: [n, 2] }), dx.tensor(labels)];
}

/** The network, its training, and its answers. */
export class Service {
  readonly #model = dx.nn.sequential(dx.nn.linear(2, 64), dx.nn.tanh(), dx.nn.linear(64, 64), dx.nn.tanh(), dx.nn.linear(64, 2));
  readonly #optimizer = dx.optim.adam(this.#model.parameters(), { lr: 5e-3 });
  readonly #step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(this.#model.forward(x), y);
      loss.backward();
      this.#optimizer.step();
      this.#optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  steps = 0;
  loss: number | null = null;
  answered = 0;

  /** Trains until all steps are done or the signal says so. Between two steps the event loop takes requests. */
  async train(steps: number, generator: dx.Generator, signal: AbortSignal): Promise<void> {
    const [points, labels] = spirals(1000, generator);
    while (this.steps < steps && !signal.aborted) {
      const loss = this.#step(points, labels);
      this.steps++;
      // Waits for the device off this thread: requests are answered meanwhile.
      if (this.steps % 10 === 0) this.loss = await loss.item();
      else await setImmediate();
      loss.dispose();
    }
  }

  /** For each point the probability of lying on the second spiral, by the weights of now. */
  async answer(points: readonly (readonly [number, number])[]): Promise<number[]> {
    const probabilities = dx.scope(() => dx.noGrad(() => dx.softmax(this.#model.forward(dx.tensor(points)), 1).select(1, 1)));
    try {
      return [...((await probabilities.data()) as Float32Array)];
    } finally {
      probabilities.dispose();
      this.answered++;
    }
  }
}

class RequestError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const isPoint = (v: unknown): v is [number, number] => Array.isArray(v) && v.length === 2 && v.every((n) => typeof n === "number");

/** The points of a request's body, {"points": [[x, y], ...]}; 400 and 413 for others. */
async function pointsOf(request: IncomingMessage): Promise<[number, number][]> {
  const pieces: Buffer[] = [];
  let size = 0;
  // A body that is too long is not taken, but the connection stays to say so.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > 1 << 20) throw new RequestError(413, "The body must have at most 1 MiB.");
    pieces.push(piece);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    throw new RequestError(400, "The body must be JSON.");
  }
  const points = (body as { points?: unknown } | null)?.points;
  if (!Array.isArray(points) || points.length === 0 || !points.every(isPoint))
    throw new RequestError(400, 'The body must be {"points": [[x, y], ...]}.');
  return points;
}

async function handle(service: Service, request: IncomingMessage): Promise<unknown> {
  const { method, url } = request;
  if (url === "/status") {
    if (method !== "GET") throw new RequestError(405, "/status is read by GET.");
    return { steps: service.steps, loss: service.loss, answered: service.answered };
  }
  if (url === "/answer") {
    if (method !== "POST") throw new RequestError(405, "/answer takes POST.");
    const points = await pointsOf(request);
    // Which step's weights answered: the network learns on between two requests.
    return { steps: service.steps, probabilities: await service.answer(points) };
  }
  throw new RequestError(404, "There is GET /status and POST /answer.");
}

async function respond(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, value: unknown): void =>
    void response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(value)}\n`);
  try {
    send(200, await handle(service, request));
  } catch (error) {
    if (!(error instanceof RequestError)) console.error(error);
    if (!request.complete) {
      response.setHeader("connection", "close");
      request.resume();
    }
    if (!response.headersSent)
      send(error instanceof RequestError ? error.status : 500, { error: error instanceof RequestError ? error.message : "internal" });
  }
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const service = new Service();
  const server = createServer((request, response) => void respond(service, request, response));
  server.listen(options.port, "127.0.0.1");
  await saying(`No server at port ${options.port}`, once(server, "listening"));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  if (options.json) console.log(JSON.stringify({ address }));
  say(`curl ${address}/status`);
  say(`curl ${address}/answer -d '{"points": [[0.5, 0], [-0.5, 0]]}'`);
  await service.train(options.steps, new dx.Generator(options.seed), stop.signal);
  say(`${service.steps} steps done, loss ${service.loss?.toFixed(4) ?? "unknown"}. Ctrl-C ends the server.`);
  if (!stop.signal.aborted) await once(stop.signal, "abort");
  server.close();
  server.closeIdleConnections();
  if (options.json) console.log(JSON.stringify({ steps: service.steps, loss: service.loss, answered: service.answered }));
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
