/**
 * Host state that a compiled function reads: an optimizer's learning rates, a schedule's steps, a generator's draws. With `check: false` the
 * function's JavaScript does not run, so each call reads this state again, in the same order.
 */
import type { Constant, Event, Scalar } from "./log.ts";
import type { Values } from "./program.ts";

export type HostEvent =
  | { readonly kind: "numbers"; readonly events: readonly Scalar[]; readonly read: () => readonly number[] }
  | { readonly kind: "data"; readonly event: Constant; readonly read: () => ArrayBufferView }
  | { readonly kind: "effect"; readonly run: () => unknown }
  | { readonly kind: "guard"; readonly holds: () => boolean };

/** The inputs of one more call, after its changes of the library's state; null where the path does not hold any more. */
export function repeat(host: readonly HostEvent[], before: Values): Values | null {
  if (host.length === 0) return before;
  const values = before.size === 0 ? new Map<Event, number | bigint | boolean | Uint8Array>() : new Map(before);
  for (const event of host) {
    switch (event.kind) {
      case "numbers": {
        const numbers = event.read();
        event.events.forEach((e, i) => values.set(e, numbers[i]!));
        break;
      }
      case "data": {
        const { buffer, byteOffset, byteLength } = event.read();
        values.set(event.event, new Uint8Array(buffer, byteOffset, byteLength));
        break;
      }
      case "effect":
        event.run();
        break;
      case "guard":
        if (!event.holds()) return null;
        break;
      default:
        event satisfies never;
    }
  }
  return values;
}
