/** Names of devices and who has them: src/backend/registry.ts. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { allProviders } from "../../src/backend/registry.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";

const register = dx.backend.register as (backend: unknown) => void;
const caught = (fn: () => unknown): Error => {
  try {
    fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
};

it("the library's own devices are registered as those from outside are", () => {
  expect(allProviders().map((p) => p.name)).toEqual(["cpu", "meta", "dml"]);
  expect(caught(() => dx.device("warp"))).toMatchObject({ name: "DeviceError", expected: '"cpu", "meta" or "dml:N"' });
});

describe("what is no backend is refused by the field that is wrong", () => {
  const right = { ...openreg, name: "right" };
  it.each([
    [undefined, "backend"],
    [null, "backend"],
    ["openreg", "backend"],
    [() => {}, "backend"],
    [{}, "backend.name"],
    [{ ...right, name: "Upper" }, "backend.name"],
    [{ ...right, name: "a:0" }, "backend.name"],
    [{ ...right, name: "" }, "backend.name"],
    [{ ...right, name: "float32" }, "backend.name"],
    [{ ...right, name: "cpu" }, "backend.name"],
    [{ ...right, name: "dml" }, "backend.name"],
    [{ ...right, interfaceVersion: undefined }, "backend.interfaceVersion"],
    [{ ...right, interfaceVersion: "1" }, "backend.interfaceVersion"],
    [{ ...right, version: undefined }, "backend.version"],
    [{ ...right, version: "" }, "backend.version"],
    [{ ...right, devices: undefined }, "backend.devices"],
    [{ ...right, open: 1 }, "backend.open"],
  ])("%#: %s", (value, argument) => {
    expect(caught(() => register(value))).toMatchObject({ name: "BackendError", argument, operation: "backend.register" });
  });

  it.each([0, 2, 1.5])("interface version %d", (interfaceVersion) => {
    const error = caught(() => register({ ...right, interfaceVersion }));
    expect(error).toMatchObject({ name: "BackendVersionError", version: interfaceVersion, supported: dx.backend.BACKEND_INTERFACE });
    expect(error.message).toContain(interfaceVersion > 1 ? "update dxtensor" : "update the package of right");
  });

  it("none of them has taken the name", () => {
    expect(() => dx.device("right")).toThrow(dx.DeviceError);
  });
});

it("any number of names, each once; the same object again does nothing", () => {
  for (let i = 0; i < 100; i++) register({ ...openreg, name: `many-${i}` });
  expect(String(dx.device("many-99"))).toBe("many-99:0");
  dx.backend.register(openreg);
  dx.backend.register(openreg);
  expect(caught(() => register({ ...openreg }))).toMatchObject({ name: "BackendError", argument: "backend.name" });
  expect(dx.backend.list().filter((b) => b.name === "openreg")).toMatchObject([{ version: "0.1.0", isRegistered: true }]);
  expect(caught(() => dx.device("nobody")).message).toMatch(/"cpu", "meta", "dml:N", "many-0:N".* or "openreg:N"/);
  expect(caught(() => dx.ones([1]).to("half" as never)).message).toContain('"openreg:N"');
});

it("devices by name and number", () => {
  dx.backend.register(openreg);
  expect(String(dx.device("openreg"))).toBe("openreg:0");
  expect(dx.device("openreg:1")).toBe(dx.device("openreg:1"));
  expect(dx.device("openreg:1").type).toBe("openreg");
  expect(() => dx.ones([1], { device: "openreg:2" })).toThrow(/"openreg:0" to "openreg:1"; received openreg:2/);
  expect(() => dx.device("openreg:x")).toThrow(dx.DeviceError);
  expect(() => dx.device("cpu:1")).toThrow(dx.DeviceError);
});

it("what the core is made of names no backend", () => {
  const src = fileURLToPath(new URL("../../src", import.meta.url));
  const found: string[] = [];
  for (const room of ["dispatch", "autograd", "compile", "optim", "data", "io"])
    for (const file of readdirSync(`${src}/${room}`, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      const code = readFileSync(`${src}/${room}/${file}`, "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
      for (const [name] of code.matchAll(/"cpu"|"dml"|"meta"|"dml:|device\.type\b|\.type === /g)) found.push(`${room}/${file}: ${name}`);
    }
  expect(found).toEqual([]);
});
