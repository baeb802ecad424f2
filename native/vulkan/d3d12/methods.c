// Methods of vkd3d that are corrected, and methods that vkd3d lacks and compute programs do not need: these are refused.
#include <unistd.h>

#include "wrap.h"
#include "../dxil/dxil.h"

// Names are dropped. They serve debuggers only, DirectML gives one to every pipeline, and it is not known whether its
// characters have two or four bytes.
HRESULT own_ID3D12Object_SetName(struct wrap* w, const WCHAR* name) {
  (void)w;
  return name ? S_OK : E_INVALIDARG;
}

HRESULT own_ID3D12Device_CheckFeatureSupport(struct wrap* w, D3D12_FEATURE feature, void* data, UINT size) {
  ID3D12Device* real = w->real;
  UINT asked = data && size >= sizeof(asked) ? *(UINT*)data : 0, words[4] = {0};
  HRESULT hr = real->lpVtbl->CheckFeatureSupport(real, feature, data, size);

  if (tracing_calls) {
    if (data) memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
    trace("ID3D12Device::CheckFeatureSupport %u: asked %x, answered %x %x %x %x", feature, asked, words[0], words[1], words[2], words[3]);
  }
  if (FAILED(hr)) trace("ID3D12Device::CheckFeatureSupport %u -> %08x", feature, hr);
  return hr;
}

// DXTENSOR_VULKAN_SHADERS=FOLDER: each shader as the program gave it, for tests of the rewriting.
static void keep_shader(const void* code, size_t size) {
  static unsigned last;
  const char* folder = getenv("DXTENSOR_VULKAN_SHADERS");
  char path[4096];
  FILE* file;

  if (!folder || !*folder || !code) return;
  snprintf(path, sizeof(path), "%s/%d-%06u.dxbc", folder, (int)getpid(), __atomic_add_fetch(&last, 1, __ATOMIC_SEQ_CST));
  if ((file = fopen(path, "wb")) && fwrite(code, 1, size, file) != size) trace("%s could not be written", path);
  if (file) fclose(file);
  else trace("%s could not be made", path);
}

HRESULT own_ID3D12Device_CreateComputePipelineState(struct wrap* w, const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, REFIID iid, void** out) {
  ID3D12Device* real = w->real;
  D3D12_COMPUTE_PIPELINE_STATE_DESC copy;
  struct vkd3d_shader_code shader = {0};
  HRESULT hr;

  CALL("ID3D12Device::CreateComputePipelineState");
  desc = struct_D3D12_COMPUTE_PIPELINE_STATE_DESC(desc, &copy);
  if (desc) keep_shader(copy.CS.pShaderBytecode, copy.CS.BytecodeLength);
  if (desc && dxil_for_vkd3d(copy.CS.pShaderBytecode, copy.CS.BytecodeLength, &shader))
    copy.CS = (D3D12_SHADER_BYTECODE){shader.code, shader.size};
  hr = real->lpVtbl->CreateComputePipelineState(real, desc, iid, out);
  vkd3d_shader_free_shader_code(&shader);
  return result("ID3D12Device::CreateComputePipelineState", wrap_out(hr, iid, out));
}

// DirectML asks for the vendor's meta commands and takes E_NOTIMPL, vkd3d's answer, for a broken device.
HRESULT own_ID3D12Device5_EnumerateMetaCommands(struct wrap* w, UINT* count, D3D12_META_COMMAND_DESC* descs) {
  (void)w;
  (void)descs;
  CALL("ID3D12Device5::EnumerateMetaCommands");
  if (!count) return E_INVALIDARG;
  *count = 0;
  return S_OK;
}

HRESULT own_ID3D12Device5_CreateStateObject(struct wrap* w, const D3D12_STATE_OBJECT_DESC* desc, REFIID iid, void** out) {
  (void)w;
  (void)desc;
  (void)iid;
  trace("CreateStateObject: not here");
  if (out) *out = NULL;
  return E_NOTIMPL;
}

HRESULT own_ID3D12Device7_AddToStateObject(struct wrap* w, const D3D12_STATE_OBJECT_DESC* desc, ID3D12StateObject* from, REFIID iid,
                                           void** out) {
  (void)from;
  return own_ID3D12Device5_CreateStateObject(w, desc, iid, out);
}

void own_ID3D12GraphicsCommandList4_BeginRenderPass(struct wrap* w, UINT count, const D3D12_RENDER_PASS_RENDER_TARGET_DESC* targets,
                                                    const D3D12_RENDER_PASS_DEPTH_STENCIL_DESC* depth, D3D12_RENDER_PASS_FLAGS flags) {
  (void)w;
  (void)count;
  (void)targets;
  (void)depth;
  (void)flags;
  trace("BeginRenderPass: not here");
}
