#include "library_devices.h"

#include "errors.h"

namespace dxtensor::addon {

uint32_t ElementSize(uint32_t dtype) {
  switch (dtype) {
    case DXTENSOR_FLOAT64:
    case DXTENSOR_UINT64:
    case DXTENSOR_INT64: return 8;
    case DXTENSOR_FLOAT32:
    case DXTENSOR_UINT32:
    case DXTENSOR_INT32: return 4;
    case DXTENSOR_FLOAT16:
    case DXTENSOR_BFLOAT16:
    case DXTENSOR_UINT16:
    case DXTENSOR_INT16: return 2;
    case DXTENSOR_UINT8:
    case DXTENSOR_INT8:
    case DXTENSOR_BOOL: return 1;
    default: return 0;
  }
}

void LibraryOperation::Bind(size_t input_count) {
  for (Tensor& tensor : tensors) {
    tensor.desc.struct_size = sizeof tensor.desc;
    tensor.desc.rank = static_cast<uint32_t>(tensor.sizes.size());
    tensor.desc.sizes = tensor.sizes.data();
    tensor.desc.strides = tensor.strides.data();
    tensor.desc.size_in_bytes = tensor.span_in_bytes;
    tensor_pointers_.push_back(tensor.is_there ? &tensor.desc : nullptr);
  }
  for (Attribute& attribute : attributes) {
    attribute.desc.struct_size = sizeof attribute.desc;
    attribute.desc.name = attribute.name.c_str();
    attribute.desc.text = attribute.text.c_str();
    attribute.desc.numbers = attribute.numbers.data();
    attribute.desc.count = attribute.numbers.size();
    attribute_pointers_.push_back(&attribute.desc);
  }
  desc.struct_size = sizeof desc;
  desc.name = name.c_str();
  desc.input_count = static_cast<uint32_t>(input_count);
  desc.output_count = static_cast<uint32_t>(tensors.size() - input_count);
  desc.attribute_count = static_cast<uint32_t>(attributes.size());
  desc.inputs = tensor_pointers_.data();
  desc.outputs = tensor_pointers_.data() + input_count;
  desc.attributes = attribute_pointers_.data();
}

LibraryDevices::~LibraryDevices() {
  for (uint32_t id = 1; id < devices_.size(); ++id)
    if (devices_[id]) Close(id);
}

uint32_t LibraryDevices::AddLibrary(const BackendLibrary* library) {
  for (size_t i = 0; i < libraries_.size(); ++i)
    if (libraries_[i] == library) return static_cast<uint32_t>(i);
  libraries_.push_back(library);
  return static_cast<uint32_t>(libraries_.size() - 1);
}

const BackendLibrary& LibraryDevices::Library(uint32_t id) const {
  if (id >= libraries_.size()) Invalid("backend library " + std::to_string(id) + " is not loaded");
  return *libraries_[id];
}

LibraryDevice& LibraryDevices::Opened(uint32_t id) const {
  if (id >= devices_.size() || !devices_[id]) Invalid("device " + std::to_string(id) + " of a backend library is not open");
  return *devices_[id];
}

const LibraryDevice& LibraryDevices::Device(uint32_t id) const { return Opened(id); }

uint32_t LibraryDevices::Open(uint32_t library, uint32_t index) {
  auto device = std::make_unique<LibraryDevice>();
  device->library = &Library(library);
  devices_.reserve(devices_.size() + 1);
  CheckStatus(*device->library, device->library->api.open(index, &device->opened), "open");
  if (!device->opened) throw dml::Failure(dml::FailureKind::Internal, "open: the library gave no device");
  devices_.push_back(std::move(device));
  return static_cast<uint32_t>(devices_.size() - 1);
}

void LibraryDevices::Close(uint32_t id) {
  LibraryDevice& device = Opened(id);
  const dxtensor_backend_api& api = device.library->api;
  operations_.RemoveIf([&](const Operation& one) { return one.device == &device; });
  memories_.RemoveIf([&](const Memory& memory) {
    if (memory.device != &device) return false;
    api.free(device.opened, memory.memory);
    return true;
  });
  api.close(device.opened);
  devices_[id].reset();
}

LibraryDevices::Memory& LibraryDevices::Find(Handle handle) {
  if (Memory* memory = memories_.Find(handle)) return *memory;
  Invalid("memory " + std::to_string(handle) + " of a backend library is not there: it was freed, or its device was closed");
}

void LibraryDevices::CheckRange(Handle handle, uint64_t offset, uint64_t size) {
  const Memory& memory = Find(handle);
  if (offset > memory.size || size > memory.size - offset)
    Invalid("bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) + " lie outside the memory of " +
            std::to_string(memory.size));
}

Handle LibraryDevices::Allocate(uint32_t id, uint64_t size) {
  LibraryDevice& device = Opened(id);
  Memory memory{&device, nullptr, size};
  CheckStatus(*device.library, device.library->api.allocate(device.opened, size, &memory.memory), "allocate");
  if (!memory.memory) throw dml::Failure(dml::FailureKind::Internal, "allocate: the library gave no memory");
  if (Handle handle = memories_.Add(memory)) return handle;
  device.library->api.free(device.opened, memory.memory);
  throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million allocations are there");
}

void LibraryDevices::Free(Handle handle) {
  const Memory memory = Find(handle);
  memories_.Remove(handle);
  memory.device->library->api.free(memory.device->opened, memory.memory);
}

void LibraryDevices::Write(Handle handle, uint64_t offset, const void* bytes, uint64_t size) {
  const Memory& memory = Find(handle);
  CheckRange(handle, offset, size);
  const BackendLibrary& library = *memory.device->library;
  CheckStatus(library, library.api.write(memory.device->opened, memory.memory, offset, bytes, size), "write");
}

void LibraryDevices::Read(Handle handle, uint64_t offset, void* bytes, uint64_t size) {
  const Memory& memory = Find(handle);
  CheckRange(handle, offset, size);
  const BackendLibrary& library = *memory.device->library;
  CheckStatus(library, library.api.read(memory.device->opened, memory.memory, offset, bytes, size), "read");
}

void LibraryDevices::Copy(Handle from, uint64_t from_offset, Handle to, uint64_t to_offset, uint64_t size) {
  const Memory &source = Find(from), &target = Find(to);
  if (source.device != target.device) Invalid("copy: the memories are on two devices");
  CheckRange(from, from_offset, size);
  CheckRange(to, to_offset, size);
  const BackendLibrary& library = *source.device->library;
  CheckStatus(library, library.api.copy(source.device->opened, source.memory, from_offset, target.memory, to_offset, size), "copy");
}

Handle LibraryDevices::Prepare(uint32_t id, std::shared_ptr<LibraryOperation> operation) {
  LibraryDevice& device = Opened(id);
  const dxtensor_status status = device.library->api.supports(device.opened, &operation->desc);
  if (status == DXTENSOR_UNSUPPORTED) return 0;
  CheckStatus(*device.library, status, "supports");
  if (Handle handle = operations_.Add({&device, std::move(operation)})) return handle;
  throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million operations are there");
}

void LibraryDevices::Run(Handle handle, const double* ranges, size_t count) {
  Operation* found = operations_.Find(handle);
  if (!found) Invalid("operation " + std::to_string(handle) + " of a backend library is not there: its device was closed");
  LibraryOperation& operation = *found->operation;
  if (count != 3 * operation.tensors.size()) Invalid("run: expected memory, offset and size of each tensor");
  for (size_t i = 0; i < operation.tensors.size(); ++i) {
    LibraryOperation::Tensor& tensor = operation.tensors[i];
    if (!tensor.is_there) continue;
    const double *range = ranges + 3 * i, limit = 9007199254740992.0;
    if (!(range[0] >= 0 && range[0] <= limit && range[1] >= 0 && range[1] <= limit && range[2] >= 0 && range[2] <= limit))
      Invalid("run: expected numbers from 0 to 2^53");
    const Memory& memory = Find(static_cast<Handle>(range[0]));
    if (memory.device != found->device) Invalid("run: the memory is on another device");
    tensor.desc.memory = memory.memory;
    tensor.desc.offset = static_cast<uint64_t>(range[1]);
    tensor.desc.size_in_bytes = static_cast<uint64_t>(range[2]);
    CheckRange(static_cast<Handle>(range[0]), tensor.desc.offset, tensor.desc.size_in_bytes);
    if (tensor.desc.size_in_bytes < tensor.span_in_bytes)
      Invalid("run: a tensor of " + std::to_string(tensor.span_in_bytes) + " bytes in a range of " +
              std::to_string(tensor.desc.size_in_bytes));
  }
  const BackendLibrary& library = *found->device->library;
  CheckStatus(library, library.api.run(found->device->opened, &operation.desc), "run");
}

void LibraryDevices::Forget(Handle operation) {
  if (operations_.Find(operation)) operations_.Remove(operation);
}

}  // namespace dxtensor::addon
