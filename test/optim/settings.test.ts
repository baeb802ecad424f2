/** console.log of an optimizer: PyTorch's text, with this library's options. */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

const { optim } = dx;

eachDevice("optimizers' settings", (device) => {
  const parameter = (): dx.nn.Parameter => new dx.nn.Parameter(dx.ones([2]));
  const matrix = (): dx.nn.Parameter => new dx.nn.Parameter(dx.ones([2, 2]));

  test("groups, with what each has of its own and what a schedule made of it", () =>
    clean(
      device,
      () => {
        const [a, b] = [parameter(), parameter()];
        const o = optim.sgd([{ params: [a], lr: 0.5 }, { params: [b] }], { lr: 0.1, momentum: 0.9 });
        const group = (i: number, lr: string): string =>
          `Parameter Group ${i}\n    dampening: 0\n${lr}    maximize: false\n    momentum: 0.9\n    nesterov: false\n    weightDecay: 0\n`;
        expect(inspect(o)).toBe(`SGD (\n${group(0, "    lr: 0.5\n")}\n${group(1, "    lr: 0.1\n")})`);
        new optim.lrScheduler.ExponentialLR(o, { gamma: 0.5 }).step();
        expect(String(o)).toBe(
          `SGD (\n${group(0, "    initialLr: 0.5\n    lr: 0.25\n")}\n${group(1, "    initialLr: 0.1\n    lr: 0.05\n")})`,
        );
        o.dispose();
      },
      { collect: true },
    ));

  test("every optimizer tells its name and its rate", () =>
    clean(
      device,
      () => {
        const others = ["gradScaler", "unscale", "lookahead"];
        const names = Object.entries(optim).filter(
          ([name, make]) =>
            /^[a-z]/.test(name) && typeof make === "function" && !others.includes(name) && !/avg|average|update/i.test(name),
        );
        expect(names.length).toBeGreaterThanOrEqual(12);
        for (const [name, make] of names) {
          const o = (make as unknown as (params: readonly dx.Tensor[]) => dx.optim.Optimizer)([matrix()]);
          const text = inspect(o);
          const [head, group] = text.split("\n");
          expect(head!.toLowerCase()).toBe(`${name.toLowerCase()} (`);
          expect(group).toBe("Parameter Group 0");
          expect(text).toContain(`\n    lr: ${o.lr}\n`);
          o.dispose();
        }
        const o = optim.adam([parameter()]);
        expect(inspect({ o }, { depth: 0 })).toContain("betas: [0.9, 0.999]");
        o.dispose();
      },
      { collect: true },
    ));
});
