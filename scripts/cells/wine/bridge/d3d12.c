/* Windows half of the d3d12 bridge, which replaces Wine's own d3d12.dll.
 *
 * It finds its Linux half (d3d12.so) through Wine's unix-call interface, asks
 * DXGI for the adapter's LUID (vkd3d must report the same one, since DirectML
 * looks the device's adapter up by LUID), and forwards.
 *
 * Environment:
 *   DXTENSOR_CELL_TRACE=1            one line on stderr for each device that is made
 *   DXTENSOR_CELL_DEVICE_HR=887a0004 D3D12CreateDevice returns this HRESULT (hexadecimal) instead of a device: a machine without D3D12
 *   DXTENSOR_CELL_REMOVE_AFTER=20    the device is removed after so many submissions */
#define COBJMACROS
#define INITGUID
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <d3d12.h>
#include <dxgi1_4.h>
#include "entry.h"

static struct bridge_entry unix_side;
static LONG attached;

static HRESULT attach(void) {
  typedef LONG(WINAPI * query_t)(HANDLE, const void*, int, void*, SIZE_T, SIZE_T*);
  typedef LONG(WINAPI * call_t)(UINT64, unsigned int, void*);
  static SRWLOCK lock = SRWLOCK_INIT;
  HMODULE ntdll = GetModuleHandleW(L"ntdll.dll"), self;
  query_t query = (query_t)(void*)GetProcAddress(ntdll, "NtQueryVirtualMemory");
  call_t* call = (call_t*)(void*)GetProcAddress(ntdll, "__wine_unix_call_dispatcher");
  struct bridge_entry e = {0};
  UINT64 funcs = 0;
  const char* remove_after = getenv("DXTENSOR_CELL_REMOVE_AFTER");
  HRESULT hr = S_OK;

  AcquireSRWLockExclusive(&lock);
  if (!attached) {
    e.set_event = (void*)SetEvent;
    e.create_thread = (void*)CreateThread;
    e.wait = (void*)WaitForSingleObject;
    e.close = (void*)CloseHandle;
    e.remove_after = remove_after ? atoi(remove_after) : 0;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, (const WCHAR*)(void*)attach,
                       &self);
    if (!query || !call || query(GetCurrentProcess(), self, 1000 /* MemoryWineUnixFuncs */, &funcs, sizeof(funcs), NULL) ||
        (*call)(funcs, 0, &e)) {
      fprintf(stderr, "cell: d3d12.so was not loaded\n");
      hr = E_FAIL;
    } else {
      unix_side = e;
      attached = 1;
    }
  }
  ReleaseSRWLockExclusive(&lock);
  return hr;
}

/* Wine's display-less DXGI adapter answers "unsupported" here, as it has no
 * 3D of its own; DirectML asks only to learn the driver's version. */
static HRESULT WINAPI check_interface_support(IDXGIAdapter* adapter, REFGUID guid, LARGE_INTEGER* version) {
  (void)adapter;
  (void)guid;
  if (version) {
    version->HighPart = (31 << 16) | 0;
    version->LowPart = (15 << 16) | 1000;
  }
  return S_OK;
}

static void patch_adapter(IDXGIAdapter* adapter) {
  void** slot = (void**)&adapter->lpVtbl->CheckInterfaceSupport;
  DWORD old;

  if (*slot == (void*)check_interface_support) return;
  if (!VirtualProtect(slot, sizeof(*slot), PAGE_READWRITE, &old)) return;
  *slot = (void*)check_interface_support;
  VirtualProtect(slot, sizeof(*slot), old, &old);
}

static HRESULT adapter_luid(IUnknown* wanted, LUID* luid) {
  IDXGIFactory1* factory = NULL;
  IDXGIAdapter* adapter = NULL;
  DXGI_ADAPTER_DESC desc;
  HRESULT hr;

  if (wanted) hr = IUnknown_QueryInterface(wanted, &IID_IDXGIAdapter, (void**)&adapter);
  else if (SUCCEEDED(hr = CreateDXGIFactory1(&IID_IDXGIFactory1, (void**)&factory))) {
    hr = IDXGIFactory1_EnumAdapters(factory, 0, &adapter);
    IDXGIFactory1_Release(factory);
  }
  if (FAILED(hr)) return hr;
  patch_adapter(adapter);
  if (SUCCEEDED(hr = IDXGIAdapter_GetDesc(adapter, &desc))) *luid = desc.AdapterLuid;
  IDXGIAdapter_Release(adapter);
  return hr;
}

HRESULT WINAPI bridge_create_device(IUnknown* adapter, D3D_FEATURE_LEVEL level, REFIID iid, void** out) {
  const char *fail = getenv("DXTENSOR_CELL_DEVICE_HR"), *trace = getenv("DXTENSOR_CELL_TRACE");
  LUID luid = {0};
  HRESULT hr;

  if (out) *out = NULL;
  if (fail && *fail) return (HRESULT)strtoul(fail, NULL, 16);
  if (FAILED(hr = attach())) return hr;
  if (SUCCEEDED(hr = adapter_luid(adapter, &luid))) hr = unix_side.create_device(level, luid.LowPart, luid.HighPart, iid, out);
  if (trace && *trace)
    fprintf(stderr, "cell: D3D12CreateDevice level %x luid %lx:%lx -> %08lx\n", level, (long)luid.HighPart, (unsigned long)luid.LowPart,
            (unsigned long)hr);
  return hr;
}

HRESULT WINAPI bridge_serialize(const D3D12_ROOT_SIGNATURE_DESC* desc, D3D_ROOT_SIGNATURE_VERSION version, ID3DBlob** blob,
                                ID3DBlob** errors) {
  HRESULT hr = attach();
  return FAILED(hr) ? hr : unix_side.serialize(desc, version, (void**)blob, (void**)errors);
}

HRESULT WINAPI bridge_serialize_versioned(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC* desc, ID3DBlob** blob, ID3DBlob** errors) {
  HRESULT hr = attach();
  return FAILED(hr) ? hr : unix_side.serialize_versioned(desc, (void**)blob, (void**)errors);
}

HRESULT WINAPI bridge_create_deserializer(const void* data, SIZE_T size, REFIID iid, void** out) {
  HRESULT hr = attach();
  return FAILED(hr) ? hr : unix_side.create_deserializer(data, size, iid, out);
}

HRESULT WINAPI bridge_create_versioned_deserializer(const void* data, SIZE_T size, REFIID iid, void** out) {
  HRESULT hr = attach();
  return FAILED(hr) ? hr : unix_side.create_versioned_deserializer(data, size, iid, out);
}

/* As on a Windows without the optional graphics tools. */
HRESULT WINAPI bridge_get_debug_interface(REFIID iid, void** out) {
  (void)iid;
  if (out) *out = NULL;
  return (HRESULT)0x887a002d; /* DXGI_ERROR_SDK_COMPONENT_MISSING */
}

HRESULT WINAPI bridge_enable_experimental(UINT count, const IID* iids, void* config, UINT* sizes) {
  (void)iids;
  (void)config;
  (void)sizes;
  return count ? E_NOINTERFACE : S_OK;
}

HRESULT WINAPI bridge_get_interface(REFCLSID clsid, REFIID iid, void** out) {
  (void)clsid;
  (void)iid;
  if (out) *out = NULL;
  return (HRESULT)0x80040111; /* CLASS_E_CLASSNOTAVAILABLE */
}
