/** Forms of single operations in ONNX: what is read again gives the same numbers. npm run onnx -- --export lets ONNX Runtime judge all of them. */
import { beforeEach, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { share } from "../share.ts";
import { exportCases } from "./export-cases.ts";
import { layerCases, networkCases, optionsOf } from "./judge/modules.ts";
import { agrees } from "./round-trip.ts";

eachDevice("an operation as an ONNX file", (device) => {
  beforeEach(() => {
    dx.setDefaultDevice(device);
    dx.manualSeed(5);
  });

  test.each(share(exportCases, 3))("$name", async ({ source, make, opset = 18 }) => {
    const args = make();
    await agrees(source, () => args, {}, opset);
  });

  // ONNX Runtime judges the large ones too.
  test.each([...share(layerCases, 6), ...networkCases.slice(0, -2)])("$name, of any length", async (c) => {
    await agrees(c.make(), c.args, optionsOf(c).dynamicAxes, 18);
  });
});
