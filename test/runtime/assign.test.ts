import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode, numbers } from "../device.ts";

eachMode("a view that rounds up to its storage's size", (device, mode) => {
  for (const dtype of ["uint8", "int8", "bool", "float16", "int16"] as const)
    it(`is a part of it: ${dtype}`, async () =>
      clean(
        device,
        () => {
          const count = dtype === "float16" || dtype === "int16" ? 2 : 4;
          for (let length = 1; length < count; length++) {
            const x = dx.ones([count], { dtype });
            const moved = dx.ones([count], { dtype }).to(device);
            mode.run(() => {
              x.slice(0, 0, length).zero_();
              moved.slice(0, 0, length).copy_(dx.zeros([length], { dtype }));
            });
            const expected = Array.from({ length: count }, (_, i) => (i < length ? 0 : 1));
            expect([numbers(x), numbers(moved)]).toEqual([expected, expected]);
          }
        },
        { collect: true },
      ));
});
