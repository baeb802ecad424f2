/**
 * Writes the System V side of libvkd3d's interfaces as C: one function for each method, with C++'s (Itanium) way to return
 * structures, object arguments unwrapped, new objects wrapped. They call native/vulkan/d3d12/wrap.h.
 */
import { withBases, type Headers, type Method, type Parameter } from "./headers.ts";

/** Methods that are written by hand, as own_INTERFACE_METHOD. */
const byHand = new Set([
  "IUnknown::QueryInterface",
  "IUnknown::AddRef",
  "IUnknown::Release",
  "ID3D12Object::GetPrivateData",
  "ID3D12Object::SetPrivateDataInterface",
  "ID3D12Object::SetName",
  "ID3D12Fence::SetEventOnCompletion",
  "ID3D12Device1::SetEventOnMultipleFenceCompletion",
  "ID3D12Device::CheckFeatureSupport",
  "ID3D12Device::CreateComputePipelineState",
  "ID3D12Device::GetDeviceRemovedReason",
  "ID3D12Device5::EnumerateMetaCommands",
  "ID3D12Device5::RemoveDevice",
  "ID3D12CommandQueue::ExecuteCommandLists",
  "ID3D12CommandQueue::Signal",
  // libvkd3d lacks them and computing has no use for them: they only say so.
  "ID3D12Device5::CreateStateObject",
  "ID3D12Device7::AddToStateObject",
  "ID3D12GraphicsCommandList4::BeginRenderPass",
]);

/** Structures with objects inside that structures.c copies with the objects unwrapped: one, or as many as an argument says. */
const copiedOne = new Set(["D3D12_COMPUTE_PIPELINE_STATE_DESC", "D3D12_GRAPHICS_PIPELINE_STATE_DESC", "D3D12_TEXTURE_COPY_LOCATION"]);
const copiedMany = new Map([
  ["D3D12_RESOURCE_BARRIER", "barrier_count"],
  ["D3D12_PIPELINE_STATE_STREAM_DESC", "1"],
]);

interface Argument {
  /** What is handed to libvkd3d. */
  readonly call: string;
  readonly before?: string;
  readonly after?: string;
  /** An object comes back through it. */
  readonly wraps?: string;
}

/** The name of a wrapper's function. */
const functionName = (method: Method): string =>
  `${byHand.has(`${method.owner}::${method.name}`) ? "own_" : ""}${method.owner}_${method.name}`;

function countOf(method: Method): string {
  const counts = method.parameters.filter((p) => /^UINT(32)?$/.test(p.type) && /^num_|_count$/.test(p.name));
  if (counts.length !== 1 || counts[0] === undefined) throw new Error(`${method.owner}::${method.name}: which argument counts objects?`);
  return counts[0].name;
}

/** How an argument is handed on. Throws when it holds objects in a way that has no rule here. */
function argument(method: Method, parameters: readonly Parameter[], index: number, holders: ReadonlySet<string>): Argument {
  const { type, name } = parameters[index] as Parameter;
  const previous = parameters[index - 1];
  const pointee = /^(.*?)\s*\*$/.exec(type)?.[1]?.replace("const ", "").trim();
  if (type === "void **" && previous !== undefined && /^REF(IID|GUID)$/.test(previous.type) && previous.name.includes("id"))
    return { call: name, wraps: `wrap_out(hr, ${previous.name}, ${name})` };
  if (/^ID3D\w+ \*\*$/.test(type)) {
    const iid = (type.split(" ")[0] ?? "").replace("ID3DBlob", "ID3D10Blob");
    return { call: name, wraps: `wrap_out(hr, &IID_${iid}, (void **)${name})` };
  }
  const copy = `c${index}`;
  if (/^ID3D\w+ \*const \*$/.test(type))
    return {
      call: `(${type})${copy}`,
      before: `void **${copy} = unwrap_array(${countOf(method)}, (void *const *)${name});`,
      after: `free(${copy});`,
    };
  if (pointee !== undefined && /^I(D3D|Unknown)\w*$/.test(pointee)) return { call: `unwrap(${name})` };
  if (pointee !== undefined && copiedOne.has(pointee))
    return { call: `struct_${pointee}(${name}, &${copy})`, before: `${pointee} ${copy};` };
  const count = pointee === undefined ? undefined : copiedMany.get(pointee);
  if (count !== undefined)
    return { call: copy, before: `${pointee} *${copy} = array_${pointee}(${name}, ${count});`, after: `free(${copy});` };
  if ((type.match(/\w+/g) ?? []).some((word) => holders.has(word) || /^(ID3D|IUnknown)/.test(word)))
    throw new Error(`no rule for ${method.owner}::${method.name}, argument ${type} ${name}`);
  return { call: name };
}

/** The C text of one method's function, or its declaration if it is written by hand. */
export function wrapperOf(method: Method, holders: ReadonlySet<string>): string {
  const title = `${method.owner}::${method.name}`;
  const returnsStructure = method.parameters[0]?.name === "__ret";
  const parameters = returnsStructure ? method.parameters.slice(1) : method.parameters;
  const result = returnsStructure ? method.result.slice(0, -1).trim() : method.result;
  const list = ["struct wrap *w", ...parameters.map((p) => `${p.type} ${p.name}${p.array}`)].join(", ");
  if (byHand.has(title)) return `${result} ${functionName(method)}(${list});\n`;
  const args = parameters.map((_, i) => argument(method, parameters, i, holders));
  const inner = ["real", ...(returnsStructure ? ["&value"] : []), ...args.map((a) => a.call)].join(", ");
  const call = `real->lpVtbl->${method.name}(${inner})`;
  const before = args.flatMap((a) => (a.before === undefined ? [] : [a.before]));
  const after = args.flatMap((a) => (a.after === undefined ? [] : [a.after]));
  const wraps = args.flatMap((a) => (a.wraps === undefined ? [] : [`hr = ${a.wraps};`]));
  if (wraps.length > 0 && result !== "HRESULT") throw new Error(`${title} gives objects but no HRESULT`);
  let body: string[];
  if (returnsStructure) body = [`${result} value;`, `${call};`, ...after, "return value;"];
  else if (result === "void") body = [`${call};`, ...after];
  else if (result === "HRESULT") body = [`HRESULT hr = ${call};`, ...after, ...wraps, `return result("${title}", hr);`];
  else if (after.length === 0) body = [`return ${call};`];
  else throw new Error(`${title} returns ${result} and takes copies`);
  const lines = [`${method.owner} *real = w->real;`, ...before, `CALL("${title}");`, ...body];
  return `static ${result} ${functionName(method)}(${list})\n{\n${lines.map((line) => `    ${line}\n`).join("")}}\n`;
}

/** The whole C file for the wanted interfaces and their bases. */
export function writeWrappers(headers: Headers, wanted: readonly string[]): string {
  const needed = withBases(headers, wanted);
  const tableOf = (name: string): readonly Method[] => headers.interfaces.get(name) ?? [];
  const functions = new Map(needed.flatMap(tableOf).map((method) => [functionName(method), method]));
  const text = [`// Made by scripts/generate-vulkan.ts: ${needed.length} interfaces.\n#include "wrap.h"\n\n`];
  for (const method of functions.values()) text.push(wrapperOf(method, headers.holders));
  // Two empty words before each table, where C++ has its type information.
  const starts = new Map<string, number>();
  let slots = 0;
  text.push("\nvoid *const vtables[] =\n{\n");
  for (const name of needed) {
    starts.set(name, slots + 2);
    slots += 2 + tableOf(name).length;
    text.push(`    // ${name}\n    NULL, NULL,\n`, ...tableOf(name).map((method) => `    (void *)${functionName(method)},\n`));
  }
  text.push(`};\nconst size_t vtable_slots = ${slots};\n\nconst struct iface ifaces[] =\n{\n`);
  for (const name of needed) {
    const base = headers.bases.get(name);
    text.push(`    { "${name}", &IID_${name}, vtables + ${starts.get(name)}, ${base === undefined ? -1 : needed.indexOf(base)} },\n`);
  }
  text.push(`};\nconst size_t iface_count = ${needed.length};\n`);
  return text.join("");
}
