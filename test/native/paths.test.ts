import { describe, expect, it } from "vitest";
import { addonPaths, fetchedFolder, libraryPaths, takesCpuAdapters, type HostEnvironment } from "../../src/native/paths.ts";

/** A machine with the given variables and files. */
function machine(env: Record<string, string> = {}, files: readonly string[] = [], platform = "linux", packages: readonly string[] = []): HostEnvironment {
  const isWindows = platform === "win32";
  return {
    env,
    platform,
    arch: "x64",
    cwd: isWindows ? "C:\\work" : "/cwd",
    home: isWindows ? "C:\\Users\\u" : "/home/u",
    root: isWindows ? "C:\\app" : "/app",
    exists: (path) => files.includes(path),
    packageFolder: (name) => (packages.includes(name) ? `/app/node_modules/${name}` : null),
  };
}

describe("addonPaths", () => {
  it("tries the own build, then the shipped binary of this platform", () => {
    expect(addonPaths(machine())).toEqual(["/app/build/native/Release/dxtensor.node", "/app/prebuilds/linux-x64/dxtensor.node"]);
    expect(addonPaths(machine({}, [], "win32"))[1]).toBe("C:\\app\\prebuilds\\win32-x64\\dxtensor.node");
  });

  it("takes the platform's package where nothing was built", () => {
    const packages = ["@dxtensor/linux-x64"];
    const [, shipped, installed] = addonPaths(machine({}, [], "linux", packages));
    expect([shipped, installed]).toEqual(["/app/prebuilds/linux-x64/dxtensor.node", "/app/node_modules/@dxtensor/linux-x64/dxtensor.node"]);
    expect(addonPaths(machine({}, [shipped!], "linux", packages))).toHaveLength(2);
    expect(addonPaths(machine({}, [], "linux", ["@dxtensor/linux-arm64"]))).toHaveLength(2);
  });

  it("tries DXTENSOR_NATIVE alone, and counts a relative path from the working folder", () => {
    expect(addonPaths(machine({ DXTENSOR_NATIVE: "out/a.node" }))).toEqual(["/cwd/out/a.node"]);
  });
});

describe("libraryPaths", () => {
  it("has no folder and no explicit file on a machine with nothing", () => {
    expect(libraryPaths(machine())).toEqual({
      folders: [],
      dxcore: undefined,
      d3d12: undefined,
      directml: undefined,
      software: "/app/build/native/Release/libdxtensor_software.so",
      simulate: undefined,
    });
  });

  it("orders the folders: given ones, the package's, WSL's, the Vulkan runtime's", () => {
    const files = ["/app/directml", "/dev/dxg", "/app/build/vulkan"];
    expect(libraryPaths(machine({ DXTENSOR_LIBRARY_FOLDER: "/a:b" }, files)).folders).toEqual(["/a", "/cwd/b", "/app/directml", "/usr/lib/wsl/lib", "/app/build/vulkan"]);
  });

  it("takes what was fetched, and the packages with Microsoft's library and with those over Vulkan", () => {
    const fetched = "/home/u/.local/share/dxtensor/directml";
    const packages = ["@dxtensor/directml-linux-x64", "@dxtensor/vulkan-linux-x64"];
    const files = ["/app/directml", fetched, "/dev/dxg"];
    const own = packages.map((name) => `/app/node_modules/${name}`);
    expect(libraryPaths(machine({}, files, "linux", packages)).folders).toEqual(["/app/directml", fetched, own[0], "/usr/lib/wsl/lib", own[1]]);
    expect(fetchedFolder(machine({ XDG_DATA_HOME: "/data" }))).toBe("/data/dxtensor/directml");
    expect(fetchedFolder(machine({}, [], "win32"))).toBe("C:\\Users\\u\\AppData\\Local\\dxtensor\\directml");
    expect(fetchedFolder(machine({ LOCALAPPDATA: "D:\\l" }, [], "win32"))).toBe("D:\\l\\dxtensor\\directml");
  });

  it("takes WSL's folder only where the GPU device is", () => {
    expect(libraryPaths(machine({}, ["/usr/lib/wsl/lib"])).folders).toEqual([]);
  });

  it("takes System32 on Windows, and splits the list there at semicolons", () => {
    const env = { SystemRoot: "D:\\Windows", DXTENSOR_LIBRARY_FOLDER: "C:\\a;b" };
    expect(libraryPaths(machine(env, [], "win32")).folders).toEqual(["C:\\a", "C:\\work\\b", "D:\\Windows\\System32"]);
  });

  it("hands explicit files and the profiles through", () => {
    const env = { DXTENSOR_DIRECTML: "/m/libdirectml.so", DXTENSOR_DXCORE: "c.so", DXTENSOR_D3D12: "/m/d.so", DXTENSOR_SOFTWARE: "/m/s.so", DXTENSOR_SIMULATE: "rtx-3070@6.4" };
    expect(libraryPaths(machine(env))).toEqual({
      folders: [],
      directml: "/m/libdirectml.so",
      dxcore: "/cwd/c.so",
      d3d12: "/m/d.so",
      software: "/m/s.so",
      simulate: "rtx-3070@6.4",
    });
  });

  it("treats an empty variable as not set", () => {
    expect(libraryPaths(machine({ DXTENSOR_DIRECTML: "", DXTENSOR_LIBRARY_FOLDER: "" }))).toEqual(libraryPaths(machine()));
  });

  it("looks for the software adapter in the folder of the addon that exists", () => {
    const shipped = "/app/prebuilds/linux-x64/libdxtensor_software.so";
    expect(libraryPaths(machine({}, [shipped])).software).toBe(shipped);
    expect(libraryPaths(machine({ DXTENSOR_NATIVE: "/n/dxtensor.node" }, [shipped])).software).toBe("/n/libdxtensor_software.so");
    expect(libraryPaths(machine({}, [], "win32")).software).toBe("C:\\app\\build\\native\\Release\\dxtensor_software.dll");
  });
});

describe("takesCpuAdapters", () => {
  it("is true for 1 only", () => {
    expect([{}, { DXTENSOR_CPU_ADAPTERS: "0" }, { DXTENSOR_CPU_ADAPTERS: "1" }].map((env) => takesCpuAdapters(machine(env)))).toEqual([false, false, true]);
  });
});
