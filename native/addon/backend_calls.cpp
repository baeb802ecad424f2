#include "backend_calls.h"

#include <limits>

#include "cold.h"
#include "convert.h"

namespace dxtensor::addon {

namespace {

using Arguments = const js::Arguments&;

constexpr uint32_t kMaxTensors = 4096, kMaxRank = 8, kMaxListed = 1u << 20;

std::string ToText(const js::Value& value, const char* what) {
  if (!value.IsString()) Invalid(std::string(what) + ": expected text");
  return value.Text();
}

js::Value ToArray(const js::Value& value, const char* what, uint32_t longest) {
  if (!value.IsArray() || value.Length() > longest) Invalid(std::string(what) + ": expected an array");
  return value;
}

napi_value Load(Environment& environment, Arguments in) {
  const BackendLoad load = LoadBackendLibrary(ToText(in[0], "backendLoad: path"));
  js::Object object(in.env());
  if (!load.library) {
    object.Set("reason", load.reason);
    object.Set("text", load.text);
    object.Set("abi", load.version);
    return object;
  }
  object.Set("reason", js::Null(in.env()));
  object.Set("library", environment.library_devices().AddLibrary(load.library));
  object.Set("name", load.library->name);
  object.Set("version", load.library->version);
  return object;
}

uint32_t DeviceCount(const BackendLibrary& library) {
  uint32_t count = 0;
  CheckStatus(library, library.api.device_count(&count), "device_count");
  return count;
}

dxtensor_device_info DeviceInfo(const BackendLibrary& library, uint32_t index) {
  dxtensor_device_info info = {};
  info.struct_size = sizeof info;
  CheckStatus(library, library.api.device_info(index, &info), "device_info");
  const bool has_lists = (info.dtypes || !info.dtype_count) && (info.operations || !info.operation_count);
  if (!info.name || !has_lists || info.dtype_count > kMaxTensors || info.operation_count > kMaxTensors)
    throw dml::Failure(dml::FailureKind::Internal, "device_info: the library gave no name, or a list without elements");
  return info;
}

napi_value Devices(Environment& environment, Arguments in) {
  const BackendLibrary& library = environment.library_devices().Library(ToId(in[0], "backendDevices: library"));
  const uint32_t count = DeviceCount(library);
  js::Array list(in.env());
  for (uint32_t i = 0; i < count; ++i) {
    const dxtensor_device_info info = DeviceInfo(library, i);
    js::Object object(in.env());
    object.Set("name", info.name);
    object.Set("memoryInBytes", static_cast<double>(info.memory_in_bytes));
    object.Set("isHardware", info.is_hardware != 0);
    list.Add(object);
  }
  return list;
}

napi_value Open(Environment& environment, Arguments in) {
  const uint32_t library = ToId(in[0], "backendOpen: library"), index = ToId(in[1], "backendOpen: index");
  const BackendLibrary& loaded = environment.library_devices().Library(library);
  if (index >= DeviceCount(loaded)) Invalid("backendOpen: the library has no device " + std::to_string(index));
  const dxtensor_device_info info = DeviceInfo(loaded, index);
  js::Array dtypes(in.env()), operations(in.env());
  for (uint32_t i = 0; i < info.dtype_count; ++i) dtypes.Add(js::New(in.env(), static_cast<double>(info.dtypes[i])));
  for (uint32_t i = 0; i < info.operation_count; ++i)
    operations.Add(js::New(in.env(), std::string(info.operations[i] ? info.operations[i] : "")));
  js::Object object(in.env());
  object.Set("dtypes", dtypes);
  object.Set("operations", operations);
  object.Set("device", environment.library_devices().Open(library, index));
  return object;
}

napi_value Close(Environment& environment, Arguments in) {
  environment.library_devices().Close(ToId(in[0], "backendClose: device"));
  return js::Undefined(in.env());
}

napi_value Allocate(Environment& environment, Arguments in) {
  const uint64_t size = ToSize(in[1], "backendAllocate: sizeInBytes");
  return js::New(in.env(), static_cast<double>(environment.library_devices().Allocate(ToId(in[0], "backendAllocate: device"), size)));
}

napi_value Free(Environment& environment, Arguments in) {
  environment.library_devices().Free(ToSize(in[0], "backendFree: memory"));
  return js::Undefined(in.env());
}

napi_value Write(Environment& environment, Arguments in) {
  js::Bytes bytes;
  if (!js::ViewOf(in[2], &bytes)) Invalid("backendWrite: expected a view of an ArrayBuffer");
  environment.library_devices().Write(ToSize(in[0], "backendWrite: memory"), ToSize(in[1], "backendWrite: offset"), bytes.data, bytes.size);
  return js::Undefined(in.env());
}

napi_value Read(Environment& environment, Arguments in) {
  const Handle memory = ToSize(in[0], "backendRead: memory");
  const uint64_t offset = ToSize(in[1], "backendRead: offset"), size = ToSize(in[2], "backendRead: sizeInBytes");
  // Its range is checked before it is asked for.
  environment.library_devices().CheckRange(memory, offset, size);
  const NewArrayBuffer bytes = NewBytes(environment, in.env(), size);
  environment.library_devices().Read(memory, offset, bytes.data, size);
  return bytes.value;
}

napi_value Copy(Environment& environment, Arguments in) {
  environment.library_devices().Copy(ToSize(in[0], "backendCopy: from"), ToSize(in[1], "backendCopy: fromOffset"),
                                     ToSize(in[2], "backendCopy: to"), ToSize(in[3], "backendCopy: toOffset"),
                                     ToSize(in[4], "backendCopy: sizeInBytes"));
  return js::Undefined(in.env());
}

LibraryOperation::Tensor ToTensor(const js::Value& value) {
  LibraryOperation::Tensor tensor;
  if (value.IsAbsent()) return tensor;
  if (!value.IsObject()) Invalid("backendPrepare: expected a tensor or null");
  tensor.is_there = true;
  const uint32_t dtype = ToId(value.Get("dtype"), "backendPrepare: dtype");
  tensor.desc.dtype = static_cast<dxtensor_dtype>(dtype);
  const js::Value sizes = ToArray(value.Get("sizes"), "backendPrepare: sizes", kMaxRank);
  const js::Value strides = ToArray(value.Get("strides"), "backendPrepare: strides", kMaxRank);
  const uint32_t rank = sizes.Length(), element = ElementSize(dtype);
  if (strides.Length() != rank || !element) Invalid("backendPrepare: expected a dtype, and as many strides as sizes");
  uint64_t last = 0;
  bool is_empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint64_t size = ToSize(sizes.At(i), "backendPrepare: size"), stride = ToSize(strides.At(i), "backendPrepare: stride");
    tensor.sizes.push_back(size);
    tensor.strides.push_back(static_cast<int64_t>(stride));
    constexpr uint64_t kLimit = std::numeric_limits<uint64_t>::max() / 16;
    if (size == 0) is_empty = true;
    else if (stride > 0 && (size - 1 > (kLimit - last) / stride)) Invalid("backendPrepare: a tensor beyond 64 bits");
    else last += (size - 1) * stride;
  }
  tensor.span_in_bytes = is_empty ? 0 : (last + 1) * element;
  return tensor;
}

LibraryOperation::Attribute ToAttribute(const js::Value& item) {
  LibraryOperation::Attribute attribute;
  if (!item.IsObject()) Invalid("backendPrepare: expected an attribute");
  attribute.name = ToText(item.Get("name"), "backendPrepare: name of an attribute");
  const js::Value value = item.Get("value");
  if (value.IsString()) {
    attribute.desc.kind = DXTENSOR_ATTRIBUTE_TEXT;
    attribute.text = value.Text();
  } else if (value.IsNumber()) {
    attribute.desc.kind = DXTENSOR_ATTRIBUTE_NUMBER;
    attribute.numbers.push_back(value.Number());
  } else if (value.IsArray()) {
    attribute.desc.kind = DXTENSOR_ATTRIBUTE_NUMBERS;
    const uint32_t length = ToArray(value, "backendPrepare: an attribute", kMaxListed).Length();
    for (uint32_t i = 0; i < length; ++i) {
      const js::Value number = value.At(i);
      if (!number.IsNumber()) Invalid("backendPrepare: expected an array of numbers");
      attribute.numbers.push_back(number.Number());
    }
  } else if (value.IsBoolean()) {
    attribute.desc.kind = DXTENSOR_ATTRIBUTE_INTEGER;
    attribute.desc.integer = value.Boolean() ? 1 : 0;
  } else if (value.Type() == napi_bigint) {
    attribute.desc.kind = DXTENSOR_ATTRIBUTE_INTEGER;
    bool is_lossless = false;
    js::Check(value.env(), napi_get_value_bigint_int64(value.env(), value, &attribute.desc.integer, &is_lossless));
  } else {
    Invalid("backendPrepare: an attribute of another type");
  }
  return attribute;
}

napi_value Prepare(Environment& environment, Arguments in) {
  const uint32_t device = ToId(in[0], "backendPrepare: device");
  auto operation = std::make_shared<LibraryOperation>();
  operation->name = ToText(in[1], "backendPrepare: name");
  const js::Value tensors = ToArray(in[2], "backendPrepare: tensors", kMaxTensors);
  const uint32_t count = tensors.Length(), inputs = ToId(in[3], "backendPrepare: inputs");
  if (inputs > count) Invalid("backendPrepare: more inputs than tensors");
  for (uint32_t i = 0; i < count; ++i) operation->tensors.push_back(ToTensor(tensors.At(i)));
  const js::Value attributes = ToArray(in[4], "backendPrepare: attributes", kMaxTensors);
  for (uint32_t i = 0, length = attributes.Length(); i < length; ++i) operation->attributes.push_back(ToAttribute(attributes.At(i)));
  operation->Bind(inputs);
  return js::New(in.env(), static_cast<double>(environment.library_devices().Prepare(device, std::move(operation))));
}

napi_value Run(Environment& environment, Arguments in) {
  js::Bytes bytes;
  if (!js::ViewOf(in[1], &bytes) || bytes.size % sizeof(double) != 0 || reinterpret_cast<uintptr_t>(bytes.data) % alignof(double) != 0)
    Invalid("backendRun: expected a Float64Array");
  environment.library_devices().Run(ToSize(in[0], "backendRun: operation"), reinterpret_cast<const double*>(bytes.data),
                                    bytes.size / sizeof(double));
  return js::Undefined(in.env());
}

napi_value Forget(Environment& environment, Arguments in) {
  environment.library_devices().Forget(ToSize(in[0], "backendForget: operation"));
  return js::Undefined(in.env());
}

napi_value Synchronize(Environment& environment, Arguments in) {
  const LibraryDevice& device = environment.library_devices().Device(ToId(in[0], "backendSynchronize: device"));
  CheckStatus(*device.library, device.library->api.synchronize(device.opened), "synchronize");
  return js::Undefined(in.env());
}

napi_value Memory(Environment& environment, Arguments in) {
  const LibraryDevice& device = environment.library_devices().Device(ToId(in[0], "backendMemory: device"));
  dxtensor_memory_info info = {};
  info.struct_size = sizeof info;
  CheckStatus(*device.library, device.library->api.memory_info(device.opened, &info), "memory_info");
  js::Object object(in.env());
  object.Set("heldInBytes", static_cast<double>(info.held_in_bytes));
  object.Set("limitInBytes", static_cast<double>(info.limit_in_bytes));
  return object;
}

}  // namespace

const std::vector<NamedCallback>& BackendCalls() {
  static const std::vector<NamedCallback> calls = {
      {"backendLoad", Cold<Load>},
      {"backendDevices", Cold<Devices>},
      {"backendOpen", Cold<Open>},
      {"backendClose", Cold<Close>},
      {"backendAllocate", Cold<Allocate>},
      {"backendFree", Cold<Free>},
      {"backendWrite", Cold<Write>},
      {"backendRead", Cold<Read>},
      {"backendCopy", Cold<Copy>},
      {"backendPrepare", Cold<Prepare>},
      {"backendRun", Cold<Run>},
      {"backendForget", Cold<Forget>},
      {"backendSynchronize", Cold<Synchronize>},
      {"backendMemory", Cold<Memory>},
  };
  return calls;
}

}  // namespace dxtensor::addon
