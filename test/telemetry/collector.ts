/** A collector on this machine that keeps each request unchanged, and sends the configured answer. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface Collector {
  /** "http://127.0.0.1:4318" */
  readonly endpoint: string;
  /** Requests to the byte, head and body. */
  readonly requests: string[];
  readonly connections: () => number;
  /** Waits for so many requests. */
  readonly until: (count: number) => Promise<void>;
  readonly close: () => void;
}

const isWhole = (text: string): boolean => {
  const [head, body] = text.split("\r\n\r\n", 2);
  return body !== undefined && Buffer.byteLength(body) >= Number(/^content-length: (\d+)/im.exec(head!)?.[1] ?? 0);
};

/** status: what it answers, "204 No Content" for one; null: it never answers. headers end with line feeds. */
export async function collect(status: string | null = "200 OK", headers = ""): Promise<Collector> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (!isWhole(text)) return;
      requests.push(text);
      text = "";
      server.emit("request");
      if (status !== null) socket.write(`HTTP/1.1 ${status}\r\n${headers}Content-Length: 0\r\n\r\n`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => connections,
    until: async (count) => {
      while (requests.length < count) await once(server, "request");
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export const bodyOf = (request: string): string => request.slice(request.indexOf("\r\n\r\n") + 4);
