/** The key of what library modules hold besides their fields: no member, but copied with them. @package */
export const INNER: unique symbol = Symbol("dxtensor.inner");
