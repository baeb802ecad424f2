// A backend in C++ over the C ABI of dxtensor: add and matmul of float32 on host memory. Everything else falls back, and is counted.
#include <dxtensor_backend.h>

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// The two types that the header leaves to the library.
struct dxtensor_device {
  uint64_t held = 0;
};
struct dxtensor_memory {
  std::vector<unsigned char> bytes;
};

namespace {

constexpr uint64_t kLimit = uint64_t{1} << 30;
thread_local std::string last_error;

dxtensor_status Fail(dxtensor_status status, const char* text) {
  last_error = text;
  return status;
}

// Runs `body`; what it throws becomes a status, since nothing may be thrown to the caller.
template <typename F>
dxtensor_status Guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Fail(DXTENSOR_OUT_OF_MEMORY, "the host has no memory");
  } catch (const std::exception& error) {
    return Fail(DXTENSOR_INTERNAL, error.what());
  }
}

const float* Input(const dxtensor_tensor& t) { return reinterpret_cast<const float*>(t.memory->bytes.data() + t.offset); }
float* Output(const dxtensor_tensor& t) { return reinterpret_cast<float*>(t.memory->bytes.data() + t.offset); }

const dxtensor_attribute* Attribute(const dxtensor_operation& op, const char* name) {
  for (uint32_t i = 0; i < op.attribute_count; ++i)
    if (!std::strcmp(op.attributes[i]->name, name)) return op.attributes[i];
  return nullptr;
}
bool IsTransposed(const dxtensor_operation& op, const char* name) {
  const dxtensor_attribute* found = Attribute(op, name);
  return found && found->kind == DXTENSOR_ATTRIBUTE_TEXT && !std::strcmp(found->text, "TRANSPOSE");
}

// Calls visit(offsets) for each index of the first `rank` axes: the offset of the element in each tensor.
template <size_t N, typename F>
void ForEach(const dxtensor_tensor& shape, uint32_t rank, const int64_t* const (&strides)[N], F&& visit) {
  std::vector<uint64_t> index(rank, 0);
  int64_t offsets[N] = {};
  for (uint32_t axis = 0; axis < rank; ++axis)
    if (shape.sizes[axis] == 0) return;
  for (;;) {
    visit(offsets);
    uint32_t axis = rank;
    for (;;) {
      if (axis-- == 0) return;
      for (size_t t = 0; t < N; ++t) offsets[t] += strides[t][axis];
      if (++index[axis] < shape.sizes[axis]) break;
      for (size_t t = 0; t < N; ++t) offsets[t] -= strides[t][axis] * static_cast<int64_t>(shape.sizes[axis]);
      index[axis] = 0;
    }
  }
}

void Add(const dxtensor_operation& op) {
  const dxtensor_tensor &a = *op.inputs[0], &b = *op.inputs[1], &y = *op.outputs[0];
  const float *left = Input(a), *right = Input(b);
  float* result = Output(y);
  const int64_t* const strides[] = {a.strides, b.strides, y.strides};
  ForEach(y, y.rank, strides, [&](const int64_t* at) { result[at[2]] = left[at[0]] + right[at[1]]; });
}

// alpha * A x B of the last two axes.
void Gemm(const dxtensor_operation& op) {
  const dxtensor_tensor &a = *op.inputs[0], &b = *op.inputs[1], &y = *op.outputs[0];
  const float *left = Input(a), *right = Input(b);
  float* result = Output(y);
  const uint32_t row = y.rank - 2, column = y.rank - 1;
  const bool turn_a = IsTransposed(op, "transA"), turn_b = IsTransposed(op, "transB");
  const int64_t a_row = a.strides[turn_a ? column : row], a_inner = a.strides[turn_a ? row : column];
  const int64_t b_inner = b.strides[turn_b ? column : row], b_column = b.strides[turn_b ? row : column];
  const uint64_t inner = a.sizes[turn_a ? row : column];
  const double alpha = Attribute(op, "alpha")->numbers[0];
  const int64_t* const strides[] = {a.strides, b.strides, y.strides};
  ForEach(y, row, strides, [&](const int64_t* at) {
    for (int64_t i = 0; i < static_cast<int64_t>(y.sizes[row]); ++i)
      for (int64_t j = 0; j < static_cast<int64_t>(y.sizes[column]); ++j) {
        double sum = 0;
        for (int64_t k = 0; k < static_cast<int64_t>(inner); ++k)
          sum += double{left[at[0] + i * a_row + k * a_inner]} * right[at[1] + k * b_inner + j * b_column];
        result[at[2] + i * y.strides[row] + j * y.strides[column]] = static_cast<float>(alpha * sum);
      }
  });
}

bool IsFloat(const dxtensor_tensor* t) { return t && t->dtype == DXTENSOR_FLOAT32; }

using Kernel = void (*)(const dxtensor_operation&);

// The kernel of an operation; null where there is none for these tensors or attributes.
Kernel Find(const dxtensor_operation& op) {
  if (op.input_count < 2 || op.output_count < 1 || !IsFloat(op.inputs[0]) || !IsFloat(op.inputs[1]) || !IsFloat(op.outputs[0]))
    return nullptr;
  if (!std::strcmp(op.name, "ELEMENT_WISE_ADD")) return Add;
  const bool has_c = op.input_count > 2 && op.inputs[2];
  if (!std::strcmp(op.name, "GEMM") && op.outputs[0]->rank >= 2 && !has_c && Attribute(op, "alpha")) return Gemm;
  return nullptr;
}

dxtensor_status Count(uint32_t* count) {
  *count = 1;
  return DXTENSOR_OK;
}

dxtensor_status Info(uint32_t index, dxtensor_device_info* info) {
  static const dxtensor_dtype dtypes[] = {DXTENSOR_FLOAT32};
  static const char* const operations[] = {"ELEMENT_WISE_ADD", "GEMM"};
  if (index != 0) return Fail(DXTENSOR_INTERNAL, "there is one device");
  const uint32_t size = info->struct_size;
  *info = {size, 0, "host memory", kLimit, dtypes, operations, 1, 2};
  return DXTENSOR_OK;
}

dxtensor_status Open(uint32_t, dxtensor_device** device) {
  return Guarded([&] { return *device = new dxtensor_device, DXTENSOR_OK; });
}
void Close(dxtensor_device* device) { delete device; }

dxtensor_status Allocate(dxtensor_device* device, uint64_t size, dxtensor_memory** memory) {
  if (size > kLimit - device->held) return Fail(DXTENSOR_OUT_OF_MEMORY, ("no memory for " + std::to_string(size) + " bytes").c_str());
  return Guarded([&] {
    *memory = new dxtensor_memory{std::vector<unsigned char>(static_cast<size_t>(size))};
    device->held += size;
    return DXTENSOR_OK;
  });
}
void Free(dxtensor_device* device, dxtensor_memory* memory) {
  device->held -= memory->bytes.size();
  delete memory;
}

// This device computes at once: its queue is always empty.
dxtensor_status Write(dxtensor_device*, dxtensor_memory* memory, uint64_t offset, const void* bytes, uint64_t size) {
  if (size > 0) std::memcpy(memory->bytes.data() + offset, bytes, static_cast<size_t>(size));
  return DXTENSOR_OK;
}
dxtensor_status Read(dxtensor_device*, dxtensor_memory* memory, uint64_t offset, void* bytes, uint64_t size) {
  if (size > 0) std::memcpy(bytes, memory->bytes.data() + offset, static_cast<size_t>(size));
  return DXTENSOR_OK;
}
dxtensor_status Copy(dxtensor_device* device, dxtensor_memory* from, uint64_t from_offset, dxtensor_memory* to, uint64_t to_offset,
                     uint64_t size) {
  return Write(device, to, to_offset, from->bytes.data() + from_offset, size);
}

dxtensor_status Supports(dxtensor_device*, const dxtensor_operation* op) { return Find(*op) ? DXTENSOR_OK : DXTENSOR_UNSUPPORTED; }

dxtensor_status Run(dxtensor_device*, const dxtensor_operation* op) {
  return Guarded([&] {
    const Kernel kernel = Find(*op);
    if (!kernel) throw std::runtime_error("there is no kernel for " + std::string(op->name));
    return kernel(*op), DXTENSOR_OK;
  });
}

dxtensor_status Synchronize(dxtensor_device*) { return DXTENSOR_OK; }

dxtensor_status Memory(dxtensor_device* device, dxtensor_memory_info* info) {
  info->held_in_bytes = device->held;
  info->limit_in_bytes = kLimit;
  return DXTENSOR_OK;
}

}  // namespace

uint32_t dxtensor_backend_abi_version() { return DXTENSOR_BACKEND_ABI; }

const char* dxtensor_backend_last_error() { return last_error.c_str(); }

dxtensor_status dxtensor_backend_initialise(dxtensor_backend_api* api) {
  if (api->struct_size < sizeof *api) return Fail(DXTENSOR_INTERNAL, "this dxtensor is older than the library");
  *api = {sizeof *api, 0,     "sample", "0.1.0", Count,    Info, Open,        Close, Allocate,
          Free,        Write, Read,     Copy,    Supports, Run,  Synchronize, Memory};
  return DXTENSOR_OK;
}
