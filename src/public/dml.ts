/** The `dml` devices, and the types and functions for custom kernels. */
import { device as deviceOf, type Device } from "../core/device.ts";
import { requireDevice, deviceCount, dmlDescriptions } from "../runtime/devices.ts";

export { deviceCount };

/** The device of an index. Throws DeviceIndexError when it is out of range. */
export const device = (index = 0): Device => requireDevice("dml.device", deviceOf(`dml:${index}`));

/** The adapter's name; "" when the index is out of range. */
export const deviceName = (index: number): string => dmlDescriptions()[index]?.name ?? "";

/** True when there is at least one `dml` device. */
export const isAvailable = (): boolean => deviceCount() > 0;

export { GraphBuilder } from "../graph/builder.generated.ts";
export { OPERATORS, type OperatorName } from "../dml/operators.generated.ts";
export { Expr, type Activation } from "../graph/graph.ts";
