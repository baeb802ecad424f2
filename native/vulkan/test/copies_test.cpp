// Textures, and buffers over one another.
#include "support.h"

namespace dxtensor::test {

// A texture there and back: D3D12_TEXTURE_COPY_LOCATION both ways, and an aliasing barrier.
TEST(texture_there_and_back) {
  ID3D12Device* device = suite.device();
  Recorder r(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
  D3D12_RESOURCE_DESC desc = {};
  desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
  desc.Width = desc.Height = 32;
  desc.DepthOrArraySize = desc.MipLevels = desc.SampleDesc.Count = 1;
  desc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
  D3D12_HEAP_PROPERTIES heap = {D3D12_HEAP_TYPE_DEFAULT};
  D3D12_PLACED_SUBRESOURCE_FOOTPRINT print;
  UINT rows;
  UINT64 row, total;
  Com<ID3D12Resource> texture, upload, readback;
  CHECK_OK(
      device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COPY_DEST, nullptr, IID_PPV_ARGS(&texture)));
  device->GetCopyableFootprints(&desc, 0, 1, 0, &print, &rows, &row, &total);
  CHECK(rows == 32 && row == 128 && print.Footprint.RowPitch == 256);
  MakeBuffer(device, D3D12_HEAP_TYPE_UPLOAD, total, &upload);
  MakeBuffer(device, D3D12_HEAP_TYPE_READBACK, total, &readback);
  unsigned char* p;
  CHECK_OK(upload->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  for (UINT64 i = 0; i < total; ++i) p[i] = i * 7;
  upload->Unmap(0, nullptr);
  D3D12_TEXTURE_COPY_LOCATION t = {texture, D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX},
                              b = {upload, D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT};
  b.PlacedFootprint = print;
  r.list->CopyTextureRegion(&t, 0, 0, 0, &b, nullptr);
  D3D12_RESOURCE_BARRIER barriers[2] = {Transition(texture, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE)};
  barriers[1].Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING;
  barriers[1].Aliasing = {nullptr, texture};
  r.list->ResourceBarrier(2, barriers);
  b.pResource = readback;
  r.list->CopyTextureRegion(&b, 0, 0, 0, &t, nullptr);
  r.Execute();
  r.Finish();
  bool same = true;
  CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  for (UINT y = 0; y < 32; ++y)
    for (UINT x = 0; x < 128; ++x) same &= p[y * 256 + x] == (unsigned char)((y * 256 + x) * 7);
  readback->Unmap(0, nullptr);
  CHECK(same);
}

// Two buffers placed over one another: one memory.
TEST(buffers_placed_over_one_another) {
  ID3D12Device* device = suite.device();
  Recorder r(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
  Com<ID3D12Heap> heap;
  Com<ID3D12Resource> first, second, upload, readback;
  D3D12_HEAP_DESC hd = {1 << 20, {D3D12_HEAP_TYPE_DEFAULT}, 0, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS};
  D3D12_RESOURCE_DESC d = BufferDesc(1 << 20, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  CHECK_OK(device->CreateHeap(&hd, IID_PPV_ARGS(&heap)));
  CHECK_OK(device->CreatePlacedResource(heap, 0, &d, D3D12_RESOURCE_STATE_COPY_DEST, nullptr, IID_PPV_ARGS(&first)));
  CHECK_OK(device->CreatePlacedResource(heap, 0, &d, D3D12_RESOURCE_STATE_COPY_SOURCE, nullptr, IID_PPV_ARGS(&second)));
  MakeBuffer(device, D3D12_HEAP_TYPE_UPLOAD, 4096, &upload);
  MakeBuffer(device, D3D12_HEAP_TYPE_READBACK, 4096, &readback);
  unsigned* p;
  CHECK_OK(upload->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  for (unsigned i = 0; i < 1024; ++i) p[i] = i * i;
  upload->Unmap(0, nullptr);
  r.list->CopyBufferRegion(first, 65536, upload, 0, 4096);
  D3D12_RESOURCE_BARRIER b = {};
  b.Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING;
  b.Aliasing = {first, second};
  r.list->ResourceBarrier(1, &b);
  r.list->CopyBufferRegion(readback, 0, second, 65536, 4096);
  r.Execute();
  r.Finish();
  CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  CHECK(p[0] == 0 && p[1023] == 1023 * 1023);
  readback->Unmap(0, nullptr);
}

}  // namespace dxtensor::test
