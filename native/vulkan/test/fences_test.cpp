// Fences, events and queues. Where nothing may come, the test waits a moment and finds nothing.
#include "support.h"

#include <atomic>

namespace dxtensor::test {

namespace {
constexpr int kMoment = 20, kLong = 10000;  // ms
}

TEST(fence_events) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Fence> fence;
  CHECK_OK(device->CreateFence(5, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
  CHECK_EQ(fence->GetCompletedValue(), 5u);
  Event e;
  CHECK_OK(fence->SetEventOnCompletion(5, e.handle()));  // reached already
  CHECK(e.Wait(kLong) && e.Take() == 1);
  CHECK_OK(fence->SetEventOnCompletion(8, e.handle()));
  CHECK(!e.Wait(kMoment));
  CHECK_OK(fence->Signal(7));
  CHECK(!e.Wait(kMoment));
  CHECK_OK(fence->Signal(8));
  CHECK(e.Wait(kLong) && e.Take() == 1);
}

TEST(fence_without_an_event_waits) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Fence> fence;
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
  CHECK_OK(fence->SetEventOnCompletion(0, nullptr));  // returns at once
  std::atomic<bool> signalled{false};
  std::thread other([&] {
    signalled = true;
    fence->Signal(1);
  });
  HRESULT hr = fence->SetEventOnCompletion(1, nullptr);
  bool waited = signalled;
  other.join();
  CHECK_OK(hr);
  CHECK(waited);
  CHECK_EQ(fence->GetCompletedValue(), 1u);
}

TEST(event_closed_before_it_is_signalled) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Fence> fence;
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
  {
    Event gone;
    CHECK_OK(fence->SetEventOnCompletion(1, gone.handle()));
  }
  Event after;  // very likely the same number
  CHECK_OK(fence->Signal(1));
  CHECK(!after.Wait(kMoment));
}

TEST(handle_that_is_no_event) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Fence> fence;
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
  int pipes[2];
  CHECK(!pipe(pipes));
  HRESULT hr = fence->SetEventOnCompletion(20, reinterpret_cast<HANDLE>(static_cast<intptr_t>(pipes[1])));
  close(pipes[0]);
  close(pipes[1]);
  CHECK_HR(hr, E_INVALIDARG);
  CHECK_HR(fence->SetEventOnCompletion(20, reinterpret_cast<HANDLE>(static_cast<intptr_t>(pipes[1]))), E_INVALIDARG);
}

TEST(events_of_several_fences) {
  ID3D12Device* device = suite.device();
  Com<ID3D12Device1> device1;
  CHECK_OK(device->QueryInterface(IID_PPV_ARGS(&device1)));
  Com<ID3D12Fence> first, second;
  CHECK_OK(device->CreateFence(9, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&first)));
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&second)));
  ID3D12Fence* both[] = {first, second};
  const UINT64 values[] = {9, 3};
  Event e;
  CHECK_OK(device1->SetEventOnMultipleFenceCompletion(both, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY, e.handle()));
  CHECK(e.Wait(kLong) && e.Take() == 1);
  CHECK_OK(second->Signal(3));
  CHECK(!e.Wait(kMoment));  // once only
  CHECK_OK(second->Signal(0));
  CHECK_OK(device1->SetEventOnMultipleFenceCompletion(both, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, e.handle()));
  CHECK(!e.Wait(kMoment));
  std::atomic<bool> signalled{false};
  std::thread later([&] {
    signalled = true;
    second->Signal(3);
  });
  HRESULT hr = device1->SetEventOnMultipleFenceCompletion(both, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, nullptr);
  bool waited = signalled;
  later.join();
  CHECK_OK(hr);
  CHECK(waited);
  CHECK(e.Wait(kLong) && e.Take() == 1);
  CHECK_HR(device1->SetEventOnMultipleFenceCompletion(nullptr, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, e.handle()), E_INVALIDARG);
}

// A compute queue waits for a fence that the copy queue signals later, and that one for a fence that the CPU signals.
TEST(two_queues) {
  ID3D12Device* device = suite.device();
  Recorder copy(device, D3D12_COMMAND_LIST_TYPE_COPY), compute(device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
  Compute c(suite);
  Com<ID3D12Fence> gate;
  Com<ID3D12Resource> upload, in, out, readback;
  const UINT n = 4096;
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&gate)));
  MakeBuffer(device, D3D12_HEAP_TYPE_UPLOAD, n * 4, &upload);
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, n * 4, &in);
  MakeBuffer(device, D3D12_HEAP_TYPE_DEFAULT, n * 4, &out, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  MakeBuffer(device, D3D12_HEAP_TYPE_READBACK, n * 4, &readback);
  c.View(device, in, out, n);
  float* p;
  CHECK_OK(upload->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  for (UINT i = 0; i < n; ++i) p[i] = i + 1;
  upload->Unmap(0, nullptr);
  copy.list->CopyResource(in, upload);
  c.Bind(compute.list, n, 0);
  compute.list->Dispatch(n / 64, 1, 1);
  D3D12_RESOURCE_BARRIER b = Transition(out, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
  compute.list->ResourceBarrier(1, &b);
  compute.list->CopyResource(readback, out);
  CHECK_OK(compute.queue->Wait(copy.fence, 1));
  compute.Execute();
  CHECK_OK(copy.queue->Wait(gate, 1));
  copy.Execute();
  Event early;
  CHECK_OK(compute.fence->SetEventOnCompletion(1, early.handle()));
  CHECK(!early.Wait(kMoment));
  CHECK(copy.fence->GetCompletedValue() == 0 && compute.fence->GetCompletedValue() == 0);
  CHECK_OK(gate->Signal(1));
  compute.Finish();
  CHECK_OK(readback->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  CHECK(p[0] == 1 && p[n - 1] == n);
  readback->Unmap(0, nullptr);
}

TEST(calls_from_several_threads) {
  ID3D12Device* device = suite.device();
  std::vector<std::thread> all;
  std::atomic<int> bad{0};
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        Com<ID3D12Fence> f;
        Com<ID3D12Device> d;
        if (FAILED(device->CreateFence(i, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&f))) || f->GetCompletedValue() != static_cast<UINT64>(i) ||
            FAILED(f->GetDevice(IID_PPV_ARGS(&d))) || d.get() != device)
          ++bad;
      }
    });
  for (std::thread& t : all) t.join();
  CHECK_EQ(bad.load(), 0);
}

}  // namespace dxtensor::test
