/** `dxtensor telemetry on | off | status | show`: the only ways to consent and to see the message. See docs/telemetry.md. */
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { defaultDevice } from "../core/device.ts";
import { DxError, FormatError, NativeLoadError } from "../core/errors.ts";
import { hostEnvironment } from "../native/load-addon.ts";
import type { HostEnvironment } from "../native/paths.ts";
import { deviceTypeOf, requireDevice } from "../runtime/devices.ts";
import { deleteConsent, TEXT_VERSION, writeConsent, type Reason } from "../telemetry/consent.ts";
import { dayOf, keepIdentifier, monthOf, readIdentifier } from "../telemetry/days.ts";
import { logsUrl } from "../telemetry/endpoint.ts";
import type { DeviceType } from "../telemetry/message.ts";
import { HEADERS } from "../telemetry/post.ts";
import { policyReason, queryWith, registryTool } from "../telemetry/opt-outs.ts";
import { messageOn, stateOf, type State } from "../telemetry/telemetry.ts";
import { consentText } from "../telemetry/consent-text.ts";

const help = `
Off, unless you consent here. docs/telemetry.md says what is sent, when, and when never.

For programs: each verb has --json, which prints one line; status and show change nothing that is sent.`;

const statusHelp = `
JSON: {"on", "sends", "reasons": [{"code", "text"}], "consent": {"date", "text", "endpoint"} or null, "endpoint", "endpointFrom",
"url", "last", "next", "folder"}. "on" is consent; "sends" says that messages go out from here, as things stand. The exit status is 0.`;

const showHelp = `
Without --json: the body of the next request, byte for byte. Where telemetry is off, standard error says why, and the identifier of a
message without consent is zeros. JSON: {"sends", "reasons", "method", "url", "headers", "next", "body"}.`;

const onHelp = `
Shows the message and asks. Exit status: 0 when you consented, 1 when you did not, 2 when you could not be asked.
JSON: {"on", "url", "consent", "reasons", "message"}.`;

/** Not random, so that nobody takes it for one. */
const NO_IDENTIFIER = "00000000-0000-4000-8000-000000000000";

interface Json {
  readonly json: boolean;
}

const print = (text: string): void => void process.stdout.write(text);
const printJson = (value: object): void => print(`${JSON.stringify(value)}\n`);
const listed = (reasons: readonly Reason[]): string => reasons.map(({ text }) => `  - ${text}\n`).join("");

/** The device of a name, or the default one; a machine on which nothing loads would send nothing, so any type does. */
function typeFor(name: string | undefined): DeviceType {
  try {
    return deviceTypeOf("telemetry", requireDevice("telemetry", name ?? defaultDevice()));
  } catch (error) {
    if (error instanceof NativeLoadError && name === undefined) return "cpu";
    throw error;
  }
}

/** With what another program has to be asked for. */
async function fullState(where: HostEnvironment): Promise<State> {
  const state = stateOf(where, new Date());
  const policy = await policyReason(registryTool(where), queryWith(true));
  return policy === null ? state : { ...state, reasons: [...state.reasons, policy] };
}

/** Runs what writes; a folder that cannot be written is an error in words. */
function writing<T>(folder: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (error instanceof DxError || (error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new FormatError("telemetry", folder, "a folder that can be written", (error as Error).message);
  }
}

/** The answer to a question, from a terminal; "" where it ends without one. */
function ask(question: string, output: NodeJS.WriteStream): Promise<string> {
  const reader = process.getBuiltinModule("node:readline").createInterface({ input: process.stdin, output });
  return new Promise((resolve) => {
    reader.once("close", () => resolve(""));
    reader.question(question, (text) => {
      resolve(text);
      reader.close();
    });
  });
}

async function on({ json, yes, endpoint: named }: Json & { readonly yes: boolean; readonly endpoint?: string }): Promise<void> {
  const where = hostEnvironment();
  // What is wrong with it is told before anything is asked.
  if (named !== undefined && named !== "") logsUrl(named, "--endpoint");
  const before = await fullState(where);
  if (before.endpointFrom === "environment") logsUrl(before.endpoint!, "DXTENSOR_TELEMETRY_ENDPOINT");
  const kept = named === undefined ? (before.consent?.endpoint ?? null) : named === "" ? null : named;
  const endpoint = before.endpointFrom === "environment" ? before.endpoint : kept;
  const url = endpoint === null ? null : logsUrl(endpoint);
  const { folder, next, today } = before;
  const month = monthOf(next);
  const identifier = (before.consent === null ? null : readIdentifier(folder, month)) ?? randomUUID();
  const message = messageOn(next, where, typeFor(undefined), identifier);
  const output = json ? process.stderr : process.stdout;
  if (!yes && !(process.stdin.isTTY && output.isTTY))
    throw new DxError({
      operation: "telemetry on",
      expected: "called in a terminal",
      received: process.stdin.isTTY ? "redirected output" : "redirected input",
      hint: "A script with its user's consent passes --yes.",
    });
  if (!json || !yes) output.write(consentText({ message, url, folder }));
  if (!yes && !/^\s*y(es)?\s*$/i.test(await ask("\nSend this? (y/N) ", output))) {
    if (json) printJson({ on: before.consent !== null, url: url?.href ?? null, consent: before.consent, reasons: before.reasons, message });
    else
      print(
        before.consent === null
          ? "\nNothing was written: telemetry stays off.\n"
          : "\nNothing was changed. To end it: npx dxtensor telemetry off\n",
      );
    process.exitCode = 1;
    return;
  }
  const consent = { date: today, text: TEXT_VERSION, endpoint: kept };
  writing(folder, () => {
    writeConsent(folder, consent);
    keepIdentifier(folder, month, identifier);
  });
  const { reasons } = await fullState(where);
  if (json) printJson({ on: true, url: url?.href ?? null, consent, reasons, message });
  else print(`\nConsent of ${today} to text ${TEXT_VERSION} is written.\n${reasons.length === 0 ? "" : `Nothing is sent from here as things stand:\n${listed(reasons)}`}`); // prettier-ignore
}

function off({ json }: Json): void {
  const folder = stateOf(hostEnvironment(), new Date()).folder;
  const wasOn = writing(folder, () => deleteConsent(folder, dayOf(new Date())));
  if (json) printJson({ on: false, wasOn });
  else print(wasOn ? "Telemetry is off; consent and identifier are deleted.\n" : "Telemetry was off already.\n");
}

async function status({ json }: Json): Promise<void> {
  const { folder, reasons, consent, endpoint, endpointFrom, url, last, next } = await fullState(hostEnvironment());
  const sends = reasons.length === 0;
  if (json) {
    printJson({ on: consent !== null, sends, reasons, consent, endpoint, endpointFrom, url: url?.href ?? null, last, next, folder });
    return;
  }
  const lines = [
    `telemetry    ${consent === null ? "off" : sends ? "on" : "consented, but nothing is sent from here"}`,
    ...(consent === null ? [] : [`consent      ${consent.date}, to text ${consent.text}`]),
    ...(endpoint === null
      ? []
      : [`endpoint     ${endpoint} (${endpointFrom === "environment" ? "DXTENSOR_TELEMETRY_ENDPOINT" : "with the consent"})`]),
    ...(last === null ? [] : [`last message ${last} (tried)`]),
    ...(sends ? [`next message ${next} at the earliest`] : []),
    `folder       ${folder}`,
  ];
  print(`${lines.join("\n")}\n${sends ? "" : `Why nothing is sent:\n${listed(reasons)}`}`);
}

async function show({ json, device }: Json & { readonly device?: string }): Promise<void> {
  const where = hostEnvironment();
  const { folder, reasons, consent, endpoint, endpointFrom, url, next } = await fullState(where);
  if (endpoint !== null) logsUrl(endpoint, endpointFrom === "environment" ? "DXTENSOR_TELEMETRY_ENDPOINT" : "endpoint");
  const type = typeFor(device);
  const identifier = consent === null ? NO_IDENTIFIER : writing(folder, () => keepIdentifier(folder, monthOf(next)));
  const body = messageOn(next, where, type, identifier);
  const sends = reasons.length === 0;
  if (json) {
    printJson({ sends, reasons, method: "POST", url: url?.href ?? null, headers: HEADERS, next, body });
    return;
  }
  if (!sends) process.stderr.write(`Nothing is sent:\n${listed(reasons)}`);
  else process.stderr.write(`POST ${url!.href}, on ${next} at the earliest:\n`);
  print(body);
}

export function addTelemetry(program: Command): void {
  const group = program.command("telemetry").description("what may be sent about this machine, with your consent only: on, off, status, show").addHelpText("after", help); // prettier-ignore
  const verb = (name: string, description: string, text = ""): Command =>
    group.command(name).description(description).option("--json", "one line of JSON on stdout", false).addHelpText("after", text);
  verb("on", "shows exactly what will be sent, asks, and writes your consent with its date", onHelp)
    .option("--endpoint <url>", 'the OTLP collector that messages go to, "https://host"; "" for none (default: as before)')
    .option("--yes", "do not ask: for scripts whose user has consented", false)
    .action(on);
  verb("off", "ends it: deletes consent and identifier").action(off);
  verb("status", "whether anything is sent, and what keeps it off", statusHelp).action(status);
  verb("show", "the next message, byte for byte", showHelp)
    .option("--device <name>", "the device that a program opens first (default: the default device)")
    .action(show);
}
