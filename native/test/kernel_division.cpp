// Divisions and remainders of the numbers at the ends of integer types, and by 0: both kernels agree. Random numbers do not reach these
// cases.
#include <cstring>
#include <iterator>
#include <limits>

#include "cases/operators.h"
#include "describe.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                -2,
                                7,
                                -7,
                                100,
                                127,
                                -128,
                                255,
                                32767,
                                -32768,
                                65535,
                                int64_t{1} << 24,
                                (int64_t{1} << 31) - 1,
                                -(int64_t{1} << 31),
                                (int64_t{1} << 31) - 2,
                                (int64_t{1} << 32) - 1,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};

void EndsOfIntegers(Suite&) {
  constexpr size_t kCount = std::size(kNumbers);
  const std::string sizes = "[" + std::to_string(kCount) + "," + std::to_string(kCount) + "]";
  for (const char* name : {"DIVIDE", "MODULUS_FLOOR", "MODULUS_TRUNCATE"})
    for (const char* type : {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}) {
      const std::string tensor = type + sizes;
      const schema::OperatorDesc desc =
          Parse(std::string("ELEMENT_WISE_") + name + " ATensor=" + tensor + " BTensor=" + tensor + " OutputTensor=" + tensor);
      const size_t bytes = schema::BytesPerElement(desc.Inputs()[0]->data_type);
      std::vector<Bytes> inputs = InputsFor(desc, 1);
      for (size_t i = 0; i < kCount * kCount; ++i) {
        std::memcpy(inputs[0].data() + i * bytes, &kNumbers[i / kCount], bytes);
        std::memcpy(inputs[1].data() + i * bytes, &kNumbers[i % kCount], bytes);
      }
      bool compared = false;
      const std::string difference = CompareKernels(desc, inputs, &compared);
      if (!compared) throw Failure{std::string("no fast kernel: ") + name + " of " + type};
      if (!difference.empty()) throw Failure{difference + ": " + name + " of " + type};
    }
}

const bool kRegistered = [] {
  Register("fast against plain: divisions at the ends of integers", EndsOfIntegers);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
