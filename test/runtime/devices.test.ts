import { expect, it } from "vitest";
import { device } from "../../src/core/device.ts";
import * as dx from "../../src/index.ts";
import { requireDevice, hasClosedDevice, loadReports, nativeDevice, onClose, openDevices } from "../../src/runtime/devices.ts";

it("a device is opened once, says what it is, and is refused by its name where there is none", () => {
  const native = nativeDevice(device("cpu"));
  expect([nativeDevice(device("cpu")), openDevices().includes(native), native.isClosed]).toEqual([native, true, false]);
  const info = dx.deviceInfo("cpu");
  expect(info).toMatchObject({ name: expect.any(String) });
  expect(requireDevice("test", "cpu")).toBe(device("cpu"));
  expect(() => nativeDevice(device("dml:97"), "test")).toThrow(dx.DeviceError);
  expect(() => nativeDevice(device("dml:97"), "test")).toThrow(/97/);
  expect(loadReports().software).toBeTruthy();
});

it("closing a device tells who wants to know, ends its tensors, and a new one opens", () => {
  const t = dx.ones([2], { device: "cpu" });
  const native = nativeDevice(device("cpu"));
  const told: unknown[] = [];
  onClose((n) => told.push(n));
  dx.closeDevice("cpu");
  expect([told, native.isClosed, hasClosedDevice()]).toEqual([[native], true, true]);
  expect(() => t.toArraySync()).toThrow(dx.DxError);
  expect(dx.ones([2], { device: "cpu" }).toArraySync()).toEqual([1, 1]);
  expect(nativeDevice(device("cpu"))).not.toBe(native);
});
