/** The key of what library modules hold besides their fields: no member, but copied with them. @package */
export const INNER: unique symbol = Symbol("dxtensor.inner");
/** The key of what Module has of its own, for the files of this folder. @package */
export const OWN: unique symbol = Symbol("dxtensor.own");
/** The key of whether a module's buffers keep their dtypes when the model around it is cast. @package */
export const KEEPS_DTYPES: unique symbol = Symbol("dxtensor.keepsDTypes");
/** The key of the adapters of a layer, by name: lora-layer.ts. @package */
export const ADAPTERS: unique symbol = Symbol("dxtensor.adapters");
/** The key of how a layer maps the last axis, of layers that can be adapted and are no Linear: LinearSite of lora-layer.ts. @package */
export const ADAPTS: unique symbol = Symbol("dxtensor.adapts");
/** The key of a model's last layer, from hidden states to logits, which "all-linear" leaves out. @package */
export const OUTPUT_LAYER: unique symbol = Symbol("dxtensor.outputLayer");
