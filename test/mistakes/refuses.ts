/** Mistakes of people who write JavaScript, or who know PyTorch: each is an error that names the call and the remedy. */
import { compileFunction } from "node:vm";
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

/** The call as JavaScript has it, where nobody looks at types; the error's name and all that it says. */
type Mistake = readonly [code: string, name: string, message: string];

/** Tests each of the calls on each device; they see dx, nn, optim, data, io, x(), a tensor [2, 3], and p(), a parameter of it. */
export function refuses(title: string, mistakes: readonly Mistake[]): void {
  eachDevice(title, (device) => {
    const x = (): dx.Tensor => dx.ones([2, 3], { device });
    const p = (): dx.Tensor => new dx.nn.Parameter(x());
    const names = { dx, nn: dx.nn, optim: dx.optim, data: dx.data, io: dx.io, x, p };
    // The default generator's state lives on.
    beforeAll(() => {
      dx.rand([1], { device }).dispose();
    });

    test.each(mistakes)("%s", (code, name, message) =>
      clean(
        device,
        async () => {
          const call = compileFunction(`return ${code}`, Object.keys(names));
          let error: unknown;
          try {
            await dx.withDevice(device, () => call(...Object.values(names)) as unknown);
          } catch (caught) {
            error = caught;
          }
          expect(error).toBeInstanceOf(dx.DxError);
          expect(error).toMatchObject({ name, message });
        },
        { collect: true },
      ),
    );
  });
}
