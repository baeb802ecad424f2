// Elementwise reductions of host memory, by dtype: what an allreduce, a reduce and a reduce-scatter combine the ranks' elements by. Half
// types are computed in float32 and rounded after each operation. bool is one byte of 0 or 1: sum and max are "or", product and min "and".
// Integers wrap. min and max give NaN where either element is NaN. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <functional>

namespace dxtensor::distributed {

enum class DType { kFloat32, kFloat16, kFloat64, kBfloat16, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64, kBool };
enum class Reduction { kSum, kProduct, kMin, kMax };

// out[i] = a[i] o b[i]; out may be a or b.
using Reduce = std::function<void(void* out, const void* a, const void* b, size_t elements)>;

Reduce ReduceFor(DType dtype, Reduction reduction);
size_t SizeOf(DType dtype);
// Divides the elements of a floating dtype.
void Divide(void* data, size_t elements, DType dtype, int divisor);

}  // namespace dxtensor::distributed
