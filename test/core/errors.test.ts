import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices, eachDevice } from "../device.ts";

/** Fails unless fn throws an error of the class that carries these data. */
function expectError(
  fn: () => unknown,
  Class: abstract new (...args: never[]) => dx.DxError,
  data: Partial<Pick<dx.DxError, "operation" | "argument" | "expected" | "received" | "hint">>,
): void {
  let caught: unknown;
  try {
    fn();
  } catch (error) {
    caught = error;
  }
  expect(caught).toBeInstanceOf(Class);
  expect(caught).toBeInstanceOf(dx.DxError);
  expect(caught).toMatchObject(data);
  expect((caught as Error).message).toContain(data.operation ?? "");
}

eachDevice("errors", (device) => {
  test("shapes that do not fit", () =>
    clean(device, () => {
      expectError(() => dx.add(dx.ones([2, 3]), dx.ones([4])), dx.ShapeError, { operation: "add", argument: "b", received: "[4]" });
      expectError(() => dx.tensor([[1, 2], [3]] as dx.TensorData), dx.ShapeError, { operation: "tensor", argument: "data" });
      expectError(() => dx.tensor([1, 2, 3], { shape: [2] }), dx.ShapeError, { operation: "tensor", argument: "shape" });
      expectError(() => dx.zeros([2, -1]), dx.ValueError, { argument: "shape" });
      expectError(() => dx.zeros([1.5]), dx.ValueError, { argument: "shape" });
      expectError(() => dx.ones([2, 3]).reshape(4), dx.ShapeError, { operation: "reshape", expected: "of 6 elements", received: "[4]" });
    }));

  test("dtypes that an operation does not take", () =>
    clean(device, () => {
      expectError(() => dx.mean(dx.ones([2], { dtype: "int32" })), dx.DTypeError, { operation: "mean", received: "int32[2]" });
      expectError(() => dx.mul(dx.ones([2], { dtype: "float64" }), 2), dx.DTypeError, { operation: "mul", received: "float64" });
      expectError(() => dx.zeros([2], { dtype: "float8" as dx.DType }), dx.DTypeError, { argument: "dtype", received: "float8" });
      expectError(() => dx.ones([2]).to("complex64" as dx.DType), dx.DeviceError, { operation: "to" });
      expectError(() => dx.zeros([2], { dtype: "int32", requiresGrad: true }), dx.DTypeError, { received: "int32" });
      expectError(() => dx.tensor("text" as unknown as dx.TensorData), dx.DTypeError, { argument: "data", received: "string" });
    }));

  test("use after dispose", () =>
    clean(device, async () => {
      const x = dx.ones([2, 3]);
      const view = x.t();
      x.dispose();
      x.dispose();
      expectError(() => x.add(1), dx.DisposedError, { operation: "add", received: "float32[2, 3] after dispose()" });
      expectError(() => x.reshape(6), dx.DisposedError, { operation: "reshape" });
      expectError(() => x.add_(1), dx.DisposedError, { operation: "add_" });
      expectError(() => x.dataSync(), dx.DisposedError, { operation: "dataSync" });
      await expect(x.data()).rejects.toBeInstanceOf(dx.DisposedError);
      expectError(() => dx.ones([2, 3]).add(x), dx.DisposedError, { operation: "add" });
      expectError(() => dx.cat([dx.ones([2, 3]), x]), dx.DisposedError, { operation: "cat" });
      expectError(() => x.backward(), dx.DisposedError, { operation: "backward" });
      // The view keeps the storage alive.
      expect(view.sum().itemSync()).toBe(6);
    }));

  test("devices that are not there", () =>
    clean(device, () => {
      const count = dx.dml.deviceCount();
      expect(() => dx.dml.device(count + 8)).toThrow(
        `Invalid device_id argument supplied ${count + 8}. device_id must be in range [0, ${count}).`,
      );
      expectError(() => dx.ones([2], { device: `dml:${count}` }), dx.DeviceIndexError, { hint: expect.stringContaining('"cpu"') });
      expectError(() => dx.ones([1]).to("tpu"), dx.DeviceError, {});
      for (const name of ["foo", "cpu:1", "dml:", "dml:-1", "dml:99999999999999999999", ""])
        expectError(() => dx.device(name), dx.DeviceError, { operation: "device", argument: "name", expected: '"cpu", "meta" or "dml:N"' });
      expectError(() => dx.device("DML 0"), dx.DeviceError, { argument: "name" });
      expect(dx.dml.deviceName(count)).toBe("");
    }));

  test("more elements than DirectML counts", () =>
    clean(device, () => {
      expectError(() => dx.zeros([2 ** 20, 2 ** 20]), dx.ShapeError, { operation: "zeros", received: "[1048576, 1048576]" });
      expectError(() => dx.ones([2 ** 16, 1]).mul(dx.ones([1, 2 ** 16])), dx.ShapeError, { operation: "mul" });
    }));

  test("too large an allocation: the device works on", () => {
    dx.closeDevice(device);
    dx.setMemoryLimit(64 * 2 ** 20);
    try {
      dx.withDevice(device, () =>
        dx.scope(() => {
          expectError(() => dx.zeros([2 ** 26]), dx.OutOfMemoryError, { operation: "zeros" });
          expectError(() => dx.tensor(new Float32Array(2 ** 25)), dx.OutOfMemoryError, { operation: "tensor" });
          expect(dx.ones([4]).sum().itemSync()).toBe(4);
        }),
      );
    } finally {
      dx.closeDevice(device);
      dx.setMemoryLimit(undefined);
    }
  });

  test("every error says operation, expected and received", () => {
    const error = new dx.ShapeError("matmul", "b", "float32[3, N]", "float32[4, 5]", "Transpose it.");
    expect(error.message).toBe("matmul: b must be float32[3, N]; received float32[4, 5]. Transpose it.");
    expect(error.name).toBe("ShapeError");
  });
});

test("there is a device to test on", () => expect(devices.length).toBeGreaterThan(0));
