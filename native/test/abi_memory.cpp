// Buffers, heaps, mapping, copies and barriers.
#include <cstring>

#include "../abi/abi_calls.h"
#include "check.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

void Write(ID3D12Resource* upload, const Bytes& bytes) {
  void* p = nullptr;
  CHECK_OK(upload->Map(0, nullptr, &p));
  std::memcpy(p, bytes.data(), bytes.size());
  upload->Unmap(0, nullptr);
}

Bytes Read(ID3D12Resource* readback, size_t size) {
  void* p = nullptr;
  D3D12_RANGE range{0, size}, nothing{0, 0};
  CHECK_OK(readback->Map(0, &range, &p));
  Bytes bytes(static_cast<uint8_t*>(p), static_cast<uint8_t*>(p) + size);
  readback->Unmap(0, &nothing);
  return bytes;
}

Bytes Pattern(size_t size, uint8_t start) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(start + i * 7);
  return bytes;
}

}  // namespace

TEST(buffer_description) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Resource> buffer = gpu.Buffer(1000);
  D3D12_RESOURCE_DESC desc = DescriptionOf(buffer.get());
  CHECK_EQ(desc.Width, 1000u);
  CHECK(desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER);
  CHECK(desc.Flags == D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  CHECK(buffer->GetGPUVirtualAddress() != 0);
  D3D12_HEAP_PROPERTIES properties{};
  D3D12_HEAP_FLAGS flags{};
  CHECK_OK(buffer->GetHeapProperties(&properties, &flags));
  CHECK(properties.Type == D3D12_HEAP_TYPE_DEFAULT);
  Ref<ID3D12Device> device;
  CHECK_OK(buffer->GetDevice(__uuidof(ID3D12Device), device.out_void()));
  CHECK(device.get() == gpu.d3d());
  D3D12_RESOURCE_DESC request = BufferDesc(100000);
  D3D12_RESOURCE_ALLOCATION_INFO info = AllocationInfo(gpu.d3d(), 1, &request);
  CHECK_EQ(info.Alignment, 65536u);
  CHECK_EQ(info.SizeInBytes, 131072u);
}

TEST(buffer_errors) {
  Gpu& gpu = suite.gpu();
  D3D12_HEAP_PROPERTIES properties{};
  properties.Type = D3D12_HEAP_TYPE_DEFAULT;
  Ref<ID3D12Resource> buffer;
  D3D12_RESOURCE_DESC desc = BufferDesc(uint64_t{1} << 44);
  CHECK_FAILS(gpu.d3d()->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                                 __uuidof(ID3D12Resource), buffer.out_void()));
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
  if (!suite.runtime().software()) return;  // vkd3d crashes on a buffer of size 0
  desc = BufferDesc(0);
  CHECK_FAILS(gpu.d3d()->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                                 __uuidof(ID3D12Resource), buffer.out_void()));
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
}

TEST(default_memory_is_hidden) {
  Ref<ID3D12Resource> buffer = suite.gpu().Buffer(256);
  void* p = nullptr;
  CHECK_FAILS(buffer->Map(0, nullptr, &p));
}

TEST(map_twice) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Resource> upload = gpu.Buffer(256, D3D12_HEAP_TYPE_UPLOAD);
  void *first = nullptr, *second = nullptr;
  CHECK_OK(upload->Map(0, nullptr, &first));
  CHECK_OK(upload->Map(0, nullptr, &second));
  CHECK(first && first == second);
  upload->Unmap(0, nullptr);
  static_cast<uint8_t*>(first)[9] = 17;
  upload->Unmap(0, nullptr);
  CHECK_OK(upload->Map(0, nullptr, &first));
  CHECK_EQ(static_cast<int>(static_cast<uint8_t*>(first)[9]), 17);
  upload->Unmap(0, nullptr);
}

TEST(copies_at_odd_offsets) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Resource> upload = gpu.Buffer(512, D3D12_HEAP_TYPE_UPLOAD), middle = gpu.Buffer(512);
  Ref<ID3D12Resource> readback = gpu.Buffer(512, D3D12_HEAP_TYPE_READBACK);
  Bytes source = Pattern(512, 3);
  Write(upload.get(), source);
  gpu.Begin();
  ID3D12GraphicsCommandList* list = gpu.list();
  D3D12_RESOURCE_BARRIER barrier = Transition(middle.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
  list->ResourceBarrier(1, &barrier);
  list->CopyBufferRegion(middle.get(), 0, upload.get(), 0, 512);
  barrier = Transition(middle.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
  list->ResourceBarrier(1, &barrier);
  list->CopyBufferRegion(readback.get(), 0, middle.get(), 0, 512);
  barrier = Transition(middle.get(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COPY_DEST);
  list->ResourceBarrier(1, &barrier);
  list->CopyBufferRegion(middle.get(), 5, upload.get(), 101, 77);
  list->CopyBufferRegion(middle.get(), 301, upload.get(), 2, 1);
  barrier = Transition(middle.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
  list->ResourceBarrier(1, &barrier);
  list->CopyBufferRegion(readback.get(), 3, middle.get(), 3, 505);
  gpu.Finish();
  Bytes expected = source;
  std::memcpy(&expected[5], &source[101], 77);
  expected[301] = source[2];
  for (size_t i = 508; i < 512; ++i) expected[i] = source[i];
  CHECK(Read(readback.get(), 512) == expected);
}

TEST(copy_whole_resource) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Resource> upload = gpu.Buffer(300, D3D12_HEAP_TYPE_UPLOAD), readback = gpu.Buffer(300, D3D12_HEAP_TYPE_READBACK);
  Bytes source = Pattern(300, 91);
  Write(upload.get(), source);
  gpu.Begin();
  gpu.list()->CopyResource(readback.get(), upload.get());
  gpu.Finish();
  CHECK(Read(readback.get(), 300) == source);
}

TEST(placed_buffers) {
  Gpu& gpu = suite.gpu();
  D3D12_HEAP_DESC heap_desc{};
  heap_desc.SizeInBytes = 4 * 65536;
  heap_desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
  heap_desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
  Ref<ID3D12Heap> heap;
  CHECK_OK(gpu.d3d()->CreateHeap(&heap_desc, __uuidof(ID3D12Heap), heap.out_void()));
  CHECK_EQ(DescriptionOf(heap.get()).SizeInBytes, 4u * 65536);
  D3D12_RESOURCE_DESC desc = BufferDesc(65536, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  auto create_at = [&](uint64_t offset, Ref<ID3D12Resource>& buffer) {
    return gpu.d3d()->CreatePlacedResource(heap.get(), offset, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr, __uuidof(ID3D12Resource),
                                           buffer.out_void());
  };
  Ref<ID3D12Resource> a, b, wrong;
  CHECK_OK(create_at(0, a));
  CHECK_OK(create_at(3 * 65536, b));
  if (suite.runtime().software()) CHECK_HR(create_at(100, wrong), E_INVALIDARG);  // vkd3d does not look at the alignment
  CHECK_FAILS(create_at(4 * 65536, wrong));
  CHECK(a->GetGPUVirtualAddress() != b->GetGPUVirtualAddress());
  Ref<ID3D12Resource> upload = gpu.Buffer(128, D3D12_HEAP_TYPE_UPLOAD), readback = gpu.Buffer(128, D3D12_HEAP_TYPE_READBACK);
  Bytes source = Pattern(128, 5);
  Write(upload.get(), source);
  gpu.Begin();
  // Buffers in COMMON become what a copy wants, and are COMMON again afterwards.
  gpu.list()->CopyBufferRegion(a.get(), 64, upload.get(), 0, 64);
  gpu.list()->CopyBufferRegion(b.get(), 65536 - 64, upload.get(), 64, 64);
  D3D12_RESOURCE_BARRIER barriers[] = {Transition(a.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE),
                                       Transition(b.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE)};
  gpu.list()->ResourceBarrier(2, barriers);
  gpu.list()->CopyBufferRegion(readback.get(), 0, a.get(), 64, 64);
  gpu.list()->CopyBufferRegion(readback.get(), 64, b.get(), 65536 - 64, 64);
  gpu.Finish();
  CHECK(Read(readback.get(), 128) == source);
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
}

TEST(promotion_from_common) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Resource> upload = gpu.Buffer(64, D3D12_HEAP_TYPE_UPLOAD), middle = gpu.Buffer(64),
                      readback = gpu.Buffer(64, D3D12_HEAP_TYPE_READBACK);
  for (uint8_t round = 0; round < 3; ++round) {
    Bytes source = Pattern(64, static_cast<uint8_t>(round * 31));
    Write(upload.get(), source);
    gpu.Begin();
    gpu.list()->CopyBufferRegion(middle.get(), 0, upload.get(), 0, 64);
    gpu.Finish();
    gpu.Begin();
    gpu.list()->CopyBufferRegion(readback.get(), 0, middle.get(), 0, 64);
    gpu.Finish();
    CHECK(Read(readback.get(), 64) == source);
  }
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
}

TEST(descriptor_heap) {
  Gpu& gpu = suite.gpu();
  D3D12_DESCRIPTOR_HEAP_DESC desc = DescriptionOf(gpu.heap());
  CHECK(desc.Flags == D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
  CHECK(CpuStart(gpu.heap()).ptr != 0);
  CHECK(GpuStart(gpu.heap()).ptr != 0);
}

TEST(command_list_states) {
  Gpu& gpu = suite.gpu();
  gpu.Begin();
  CHECK_OK(gpu.list()->Close());
  CHECK_FAILS(gpu.list()->Close());
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
}

}  // namespace dxtensor::test
