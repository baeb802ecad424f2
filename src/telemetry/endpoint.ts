/** Where messages go: an OTLP collector, over https, or over http on this machine. */
import { ValueError } from "../core/errors.ts";

const EXPECTED =
  'a base URL of an OTLP collector: "https://host[:port][/path]", or "http://" to this machine (localhost, 127.0.0.0/8, [::1]), without user, query and fragment';

/** Addresses that never leave the machine; other spellings of IPv4 have become this one in a URL. */
const isLoopback = (hostname: string): boolean => hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);

/** The URL that logs are posted to, as OTLP has it: the base with /v1/logs. Throws ValueError for what is no endpoint. */
export function logsUrl(endpoint: string, argument = "endpoint"): URL {
  const url = URL.canParse(endpoint) && endpoint.length <= 2048 ? new URL(endpoint) : null;
  const isSafe = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)));
  if (!isSafe || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new ValueError("telemetry", argument, EXPECTED, endpoint);
  const base = url.pathname.replace(/\/+$/, "");
  url.pathname = base.endsWith("/v1/logs") ? base : `${base}/v1/logs`;
  return url;
}
