/** Microsoft's library over the Vulkan runtime: names of its devices, removed devices, and objects left at exit. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

const overVulkan = devices.filter((device) => device.startsWith("dml:") && dx.deviceInfo(device).runtime === "Direct3D 12 over Vulkan");
const title = overVulkan.length > 0 ? overVulkan : ["(skipped: no device here is over Vulkan; npm run verify:linux makes one)"];

const bundle = new URL("../../dist/index.js", import.meta.url).href;

/** What test/windows/child.mjs says in a process of its own, and what libd3d12.so says of objects that are alive at its exit. */
function child(name: string, device: string, env: Readonly<Record<string, string>> = {}) {
  const done = spawnSync(process.execPath, [fileURLToPath(new URL("../windows/child.mjs", import.meta.url)), name, device], {
    encoding: "utf8",
    env: {
      ...process.env,
      DXTENSOR_TEST_PACKAGE: bundle,
      DXTENSOR_VULKAN_LEAKS: "1",
      ...env,
    },
    timeout: 280_000,
  });
  if (done.stdout === "") throw new Error(`${name} ended with ${done.status ?? done.signal} and said nothing: ${done.stderr}`);
  return { status: done.status, answer: JSON.parse(done.stdout) as unknown, live: /(\d+) live objects/.exec(done.stderr)?.[1] };
}

interface Removal {
  readonly seen: readonly { readonly name: string; readonly type: string; readonly message: string }[];
  readonly other: readonly number[];
}

describe.skipIf(overVulkan.length === 0).each(title)("a device over Vulkan, %s", (device) => {
  it("is called by its Vulkan name, and says what it is", () => {
    const info = dx.deviceInfo(device);
    expect(info).toMatchObject({ runtime: "Direct3D 12 over Vulkan", isSimulated: false, featureLevel: "6.2" });
    expect(info.name).toBe(dx.dml.deviceName(dx.device(device).index));
    // A driver on the CPU never passes for a GPU.
    if (info.name.startsWith("llvmpipe")) expect(info.isHardware).toBe(false);
    expect(dx.deviceInfo("cpu")).toMatchObject({ runtime: "Direct3D 12 in software", isHardware: false });
  });

  it.runIf(overVulkan.some((name) => !dx.deviceInfo(name).isHardware))(
    "a driver on the CPU is no dml device unless DXTENSOR_CPU_ADAPTERS=1",
    () => {
      const code = "import(process.env.DXTENSOR_TEST_PACKAGE).then((dx) => console.log(dx.dml.deviceCount()))";
      const count = (wanted: string): number => {
        const env = {
          ...process.env,
          DXTENSOR_CPU_ADAPTERS: wanted,
          DXTENSOR_TEST_PACKAGE: bundle,
        };
        return Number(spawnSync(process.execPath, ["-e", code], { encoding: "utf8", env }).stdout);
      };
      expect(count("1")).toBeGreaterThan(count(""));
    },
  );

  it("leaves nothing of Direct3D behind when its process ends, with threads too", () => {
    expect(child("waits", device)).toEqual({ status: 0, answer: { value: 50 }, live: "0" });
    expect(child("threads", device)).toMatchObject({ status: 0, live: "0" });
    // process.exit() waits for nothing: what the device is working on is the system's to take back.
    expect(child("pending", device)).toMatchObject({ status: 0, answer: { queued: 500 } });
  });

  it("tells of its removal in every way of using it, and leaves the process and cpu alive", () => {
    const { status, answer } = child("removed", device, { DXTENSOR_VULKAN_REMOVE_AFTER: "20" });
    const { seen, other } = answer as Removal;
    expect(status).toBe(0);
    expect(seen.map(({ name, type }) => `${name}: ${type}`)).toEqual(
      ["data", "dataSync", "operation", "synchronize"].map((name) => `${name}: DeviceRemovedError`),
    );
    for (const { message } of seen) expect(message).toContain("DXGI_ERROR_DEVICE_REMOVED");
    expect(other).toEqual([2, 2, 2]);
  });

  it("that Direct3D refuses is a typed error, and cpu works", () => {
    const code = `import(process.env.DXTENSOR_TEST_PACKAGE).then((dx) => {
      try {
        dx.ones([2], { device: "${device}" });
      } catch (error) {
        console.log(JSON.stringify({ type: error.constructor.name, message: error.message, cpu: [...dx.ones([2], { device: "cpu" }).add(1).dataSync()] }));
      }
    })`;
    const env = { ...process.env, DXTENSOR_TEST_PACKAGE: bundle, DXTENSOR_VULKAN_DEVICE_HR: "887a0004" };
    const done = spawnSync(process.execPath, ["-e", code], { encoding: "utf8", env });
    expect(JSON.parse(done.stdout)).toEqual({
      type: "NativeError",
      message: expect.stringContaining("DXGI_ERROR_UNSUPPORTED") as string,
      cpu: [2, 2],
    });
    expect(done.status).toBe(0);
  });
});
