/** One request, which never delays the end of the process, is never repeated, and follows no redirect. */
import { resolveHost } from "./resolve.ts";

/** All headers but Host, Connection and Content-Length, which every request has. */
export const HEADERS: Readonly<Record<string, string>> = { "Content-Type": "application/json", "User-Agent": "dxtensor" };

/** The status of the response; null where there was none in time. Never rejects. */
export async function post(url: URL, body: string, timeoutMs = 5000): Promise<number | null> {
  const address = await resolveHost(url.hostname);
  if (address === null) return null;
  const family = address.includes(":") ? 6 : 4;
  const { clearTimeout, setTimeout } = process.getBuiltinModule("node:timers");
  const isTls = url.protocol === "https:";
  const { request } = isTls ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
  return new Promise((resolve) => {
    const sent = request(url, {
      method: "POST",
      headers: { ...HEADERS, "Content-Length": Buffer.byteLength(body) },
      agent: false,
      // Of one family there is one socket, which is unref'ed below.
      family,
      lookup: (_host, { all }, done) => (all === true ? done(null, [{ address, family }]) : done(null, address, family)),
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      ...(isTls ? { rejectUnauthorized: true } : {}),
    });
    const end = (status: number | null): void => {
      clearTimeout(timer);
      sent.destroy();
      resolve(status);
    };
    const timer = setTimeout(() => end(null), timeoutMs).unref();
    sent
      .on("socket", (socket) => socket.unref())
      .on("error", () => end(null))
      // What it says beyond its status, Retry-After and Location too, changes nothing.
      .on("response", (response) => end(response.statusCode ?? null));
    sent.end(body);
  });
}
