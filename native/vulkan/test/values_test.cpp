// Structures that methods return by value: the Itanium way here, through a pointer in vkd3d.
#include "support.h"

namespace dxtensor::test {

TEST(structures_by_value) {
  ID3D12Device* device = suite.device();
  LUID mine = device->GetAdapterLuid(), theirs;
  CHECK_OK(suite.adapter()->GetProperty(DXCoreAdapterProperty::InstanceLuid, &theirs));
  CHECK(!memcmp(&mine, &theirs, sizeof(mine)));

  D3D12_RESOURCE_DESC desc = BufferDesc(100000, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  D3D12_RESOURCE_ALLOCATION_INFO info = device->GetResourceAllocationInfo(0, 1, &desc);
  CHECK(info.SizeInBytes == 131072 && info.Alignment == 65536);
  D3D12_HEAP_PROPERTIES custom = device->GetCustomHeapProperties(0, D3D12_HEAP_TYPE_UPLOAD);
  CHECK(custom.Type == D3D12_HEAP_TYPE_CUSTOM && custom.CPUPageProperty >= D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE);

  Com<ID3D12Heap> heap;
  D3D12_HEAP_DESC heap_desc = {1 << 20, {D3D12_HEAP_TYPE_DEFAULT}, 65536, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS};
  CHECK_OK(device->CreateHeap(&heap_desc, IID_PPV_ARGS(&heap)));
  D3D12_HEAP_DESC got = heap->GetDesc();
  CHECK(got.SizeInBytes == heap_desc.SizeInBytes && got.Alignment == 65536 && got.Flags == heap_desc.Flags &&
        got.Properties.Type == D3D12_HEAP_TYPE_DEFAULT);

  Com<ID3D12Resource> placed[2], refused;
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(
        device->CreatePlacedResource(heap, i * 131072, &desc, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, nullptr, IID_PPV_ARGS(&placed[i])));
    D3D12_RESOURCE_DESC d = placed[i]->GetDesc();
    CHECK(d.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && d.Width == 100000 && d.Flags == desc.Flags && d.MipLevels == 1);
  }
  CHECK(placed[0]->GetGPUVirtualAddress() && placed[1]->GetGPUVirtualAddress());
  CHECK(device->CreatePlacedResource(heap, 1 << 20, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, IID_PPV_ARGS(&refused)) == E_INVALIDARG &&
        !refused.get());
  D3D12_HEAP_PROPERTIES properties;
  D3D12_HEAP_FLAGS flags;
  CHECK_OK(placed[0]->GetHeapProperties(&properties, &flags));
  CHECK(properties.Type == D3D12_HEAP_TYPE_DEFAULT && flags == heap_desc.Flags);
  Com<ID3D12Resource2> newer;
  if (SUCCEEDED(placed[0]->QueryInterface(IID_PPV_ARGS(&newer)))) {
    D3D12_RESOURCE_DESC1 d = newer->GetDesc1();
    CHECK(d.Width == 100000 && d.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && !d.SamplerFeedbackMipRegion.Width);
  }

  Com<ID3D12DescriptorHeap> descriptors;
  D3D12_DESCRIPTOR_HEAP_DESC dh = {D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 77, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0};
  CHECK_OK(device->CreateDescriptorHeap(&dh, IID_PPV_ARGS(&descriptors)));
  D3D12_DESCRIPTOR_HEAP_DESC dg = descriptors->GetDesc();
  CHECK(dg.Type == dh.Type && dg.NumDescriptors == 77 && dg.Flags == dh.Flags);
  CHECK(descriptors->GetCPUDescriptorHandleForHeapStart().ptr && descriptors->GetGPUDescriptorHandleForHeapStart().ptr);

  Com<ID3D12CommandQueue> queue;
  D3D12_COMMAND_QUEUE_DESC qd = {D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_QUEUE_PRIORITY_HIGH, D3D12_COMMAND_QUEUE_FLAG_NONE, 0};
  CHECK_OK(device->CreateCommandQueue(&qd, IID_PPV_ARGS(&queue)));
  D3D12_COMMAND_QUEUE_DESC qg = queue->GetDesc();
  CHECK(qg.Type == qd.Type && qg.Priority == qd.Priority && qg.Flags == qd.Flags);
  ID3D12Pageable* resident[] = {heap, placed[0], descriptors};
  CHECK_OK(device->MakeResident(3, resident));
  CHECK_OK(device->Evict(3, resident));
  Com<ID3D12Device8> device8;
  if (SUCCEEDED(device->QueryInterface(IID_PPV_ARGS(&device8)))) {
    D3D12_RESOURCE_DESC1 d1 = {};
    memcpy(&d1, &desc, sizeof(desc));
    info = device8->GetResourceAllocationInfo2(0, 1, &d1, nullptr);
    CHECK(info.SizeInBytes == 131072);
  }
}

}  // namespace dxtensor::test
