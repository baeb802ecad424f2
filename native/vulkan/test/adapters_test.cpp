// DXCore: the factory, lists, and adapters' properties.
#include "support.h"

namespace dxtensor::test {

namespace {

const GUID kWanted[] = {DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE, DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS,
                        DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS};

struct Listed {
  Com<IDXCoreAdapterFactory> factory;
  Com<IDXCoreAdapterList> list;

  explicit Listed(Suite& suite) {
    CHECK_OK(suite.create_factory(IID_PPV_ARGS(&factory)));
    CHECK_OK(factory->CreateAdapterList(3, kWanted, IID_PPV_ARGS(&list)));
    CHECK(list->GetAdapterCount() >= 1);
  }
};

}  // namespace

TEST(adapter_lists) {
  Listed all(suite);
  Com<IDXCoreAdapterFactory1> factory1;
  Com<IDXCoreAdapterList> none, workload;
  CHECK_OK(all.factory->QueryInterface(IID_PPV_ARGS(&factory1)));
  CHECK_HR(all.factory->CreateAdapterList(0, kWanted, IID_PPV_ARGS(&none)), E_INVALIDARG);
  CHECK(!none);
  CHECK_OK(factory1->CreateAdapterListByWorkload(DXCoreWorkload::MachineLearning, DXCoreRuntimeFilterFlags::D3D12,
                                                 DXCoreHardwareTypeFilterFlags::GPU, IID_PPV_ARGS(&workload)));
  CHECK_EQ(all.list->GetAdapterCount(), workload->GetAdapterCount());
  CHECK(!all.list->IsStale());
  CHECK(all.list->IsAdapterPreferenceSupported(DXCoreAdapterPreference::Hardware));
  DXCoreAdapterPreference order[] = {DXCoreAdapterPreference::Hardware, DXCoreAdapterPreference::HighPerformance};
  CHECK_OK(all.list->Sort(2, order));
  Com<IDXCoreAdapter> outside;
  const LUID nobody = {0x7777, 7};
  CHECK_HR(all.list->GetAdapter(1000, IID_PPV_ARGS(&outside)), E_INVALIDARG);
  CHECK(!outside);
  CHECK_FAILS(all.factory->GetAdapterByLuid(nobody, IID_PPV_ARGS(&outside)));
}

TEST(adapter_identity) {
  Listed all(suite);
  Com<IDXCoreAdapter> a, same;
  Com<IDXCoreAdapter1> newer;
  Com<IDXCoreAdapterFactory> factory;
  LUID luid;
  CHECK_OK(all.list->GetAdapter(0, IID_PPV_ARGS(&a)));
  CHECK_OK(a->QueryInterface(IID_PPV_ARGS(&newer)));
  CHECK_OK(a->GetProperty(DXCoreAdapterProperty::InstanceLuid, &luid));
  CHECK_OK(all.factory->GetAdapterByLuid(luid, IID_PPV_ARGS(&same)));
  CHECK(a.get() == same.get());
  CHECK_OK(a->GetFactory(IID_PPV_ARGS(&factory)));
  CHECK(factory.get() == all.factory.get());
}

TEST(adapter_properties) {
  Listed all(suite);
  for (uint32_t i = 0; i < all.list->GetAdapterCount(); ++i) {
    Com<IDXCoreAdapter> a;
    uint64_t version = 0, dedicated = 0, shared = 0;
    bool hardware = false, integrated = false;
    DXCoreHardwareID id = {};
    size_t size = 0;
    CHECK_OK(all.list->GetAdapter(i, IID_PPV_ARGS(&a)));
    CHECK(a->IsValid() && a->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE));
    CHECK(!a->IsAttributeSupported(__uuidof(IUnknown)));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::DriverVersion, &version));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::HardwareID, &id));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::DedicatedAdapterMemory, &dedicated));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::SharedSystemMemory, &shared));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::IsHardware, &hardware));
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::IsIntegrated, &integrated));
    CHECK(version && id.vendorID && dedicated && shared);
    CHECK_OK(a->GetPropertySize(DXCoreAdapterProperty::DriverDescription, &size));
    std::string name(size, 'x');
    CHECK_OK(a->GetProperty(DXCoreAdapterProperty::DriverDescription, size, &name[0]));
    CHECK(size > 1 && std::strlen(name.c_str()) + 1 == size);
    // A driver on the CPU never passes for a GPU.
    if (name.find("llvmpipe") != std::string::npos) CHECK(!hardware && !a->IsAttributeSupported(DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU));
    CHECK_HR(a->GetProperty(DXCoreAdapterProperty::DriverDescription, 1, &name[0]), E_INVALIDARG);
    CHECK_HR(a->GetProperty(DXCoreAdapterProperty::DriverVersion, sizeof version, nullptr), E_POINTER);
    CHECK_HR(a->GetProperty(DXCoreAdapterProperty(999), &version), DXGI_ERROR_INVALID_CALL);
    CHECK(!a->IsPropertySupported(DXCoreAdapterProperty(999)));
  }
}

TEST(adapter_memory_budget) {
  Listed all(suite);
  Com<IDXCoreAdapter> a;
  CHECK_OK(all.list->GetAdapter(0, IID_PPV_ARGS(&a)));
  DXCoreAdapterMemoryBudgetNodeSegmentGroup group = {0, DXCoreSegmentGroup::Local};
  DXCoreAdapterMemoryBudget budget = {};
  CHECK(a->IsQueryStateSupported(DXCoreAdapterState::AdapterMemoryBudget));
  CHECK_OK(a->QueryState(DXCoreAdapterState::AdapterMemoryBudget, &group, &budget));
  CHECK(budget.budget > 0 && budget.currentUsage <= budget.budget);
  group.nodeIndex = 1;
  CHECK_HR(a->QueryState(DXCoreAdapterState::AdapterMemoryBudget, &group, &budget), E_INVALIDARG);
}

TEST(runtime_name) { CHECK_EQ(std::string(suite.runtime_name()), std::string("Direct3D 12 over Vulkan")); }

}  // namespace dxtensor::test
