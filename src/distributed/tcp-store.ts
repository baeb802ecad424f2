/** A store over TCP: one rank serves it, all connect. A message is a line of JSON. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { DistributedError, ValueError } from "../core/errors.ts";
import { notSet, requireKey, type Store } from "./rendezvous-store.ts";

/** Options of tcpStore(). */
export interface TcpStoreOptions {
  /** The host of the rank that serves the store: a name or an address. Default: "127.0.0.1". */
  readonly host?: string | undefined;
  /** Its port. */
  readonly port: number;
  /** Whether this process serves the store. Default: false. */
  readonly isMaster?: boolean | undefined;
  /** How long to wait for the connection, in milliseconds. Default: 300,000. */
  readonly timeoutMs?: number | undefined;
}

type Request = readonly [id: number, what: "set" | "get" | "add", key: string, value: string];

/** Calls fn with each line that arrives. */
function onLines(socket: Socket, fn: (line: string) => void): void {
  socket.setEncoding("utf8");
  let rest: string[] = [];
  socket.on("data", (piece) => {
    const lines = String(piece).split("\n");
    for (const part of lines.slice(0, -1)) {
      fn([...rest, part].join(""));
      rest = [];
    }
    rest.push(lines.at(-1)!);
  });
}

/** The texts, and who waits for which. */
class Keys {
  readonly #values = new Map<string, string>();
  readonly #waiting = new Map<string, Set<(value: string) => void>>();

  set(key: string, value: string): void {
    this.#values.set(key, value);
    for (const tell of this.#waiting.get(key) ?? []) tell(value);
    this.#waiting.delete(key);
  }

  add(key: string, amount: number): number {
    const sum = Number(this.#values.get(key) ?? "0") + amount;
    this.set(key, String(sum));
    return sum;
  }

  /** Calls tell as soon as the key is set. Gives what takes the wish back. */
  get(key: string, tell: (value: string) => void): () => void {
    const found = this.#values.get(key);
    if (found !== undefined) {
      tell(found);
      return () => {};
    }
    const list = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, list.add(tell));
    return () => list.delete(tell);
  }
}

const unreadable = (host: string, port: number, problem: string): DistributedError =>
  new DistributedError(
    "tcpStore",
    { reason: "rendezvous", rank: -1, peer: 0, group: "world", sequence: 0 },
    `the store at ${host}:${port}, which rank 0 serves, ${problem}`,
  );

/** Serves keys to all connections. It does not keep the process alive by itself. */
async function serve(host: string, port: number): Promise<{ readonly server: Server; readonly sockets: Set<Socket> }> {
  const keys = new Keys();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.unref();
    const wishes = new Set<() => void>();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      for (const takeBack of wishes) takeBack();
    });
    onLines(socket, (line) => {
      let request: Request;
      try {
        request = JSON.parse(line) as Request;
      } catch {
        // None of ours: a port scanner, a browser.
        socket.destroy();
        return;
      }
      const [id, what, key, value] = request;
      const answer = (text: string): void => void socket.write(`${JSON.stringify([id, text])}\n`);
      if (what === "set") {
        keys.set(key, value);
        answer("");
      } else if (what === "add") answer(String(keys.add(key, Number(value))));
      else if (what === "get") wishes.add(keys.get(key, answer));
      else socket.destroy();
    });
  });
  await new Promise<void>((done, failed) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      failed(
        unreadable(
          host,
          port,
          error.code === "EADDRINUSE" ? "was not opened: another program has the port" : `was not opened: ${error.message}`,
        ),
      );
    });
    // Other machines name it by an address that need not be one of this machine's own.
    const address = host === "127.0.0.1" || host === "localhost" || host === "::1" ? host : undefined;
    server.listen({ port, host: address }, done);
  });
  server.unref();
  return { server, sockets };
}

const RETRY_MS = 50;

/** Connects, again and again until the store is there. */
async function reach(host: string, port: number, timeoutMs: number): Promise<Socket> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const socket = connect({ host, port, noDelay: true });
    const problem = await new Promise<Error | null>((done) => {
      socket.once("connect", () => done(null));
      socket.once("error", done);
    });
    if (problem === null) return socket;
    socket.destroy();
    if (performance.now() + RETRY_MS >= end) throw unreadable(host, port, `did not answer within ${timeoutMs} ms (${problem.message})`);
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

class TcpStore implements Store {
  readonly localAddress: string | null;
  readonly #host: string;
  readonly #port: number;
  readonly #socket: Socket;
  readonly #served: Awaited<ReturnType<typeof serve>> | null;
  readonly #asked = new Map<number, { readonly tell: (text: string) => void; readonly fail: (error: Error) => void }>();
  #next = 0;
  #isClosed = false;

  constructor(host: string, port: number, socket: Socket, served: Awaited<ReturnType<typeof serve>> | null) {
    this.#host = host;
    this.#port = port;
    this.#socket = socket;
    this.#served = served;
    this.localAddress = socket.localAddress ?? null;
    socket.unref();
    const fail = (): void => {
      for (const { fail: failed } of this.#asked.values()) failed(unreadable(host, port, "has closed the connection"));
      this.#asked.clear();
      socket.unref();
    };
    socket.on("error", fail);
    socket.on("close", fail);
    onLines(socket, (line) => {
      const [id, text] = JSON.parse(line) as [number, string];
      const waiting = this.#asked.get(id);
      this.#asked.delete(id);
      if (this.#asked.size === 0) socket.unref();
      waiting?.tell(text);
    });
  }

  #ask(what: Request[1], key: string, value: string, timeoutMs: number | null): Promise<string> {
    requireKey(`store.${what}`, key);
    if (this.#isClosed || this.#socket.destroyed)
      return Promise.reject(unreadable(this.#host, this.#port, this.#isClosed ? "was closed here" : "has closed the connection"));
    const id = this.#next++;
    return new Promise((tell, fail) => {
      const timer =
        timeoutMs === null
          ? undefined
          : setTimeout(() => {
              this.#asked.delete(id);
              if (this.#asked.size === 0) this.#socket.unref();
              fail(notSet(key, timeoutMs, `the store at ${this.#host}:${this.#port}`));
            }, timeoutMs);
      const ended =
        <T>(then: (value: T) => void) =>
        (answer: T): void => {
          clearTimeout(timer);
          then(answer);
        };
      this.#asked.set(id, { tell: ended(tell), fail: ended(fail) });
      this.#socket.ref();
      this.#socket.write(`${JSON.stringify([id, what, key, value] satisfies Request)}\n`);
    });
  }

  async set(key: string, value: string): Promise<void> {
    await this.#ask("set", key, value, null);
  }

  get(key: string, timeoutMs: number): Promise<string> {
    return this.#ask("get", key, "", timeoutMs);
  }

  async add(key: string, amount: number): Promise<number> {
    return Number(await this.#ask("add", key, String(amount), null));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    if (this.#served === null) return;
    const { server, sockets } = this.#served;
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((done) => server.close(() => done()));
  }
}

/**
 * A store that one rank serves over TCP (isMaster), and that all ranks connect to. Rejects with DistributedError when the port is taken, or when the
 * store does not answer in time; throws ValueError for what is no port. Reference: torch.distributed.TCPStore.
 */
export async function tcpStore({ host = "127.0.0.1", port, isMaster = false, timeoutMs = 300_000 }: TcpStoreOptions): Promise<Store> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new ValueError("tcpStore", "port", "an integer from 1 to 65535", port);
  if (!(timeoutMs > 0)) throw new ValueError("tcpStore", "timeoutMs", "above 0", timeoutMs);
  const served = isMaster ? await serve(host, port) : null;
  return new TcpStore(host, port, await reach(host, port, timeoutMs), served);
}
