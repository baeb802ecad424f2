#include "dml_calls.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "../dml/host_copy.h"
#include "check.h"
#include "describe.h"
#include "dml_worker.h"

namespace dxtensor::test {

namespace {

using dml::FailureKind;
using Floats = std::vector<float>;

std::unique_ptr<dml::Device> Open(uint32_t patience_ms = 60000, uint64_t limit = 1u << 30) {
  dml::Device::Options options;
  options.limit_in_bytes = limit;
  options.patience_ms = patience_ms;
  return dml::Device::Open(dml::RuntimeKind::Software, 0, options);
}

// The failure of that kind that `call` throws.
template <typename F>
dml::Failure FailureOf(FailureKind kind, F&& call) {
  try {
    call();
  } catch (const dml::Failure& failure) {
    CHECK_EQ(std::string(dml::KindName(failure.kind())), std::string(dml::KindName(kind)));
    CHECK(std::string(failure.what()).size() > 0);
    return failure;
  }
  throw Failure{std::string("nothing was thrown, expected ") + dml::KindName(kind)};
}

bool Says(const dml::Failure& failure, const std::string& text) { return std::string(failure.what()).find(text) != std::string::npos; }

Floats Count(size_t n) {
  Floats values(n);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

dml::Address Take(dml::Device& device, uint64_t size, dml::HeapPool::Use use = dml::HeapPool::Use::Tensor) {
  return device.pool().AddressOf(device.pool().Allocate(size, use));
}

dml::Address Uploaded(dml::Device& device, const Floats& values, dml::HeapPool::Use use = dml::HeapPool::Use::Tensor) {
  dml::Address at = Take(device, values.size() * sizeof(float), use);
  device.Upload(at, values.data(), values.size() * sizeof(float));
  return at;
}

Floats Get(dml::Device& device, dml::Address at, size_t count) {
  Floats values(count);
  device.ReadAndWait(at, values.data(), count * sizeof(float));
  return values;
}

void Transfers() {
  auto device = Open();
  // Larger than a piece of staging memory, so that it goes in several.
  const Floats large = Count(5u << 20);
  dml::Address at = Uploaded(*device, large);
  CHECK(Get(*device, at, large.size()) == large);
  dml::Address copy = Take(*device, large.size() * sizeof(float));
  device->Copy(at, copy, large.size() * sizeof(float));
  device->Copy(at, copy, 0);
  CHECK(Get(*device, copy, large.size()) == large);
  dml::Address program = Uploaded(*device, Count(1000), dml::HeapPool::Use::Program);
  device->Copy(program + 400, at, 400);
  CHECK_EQ(Get(*device, at, 1)[0], 100.f);
  std::atomic<int> told{0};
  Floats bytes(1000);
  device->Read(program, bytes.data(), 4000, [&](const dml::Failure* failure) { told += failure ? 100 : 1; });
  device->Read(program, nullptr, 0, [&](const dml::Failure* failure) { told += failure ? 100 : 1; });
  device->Synchronize([&](const dml::Failure* failure) { told += failure ? 100 : 1; });
  device->Finish();
  CHECK_EQ(told.load(), 3);
  CHECK(bytes == Count(1000));
  CHECK(device->counters().uploads.Read() >= 4 && device->counters().readbacks.Read() >= 4);
  CHECK(device->pool().pooled_in_bytes() <= device->pool().limit_in_bytes());
}

void Recordings() {
  auto device = Open();
  constexpr uint32_t kCount = 1000;
  dml::Program* program = device->CreateProgram(AccumulateProgram(kCount));
  uint64_t size = kCount * sizeof(float);
  dml::Address state = Uploaded(*device, Count(kCount)), input = Uploaded(*device, Floats(kCount, 1.f)), result = Take(*device, size),
               scratch = Take(*device, size), out = Take(*device, size);
  dml::Recording* recording = device->Record(*program, {state, input, result, scratch}, 2);
  for (int call = 0; call < 9; ++call) {
    auto work = std::make_unique<dml::ReplayWork>();
    work->after.push_back({result, out, size});
    device->Replay(*recording, std::move(work));
  }
  Floats expected = Count(kCount);
  for (float& value : expected) value += 18;
  CHECK(Get(*device, out, kCount) == expected);
  CHECK_EQ(device->Profile(*recording).dispatches.size(), 2u);
  CHECK_EQ(device->counters().replays.Read(), 9u);
  // Released while its last replay may still run; the program lives on with its other owner.
  device->Replay(*recording, std::make_unique<dml::ReplayWork>());
  device->ReleaseProgram(program);
  device->ReleaseRecording(recording);
  device->Wait();
}

// Each first use of a chunk and of the staging buffer, while an open list uses them.
void RecordingsThatBeginWithCopies() {
  auto device = Open();
  constexpr uint32_t kCount = 64;
  uint64_t size = kCount * sizeof(float);
  dml::ProgramDesc desc = AddProgram(kCount);
  desc.steps.push_back({1, -1, {{1, 0, size}}, {{0, 0, size}}});
  dml::ProgramDesc copies;
  copies.name = "copies";
  copies.inputs = {size, size};
  copies.steps.push_back({0, -1, {{1, 0, size}}, {{0, 0, size}}});
  dml::Program *add = device->CreateProgram(desc), *copy = device->CreateProgram(copies),
               *plain = device->CreateProgram(AddProgram(kCount));
  for (auto use : {dml::HeapPool::Use::Tensor, dml::HeapPool::Use::Program}) {
    dml::Address a = Uploaded(*device, Count(kCount), use), b = Uploaded(*device, Floats(kCount, 2.f)), sum = Take(*device, size, use);
    dml::Recording* recordings[] = {device->Record(*add, {a, b, sum, 0}, 2), device->Record(*copy, {a, b, 0}, 2)};
    for (int round = 0; round < 20; ++round) {
      dml::Address slots[dml::Task::kSlots] = {a, b, sum, 0};
      if (round & 1) device->Run(*plain, slots);
      if (round & 2) device->Copy(b, Take(*device, size), size);
      if (round & 4) device->Copy(sum, a, size);
      device->Replay(*recordings[round % 2], std::make_unique<dml::ReplayWork>());
    }
    CHECK(Get(*device, a, kCount) == Floats(kCount, 2.f));
  }
}

void Refusals() {
  auto device = Open();
  auto refuse = [&](const std::string& text, auto&& change) {
    dml::ProgramDesc desc = AddProgram(16);
    change(desc);
    CHECK(Says(FailureOf(FailureKind::Invalid, [&] { device->CreateProgram(desc); }), text));
  };
  refuse("dispatchable", [](auto& d) { d.steps[0].dispatchable = 3; });
  refuse("outside slot", [](auto& d) { d.steps[0].inputs[0].size = 80; });
  refuse("is not there", [](auto& d) { d.steps[0].inputs[0].slot = 9; });
  refuse("multiple of 16", [](auto& d) {
    d.inputs[0] = 128;
    d.steps[0].inputs[0].offset = 4;
  });
  refuse("lies over input", [](auto& d) {
    d.inputs[0] = 128;
    d.steps[0].outputs[0] = {0, 16, 64};
  });
  refuse("is not bound", [](auto& d) { d.steps[0].inputs[1].slot = -1; });
  refuse("inputs are bound", [](auto& d) { d.steps[0].inputs.pop_back(); });
  refuse("are needed", [](auto& d) { d.steps[0].inputs[0].size = 32; });
  refuse("one size", [](auto& d) { d.steps.push_back({1, -1, {{0, 0, 64}}, {{1, 0, 32}}}); });
  refuse("ranges meet", [](auto& d) { d.steps.push_back({1, -1, {{0, 0, 32}}, {{0, 16, 32}}}); });
  // What DirectML refuses, alone and in a graph.
  dml::ProgramDesc bad = AddProgram(16);
  bad.dispatchables[0] = Parse("ELEMENT_WISE_ADD ATensor=f32[1,1,1,16] BTensor=i32[1,1,1,16] OutputTensor=f32[1,1,1,16]");
  dml::Failure failure = FailureOf(FailureKind::Invalid, [&] { device->CreateProgram(bad); });
  CHECK(failure.has_hresult() && failure.op().find("ELEMENT_WISE_ADD") != std::string::npos && !failure.call().empty());
  dml::GraphDesc graph;
  graph.input_count = 2;
  graph.output_count = 1;
  graph.nodes.push_back(std::get<schema::OperatorDesc>(AddProgram(16).dispatchables[0]));
  graph.nodes.push_back(graph.nodes[0]);
  graph.input_edges = {{0, 0, 0}, {1, 0, 1}, {1, 1, 1}};
  graph.edges = {{0, 0, 1, 0}};
  graph.output_edges = {{1, 0, 0}};
  dml::ProgramDesc whole = AddProgram(16);
  whole.dispatchables[0] = graph;
  dml::Program* program = device->CreateProgram(whole);
  dml::Address a = Uploaded(*device, Count(16)), b = Uploaded(*device, Floats(16, 1.f)), out = Take(*device, 64);
  dml::Address slots[dml::Task::kSlots] = {a, b, out, 0};
  device->Run(*program, slots);
  CHECK_EQ(Get(*device, out, 16)[15], 17.f);
  // A graph that writes over its input, and one that is bound elsewhere.
  if (device->context().fuses_graphs) {
    graph.overwrites = {{0, 0, 0}};
    dml::ProgramDesc over = AddProgram(16);
    over.dispatchables[0] = graph;
    FailureOf(FailureKind::Invalid, [&] { device->CreateProgram(over); });
    over.steps[0].outputs = {over.steps[0].inputs[0]};
    dml::Program* sums = device->CreateProgram(over);
    device->Run(*sums, slots);
    device->Run(*sums, slots);
    CHECK_EQ(Get(*device, a, 16)[15], 19.f);
    graph.overwrites.clear();
  }
  graph.edges[0].to = 7;
  whole.dispatchables[0] = graph;
  FailureOf(FailureKind::Invalid, [&] { device->CreateProgram(whole); });
}

void Memory() {
  auto device = Open(60000, 64u << 20);
  CHECK(Says(FailureOf(FailureKind::OutOfMemory, [&] { Take(*device, 65u << 20); }), "limit"));
  uint32_t held = device->pool().Allocate(30u << 20);
  uint32_t other = device->pool().Allocate(20u << 20);
  FailureOf(FailureKind::OutOfMemory, [&] { device->pool().Allocate(40u << 20); });
  device->pool().Free(held);
  device->pool().Free(other);
  // Unused chunks are freed.
  device->pool().Free(device->pool().Allocate(60u << 20));
  CHECK(device->pool().Trim() > 0);
  device->FailNextAllocationForTest();
  CHECK(Says(FailureOf(FailureKind::OutOfMemory, [&] { device->pool().Allocate(1000); }), "CreateHeap"));
  CHECK(Get(*device, Uploaded(*device, Count(100)), 100) == Count(100));
}

void Held() {
  auto device = Open();
  dml::Address at = Uploaded(*device, Count(16)), to = Take(*device, 64);
  device->Hold(true);
  FailureOf(FailureKind::Invalid, [&] { device->Wait(); });
  Floats bytes(16);
  FailureOf(FailureKind::Invalid, [&] { device->ReadAndWait(at, bytes.data(), 64); });
  FailureOf(FailureKind::Invalid, [&] {
    for (int i = 0; i < 10000; ++i) device->Copy(at, to, 64);
  });
  device->Hold(false);
  CHECK(Get(*device, to, 16) == Count(16));
}

// What is released while the queue takes nothing goes with the device; nothing is freed twice.
void ReleasedWhileHeld() {
  auto device = Open();
  constexpr uint32_t kCount = 64;
  uint64_t size = kCount * sizeof(float);
  dml::Program* program = device->CreateProgram(AccumulateProgram(kCount));
  dml::Address at = Uploaded(*device, Count(kCount)), other = Take(*device, size), result = Take(*device, size),
               scratch = Take(*device, size);
  dml::Recording* recording = device->Record(*program, {at, other, result, scratch}, 2);
  dml::Program* alone = device->CreateProgram(AccumulateProgram(kCount));
  device->Wait();
  device->Hold(true);
  FailureOf(FailureKind::Invalid, [&] {
    for (;;) device->Copy(at, other, size);
  });
  device->ReleaseRecording(recording);
  device->ReleaseProgram(program);
  device->ReleaseProgram(alone);
  device->Hold(false);
  CHECK(Get(*device, other, kCount) == Count(kCount));
}

// A device that would be waited for by the minute is waited for as long as the end of a process.
void FinishOfAHang() {
  auto device = Open(600'000);
  dml::Address at = Uploaded(*device, Count(16));
  device->Wait();
  std::atomic<int> told{0};
  device->HangForTest();
  device->Copy(at, Take(*device, 64), 64);
  device->Synchronize([&](const dml::Failure* failure) { told += failure && Says(*failure, "was closed while it still worked"); });
  CHECK(Says(FailureOf(FailureKind::Timeout, [&] { device->Finish(); }), "was closed while it still worked"));
  device.reset();
  CHECK_EQ(told.load(), 1);
}

void Removal() {
  auto first = Open(), second = Open();
  dml::Program* program = first->CreateProgram(AddProgram(16));
  dml::Address a = Uploaded(*first, Count(16)), out = Take(*first, 64);
  dml::Recording* recording =
      second->Record(*second->CreateProgram(AccumulateProgram(16)),
                     {Uploaded(*second, Count(16)), Uploaded(*second, Count(16)), Take(*second, 64), Take(*second, 64)}, 1);
  first->Wait();
  second->Wait();
  first->RemoveForTest();
  dml::Address slots[dml::Task::kSlots] = {a, a, out, 0};
  first->Run(*program, slots);
  std::string told;
  dml::Failure own = FailureOf(FailureKind::Removed, [&] { first->Wait(); });
  CHECK_EQ(own.reason(), std::string("a fault was injected"));
  CHECK_EQ(own.op(), std::string("add"));
  CHECK(!own.is_elsewhere());
  // Held by both, and opened all the same.
  auto third = Open();
  CHECK(Get(*third, Uploaded(*third, Count(16)), 16) == Count(16));
  auto elsewhere = [&](auto&& call) { CHECK(FailureOf(FailureKind::Removed, call).is_elsewhere()); };
  elsewhere([&] { second->Wait(); });
  elsewhere([&] { second->Replay(*recording, std::make_unique<dml::ReplayWork>()); });
  elsewhere([&] { second->CreateProgram(AddProgram(4)); });
  elsewhere([&] { second->Profile(*recording); });
  elsewhere([&] { second->Upload(16, "1234", 4); });
  elsewhere([&] { second->pool().Allocate(512u << 20); });
  second->ReleaseRecording(recording);
  CHECK(second->failed() && !third->failed());
}

// A program that was timed goes after its device.
void RemovalWhileTimed() {
  auto device = Open();
  dml::Program* program = device->CreateProgram(AddProgram(16));
  dml::Address a = Uploaded(*device, Count(16)), out = Take(*device, 64);
  dml::Address slots[dml::Task::kSlots] = {a, a, out, 0};
  device->StartTiming();
  device->Run(*program, slots);
  device->Wait();
  device->RemoveForTest();
  device->Run(*program, slots);
  FailureOf(FailureKind::Removed, [&] { device->Wait(); });
  device->ReleaseProgram(program);
  device.reset();
  auto next = Open();
  CHECK(Get(*next, Uploaded(*next, Count(16)), 16) == Count(16));
}

void Hang() {
  auto device = Open(200);
  dml::Address at = Uploaded(*device, Count(16));
  device->Wait();
  std::atomic<int> failures{0};
  device->HangForTest();
  device->Copy(at, Take(*device, 64), 64);
  device->Synchronize([&](const dml::Failure* failure) { failures += failure && failure->kind() == FailureKind::Timeout; });
  CHECK(Says(FailureOf(FailureKind::Timeout, [&] { device->Wait(); }), "200 ms"));
  Floats bytes(16);
  FailureOf(FailureKind::Timeout, [&] { device->ReadAndWait(at, bytes.data(), 64); });
  FailureOf(FailureKind::Timeout, [&] { device->Finish(); });
  device.reset();
  CHECK_EQ(failures.load(), 1);
  device = Open();
  CHECK(Get(*device, Uploaded(*device, Count(16)), 16) == Count(16));
}

// What a thread looks at while it waits ends each of its waits, and the device continues.
void LookEndsWaits() {
  struct Ended {};
  std::atomic<bool> ends{false};
  dml::Device::Options options;
  options.limit_in_bytes = 1u << 30;
  options.look = [&] {
    if (ends) throw Ended();
  };
  auto device = dml::Device::Open(dml::RuntimeKind::Software, 0, options);
  dml::Address at = Uploaded(*device, Count(16)), other = Take(*device, 64);
  device->Wait();
  std::atomic<int> told{0};
  device->HangForTest();
  device->Copy(at, other, 64);
  device->Synchronize([&](const dml::Failure* failure) { told += failure != nullptr; });
  ends = true;
  auto ended_by = [&](auto&& call) {
    try {
      call();
    } catch (const Ended&) {
      return true;
    }
    return false;
  };
  Floats bytes(16);
  CHECK(ended_by([&] { device->Wait(); }));
  CHECK(ended_by([&] { device->ReadAndWait(at, bytes.data(), 64); }));
  CHECK(ended_by([&] { device->Finish(); }));
  CHECK(ended_by([&] {
    for (;;) device->Copy(at, other, 64), device->Flush();
  }));
  const auto begin = std::chrono::steady_clock::now();
  device.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
  CHECK_EQ(told.load(), 1);
}

void Loading() {
  CHECK(dml::LoadedRuntime(dml::RuntimeKind::Gpu) == nullptr);
  CHECK(dml::Adapters(dml::RuntimeKind::Gpu).empty());
  FailureOf(FailureKind::Load, [] { dml::Device::Open(dml::RuntimeKind::Gpu, 0, {}); });
  FailureOf(FailureKind::Invalid, [] { dml::Device::Open(dml::RuntimeKind::Software, 99, {}); });
  dml::LibraryPaths paths;
  paths.folders = {"/nowhere"};
  paths.directml = "/proc/self/exe";
  dml::LoadReport report = dml::Load(dml::RuntimeKind::Gpu, paths);
  CHECK(!report.loaded && report.tried.size() >= 3);
  for (const auto& tried : report.tried) CHECK(!tried.error.empty());
}

void Words() {
  CHECK_EQ(dml::HresultName(E_INVALIDARG), std::string("E_INVALIDARG"));
  CHECK_EQ(dml::HresultName(static_cast<HRESULT>(0x80001234)), std::string());
  for (int kind = 0; kind <= static_cast<int>(FailureKind::Internal); ++kind) CHECK(*dml::KindName(static_cast<FailureKind>(kind)));
  CHECK(dml::Failure(E_NOTIMPL, "call").kind() == FailureKind::Unsupported);
  CHECK(dml::Failure(E_FAIL, "call", "GEMM", "more").kind() == FailureKind::Device);
  CHECK(Says(dml::Failure(E_FAIL, "call", "GEMM", "more"), "GEMM: call failed: E_FAIL (0x80004005); more"));
}

// Every byte, and none beside them, by any number of threads.
void HostCopies() {
  constexpr size_t kGuard = 64;
  for (size_t size : {size_t{0}, size_t{1}, (size_t{1} << 21) - 1, size_t{1} << 21, (size_t{3} << 20) + 4097, (size_t{9} << 20) + 13})
    for (unsigned threads : {0u, 1u, 2u, 3u, 4u, 7u}) {
      std::vector<uint8_t> from(size), to(size + 2 * kGuard, 0xa5);
      for (size_t i = 0; i < size; ++i) from[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
      dml::HostCopy(to.data() + kGuard, from.data(), size, threads);
      CHECK(std::equal(from.begin(), from.end(), to.begin() + kGuard));
      for (size_t i = 0; i < kGuard; ++i) CHECK_EQ(int{to[i]}, 0xa5), CHECK_EQ(int{to[kGuard + size + i]}, 0xa5);
    }
}

// What is copied while its pages are made, before, after and beside them.
void PagesOfACopy() {
  const std::vector<uint8_t> from((size_t{9} << 20) + 13, 0x5a);
  for (unsigned threads : {0u, 1u, 2u, 5u})
    for (size_t size : {size_t{0}, size_t{1}, (size_t{4} << 20) - 1, from.size()}) {
      std::vector<uint8_t> to(size + 8, 0xa5);
      {
        dml::Pages pages(to.data(), to.size(), threads), again(to.data(), to.size(), threads);
        dml::HostCopy(to.data(), from.data(), size, threads);
      }
      CHECK(std::equal(to.begin(), to.end() - 8, from.begin()));
      for (size_t i = size; i < to.size(); ++i) CHECK_EQ(int{to[i]}, 0xa5);
    }
}

// Reads of one piece, of several, and of the last byte of one; work that was there before them is in what they read.
void LargeReads() {
  std::unique_ptr<dml::Device> device = Open();
  for (size_t count : {size_t{2} << 20, (size_t{2} << 20) + 1, (size_t{5} << 20) + 3}) {
    Floats values = Count(count);
    dml::Address at = Uploaded(*device, values), copy = Take(*device, count * sizeof(float));
    device->Copy(at, copy, count * sizeof(float));
    CHECK(Get(*device, copy, count) == values);
    const float last = -1;
    device->Upload(copy + (count - 1) * sizeof(float), &last, sizeof last);
    values.back() = last;
    for (int call = 0; call < 2; ++call) CHECK(Get(*device, copy, count) == values);
  }
}

// From one device to another, waiting or not: pieces of all sizes, at any offset. What is queued on either one before and after stays in
// order.
void BetweenDevices() {
  constexpr uint64_t kPiece = 8u << 20, kBeside = 3;
  auto sender = Open(), receiver = Open();
  for (bool later : {false, true})
    for (uint64_t size : {uint64_t{1}, uint64_t{13}, kPiece - 1, kPiece, kPiece + 1, 5 * kPiece + 5, 10 * kPiece}) {
      std::vector<uint8_t> bytes(size + 2 * kBeside), others(size + 2 * kBeside, 0xa5), got(size + 2 * kBeside);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
      const uint32_t from = sender->pool().Allocate(bytes.size()), to = receiver->pool().Allocate(bytes.size());
      const dml::Address source = sender->pool().AddressOf(from), target = receiver->pool().AddressOf(to);
      sender->Upload(source, bytes.data(), bytes.size());
      receiver->Upload(target, others.data(), others.size());
      if (later) receiver->ReceiveLater(*sender, source + kBeside, target + kBeside, size);
      else receiver->Receive(*sender, source + kBeside, target + kBeside, size);
      sender->Upload(source, others.data(), others.size());
      receiver->ReadAndWait(target, got.data(), got.size());
      for (uint64_t i = 0; i < kBeside; ++i) CHECK_EQ(int{got[i]}, 0xa5), CHECK_EQ(int{got[kBeside + size + i]}, 0xa5);
      CHECK(std::equal(got.begin() + kBeside, got.end() - kBeside, bytes.begin() + kBeside));
      sender->pool().Free(from);
      receiver->pool().Free(to);
    }
  CHECK(sender->staging_in_bytes() <= 160u << 20 && receiver->staging_in_bytes() <= 160u << 20);
}

// Both ways at once, without a wait between them: neither queue waits for what the other one has not begun.
void BothWays() {
  constexpr uint64_t kCount = 3u << 20, kSize = kCount * sizeof(float);
  auto first = Open(), second = Open();
  dml::Address a = Uploaded(*first, Count(kCount)), b = Take(*second, kSize), c = Take(*first, kSize);
  for (int round = 0; round < 4; ++round) {
    second->ReceiveLater(*first, a, b, kSize);
    first->ReceiveLater(*second, b, c, kSize);
    first->Copy(c, a, kSize);
  }
  CHECK(Get(*first, a, kCount) == Count(kCount));
  CHECK(Get(*second, b, kCount) == Count(kCount));
}

dml::Device::Shipment Shipped(dml::Device& sender, dml::Address from, dml::Device& receiver, dml::Address to, uint64_t size) {
  dml::Device::Shipment shipment{};
  shipment.sender = &sender;
  shipment.receiver = &receiver;
  shipment.from = from;
  shipment.to = to;
  shipment.size = size;
  return shipment;
}

// Both ways with recordings whose parts are taken as soon as they are done: each device adds what the other one has made.
void Exchanges() {
  constexpr uint32_t kCount = 5u << 20;
  constexpr uint64_t kSize = kCount * sizeof(float);
  auto first = Open(), second = Open();
  dml::Device* devices[] = {first.get(), second.get()};
  dml::Recording* recordings[2];
  dml::Address states[2], inputs[2], results[2], landed[2];
  for (int i : {0, 1}) {
    dml::Device& device = *devices[i];
    dml::Program* program = device.CreateProgram(AccumulateProgram(kCount));
    states[i] = Uploaded(device, Count(kCount));
    inputs[i] = Uploaded(device, Floats(kCount, static_cast<float>(i + 1)));
    results[i] = Take(device, kSize);
    landed[i] = Take(device, kSize);
    recordings[i] = device.Record(*program, {states[i], inputs[i], results[i], Take(device, kSize)}, 2, {2});
    CHECK_EQ(recordings[i]->parts(), 2u);
  }
  for (int call = 1; call <= 6; ++call) {
    for (int i : {0, 1}) devices[i]->Replay(*recordings[i], std::make_unique<dml::ReplayWork>());
    std::vector<dml::Device::Shipment> shipments;
    for (int i : {0, 1}) {
      auto shipment = Shipped(*devices[i], results[i], *devices[1 - i], landed[1 - i], kSize);
      shipment.maker = recordings[i];
      shipment.part = 0;
      shipment.free_before = recordings[1 - i];
      shipments.push_back(shipment);
    }
    dml::Device::Exchange(shipments);
    // The next replay adds what came.
    for (int i : {0, 1}) devices[i]->Copy(landed[i], inputs[i], kSize);
    if (call % 3) continue;
    for (int i : {0, 1}) CHECK(Get(*devices[i], landed[i], kCount) == Get(*devices[1 - i], results[1 - i], kCount));
  }
  for (int i : {0, 1}) {
    // While the rest of a replay runs.
    devices[i]->Replay(*recordings[i], std::make_unique<dml::ReplayWork>());
    Floats bytes(kCount);
    devices[i]->ReadMade(results[i], bytes.data(), kSize, recordings[i], 0);
    CHECK(bytes == Get(*devices[i], results[i], kCount));
    devices[i]->ReadMade(states[i], bytes.data(), kSize, nullptr, 0);
    CHECK(bytes == Get(*devices[i], states[i], kCount));
  }
  // What was sent may be written, and freed, at once; nothing is sent to nobody.
  const uint32_t block = first->pool().Allocate(kSize);
  const dml::Address from = first->pool().AddressOf(block);
  Floats values = Count(kCount), others(kCount, 7.f);
  first->Upload(from, values.data(), kSize);
  dml::Device::Exchange({Shipped(*first, from, *second, landed[1], kSize)});
  first->Upload(from, others.data(), kSize);
  first->pool().Free(block);
  CHECK(Get(*second, landed[1], kCount) == values);
  dml::Device::Exchange({});
}

// What a device was sent by one that failed, was held, or is gone.
void ExchangesThatFail() {
  constexpr uint64_t kSize = 4u << 20;
  for (bool is_sender : {true, false}) {
    auto sender = Open(), receiver = Open();
    dml::Address from = Uploaded(*sender, Count(1u << 20)), to = Take(*receiver, kSize);
    (is_sender ? sender : receiver)->Hold(true);
    FailureOf(FailureKind::Invalid, [&] { dml::Device::Exchange({Shipped(*sender, from, *receiver, to, kSize)}); });
    (is_sender ? sender : receiver)->Hold(false);
    for (int i = 0; i < 20; ++i) dml::Device::Exchange({Shipped(*sender, from, *receiver, to, kSize)});
    // Closed with work in its queues.
    (is_sender ? sender : receiver).reset();
    if (!is_sender) {
      CHECK(Get(*sender, from, 1u << 20) == Count(1u << 20));
      continue;
    }
    try {
      receiver->Wait();
    } catch (const dml::Failure& failure) {
      CHECK(Says(failure, "did not arrive: "));
    }
  }
  auto sender = Open(200), receiver = Open();
  dml::Address from = Uploaded(*sender, Count(16)), to = Take(*receiver, 64);
  sender->Wait();
  sender->HangForTest();
  sender->Copy(from, Take(*sender, 64), 64);
  dml::Device::Exchange({Shipped(*sender, from, *receiver, to, 64)});
  Floats bytes(16);
  CHECK(Says(FailureOf(FailureKind::Device, [&] { receiver->ReadAndWait(to, bytes.data(), 64); }), "did not arrive: "));
  FailureOf(FailureKind::Device, [&] { dml::Device::Exchange({Shipped(*sender, from, *receiver, to, 64)}); });
  FailureOf(FailureKind::Timeout, [&] { sender->ReadMade(from, bytes.data(), 64, nullptr, 0); });
}

// What a device was sent by one that failed, was held, or is gone.
void SendersThatFail() {
  Floats bytes(16);
  {
    auto sender = Open(200), receiver = Open();
    dml::Address from = Uploaded(*sender, Count(16)), to = Take(*receiver, 64);
    sender->Hold(true);
    FailureOf(FailureKind::Invalid, [&] { receiver->ReceiveLater(*sender, from, to, 64); });
    FailureOf(FailureKind::Invalid, [&] { receiver->Receive(*sender, from, to, 64); });
    sender->Hold(false);
    receiver->ReceiveLater(*sender, from, to, 64);
    CHECK(Get(*receiver, to, 16) == Count(16));
    sender->Wait();
    sender->HangForTest();
    sender->Copy(from, Take(*sender, 64), 64);
    receiver->ReceiveLater(*sender, from, to, 64);
    CHECK(Says(FailureOf(FailureKind::Device, [&] { receiver->ReadAndWait(to, bytes.data(), 64); }), "did not arrive: "));
  }
  {
    // It is closed with work in its queue.
    auto sender = Open(), receiver = Open();
    dml::Address from = Uploaded(*sender, Count(1u << 20)), to = Take(*receiver, 4u << 20);
    for (int i = 0; i < 20; ++i) receiver->ReceiveLater(*sender, from, to, 4u << 20);
    sender.reset();
    try {
      receiver->Wait();
    } catch (const dml::Failure& failure) {
      CHECK(Says(failure, "did not arrive: "));
    }
  }
  {
    // The receiver goes first.
    auto sender = Open(), receiver = Open();
    dml::Address from = Uploaded(*sender, Count(1u << 20)), to = Take(*receiver, 4u << 20);
    for (int i = 0; i < 20; ++i) receiver->ReceiveLater(*sender, from, to, 4u << 20);
    receiver.reset();
    CHECK(Get(*sender, from, 1u << 20) == Count(1u << 20));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::function<void()>>> Calls() {
  return {{"transfers", Transfers},
          {"copies on the host", HostCopies},
          {"pages of a copy", PagesOfACopy},
          {"large reads", LargeReads},
          {"between devices", BetweenDevices},
          {"both ways at once", BothWays},
          {"senders that fail", SendersThatFail},
          {"exchanges", Exchanges},
          {"exchanges that fail", ExchangesThatFail},
          {"recordings", Recordings},
          {"recordings that begin with copies", RecordingsThatBeginWithCopies},
          {"refusals", Refusals},
          {"memory", Memory},
          {"held", Held},
          {"released while held", ReleasedWhileHeld},
          {"removal", Removal},
          {"removal while timed", RemovalWhileTimed},
          {"hang", Hang},
          {"finish of a hang", FinishOfAHang},
          {"a look ends waits", LookEndsWaits},
          {"loading", Loading},
          {"words", Words}};
}

}  // namespace dxtensor::test
