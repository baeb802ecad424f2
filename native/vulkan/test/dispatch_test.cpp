// A pipeline and its work.
#include "support.h"

namespace dxtensor::test {

static void DispatchOn(Suite& suite, D3D12_COMMAND_LIST_TYPE type) {
  ID3D12Device* device = suite.device();
  const UINT n = 10000, bytes = n * 4;
  Recorder r(device, type);
  Compute c(suite);
  Com<ID3D12Resource> upload, in, out, readback;
  MakeBuffer(device, D3D12_HEAP_TYPE_UPLOAD, 2 * bytes, &upload);
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes, &in);
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes, &out, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  MakeBuffer(device, D3D12_HEAP_TYPE_READBACK, bytes, &readback);
  c.View(device, in, out, n);
  float* p = nullptr;
  D3D12_RANGE nothing = {};
  CHECK_OK(upload->Map(0, &nothing, reinterpret_cast<void**>(&p)));
  for (UINT i = 0; i < n; ++i) {
    p[i] = 1000 + i;
    p[n + i] = i * 0.5f;
  }
  upload->Unmap(0, nullptr);

  r.list->CopyBufferRegion(in, 0, upload, 0, bytes);
  r.list->CopyBufferRegion(out, 0, upload, bytes, bytes);
  D3D12_RESOURCE_BARRIER before[] = {Transition(in, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE),
                                     Transition(out, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS)};
  r.list->ResourceBarrier(2, before);
  c.Bind(r.list, n, 3);
  r.list->Dispatch((n + 63) / 64, 1, 1);
  D3D12_RESOURCE_BARRIER one = UavBarrier(out), all = UavBarrier(nullptr);
  r.list->ResourceBarrier(1, &one);
  r.list->Dispatch((n + 63) / 64, 1, 1);
  r.list->ResourceBarrier(1, &all);
  r.list->Dispatch((n + 63) / 64, 1, 1);
  D3D12_RESOURCE_BARRIER after = Transition(out, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
  r.list->ResourceBarrier(1, &after);
  r.list->CopyResource(readback, out);
  r.Execute();
  r.Finish();
  UINT wrong = 0;
  CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  for (UINT i = 0; i < n; ++i) {
    float a = 1000 + i, v = i * 0.5f;
    for (int k = 0; k < 3; ++k) v = v * 3 + a;
    if (std::fabs(p[i] - v) > 1e-4f * v) ++wrong;
  }
  readback->Unmap(0, &nothing);
  CHECK(wrong == 0);

  // The same pipeline from a stream, the way of ID3D12Device2.
  Com<ID3D12Device2> device2;
  Com<ID3D12PipelineState> streamed;
  struct alignas(8) {
    struct alignas(8) {
      UINT t;
      D3D12_PIPELINE_STATE_FLAGS v;
    } flags;
    struct alignas(8) {
      UINT t;
      D3D12_SHADER_BYTECODE v;
    } cs;
    struct alignas(8) {
      UINT t;
      ID3D12RootSignature* v;
    } root;
  } stream = {{D3D12_PIPELINE_STATE_SUBOBJECT_TYPE_FLAGS, D3D12_PIPELINE_STATE_FLAG_NONE},
              {D3D12_PIPELINE_STATE_SUBOBJECT_TYPE_CS, ScaleShader()},
              {D3D12_PIPELINE_STATE_SUBOBJECT_TYPE_ROOT_SIGNATURE, c.root}};
  D3D12_PIPELINE_STATE_STREAM_DESC sd = {sizeof(stream), &stream};
  CHECK_OK(device->QueryInterface(IID_PPV_ARGS(&device2)));
  CHECK_OK(device2->CreatePipelineState(&sd, IID_PPV_ARGS(&streamed)));
  {
    r.Again();
    D3D12_RESOURCE_BARRIER back = Transition(out, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    r.list->ResourceBarrier(1, &back);
    c.Bind(r.list, n, 0);
    r.list->SetPipelineState(streamed);
    r.list->Dispatch((n + 63) / 64, 1, 1);
    r.list->ResourceBarrier(1, &after);
    r.list->CopyBufferRegion(readback, 0, out, 0, bytes);
    r.Execute();
    r.Finish();
    CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
    CHECK(p[0] == 1000 && p[n - 1] == 1000 + n - 1);
    readback->Unmap(0, &nothing);
  }

  // ClearUnorderedAccessViewUint, by which DirectML's users fill buffers.
  Com<ID3D12DescriptorHeap> cpu;
  D3D12_DESCRIPTOR_HEAP_DESC dh = {D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE, 0};
  D3D12_UNORDERED_ACCESS_VIEW_DESC ud = {};
  ud.Format = DXGI_FORMAT_R32_TYPELESS;
  ud.ViewDimension = D3D12_UAV_DIMENSION_BUFFER;
  ud.Buffer.NumElements = n;
  ud.Buffer.Flags = D3D12_BUFFER_UAV_FLAG_RAW;
  CHECK_OK(device->CreateDescriptorHeap(&dh, IID_PPV_ARGS(&cpu)));
  D3D12_CPU_DESCRIPTOR_HANDLE visible = c.heap->GetCPUDescriptorHandleForHeapStart();
  D3D12_GPU_DESCRIPTOR_HANDLE gpu = c.heap->GetGPUDescriptorHandleForHeapStart();
  visible.ptr += 4 * c.step;
  gpu.ptr += 4 * c.step;
  device->CreateUnorderedAccessView(out, nullptr, &ud, cpu->GetCPUDescriptorHandleForHeapStart());
  device->CreateUnorderedAccessView(out, nullptr, &ud, visible);
  r.Again();
  D3D12_RESOURCE_BARRIER back = Transition(out, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  r.list->ResourceBarrier(1, &back);
  ID3D12DescriptorHeap* heaps[] = {c.heap};
  UINT pattern[4] = {0x3fc00000, 0x3fc00000, 0x3fc00000, 0x3fc00000};
  r.list->SetDescriptorHeaps(1, heaps);
  r.list->ClearUnorderedAccessViewUint(gpu, cpu->GetCPUDescriptorHandleForHeapStart(), out, pattern, 0, nullptr);
  r.list->ResourceBarrier(1, &after);
  r.list->CopyResource(readback, out);
  r.Execute();
  r.Finish();
  CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  CHECK(p[0] == 1.5f && p[n - 1] == 1.5f);
  readback->Unmap(0, &nothing);
}

TEST(dispatch_on_a_compute_queue) { DispatchOn(suite, D3D12_COMMAND_LIST_TYPE_COMPUTE); }
TEST(dispatch_on_a_direct_queue) { DispatchOn(suite, D3D12_COMMAND_LIST_TYPE_DIRECT); }

}  // namespace dxtensor::test
