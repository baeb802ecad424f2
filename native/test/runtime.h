// The three libraries of a runtime, opened by path: Microsoft's for WSL, others with their ABI, or the software adapter, whose
// one library exports the same entry points.
//
// Owns nothing but the loaded libraries, which stay loaded until the process ends. Any thread may use it.
#pragma once

#include <string>

#include "../abi/abi.h"

namespace dxtensor::test {

// DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE, which the headers only declare.
constexpr GUID kCoreCompute = {0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}};

struct RuntimePaths {
  std::string dxcore, d3d12, directml;
  std::string dxgi;  // Windows, for adapters where DXCore is missing
  bool software = false;
};

// --dxcore P --d3d12 P --directml P [--dxgi P], or --software P. Empty `directml`: not given; the caller prints the usage.
RuntimePaths PathsFrom(int argc, char** argv);

class Runtime {
 public:
  // Throws std::runtime_error with what could not be loaded.
  explicit Runtime(const RuntimePaths& paths);

  HRESULT CreateAdapterFactory(REFIID iid, void** out) const { return create_factory_(iid, out); }
  // E_NOINTERFACE without a DXGI.
  HRESULT CreateDxgiFactory(REFIID iid, void** out) const { return create_dxgi_ ? create_dxgi_(iid, out) : E_NOINTERFACE; }
  HRESULT CreateD3D12Device(IUnknown* adapter, D3D_FEATURE_LEVEL level, REFIID iid, void** out) const {
    return create_d3d12_(adapter, level, iid, out);
  }
  HRESULT CreateDmlDevice(ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL level, REFIID iid, void** out) const {
    return create_dml_(device, flags, level, iid, out);
  }
  bool software() const { return software_; }

 private:
  using CreateFactory = HRESULT(STDMETHODCALLTYPE*)(REFIID, void**);
  using CreateDevice = HRESULT(STDMETHODCALLTYPE*)(IUnknown*, D3D_FEATURE_LEVEL, REFIID, void**);
  using CreateDml = HRESULT(STDMETHODCALLTYPE*)(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, DML_FEATURE_LEVEL, REFIID, void**);
  CreateFactory create_factory_ = nullptr, create_dxgi_ = nullptr;
  CreateDevice create_d3d12_ = nullptr;
  CreateDml create_dml_ = nullptr;
  bool software_ = false;
};

// A reference that is released at the end of its scope.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) {}
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->AddRef();
  }
  Ref(Ref&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->Release();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  T** out() {
    *this = Ref();
    return &p_;
  }
  void** out_void() { return reinterpret_cast<void**>(out()); }

 private:
  T* p_ = nullptr;
};

}  // namespace dxtensor::test
