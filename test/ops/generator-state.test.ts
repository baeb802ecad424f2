/** Generator.getState and setState. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

describe.each(devices)("a generator on %s", (device) => {
  it("continues from a state, on the host and on every device it was used on, also inside compile", async () => {
    const generator = new dx.Generator(2n ** 63n + 5n);
    const draw = async (g: dx.Generator): Promise<unknown[]> => [
      await dx.rand([3], { generator: g, device }).toArray(),
      g.nextBelow(1000),
      await dx.rand([2], { generator: g, device }).toArray(),
    ];
    await draw(generator);
    // Taken as it is now, though more is drawn before it was read.
    const taken = generator.getState();
    const next = await draw(generator);
    const state = JSON.parse(JSON.stringify(await taken)) as dx.GeneratorState;
    expect(state.seed).toBe("9223372036854775813");
    expect(Object.keys(state.devices)).toEqual([device]);
    expect(await draw(new dx.Generator(1).setState(state))).toEqual(next);
    expect(await draw(generator.setState(state))).toEqual(next);

    const program = dx.compile(() => dx.rand([4], { generator, device }));
    await program().toArray();
    const before = await generator.getState();
    const wanted = [await program().toArray(), await program().toArray()];
    expect(wanted[0]).not.toEqual(wanted[1]);
    generator.setState(before);
    expect([await program().toArray(), await program().toArray()]).toEqual(wanted);
    // A device that the state does not know begins by the seed.
    const expected = await dx.rand([3], { generator: new dx.Generator(7), device }).toArray();
    const used = new dx.Generator(8);
    await draw(used);
    used.setState({ seed: "7", host: "7", devices: {} });
    expect(await dx.rand([3], { generator: used, device }).toArray()).toEqual(expected);
  });

  it("refuses a state that is none, and stays where it was", async () => {
    const generator = new dx.Generator(3);
    const good = await generator.getState();
    for (const [bad, text] of [
      [{ ...good, seed: "x" }, "setState: seed must be an integer as text; received x."],
      [{ ...good, host: 1.5 }, "setState: host must be an integer as text; received 1.5."],
      [{ ...good, devices: { [device]: [1, 2] } }, `setState: devices.${device} must be 6 integers of 32 bits; received`],
      [{ ...good, devices: { [device]: [1, 2, 3, 4, 5, -1] } }, `setState: devices.${device} must be 6 integers of 32 bits; received`],
      [{ ...good, devices: undefined }, "setState: devices"],
      [null, "setState: state"],
    ] as const) {
      expect(() => generator.setState(bad as never)).toThrow(text);
      expect(await generator.getState()).toEqual(good);
    }
  });
});
