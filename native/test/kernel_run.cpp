#include "kernel_run.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "software/cpu/prepacking_kernel.h"

namespace dxtensor::test {

ExactBytes::ExactBytes(size_t size) : data_(static_cast<uint8_t*>(std::malloc(size ? size : 1))), size_(size) {
  if (!data_) throw std::bad_alloc();
  std::memset(data_, 0xcd, size ? size : 1);
}
ExactBytes::~ExactBytes() { std::free(data_); }

std::vector<Bytes> RunKernel(const software::Kernel& kernel, const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs,
                             bool prepacks) {
  std::vector<ExactBytes> memory;
  std::vector<const uint8_t*> in;
  const software::PrepackingKernel* prepacking = prepacks ? software::PrepackingKernel::Of(&kernel) : nullptr;
  uint8_t* prepacked_input = nullptr;
  std::vector<uint8_t*> out;
  const auto input_slots = desc.Inputs(), output_slots = desc.Outputs();
  for (size_t i = 0; i < input_slots.size(); ++i) {
    if (!input_slots[i]) {
      in.push_back(nullptr);
      continue;
    }
    memory.emplace_back(inputs.at(i).size());
    std::memcpy(memory.back().data(), inputs[i].data(), inputs[i].size());
    in.push_back(memory.back().data());
    if (prepacking && static_cast<int>(i) == prepacking->PrepackedInput()) prepacked_input = memory.back().data();
  }
  const size_t first_output = memory.size();
  for (const schema::TensorDesc* t : output_slots) {
    if (t) memory.emplace_back(static_cast<size_t>(t->size_in_bytes));
    out.push_back(t ? memory.back().data() : nullptr);
  }
  std::vector<uint8_t> scratch(kernel.ScratchBytes() + 64);
  uint8_t* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  const software::KernelArguments arguments{in.data(), out.data(), aligned};
  if (prepacking) {
    std::vector<uint8_t> form(prepacking->PrepackedBytes() + 64, 0xff);
    uint8_t* to = form.data() + (64 - reinterpret_cast<uintptr_t>(form.data()) % 64) % 64;
    prepacking->Prepack(arguments, to);
    std::memset(prepacked_input, 0xff, inputs[static_cast<size_t>(prepacking->PrepackedInput())].size());
    prepacking->RunPrepacked(arguments, to);
  } else {
    kernel.Run(arguments);
  }
  std::vector<Bytes> results;
  size_t at = first_output;
  for (const schema::TensorDesc* t : output_slots) {
    if (t) results.emplace_back(memory[at].data(), memory[at].data() + memory[at].size()), ++at;
    else results.emplace_back();
  }
  return results;
}

Tolerance KernelTolerance(const schema::OperatorDesc& desc, DML_TENSOR_DATA_TYPE output) {
  if (!IsFloat(output)) return {};
  const bool half = output == DML_TENSOR_DATA_TYPE_FLOAT16;
  const std::string name = desc.schema->name;
  // Sums in another order; a batch normalisation of few elements divides by a small deviation.
  if (name.find("BATCH_NORM") == 0) return half ? Tolerance{2e-2, 0.3} : Tolerance{1e-3, 1e-3};
  if (name == "GEMM" || name == "CONVOLUTION" || name == "REDUCE") return half ? Tolerance{1e-2, 0.1} : Tolerance{1e-4, 1e-3};
  return half ? Tolerance{4e-3, 2e-3} : Tolerance{2e-5, 1e-5};
}

}  // namespace dxtensor::test
