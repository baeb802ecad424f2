// DXCore: the factory, adapter lists, attributes and properties.
#include <cstring>

#include "check.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

constexpr GUID kNobody = {0x12345678, 1, 2, {3, 4, 5, 6, 7, 8, 9, 10}};

}  // namespace

TEST(dxcore_factory) {
  Ref<IDXCoreAdapterFactory> factory = DxcoreFactory(suite.runtime());
  Ref<IUnknown> unknown;
  CHECK_HR(suite.runtime().CreateAdapterFactory(kNobody, unknown.out_void()), E_NOINTERFACE);
  CHECK(!unknown);
  CHECK_OK(factory->QueryInterface(__uuidof(IUnknown), unknown.out_void()));
  CHECK_HR(factory->QueryInterface(kNobody, unknown.out_void()), E_NOINTERFACE);
}

TEST(dxcore_adapter_list) {
  Ref<IDXCoreAdapterFactory> factory = DxcoreFactory(suite.runtime());
  Ref<IDXCoreAdapterList> list;
  CHECK_OK(factory->CreateAdapterList(1, &kCoreCompute, __uuidof(IDXCoreAdapterList), list.out_void()));
  CHECK(list->GetAdapterCount() > 0);
  CHECK(!list->IsStale());
  Ref<IDXCoreAdapter> adapter, again;
  CHECK_FAILS(list->GetAdapter(list->GetAdapterCount(), __uuidof(IDXCoreAdapter), adapter.out_void()));
  CHECK_OK(list->GetAdapter(0, __uuidof(IDXCoreAdapter), adapter.out_void()));
  CHECK(adapter->IsValid());
  CHECK(adapter->IsAttributeSupported(kCoreCompute));
  CHECK(!adapter->IsAttributeSupported(kNobody));
  Ref<IDXCoreAdapterList> none;
  CHECK_OK(factory->CreateAdapterList(1, &kNobody, __uuidof(IDXCoreAdapterList), none.out_void()));
  CHECK_EQ(none->GetAdapterCount(), 0u);
  Ref<IDXCoreAdapterFactory> back;
  CHECK_OK(list->GetFactory(__uuidof(IDXCoreAdapterFactory), back.out_void()));
  LUID luid{};
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::InstanceLuid, sizeof luid, &luid));
  CHECK_OK(factory->GetAdapterByLuid(luid, __uuidof(IDXCoreAdapter), again.out_void()));
  LUID same{};
  CHECK_OK(again->GetProperty(DXCoreAdapterProperty::InstanceLuid, sizeof same, &same));
  CHECK(luid.LowPart == same.LowPart && luid.HighPart == same.HighPart);
  LUID wrong{0xdeadbeefu, 77};
  CHECK_FAILS(factory->GetAdapterByLuid(wrong, __uuidof(IDXCoreAdapter), again.out_void()));
}

TEST(dxcore_properties) {
  Ref<IDXCoreAdapter> adapter = FirstDxcoreAdapter(suite.runtime());
  size_t size = 0;
  CHECK(adapter->IsPropertySupported(DXCoreAdapterProperty::DriverDescription));
  CHECK_OK(adapter->GetPropertySize(DXCoreAdapterProperty::DriverDescription, &size));
  CHECK(size > 1);
  std::string name(size, 'x');
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::DriverDescription, size, &name[0]));
  CHECK_EQ(std::strlen(name.c_str()) + 1, size);
  CHECK_FAILS(adapter->GetProperty(DXCoreAdapterProperty::DriverDescription, 1, &name[0]));
  bool hardware = true, integrated = false;
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::IsHardware, sizeof hardware, &hardware));
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::IsIntegrated, sizeof integrated, &integrated));
  if (suite.runtime().software()) CHECK(!hardware);
  DXCoreHardwareID id{};
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::HardwareID, sizeof id, &id));
  uint64_t dedicated = 1, shared = 0;
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::DedicatedAdapterMemory, sizeof dedicated, &dedicated));
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::SharedSystemMemory, sizeof shared, &shared));
  CHECK(dedicated + shared > 0);
  CHECK(!adapter->IsPropertySupported(static_cast<DXCoreAdapterProperty>(9999)));
}

}  // namespace dxtensor::test
