/** Opens the two devices, and the software adapter at the feature level of the tested one. */
import { requireDevice, deviceCount, dmlDescriptions, nativeDevice } from "../runtime/devices.ts";
import { device, namedDevice } from "../core/device.ts";
import { ValueError } from "../core/errors.ts";
import type { Context } from "./case.ts";
import type { DeviceFacts } from "./known.ts";
import { Side } from "./side.ts";

const LEVELS = ["5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4"];
const PROFILE = "rtx-3070";

/**
 * Simulated profiles of the software adapter, one for each feature level, behind whatever `dml` devices there are. Must be called
 * before the first use of a device, since the libraries are told once.
 */
function addProfiles(): void {
  const asked = process.env["DXTENSOR_SIMULATE"];
  const profiles = LEVELS.map((level) => `${PROFILE}@${level}`).join(",");
  process.env["DXTENSOR_SIMULATE"] = asked === undefined || asked === "" ? profiles : `${asked},${profiles}`;
}

export interface SideOptions {
  readonly device: string;
  readonly reference: string;
  readonly seed: number;
  readonly quick: boolean;
}

export function openSides(options: SideOptions): { readonly context: Context; readonly facts: DeviceFacts } {
  addProfiles();
  // Operators are judged one by one, with values that are not finite: Winograd's tiles would spread those.
  process.env["DXTENSOR_SOFTWARE_WINOGRAD"] ??= "0";
  const profiles = deviceCount() - LEVELS.length;
  const named = namedDevice("verify", "device", options.device);
  if (named.type === "dml" && named.index >= profiles)
    throw new ValueError(
      "verify",
      "device",
      `a device that is there (${profiles} of dml, and cpu)`,
      options.device,
      profiles > 0
        ? undefined
        : "`dxtensor doctor` says why there is no GPU; DXTENSOR_SIMULATE=rtx-3070 makes a simulated one that can be compared.",
    );
  requireDevice("verify", options.device);
  requireDevice("verify", options.reference);
  if (options.device === options.reference)
    throw new ValueError("verify", "reference", "a device other than the tested one", options.reference);
  const judged = new Side(options.device);
  const reference = new Side(options.reference);
  const { runtime } = nativeDevice(device(options.device));
  const facts: DeviceFacts = { featureLevel: judged.featureLevel, microsoft: runtime === "gpu", waveLanes: judged.waveLanes };
  const context: Context = {
    device: judged,
    reference,
    peer: reference.featureLevel === judged.featureLevel ? reference : peerOf(options.reference, reference, judged.featureLevel),
    seed: options.seed,
    quick: options.quick,
  };
  return { context, facts };
}

/** The software adapter's operators depend on the feature level; another reference stands for itself. */
function peerOf(name: string, reference: Side, level: number): Side {
  if (name !== "cpu") return reference;
  const index = LEVELS.indexOf(`${level >> 12}.${(level >> 8) & 15}`);
  const first = dmlDescriptions().length - LEVELS.length;
  return index < 0 ? reference : new Side(`dml:${first + index}`);
}
