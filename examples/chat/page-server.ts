/** Serves the page, and answers to conversations as text that arrives while it is made. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ChatMessage } from "dxtensor/text";
import { chatPage } from "./chat-page.ts";
import type { Speaker } from "./conversation.ts";

const MAX_BYTES = 1 << 20;

class RequestError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const isMessage = (m: unknown): m is ChatMessage =>
  typeof m === "object" &&
  m !== null &&
  ["user", "assistant"].includes((m as ChatMessage).role) &&
  typeof (m as ChatMessage).content === "string";

/** The messages of a request's body, {"messages": [{"role", "content"}, ...]}. */
async function messagesOf(request: IncomingMessage): Promise<readonly ChatMessage[]> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > MAX_BYTES) throw new RequestError(413, "The body must have at most 1 MiB.");
    pieces.push(piece);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    throw new RequestError(400, "The body must be JSON.");
  }
  const messages = (body as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every((m) => isMessage(m)))
    throw new RequestError(400, 'The body must be {"messages": [{"role": "user" or "assistant", "content": text}, ...]}.');
  return messages;
}

async function chat(speaker: Speaker, system: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const messages = await messagesOf(request);
  const stop = new AbortController();
  // A page that is closed, or whose user stops the answer.
  response.on("close", () => stop.abort());
  const all = system === "" ? messages : [{ role: "system", content: system }, ...messages];
  for await (const piece of speaker.answer(all, stop.signal)) {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
    response.write(piece);
  }
  response.end();
}

async function respond(speaker: Speaker, name: string, system: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { method, url } = request;
    if (url === "/" && method === "GET") response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(chatPage(name));
    else if (url === "/chat" && method === "POST") await chat(speaker, system, request, response);
    else throw new RequestError(404, "There is GET / and POST /chat.");
  } catch (error) {
    const known = error instanceof RequestError ? error : new RequestError(500, error instanceof Error ? error.message : String(error));
    if (!request.complete) {
      response.setHeader("connection", "close");
      request.resume();
    }
    if (response.headersSent) response.end();
    else response.writeHead(known.status, { "content-type": "application/json" }).end(`${JSON.stringify({ error: known.message })}\n`);
  }
}

/** A server that is not listening yet. name: of the model. system: the first message, "" for none. */
export const pageServer = (speaker: Speaker, name: string, system: string): Server =>
  createServer((request, response) => void respond(speaker, name, system, request, response));
