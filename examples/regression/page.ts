/** A page whose chart grows while the training runs: one HTTP server, the events of which the page draws with uPlot. */
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

export interface Point {
  readonly step: number;
  readonly training: number;
  readonly heldOut: number;
}

const pageText = (title: string): string => {
  const require = createRequire(import.meta.url);
  const script = readFileSync(require.resolve("uplot/dist/uPlot.iife.min.js"), "utf8");
  const style = readFileSync(require.resolve("uplot/dist/uPlot.min.css"), "utf8");
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 900px; padding: 0 1rem; color: #1b1f24 }
</style>
<h1>${title}</h1>
<p id="state">Waiting for the first steps.</p>
<div id="chart"></div>
<script>${script}</script>
<script>
const data = [[], [], []];
const chart = new uPlot({ width: document.getElementById("chart").clientWidth, height: 360, scales: { x: { time: false }, y: { distr: 3 } },
  series: [{ label: "step" }, { label: "training", stroke: "#9bb8e8" }, { label: "held out", stroke: "#1f5fbf", width: 2 }],
  axes: [{ label: "step" }, { label: "mean squared error" }] }, data, document.getElementById("chart"));
addEventListener("resize", () => chart.setSize({ width: document.getElementById("chart").clientWidth, height: 360 }));
const state = document.getElementById("state");
const events = new EventSource("events");
events.onmessage = ({ data: text }) => {
  const { step, training, heldOut } = JSON.parse(text);
  // After a lost connection all points come again.
  if (data[0].length > 0 && step <= data[0].at(-1)) return;
  data[0].push(step); data[1].push(training); data[2].push(heldOut);
  chart.setData(data);
  state.textContent = "Step " + step + ": mean squared error " + heldOut.toFixed(3) + " on rows that were held out.";
};
events.addEventListener("end", () => { events.close(); state.textContent += " The training has ended."; });
</script>
</html>
`;
};

/** Serves the page on 127.0.0.1; port 0 takes any that is free. */
export class LivePage {
  readonly #points: Point[] = [];
  readonly #listeners = new Set<ServerResponse>();
  readonly #server: Server;
  #ended = false;

  private constructor(title: string) {
    const text = pageText(title);
    this.#server = createServer((request, response) => {
      if (request.url === "/") response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(text);
      else if (request.url === "/events") this.#listen(response);
      else response.writeHead(404, { "content-type": "text/plain" }).end("There is / and /events.\n");
    });
  }

  static async open(title: string, port: number): Promise<LivePage> {
    const page = new LivePage(title);
    await new Promise<void>((resolve, reject) => {
      page.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return page;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  #listen(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    for (const point of this.#points) send(response, point);
    if (this.#ended) finish(response);
    else {
      this.#listeners.add(response);
      response.on("close", () => this.#listeners.delete(response));
    }
  }

  add(point: Point): void {
    this.#points.push(point);
    for (const response of this.#listeners) send(response, point);
  }

  /** No more points come; the page stays until close(). */
  end(): void {
    this.#ended = true;
    for (const response of this.#listeners) finish(response);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

const send = (response: ServerResponse, point: Point): void => void response.write(`data: ${JSON.stringify(point)}\n\n`);
const finish = (response: ServerResponse): void => void response.end("event: end\ndata: {}\n\n");
