import { describe, expect, it } from "vitest";
import { parseHeaders, withBases } from "../../scripts/vulkan/headers.ts";
import { writeWrappers, wrapperOf } from "../../scripts/vulkan/wrappers.ts";

/** As widl writes an interface: the C table, and the C++ class that names the base. */
function iface(name: string, base: string, tables: readonly (readonly [owner: string, methods: string])[]): string {
  const body = tables.map(([owner, methods]) => `    /*** ${owner} methods ***/\n${methods}\n`).join("");
  return `${name} : public ${base}\n{\n};\ntypedef struct ${name}Vtbl {\n    BEGIN_INTERFACE\n\n${body}\n    END_INTERFACE\n} ${name}Vtbl;\n`;
}
const unknown = [
  "    HRESULT (STDMETHODCALLTYPE *QueryInterface)(\n        ID3D12Object *This,\n        REFIID riid,\n        void **object);",
  "    ULONG (STDMETHODCALLTYPE *AddRef)(\n        ID3D12Object *This);",
  "    ULONG (STDMETHODCALLTYPE *Release)(\n        ID3D12Object *This);",
].join("\n");
const object = iface("ID3D12Object", "IUnknown", [["IUnknown", unknown]]);
const withMethods = (methods: string): string =>
  `${object}${iface("ID3D12Thing", "ID3D12Object", [
    ["IUnknown", unknown],
    ["ID3D12Thing", methods],
  ])}`;
const method = (text: string): string => `    ${text.replace("(", "(STDMETHODCALLTYPE *")}`;

function wrapper(signature: string, structures = ""): string {
  const headers = parseHeaders(structures + withMethods(method(signature)));
  const last = headers.interfaces.get("ID3D12Thing")?.at(-1);
  if (last === undefined) throw new Error("no method was read");
  return wrapperOf(last, headers.holders);
}

describe("wrappers of methods", () => {
  it("hand plain arguments on", () => {
    const text = wrapper("void (SetSize)(\n        ID3D12Thing *This,\n        UINT64 size,\n        const FLOAT factor[4]);");
    expect(text).toContain("static void ID3D12Thing_SetSize(struct wrap *w, UINT64 size, const FLOAT factor[4])");
    expect(text).toContain("real->lpVtbl->SetSize(real, size, factor);");
  });

  it("return structures as C++ does", () => {
    const text = wrapper("D3D12_DESC * (GetDesc)(\n        ID3D12Thing *This,\n        D3D12_DESC *__ret);");
    expect(text).toContain("static D3D12_DESC ID3D12Thing_GetDesc(struct wrap *w)");
    expect(text).toContain("real->lpVtbl->GetDesc(real, &value);\n    return value;");
  });

  it("unwrap objects that go in and wrap those that come out", () => {
    const text = wrapper(
      "HRESULT (Make)(\n        ID3D12Thing *This,\n        ID3D12Heap *heap,\n        REFIID riid,\n        void **made);",
    );
    expect(text).toContain("real->lpVtbl->Make(real, unwrap(heap), riid, made)");
    expect(text).toContain("hr = wrap_out(hr, riid, made);");
    expect(text).toContain('return result("ID3D12Thing::Make", hr);');
  });

  it("copy arrays of objects by their count", () => {
    const text = wrapper("void (Run)(\n        ID3D12Thing *This,\n        UINT list_count,\n        ID3D12CommandList *const *lists);");
    expect(text).toContain("void **c1 = unwrap_array(list_count, (void *const *)lists);");
    expect(text).toContain("free(c1);");
  });

  it("copy structures with objects inside", () => {
    const text = wrapper(
      "void (Barrier)(\n        ID3D12Thing *This,\n        UINT barrier_count,\n        const D3D12_RESOURCE_BARRIER *barriers);",
    );
    expect(text).toContain("array_D3D12_RESOURCE_BARRIER(barriers, barrier_count)");
  });
});

describe("what has no rule stops the generator", () => {
  const holder =
    "typedef struct D3D12_NEW {\n    ID3D12Heap *heap;\n} D3D12_NEW;\ntypedef struct D3D12_OUTER {\n    D3D12_NEW inner;\n} D3D12_OUTER;\n";

  it("a structure with an object at any depth", () => {
    const signature = "void (Use)(\n        ID3D12Thing *This,\n        const D3D12_OUTER *outer);";
    expect(() => wrapper(signature, holder)).toThrow("no rule for ID3D12Thing::Use, argument const D3D12_OUTER * outer");
  });

  it("objects without one count", () => {
    const signature = "void (Run)(\n        ID3D12Thing *This,\n        ID3D12CommandList *const *lists);";
    expect(() => wrapper(signature)).toThrow("which argument counts objects?");
  });

  it("an interface that the headers lack", () => {
    expect(() => withBases(parseHeaders(object), ["ID3D12Far"])).toThrow("ID3D12Far is in none of the headers");
  });
});

it("tables hold the methods of the bases first, after two empty words", () => {
  const headers = parseHeaders(withMethods(method("void (Last)(\n        ID3D12Thing *This);")));
  const text = writeWrappers(headers, ["ID3D12Thing"]);
  expect(text).toMatch(/\/\/ ID3D12Thing\n {4}NULL, NULL,\n {4}\(void \*\)own_IUnknown_QueryInterface,\n[^]*\(void \*\)ID3D12Thing_Last,/);
  expect(text).toContain('{ "ID3D12Object", &IID_ID3D12Object, vtables + 7, 0 }');
  expect(text).toContain('{ "ID3D12Thing", &IID_ID3D12Thing, vtables + 12, 1 }');
  expect(text).toContain("const size_t vtable_slots = 16;");
});
