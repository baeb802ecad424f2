/** Parameters as one vector, and back. */
import { noGrad } from "../autograd/grad-mode.ts";
import { DeviceError, ShapeError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { copyInto } from "../ops/data/copy.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";

/**
 * All parameters behind each other as one vector [sum of sizes]; gradients flow through it. Throws ValueError without parameters, DeviceError for parameters
 * of several devices. Reference: torch.nn.utils.parameters_to_vector.
 */
export function parametersToVector(parameters: Iterable<Tensor>): Tensor {
  const list = [...parameters];
  if (list.length === 0) throw new ValueError("parametersToVector", "parameters", "at least one", "none");
  const { device } = list[0]!;
  for (const p of list)
    if (p.device !== device) throw new DeviceError("parametersToVector", "parameters", `all on ${device}`, `one on ${p.device}`);
  return cat(
    list.map((p) => reshape(p, [-1])),
    0,
  );
}

/**
 * Copies the elements of a vector [sum of sizes] into the parameters, in their order; this is not recorded. Throws ShapeError for a vector of another length.
 * Reference: torch.nn.utils.vector_to_parameters.
 */
export function vectorToParameters(vector: Tensor, parameters: Iterable<Tensor>): void {
  const list = [...parameters];
  const size = list.reduce((n, p) => n + p.size, 0);
  if (vector.rank !== 1 || vector.size !== size) throw new ShapeError("vectorToParameters", "vector", `[${size}]`, vector.describe());
  noGrad(() => {
    let at = 0;
    for (const p of list) {
      copyInto("vectorToParameters", p, reshape(narrow(vector, 0, at, p.size), p.shape));
      at += p.size;
    }
  });
}
