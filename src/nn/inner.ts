/** The key of what library modules hold besides their fields: no member, but copied with them. @package */
export const INNER: unique symbol = Symbol("dxtensor.inner");
/** The key of what Module has of its own, for the files of this folder. @package */
export const OWN: unique symbol = Symbol("dxtensor.own");
/** The key of whether a module's buffers keep their dtypes when the model around it is cast. @package */
export const KEEPS_DTYPES: unique symbol = Symbol("dxtensor.keepsDTypes");
