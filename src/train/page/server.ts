/** A page on 127.0.0.1, and its events. It never keeps the process alive. */
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ValueError } from "../../core/errors.ts";

/** A browser that takes less than this away is let go of: it connects again and gets the whole state. */
const MOST_PENDING_BYTES = 1 << 20;

export class PageServer {
  readonly #server: Server;
  readonly #listeners = new Set<ServerResponse>();
  readonly #port: number;

  private constructor(server: Server, page: () => string, state: () => unknown) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    server.on("request", (request, response) => {
      // Another site's name that leads to 127.0.0.1 gets nothing.
      if (![`127.0.0.1:${this.#port}`, `localhost:${this.#port}`].includes(request.headers.host ?? ""))
        response.writeHead(403, { "content-type": "text/plain" }).end("This page is for 127.0.0.1.\n");
      else if (request.method !== "GET")
        response.writeHead(405, { "content-type": "text/plain", allow: "GET" }).end("There is GET alone.\n");
      else if (request.url === "/")
        response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" }).end(page());
      else if (request.url === "/events") this.#listen(response, state());
      else response.writeHead(404, { "content-type": "text/plain" }).end("There is / and /events.\n");
    });
  }

  /** Port 0: any that is free. Throws ValueError where the port is taken. */
  static async open(port: number, page: () => string, state: () => unknown): Promise<PageServer> {
    const { createServer } = await import("node:http");
    const server = createServer();
    server.on("connection", (socket) => socket.unref());
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(new ValueError("fit", "page.port", `a port of 127.0.0.1 that is free (${error.message})`, port)),
      );
      server.listen(port, "127.0.0.1", resolve);
    });
    server.unref();
    return new PageServer(server, page, state);
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  #listen(response: ServerResponse, state: unknown): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.on("close", () => this.#listeners.delete(response));
    // A page that lost the connection gets all again.
    response.write(`event: state\ndata: ${JSON.stringify(state)}\n\n`);
    this.#listeners.add(response);
  }

  /** Sends an event to all pages that are open. */
  send(data: unknown): void {
    const text = `data: ${JSON.stringify(data)}\n\n`;
    for (const listener of this.#listeners) {
      if (listener.writableLength > MOST_PENDING_BYTES) listener.destroy();
      else listener.write(text);
    }
  }

  /** Ends the connections. Open pages keep what they show. */
  async close(): Promise<void> {
    for (const listener of this.#listeners) listener.end("event: end\ndata: {}\n\n");
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    // Connections whose last bytes nobody takes.
    const late = setTimeout(() => this.#server.closeAllConnections(), 200);
    await closed;
    clearTimeout(late);
  }
}
