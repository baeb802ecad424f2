// Loads a runtime's libraries by absolute path, once for the process, and reports every path that was tried.
//
// The libraries stay loaded until the process ends: their threads and their code may outlive any device. Any thread may call.
#pragma once

#include <string>
#include <vector>

#include "../abi/abi.h"

namespace dxtensor::dml {

enum class RuntimeKind : uint8_t { Gpu, Software };

struct LibraryPaths {
  std::vector<std::string> folders;
  std::string dxcore, d3d12, directml, software;  // explicit files; empty: none
  std::string simulate;
  bool operator==(const LibraryPaths& other) const;
};

struct LoadReport {
  struct Loaded {
    std::string name, path;
  };
  struct Tried {
    std::string name, path, error;  // error empty: loaded
  };
  bool loaded = false;
  // What the runtime is: its Direct3D's own word for itself if it has one, as the one over Vulkan does.
  std::string direct3d;
  std::vector<Loaded> libraries;
  std::vector<Tried> tried;
};

using CreateFactoryFunction = HRESULT(STDMETHODCALLTYPE*)(REFIID, void**);
using CreateDeviceFunction = HRESULT(STDMETHODCALLTYPE*)(IUnknown*, D3D_FEATURE_LEVEL, REFIID, void**);
using SerializeRootSignatureFunction = HRESULT(STDMETHODCALLTYPE*)(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC*, ID3DBlob**, ID3DBlob**);
using CreateDmlDeviceFunction = HRESULT(STDMETHODCALLTYPE*)(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, DML_FEATURE_LEVEL, REFIID, void**);

// The entry points of a loaded runtime.
struct Runtime {
  RuntimeKind kind;
  CreateFactoryFunction create_dxcore_factory = nullptr;
  CreateFactoryFunction create_dxgi_factory = nullptr;  // Windows without DXCore
  CreateDeviceFunction create_device = nullptr;
  CreateDmlDeviceFunction create_dml_device = nullptr;
  SerializeRootSignatureFunction serialize_root_signature = nullptr;  // null: no shaders of our own
};

// Loads when it is not loaded yet. After a failure another call with the same paths returns the same report; one with other
// paths tries again.
LoadReport Load(RuntimeKind kind, const LibraryPaths& paths);
// Null when it is not loaded.
const Runtime* LoadedRuntime(RuntimeKind kind);

}  // namespace dxtensor::dml
