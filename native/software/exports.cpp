// The entry points of the library: those of libdxcore, libd3d12 and libdirectml, and DxtensorSimulate.
#include "software/d3d12/device.h"
#include "software/d3d12/dxcore.h"
#include "software/d3d12/root_signature.h"
#include "software/directml/dml_device.h"

#ifdef _WIN32
#define DXT_EXPORT extern "C" __declspec(dllexport)
#else
#define DXT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

using namespace dxtensor::software;

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wattributes"
#endif
#if defined(__clang__) && defined(_WIN32)
#pragma clang diagnostic ignored "-Wdll-attribute-on-redeclaration"
#endif

DXT_EXPORT HRESULT STDAPICALLTYPE DXCoreCreateAdapterFactory(REFIID iid, void** out) {
  return Guard([&] { return CreateFactory(iid, out); });
}

DXT_EXPORT HRESULT WINAPI D3D12CreateDevice(IUnknown* adapter, D3D_FEATURE_LEVEL minimum, REFIID iid, void** out) {
  if (out) *out = nullptr;
  return Guard([&] { return Device::Create(adapter, minimum, iid, out); });
}

DXT_EXPORT HRESULT WINAPI D3D12SerializeVersionedRootSignature(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC* desc, ID3DBlob** blob,
                                                               ID3DBlob** error) {
  return Guard([&] { return SerializeRootSignature(desc, blob, error); });
}

DXT_EXPORT HRESULT WINAPI DMLCreateDevice1(ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL minimum, REFIID iid,
                                           void** out) {
  return DmlDevice::Create(device, flags, minimum, iid, out);
}

DXT_EXPORT HRESULT WINAPI DMLCreateDevice(ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, REFIID iid, void** out) {
  return DmlDevice::Create(device, flags, DML_FEATURE_LEVEL_1_0, iid, out);
}

// "NAME[@LEVEL][-OPERATOR]..." separated by commas: the simulated adapters of all adapter lists made from now on.
DXT_EXPORT HRESULT DxtensorSimulate(const char* profiles) { return Simulate(profiles); }
