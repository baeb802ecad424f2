// ID3D12Device's feature queries, and the methods that the software adapter does not implement.
#include <algorithm>

#include "device.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

// Calls `fill` on the caller's structure when its size is right.
template <class T, class Function>
HRESULT Answer(void* data, UINT size, Function fill) {
  if (!data || size != sizeof(T)) return E_INVALIDARG;
  return fill(*static_cast<T*>(data));
}

template <class T>
HRESULT AnswerNothing(void* data, UINT size) {
  return Answer<T>(data, size, [](T& t) {
    t = T{};
    return S_OK;
  });
}

HRESULT Missing(const char* method) {
  Trace(std::string(method) + " is not part of the software adapter");
  return E_NOTIMPL;
}

HRESULT Missing(const char* method, void** out) {
  if (out) *out = nullptr;
  return Missing(method);
}

}  // namespace

HRESULT Device::CheckFeatureSupport(D3D12_FEATURE feature, void* data, UINT size) {
  const Profile& profile = *profile_;
  switch (feature) {
    case D3D12_FEATURE_D3D12_OPTIONS:
      return Answer<D3D12_FEATURE_DATA_D3D12_OPTIONS>(data, size, [](auto& o) {
        o = {};
        o.TypedUAVLoadAdditionalFormats = TRUE;
        o.ResourceBindingTier = D3D12_RESOURCE_BINDING_TIER_3;
        o.ResourceHeapTier = D3D12_RESOURCE_HEAP_TIER_2;
        o.MaxGPUVirtualAddressBitsPerResource = 47;
        return S_OK;
      });
    case D3D12_FEATURE_ARCHITECTURE:
      return Answer<D3D12_FEATURE_DATA_ARCHITECTURE>(data, size, [&](auto& a) {
        if (a.NodeIndex) return E_INVALIDARG;
        a.TileBasedRenderer = FALSE;
        a.UMA = a.CacheCoherentUMA = profile.unified ? TRUE : FALSE;
        return S_OK;
      });
    case D3D12_FEATURE_ARCHITECTURE1:
      return Answer<D3D12_FEATURE_DATA_ARCHITECTURE1>(data, size, [&](auto& a) {
        if (a.NodeIndex) return E_INVALIDARG;
        a.TileBasedRenderer = a.IsolatedMMU = FALSE;
        a.UMA = a.CacheCoherentUMA = profile.unified ? TRUE : FALSE;
        return S_OK;
      });
    case D3D12_FEATURE_FEATURE_LEVELS:
      return Answer<D3D12_FEATURE_DATA_FEATURE_LEVELS>(data, size, [](auto& f) {
        if (!f.NumFeatureLevels || !f.pFeatureLevelsRequested) return E_INVALIDARG;
        bool found = false;
        for (UINT i = 0; i < f.NumFeatureLevels; ++i) {
          D3D_FEATURE_LEVEL level = f.pFeatureLevelsRequested[i];
          if (level > D3D_FEATURE_LEVEL_11_0) continue;
          if (!found || level > f.MaxSupportedFeatureLevel) f.MaxSupportedFeatureLevel = level;
          found = true;
        }
        return found ? S_OK : E_INVALIDARG;
      });
    case D3D12_FEATURE_SHADER_MODEL:  // there are no shaders, only DirectML
      return Answer<D3D12_FEATURE_DATA_SHADER_MODEL>(data, size, [](auto& m) {
        m.HighestShaderModel = D3D_SHADER_MODEL_NONE;
        return S_OK;
      });
    case D3D12_FEATURE_ROOT_SIGNATURE:
      return Answer<D3D12_FEATURE_DATA_ROOT_SIGNATURE>(data, size, [](auto& r) {
        r.HighestVersion = D3D_ROOT_SIGNATURE_VERSION_1_0;
        return S_OK;
      });
    case D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT:
      return Answer<D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT>(data, size, [](auto& g) {
        g.MaxGPUVirtualAddressBitsPerResource = g.MaxGPUVirtualAddressBitsPerProcess = 47;
        return S_OK;
      });
    case D3D12_FEATURE_D3D12_OPTIONS1: return AnswerNothing<D3D12_FEATURE_DATA_D3D12_OPTIONS1>(data, size);
    case D3D12_FEATURE_D3D12_OPTIONS2: return AnswerNothing<D3D12_FEATURE_DATA_D3D12_OPTIONS2>(data, size);
    case D3D12_FEATURE_D3D12_OPTIONS3:
      return Answer<D3D12_FEATURE_DATA_D3D12_OPTIONS3>(data, size, [](auto& o) {
        o = {};
        o.CopyQueueTimestampQueriesSupported = TRUE;
        return S_OK;
      });
    case D3D12_FEATURE_D3D12_OPTIONS4:
      return Answer<D3D12_FEATURE_DATA_D3D12_OPTIONS4>(data, size, [&](auto& o) {
        o = {};
        o.Native16BitShaderOpsSupported = profile.float16 ? TRUE : FALSE;
        return S_OK;
      });
    case D3D12_FEATURE_D3D12_OPTIONS5: return AnswerNothing<D3D12_FEATURE_DATA_D3D12_OPTIONS5>(data, size);
    case D3D12_FEATURE_EXISTING_HEAPS: return AnswerNothing<D3D12_FEATURE_DATA_EXISTING_HEAPS>(data, size);
    default: return E_INVALIDARG;
  }
}

DXT_STRUCT_METHOD(D3D12_RESOURCE_ALLOCATION_INFO, Device::GetResourceAllocationInfo, UINT, UINT count, const D3D12_RESOURCE_DESC* descs) {
  D3D12_RESOURCE_ALLOCATION_INFO info{0, D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT};
  for (UINT i = 0; descs && i < count; ++i) {
    if (descs[i].Dimension != D3D12_RESOURCE_DIMENSION_BUFFER) {
      info.SizeInBytes = UINT64_MAX;
      break;
    }
    info.SizeInBytes += (descs[i].Width + info.Alignment - 1) / info.Alignment * info.Alignment;
  }
  DXT_RETURN_STRUCT(info);
}

DXT_STRUCT_METHOD(D3D12_RESOURCE_ALLOCATION_INFO, Device::GetResourceAllocationInfo1, UINT, UINT count, const D3D12_RESOURCE_DESC* descs,
                  D3D12_RESOURCE_ALLOCATION_INFO1* each) {
  D3D12_RESOURCE_ALLOCATION_INFO info{0, D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT};
  for (UINT i = 0; descs && i < count; ++i) {
    if (descs[i].Dimension != D3D12_RESOURCE_DIMENSION_BUFFER) {
      info.SizeInBytes = UINT64_MAX;
      break;
    }
    uint64_t rounded = (descs[i].Width + info.Alignment - 1) / info.Alignment * info.Alignment;
    if (each) each[i] = {info.SizeInBytes, info.Alignment, rounded};
    info.SizeInBytes += rounded;
  }
  DXT_RETURN_STRUCT(info);
}

DXT_STRUCT_METHOD(D3D12_HEAP_PROPERTIES, Device::GetCustomHeapProperties, UINT, D3D12_HEAP_TYPE type) {
  D3D12_HEAP_PROPERTIES p{D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L0, 1, 1};
  bool discrete = !profile_->unified;
  if (type == D3D12_HEAP_TYPE_DEFAULT && discrete) p.MemoryPoolPreference = D3D12_MEMORY_POOL_L1;
  if (type == D3D12_HEAP_TYPE_UPLOAD)
    p.CPUPageProperty = discrete ? D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE : D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
  if (type == D3D12_HEAP_TYPE_READBACK) p.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
  DXT_RETURN_STRUCT(p);
}

void Device::GetCopyableFootprints(const D3D12_RESOURCE_DESC* desc, UINT first, UINT count, UINT64 base,
                                   D3D12_PLACED_SUBRESOURCE_FOOTPRINT* layouts, UINT* rows, UINT64* row_sizes, UINT64* total) {
  bool buffer = desc && desc->Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && !first && count == 1;
  uint64_t width = buffer ? desc->Width : UINT64_MAX;
  for (UINT i = 0; i < count; ++i) {
    if (layouts) {
      layouts[i].Offset = buffer ? base : UINT64_MAX;
      layouts[i].Footprint = {DXGI_FORMAT_UNKNOWN, static_cast<UINT>(width), 1, 1, static_cast<UINT>((width + 255) / 256 * 256)};
    }
    if (rows) rows[i] = buffer ? 1 : UINT32_MAX;
    if (row_sizes) row_sizes[i] = width;
  }
  if (total) *total = width;
}

HRESULT Device::MakeResident(UINT count, ID3D12Pageable* const* objects) { return count && !objects ? E_INVALIDARG : S_OK; }
HRESULT Device::Evict(UINT count, ID3D12Pageable* const* objects) { return count && !objects ? E_INVALIDARG : S_OK; }
HRESULT Device::SetResidencyPriority(UINT, ID3D12Pageable* const*, const D3D12_RESIDENCY_PRIORITY*) { return S_OK; }

// Descriptors have no content: DirectML's binding tables write them, views are not needed.
void Device::CreateConstantBufferView(const D3D12_CONSTANT_BUFFER_VIEW_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) {}
void Device::CreateShaderResourceView(ID3D12Resource*, const D3D12_SHADER_RESOURCE_VIEW_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) {}
void Device::CreateRenderTargetView(ID3D12Resource*, const D3D12_RENDER_TARGET_VIEW_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) {}
void Device::CreateDepthStencilView(ID3D12Resource*, const D3D12_DEPTH_STENCIL_VIEW_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) {}
void Device::CreateSampler(const D3D12_SAMPLER_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) {}
HRESULT Device::CreateGraphicsPipelineState(const D3D12_GRAPHICS_PIPELINE_STATE_DESC*, REFIID, void** out) {
  return Missing("CreateGraphicsPipelineState", out);
}
HRESULT Device::CreatePipelineState(const D3D12_PIPELINE_STATE_STREAM_DESC*, REFIID, void** out) {
  return Missing("CreatePipelineState", out);
}
HRESULT Device::CreateReservedResource(const D3D12_RESOURCE_DESC*, D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*, REFIID, void** out) {
  return Missing("CreateReservedResource", out);
}
HRESULT Device::CreateReservedResource1(const D3D12_RESOURCE_DESC*, D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*,
                                        ID3D12ProtectedResourceSession*, REFIID, void** out) {
  return Missing("CreateReservedResource1", out);
}
HRESULT Device::CreateSharedHandle(ID3D12DeviceChild*, const SECURITY_ATTRIBUTES*, DWORD, LPCWSTR, HANDLE* handle) {
  return Missing("CreateSharedHandle", handle);
}
HRESULT Device::OpenSharedHandle(HANDLE, REFIID, void** out) { return Missing("OpenSharedHandle", out); }
HRESULT Device::OpenSharedHandleByName(LPCWSTR, DWORD, HANDLE* handle) { return Missing("OpenSharedHandleByName", handle); }
HRESULT Device::CreateCommandSignature(const D3D12_COMMAND_SIGNATURE_DESC*, ID3D12RootSignature*, REFIID, void** out) {
  return Missing("CreateCommandSignature", out);
}
void Device::GetResourceTiling(ID3D12Resource*, UINT* tiles, D3D12_PACKED_MIP_INFO* packed, D3D12_TILE_SHAPE* shape, UINT* count, UINT,
                               D3D12_SUBRESOURCE_TILING*) {
  if (tiles) *tiles = 0;
  if (packed) *packed = {};
  if (shape) *shape = {};
  if (count) *count = 0;
}
HRESULT Device::CreatePipelineLibrary(const void*, SIZE_T, REFIID, void** out) { return Missing("CreatePipelineLibrary", out); }
HRESULT Device::OpenExistingHeapFromAddress(const void*, REFIID, void** out) { return Missing("OpenExistingHeapFromAddress", out); }
HRESULT Device::OpenExistingHeapFromFileMapping(HANDLE, REFIID, void** out) { return Missing("OpenExistingHeapFromFileMapping", out); }
HRESULT Device::CreateProtectedResourceSession(const D3D12_PROTECTED_RESOURCE_SESSION_DESC*, REFIID, void** out) {
  return Missing("CreateProtectedResourceSession", out);
}
HRESULT Device::CreateLifetimeTracker(ID3D12LifetimeOwner*, REFIID, void** out) { return Missing("CreateLifetimeTracker", out); }
HRESULT Device::EnumerateMetaCommands(UINT* count, D3D12_META_COMMAND_DESC*) {
  if (!count) return E_INVALIDARG;
  *count = 0;
  return S_OK;
}
HRESULT Device::EnumerateMetaCommandParameters(REFGUID, D3D12_META_COMMAND_PARAMETER_STAGE, UINT*, UINT*,
                                               D3D12_META_COMMAND_PARAMETER_DESC*) {
  return Missing("EnumerateMetaCommandParameters");
}
HRESULT Device::CreateMetaCommand(REFGUID, UINT, const void*, SIZE_T, REFIID, void** out) { return Missing("CreateMetaCommand", out); }
HRESULT Device::CreateStateObject(const D3D12_STATE_OBJECT_DESC*, REFIID, void** out) { return Missing("CreateStateObject", out); }
void Device::GetRaytracingAccelerationStructurePrebuildInfo(const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS*,
                                                            D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO* info) {
  if (info) *info = {};
}
D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS Device::CheckDriverMatchingIdentifier(D3D12_SERIALIZED_DATA_TYPE,
                                                                              const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER*) {
  return D3D12_DRIVER_MATCHING_IDENTIFIER_UNSUPPORTED_TYPE;
}

}  // namespace dxtensor::software
