/** Vulkan as files: the loader, the drivers' manifests, the GPUs that the kernel shows. Nothing is loaded. */
import { posix } from "node:path";
import type { Host } from "./machine.ts";

export interface VulkanDriver {
  readonly manifest: string;
  readonly name: string;
  readonly library: string;
  readonly apiVersion: string | null;
  /** Runs on the CPU: lavapipe, SwiftShader. */
  readonly isCpu: boolean;
  /** NVIDIA's library for screens where X11's libraries are missing, as on servers and in containers: it finds no GPU then. */
  readonly lacksX11: boolean;
  readonly problem: string | null;
}

export interface RenderNode {
  readonly path: string;
  readonly vendor: string;
  /** This user may open it. */
  readonly isUsable: boolean;
}

export interface Vulkan {
  /** libvulkan.so.1, and its version where its file name tells. */
  readonly loader: { readonly path: string; readonly version: string | null } | null;
  readonly drivers: readonly VulkanDriver[];
  readonly renderNodes: readonly RenderNode[];
  /** Version of NVIDIA's kernel module. */
  readonly nvidia: string | null;
}

const vendors: Readonly<Record<string, string>> = {
  "0x10de": "NVIDIA",
  "0x1002": "AMD",
  "0x8086": "Intel",
  "0x5143": "Qualcomm",
  "0x13b5": "Arm",
  "0x1af4": "virtio",
};

/** Folders that the dynamic loader looks into, as far as they are conventions. */
function libraryFolders(host: Host): string[] {
  const triple = host.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  const own = (host.env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== "");
  return [...own, `/usr/lib/${triple}`, `/lib/${triple}`, "/usr/lib64", "/lib64", "/usr/local/lib", "/usr/lib", "/lib"];
}

function findLibrary(host: Host, name: string): string | null {
  if (name.startsWith("/")) return host.exists(name) ? name : null;
  return (
    libraryFolders(host)
      .map((folder) => posix.join(folder, name))
      .find((path) => host.exists(path)) ?? null
  );
}

/** Manifests in the loader's order; a variable that names them replaces the search. */
function manifests(host: Host): string[] {
  const configured = host.env.VK_DRIVER_FILES || host.env.VK_ICD_FILENAMES;
  const jsonIn = (path: string): string[] =>
    host.kind(path) === "folder"
      ? host
          .list(path)
          .filter((name) => name.endsWith(".json"))
          .map((name) => posix.join(path, name))
      : [path];
  const split = (list: string | undefined): string[] => (list ?? "").split(":").filter((path) => path !== "");
  if (configured) return split(configured).flatMap(jsonIn);
  const home = host.env.HOME ?? "/root";
  const config = [host.env.XDG_CONFIG_HOME || posix.join(home, ".config"), ...split(host.env.XDG_CONFIG_DIRS || "/etc/xdg")];
  const data = [
    host.env.XDG_DATA_HOME || posix.join(home, ".local/share"),
    ...split(host.env.XDG_DATA_DIRS || "/usr/local/share:/usr/share"),
  ];
  const folders = [...config, "/etc", ...data].map((folder) => posix.join(folder, "vulkan/icd.d"));
  const found = [...new Set(folders)].filter((folder) => host.kind(folder) === "folder").flatMap(jsonIn);
  return [...split(host.env.VK_ADD_DRIVER_FILES).flatMap(jsonIn), ...found];
}

function readDriver(host: Host, manifest: string): VulkanDriver {
  const name = posix.basename(manifest).replace(/(_icd)?(\.(x86_64|i686|aarch64))?\.json$/, "");
  const none = { manifest, name, library: "", apiVersion: null, isCpu: false, lacksX11: false };
  const text = host.text(manifest);
  if (text === null) return { ...none, problem: "the manifest can't be read" };
  let icd: { library_path?: unknown; api_version?: unknown } | undefined;
  try {
    icd = (JSON.parse(text) as { ICD?: typeof icd }).ICD;
  } catch {
    return { ...none, problem: "the manifest is no JSON" };
  }
  if (typeof icd?.library_path !== "string") return { ...none, problem: "the manifest names no library" };
  const library = icd.library_path.includes("/") ? posix.resolve(posix.dirname(manifest), icd.library_path) : icd.library_path;
  const found = findLibrary(host, library);
  return {
    manifest,
    name,
    library: found ?? library,
    apiVersion: typeof icd.api_version === "string" ? icd.api_version : null,
    isCpu: /lvp|lavapipe|swiftshader/i.test(`${name} ${library}`),
    lacksX11: found !== null && /libGLX_nvidia/.test(library) && findLibrary(host, "libX11.so.6") === null,
    problem: found === null ? `its library ${library} was not found` : null,
  };
}

function renderNodes(host: Host): RenderNode[] {
  return host
    .list("/dev/dri")
    .filter((name) => /^renderD\d+$/.test(name))
    .map((name) => {
      const path = posix.join("/dev/dri", name);
      const id = host.text(`/sys/class/drm/${name}/device/vendor`)?.trim() ?? "";
      return { path, vendor: vendors[id] ?? (id === "" ? "unknown" : id), isUsable: host.canUse(path) };
    });
}

/** What a Linux machine has of Vulkan. */
export function findVulkan(host: Host): Vulkan {
  const path = findLibrary(host, "libvulkan.so.1");
  const version = path === null ? null : (/\.so\.(\d+\.\d+[\d.]*)$/.exec(host.real(path))?.[1] ?? null);
  const nvidia = /Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s/.exec(host.text("/proc/driver/nvidia/version") ?? "")?.[1] ?? null;
  // The 32-bit manifests that some distributions also install are of no use to this Node.
  const drivers = manifests(host)
    .filter((manifest) => !manifest.endsWith(".i686.json"))
    .map((manifest) => readDriver(host, manifest));
  return { loader: path === null ? null : { path, version }, drivers, renderNodes: renderNodes(host), nvidia };
}
