/** dx.devices(): src/runtime/device-list.ts. Backends of packages are in test/backend/autoload.test.ts. */
import { afterEach, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";

afterEach(() => dx.backend.setAutoload(null));

it("lists each device of each backend by its name, and opens none", () => {
  dx.backend.setAutoload(false);
  const own = dx.devices();
  expect(own[0]).toMatchObject({ name: "software adapter", backend: "cpu", version: null, isHardware: false });
  expect(own.map((d) => String(d.device))).toEqual(["cpu", ...Array.from({ length: dx.dml.deviceCount() }, (_, i) => `dml:${i}`)]);
  let opened = 0;
  dx.backend.register({ ...openreg, open: (index, options) => (opened++, openreg.open(index, options)) });
  const added = dx.devices().slice(own.length);
  expect(added.map((d) => [String(d.device), d.name, d.version, d.memoryInBytes])).toEqual([
    ["openreg:0", "openreg simulator 0", "0.1.0", 2 ** 30],
    ["openreg:1", "openreg simulator 1", "0.1.0", 2 ** 30],
  ]);
  expect(opened).toBe(0);
  expect(dx.ones([2], { device: added[1]!.device }).add(1).toArraySync()).toEqual([2, 2]);
  expect(dx.deviceInfo("openreg:1")).toMatchObject({ name: "openreg simulator 1", runtime: "openreg 0.1.0", isHardware: false });
});
