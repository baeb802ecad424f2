/** The text that `dxtensor telemetry on` shows before it asks. If its promises change, change TEXT_VERSION of consent.ts too. */
import { TEXT_VERSION } from "./consent.ts";

export interface Shown {
  readonly message: string;
  /** Where it would go; null where no endpoint is set. */
  readonly url: URL | null;
  readonly folder: string;
}

const NO_ENDPOINT = `Nobody: no endpoint is set. Nothing is sent until --endpoint or DXTENSOR_TELEMETRY_ENDPOINT names one.`;

export const consentText = ({ message, url, folder }: Shown): string => `dxtensor telemetry, text ${TEXT_VERSION}

WHAT is sent: three fields, and nothing else.
  1. The operating system and its version.
  2. The device type: "dml" for a GPU, "cpu" for the software adapter.
  3. A random identifier, which counts monthly active devices. It is made here, and a new one each month.
The envelope that OpenTelemetry needs names the library, the event and the day (UTC).
The next message, byte for byte:

${message}
WHEN: at most once a day, a second after a program opened its first device. A failed attempt is not repeated that day.
No program waits for it.

NEVER: tensors, models, code, names, paths, or anything else. Nothing at all where DO_NOT_TRACK, DXTENSOR_TELEMETRY=0, CI, or
Windows' policy for diagnostic data says no.

WHO sees it: ${url === null ? NO_ENDPOINT : `who runs ${url.href}. As in any connection, they also see your IP address.`}

KEPT in ${folder}: your consent with its date, the month's identifier, the date of the last message.
"npx dxtensor telemetry off" ends it and deletes them.
`;
