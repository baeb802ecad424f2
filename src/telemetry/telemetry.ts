/**
 * Telemetry, only with consent (docs/telemetry.md): a second after the main thread has opened its first device, at most one message a day. A failure
 * sends nothing, throws nothing, and delays nothing.
 */
import { accessSync, constants, readdirSync } from "node:fs";
import { release } from "node:os";
import { exists } from "../core/home.ts";
import { hostEnvironment } from "../native/load-addon.ts";
import type { HostEnvironment } from "../native/paths.ts";
import { consentPath, readConsent, telemetryFolder, type Consent, type Reason } from "./consent.ts";
import { claimDay, dayOf, keepIdentifier, lastDay, monthOf, nextDay } from "./days.ts";
import { logsUrl } from "./endpoint.ts";
import { messageOf, operatingSystem, type DeviceType } from "./message.ts";
import { post } from "./post.ts";
import { environmentReasons, policyReason, queryWith, registryTool } from "./opt-outs.ts";

/** A program that ends sooner takes no day from one that can send. */
const DELAY_MS = 1000;

/** All that is known before a message. */
export interface State {
  readonly folder: string;
  /** Why nothing is sent; but for Windows' policy, which another program knows. */
  readonly reasons: readonly Reason[];
  readonly consent: Consent | null;
  /** Base URL as it was set, by DXTENSOR_TELEMETRY_ENDPOINT before the consent's; null where none is. */
  readonly endpoint: string | null;
  readonly endpointFrom: "environment" | "consent" | null;
  /** Where messages go; null where there is no endpoint, or none that is allowed. */
  readonly url: URL | null;
  /** Day of the last attempt. */
  readonly last: string | null;
  readonly today: string;
  /** The earliest day of the next message. */
  readonly next: string;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** How things stand. Changes nothing, and never throws. */
export function stateOf(where: HostEnvironment, now: Date): State {
  const folder = telemetryFolder(where);
  const reasons: Reason[] = [];
  const found = readConsent(folder);
  const consent = found !== null && "consent" in found ? found.consent : null;
  if (found === null) reasons.push({ code: "noConsent", text: "there is no consent" });
  else if ("problem" in found) reasons.push(found.problem);
  else if (!canWrite(folder)) reasons.push({ code: "unwritable", text: `${folder} cannot be written` });
  reasons.push(...environmentReasons(where.env));
  const variable = where.env.DXTENSOR_TELEMETRY_ENDPOINT || null;
  const endpoint = variable ?? consent?.endpoint ?? null;
  let url: URL | null = null;
  if (endpoint === null) reasons.push({ code: "noEndpoint", text: "no endpoint is set" });
  else
    try {
      url = logsUrl(endpoint);
    } catch {
      reasons.push({ code: "endpointRefused", text: `the endpoint ${endpoint} is neither https nor on this machine` });
    }
  const today = dayOf(now);
  const last = lastDay(namesIn(folder));
  const endpointFrom = endpoint === null ? null : variable === null ? "consent" : "environment";
  return { folder, reasons, consent, endpoint, endpointFrom, url, last, today, next: nextDay(last, today) };
}

/** The message of a day, from this machine. */
export const messageOn = (day: string, where: HostEnvironment, deviceType: DeviceType, identifier: string): string =>
  messageOf({ os: operatingSystem(where.platform, release()), deviceType, identifier, day });

/** Sends the day's message if it may be sent, and nobody has; the status of the response, null where nothing was sent or answered. */
async function attempt(deviceType: DeviceType): Promise<number | null> {
  try {
    const where = hostEnvironment();
    const { folder, reasons, consent, url, today } = stateOf(where, new Date());
    if (reasons.length > 0 || url === null || consent === null) return null;
    if ((await policyReason(registryTool(where), queryWith(false))) !== null) return null;
    if (!claimDay(folder, today)) return null;
    const identifier = keepIdentifier(folder, monthOf(today));
    // `telemetry off` may have come between.
    if (!exists(consentPath(folder))) return null;
    return await post(url, messageOn(today, where, deviceType, identifier));
  } catch {
    return null;
  }
}

let isOpened = false;

/** To be called when a device was opened. Without consent this asks once whether a file is there, and does nothing else. */
export function deviceOpened(deviceType: DeviceType): void {
  if (isOpened) return;
  isOpened = true;
  try {
    const where = hostEnvironment();
    if (!exists(consentPath(telemetryFolder(where))) || environmentReasons(where.env).length > 0) return;
    // A worker may have been started without the variables that say no. Modules that few programs load are loaded behind the consent.
    if (!process.getBuiltinModule("node:worker_threads").isMainThread) return;
    // Not the global one, which tests of users replace.
    process
      .getBuiltinModule("node:timers")
      .setTimeout(() => void attempt(deviceType), DELAY_MS)
      .unref();
  } catch {
    // No program fails because of telemetry.
  }
}
