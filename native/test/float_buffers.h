// Buffers of 64 floats for the tests of binding and recording, and an operator that is ready to run.
#pragma once

#include <algorithm>
#include <cstring>

#include "../abi/abi_calls.h"
#include "check.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

constexpr const char* kAdd = "ELEMENT_WISE_ADD ATensor=f32[64] BTensor=f32[64] OutputTensor=f32[64]";

// Buffers of 64 floats, filled by the CPU and read back.
class Floats {
 public:
  Floats(Gpu& gpu, size_t buffers) : gpu_(gpu), size_(buffers * kStep) {
    memory_ = gpu.Buffer(size_);
    upload_ = gpu.Buffer(size_, D3D12_HEAP_TYPE_UPLOAD);
    readback_ = gpu.Buffer(size_, D3D12_HEAP_TYPE_READBACK);
  }
  static constexpr uint64_t kStep = 256;

  void Set(size_t buffer, float start, float step) {
    uint8_t* p = nullptr;
    CHECK_OK(upload_->Map(0, nullptr, reinterpret_cast<void**>(&p)));
    for (size_t i = 0; i < 64; ++i) {
      const float value = start + step * static_cast<float>(i);
      std::memcpy(p + buffer * kStep + i * 4, &value, 4);
    }
    upload_->Unmap(0, nullptr);
  }
  // Records the copies in, then leaves the memory for dispatches.
  void RecordUpload() {
    D3D12_RESOURCE_BARRIER barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
    gpu_.list()->ResourceBarrier(1, &barrier);
    gpu_.list()->CopyBufferRegion(memory_.get(), 0, upload_.get(), 0, size_);
    barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    gpu_.list()->ResourceBarrier(1, &barrier);
  }
  void RecordReadback() {
    D3D12_RESOURCE_BARRIER barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    gpu_.list()->ResourceBarrier(1, &barrier);
    gpu_.list()->CopyBufferRegion(readback_.get(), 0, memory_.get(), 0, size_);
    barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
    gpu_.list()->ResourceBarrier(1, &barrier);
  }
  void Expect(size_t buffer, float start, float step) {
    uint8_t* p = nullptr;
    D3D12_RANGE range{0, static_cast<SIZE_T>(size_)}, nothing{0, 0};
    CHECK_OK(readback_->Map(0, &range, reinterpret_cast<void**>(&p)));
    std::string wrong;
    for (size_t i = 0; i < 64 && wrong.empty(); ++i) {
      float value;
      std::memcpy(&value, p + buffer * kStep + i * 4, 4);
      if (value != start + step * static_cast<float>(i)) wrong = "element " + std::to_string(i) + " is " + std::to_string(value);
    }
    readback_->Unmap(0, &nothing);
    if (!wrong.empty()) throw Failure{"buffer " + std::to_string(buffer) + ": " + wrong};
  }
  DML_BUFFER_BINDING At(size_t buffer) const { return {memory_.get(), buffer * kStep, kStep}; }
  ID3D12Resource* memory() const { return memory_.get(); }
  ID3D12Resource* upload() const { return upload_.get(); }
  ID3D12Resource* readback() const { return readback_.get(); }

 private:
  Gpu& gpu_;
  uint64_t size_;
  Ref<ID3D12Resource> memory_, upload_, readback_;
};

inline void Bind(IDMLBindingTable* table, const std::vector<DML_BUFFER_BINDING>& inputs, const std::vector<DML_BUFFER_BINDING>& outputs) {
  std::vector<DML_BINDING_DESC> in, out;
  for (const DML_BUFFER_BINDING& b : inputs)
    in.push_back({b.Buffer ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE, b.Buffer ? &b : nullptr});
  for (const DML_BUFFER_BINDING& b : outputs) out.push_back({DML_BINDING_TYPE_BUFFER, &b});
  table->BindInputs(static_cast<UINT>(in.size()), in.data());
  table->BindOutputs(static_cast<UINT>(out.size()), out.data());
}

// Compiled, initialised, without temporary or persistent memory.
inline Ref<IDMLCompiledOperator> Ready(Gpu& gpu, const std::string& text, DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE) {
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(text), compiled, flags));
  IDMLCompiledOperator* targets[] = {compiled.get()};
  Ref<IDMLOperatorInitializer> initializer;
  CHECK_OK(gpu.dml()->CreateOperatorInitializer(1, targets, __uuidof(IDMLOperatorInitializer), initializer.out_void()));
  CHECK_EQ(BindingProperties(initializer.get()).PersistentResourceSize, 0u);
  if (BindingProperties(compiled.get()).PersistentResourceSize || BindingProperties(initializer.get()).TemporaryResourceSize ||
      BindingProperties(compiled.get()).TemporaryResourceSize)
    throw Skip{"the runtime needs extra memory for an operator of this test"};
  gpu.Begin();
  Ref<IDMLBindingTable> table = gpu.Table(initializer.get());
  gpu.recorder()->RecordDispatch(gpu.list(), initializer.get(), table.get());
  gpu.Finish();
  return compiled;
}

}  // namespace dxtensor::test
