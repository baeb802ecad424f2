// The other entry points of libd3d12.so.
#include "wrap.h"

// What makes this Direct3D 12 differ from Microsoft's, for programs that want to say so.
EXPORT const char* DxtensorRuntimeName(void) { return "Direct3D 12 over Vulkan"; }

EXPORT HRESULT D3D12SerializeRootSignature(const D3D12_ROOT_SIGNATURE_DESC* desc, D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                           ID3DBlob** errors) {
  HRESULT hr;

  if (errors) *errors = NULL;
  hr = vkd3d_serialize_root_signature(desc, version, blob, errors);
  wrap_out(S_OK, &IID_ID3D10Blob, (void**)errors);
  return wrap_out(hr, &IID_ID3D10Blob, (void**)blob);
}

EXPORT HRESULT D3D12SerializeVersionedRootSignature(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC* desc, ID3DBlob** blob, ID3DBlob** errors) {
  HRESULT hr;

  if (errors) *errors = NULL;
  hr = vkd3d_serialize_versioned_root_signature(desc, blob, errors);
  wrap_out(S_OK, &IID_ID3D10Blob, (void**)errors);
  return wrap_out(hr, &IID_ID3D10Blob, (void**)blob);
}

EXPORT HRESULT D3D12CreateRootSignatureDeserializer(const void* data, SIZE_T size, REFIID iid, void** out) {
  HRESULT hr = vkd3d_create_root_signature_deserializer(data, size, iid, out);
  return wrap_out(hr, iid, out);
}

EXPORT HRESULT D3D12CreateVersionedRootSignatureDeserializer(const void* data, SIZE_T size, REFIID iid, void** out) {
  HRESULT hr = vkd3d_create_versioned_root_signature_deserializer(data, size, iid, out);
  return wrap_out(hr, iid, out);
}

// As where the optional debug layer is not installed.
EXPORT HRESULT D3D12GetDebugInterface(REFIID iid, void** out) {
  trace("D3D12GetDebugInterface " GUID_FORMAT, GUID_ARGUMENTS(iid));
  if (out) *out = NULL;
  return (HRESULT)0x887a002d;  // DXGI_ERROR_SDK_COMPONENT_MISSING
}

EXPORT HRESULT D3D12EnableExperimentalFeatures(UINT count, const IID* iids, void* config, UINT* sizes) {
  (void)config;
  (void)sizes;
  for (UINT i = 0; i < count; ++i) trace("experimental feature " GUID_FORMAT, GUID_ARGUMENTS(&iids[i]));
  return count ? E_NOINTERFACE : S_OK;
}

EXPORT HRESULT D3D12GetInterface(REFCLSID clsid, REFIID iid, void** out) {
  trace("D3D12GetInterface " GUID_FORMAT " " GUID_FORMAT, GUID_ARGUMENTS(clsid), GUID_ARGUMENTS(iid));
  if (out) *out = NULL;
  return (HRESULT)0x80040111;  // CLASS_E_CLASSNOTAVAILABLE
}
