/** The user's consent to telemetry: one small file, which only `dxtensor telemetry on` writes. See docs/telemetry.md. */
import { lstatSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostEnvironment } from "../native/paths.ts";
import { dataFolder } from "../native/paths.ts";
import { lastDay } from "./days.ts";

/** Version of the text that `dxtensor telemetry on` shows. Consent to another text is none. */
export const TEXT_VERSION = 1;

/** Of the file. */
const FORMAT = 1;
/** A file of ours has some hundred. */
const MAX_BYTES = 4096;

export interface Consent {
  /** When it was given: "2026-11-27", UTC. */
  readonly date: string;
  /** Version of the text that was shown. */
  readonly text: number;
  /** Base URL of an OTLP collector; null: none was named. */
  readonly endpoint: string | null;
}

/** Why nothing is sent: a code for programs, a sentence for people. */
export interface Reason {
  readonly code: string;
  readonly text: string;
}

/** What the file says; null where there is none. */
export type ConsentFound = { readonly consent: Consent } | { readonly problem: Reason } | null;

/** Where consent, identifier and the last date are. */
export const telemetryFolder = (environment: HostEnvironment): string => join(dataFolder(environment), "telemetry");

export const consentPath = (folder: string): string => join(folder, "consent.json");

const unreadable = (text: string): ConsentFound => ({ problem: { code: "consentUnreadable", text } });

function parse(text: string): ConsentFound {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return unreadable("the file of the consent is no JSON");
  }
  if (typeof content !== "object" || content === null) return unreadable("the file of the consent is no object");
  const { format, date, text: version, endpoint } = content as Record<string, unknown>;
  if (typeof format === "number" && format > FORMAT)
    return { problem: { code: "consentNewer", text: `a newer dxtensor wrote the consent, in format ${format}` } };
  const isWhole =
    format === FORMAT &&
    typeof date === "string" &&
    /^\d{4}-\d\d-\d\d$/.test(date) &&
    Number.isSafeInteger(version) &&
    (endpoint === null || typeof endpoint === "string");
  if (!isWhole) return unreadable("the file of the consent lacks a field, or one has another type");
  if (version !== TEXT_VERSION)
    return {
      problem: {
        code: "consentOtherText",
        text: `the consent is to text ${String(version)}; this dxtensor sends what text ${TEXT_VERSION} says`,
      },
    };
  return { consent: { date, text: version, endpoint } };
}

/** Never throws: whatever is the matter with the file, it is no consent. */
export function readConsent(folder: string): ConsentFound {
  const path = consentPath(folder);
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (stats.isSymbolicLink()) return unreadable("the file of the consent is a symbolic link");
    if (!stats.isFile()) return unreadable("what should be the file of the consent is none");
    if (stats.size > MAX_BYTES) return unreadable(`the file of the consent has ${stats.size} bytes, more than ${MAX_BYTES}`);
    // A program of root's with another user's home folder has no consent of its own.
    if (process.getuid !== undefined && stats.uid !== process.getuid()) return unreadable("the file of the consent is another user's");
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    return unreadable(`the file of the consent cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Another process reads the old file or the new one, never a part. */
export function writeConsent(folder: string, { date, text, endpoint }: Consent): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `${crypto.randomUUID()}.new`);
  try {
    writeFileSync(temporary, `${JSON.stringify({ format: FORMAT, text, date, endpoint })}\n`, { flag: "wx", mode: 0o600 });
    renameSync(temporary, consentPath(folder));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Deletes consent and identifier; whether there was a consent. The date of the last message stays where it is today's or later, so that whoever
 * consents again sends no second message that day.
 */
export function deleteConsent(folder: string, today: string): boolean {
  const wasThere = lstatSync(consentPath(folder), { throwIfNoEntry: false }) !== undefined;
  // First, so that a failure below leaves no consent behind.
  rmSync(consentPath(folder), { force: true, recursive: true });
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const last = lastDay(names);
  const kept = last !== null && last >= today ? `last-${last}` : null;
  for (const name of names) if (/^(identifier-|last-)|\.new$/.test(name) && name !== kept) rmSync(join(folder, name), { force: true });
  if (kept === null && names.length > 0)
    try {
      rmdirSync(folder);
    } catch {
      // Something of the user's is in it.
    }
  return wasThere;
}
