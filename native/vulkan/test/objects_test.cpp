// Identity, private data, reference counts.
#include "support.h"

namespace dxtensor::test {

TEST(one_pointer_for_every_interface) {
  ID3D12Device* device = suite.device();
  Com<IUnknown> a, b;
  Com<ID3D12Object> object;
  Com<ID3D12Device> again;
  CHECK_OK(device->QueryInterface(IID_PPV_ARGS(&a)));
  CHECK_OK(device->QueryInterface(IID_PPV_ARGS(&object)));
  CHECK_OK(object->QueryInterface(IID_PPV_ARGS(&b)));
  CHECK(a.get() == b.get());
  CHECK_OK(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&again)));
  CHECK(again.get() == device);  // one device for each adapter

  Com<ID3D12Resource> r;
  Com<ID3D12Device> owner;
  Com<ID3D12Pageable> pageable;
  Com<IUnknown> c, d;
  Com<ID3D12Fence> wrong;
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, 256, &r);
  CHECK_OK(r->GetDevice(IID_PPV_ARGS(&owner)));
  CHECK(owner.get() == device);
  CHECK_OK(r->QueryInterface(IID_PPV_ARGS(&pageable)));
  CHECK_OK(r->QueryInterface(IID_PPV_ARGS(&c)));
  CHECK_OK(pageable->QueryInterface(IID_PPV_ARGS(&d)));
  CHECK(c.get() == d.get() && c.get() != a.get());
  CHECK_HR(r->QueryInterface(IID_PPV_ARGS(&wrong)), E_NOINTERFACE);
  CHECK(!wrong.get());
  const GUID unknown = {0x12345678, 1, 2, {3, 4, 5, 6, 7, 8, 9, 10}};
  void* p = &p;
  CHECK(r->QueryInterface(unknown, &p) == E_NOINTERFACE && !p);
  CHECK(CountOf(r) == 4);
  CHECK_OK(r->SetName(L"a buffer"));
}

TEST(private_data) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Resource> r;
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, 256, &r);
  struct Mine : IUnknown {
    ULONG refs = 1;
    HRESULT QueryInterface(REFIID, void** out) override {
      *out = this;
      AddRef();
      return S_OK;
    }
    ULONG AddRef() override { return ++refs; }
    ULONG Release() override { return --refs; }
  } mine;
  const GUID key = {0xabcdef01, 1, 2, {3, 4, 5, 6, 7, 8, 9, 10}};
  IUnknown* back = nullptr;
  UINT size = sizeof(back);
  CHECK_OK(r->SetPrivateDataInterface(key, &mine));
  CHECK(mine.refs == 2);
  CHECK_OK(r->GetPrivateData(key, &size, &back));
  CHECK(back == &mine && mine.refs == 3);
  if (back) back->Release();
  CHECK_OK(device->SetPrivateDataInterface(key, r));  // an object of the library as private data
  size = sizeof(back);
  CHECK_OK(device->GetPrivateData(key, &size, &back));
  CHECK(back == r.get());
  if (back) back->Release();
  CHECK_OK(device->SetPrivateDataInterface(key, nullptr));
  char text[8] = "7 bytes", copy[8] = "";
  size = sizeof(copy);
  CHECK_OK(r->SetPrivateData(key, sizeof(text), text));  // replaces, and so releases, the object
  CHECK(mine.refs == 1);
  CHECK_OK(r->GetPrivateData(key, &size, copy));
  CHECK(!strcmp(copy, text));
  CHECK_OK(r->SetPrivateDataInterface(key, &mine));
  CHECK(r.Reset() == 0);
  CHECK(mine.refs == 1);
}

}  // namespace dxtensor::test
