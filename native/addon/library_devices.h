// Devices of backend libraries that one JavaScript environment has open, their memory, and their operations.
//
// The environment's thread, which is the one that opened each device. Failures are dml::Failure with the library's text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_library.h"
#include "handle.h"

namespace dxtensor::addon {

struct LibraryDevice {
  const BackendLibrary* library = nullptr;
  dxtensor_device* opened = nullptr;
};

// An operation with what its structs point to. Neither copied nor moved, so that the pointers stay right.
struct LibraryOperation {
  struct Tensor {
    bool is_there = false;
    std::vector<uint64_t> sizes;
    std::vector<int64_t> strides;
    uint64_t span_in_bytes = 0;  // from the first element to behind the last
    dxtensor_tensor desc = {};
  };
  struct Attribute {
    std::string name, text;
    std::vector<double> numbers;
    dxtensor_attribute desc = {};
  };

  LibraryOperation() = default;
  LibraryOperation(const LibraryOperation&) = delete;
  LibraryOperation& operator=(const LibraryOperation&) = delete;

  // Once name, tensors and attributes are there.
  void Bind(size_t input_count);

  std::string name;
  std::vector<Tensor> tensors;  // inputs, then outputs
  std::vector<Attribute> attributes;
  dxtensor_operation desc = {};

 private:
  std::vector<const dxtensor_tensor*> tensor_pointers_;
  std::vector<const dxtensor_attribute*> attribute_pointers_;
};

// Bytes of an element; 0 for an unknown dtype.
uint32_t ElementSize(uint32_t dtype);

class LibraryDevices {
 public:
  LibraryDevices() = default;
  ~LibraryDevices();

  // Of a library that this environment has loaded, by number.
  uint32_t AddLibrary(const BackendLibrary* library);
  const BackendLibrary& Library(uint32_t id) const;

  uint32_t Open(uint32_t library, uint32_t index);
  // Frees its memory, and closes it.
  void Close(uint32_t id);
  const LibraryDevice& Device(uint32_t id) const;

  Handle Allocate(uint32_t device, uint64_t size);
  void Free(Handle memory);
  // Throws where the bytes lie outside the memory.
  void CheckRange(Handle memory, uint64_t offset, uint64_t size);
  void Write(Handle memory, uint64_t offset, const void* bytes, uint64_t size);
  void Read(Handle memory, uint64_t offset, void* bytes, uint64_t size);
  void Copy(Handle from, uint64_t from_offset, Handle to, uint64_t to_offset, uint64_t size);

  // 0 where the library does not support the operation.
  Handle Prepare(uint32_t device, std::shared_ptr<LibraryOperation> operation);
  // `ranges`: memory, offset and size of each tensor; memory 0 where it is absent.
  void Run(Handle operation, const double* ranges, size_t count);
  // Does nothing when its device was closed before.
  void Forget(Handle operation);

 private:
  struct Memory {
    LibraryDevice* device = nullptr;
    dxtensor_memory* memory = nullptr;
    uint64_t size = 0;
  };
  struct Operation {
    LibraryDevice* device = nullptr;
    std::shared_ptr<LibraryOperation> operation;
  };
  LibraryDevice& Opened(uint32_t id) const;
  Memory& Find(Handle memory);

  std::vector<const BackendLibrary*> libraries_;
  std::vector<std::unique_ptr<LibraryDevice>> devices_{1};  // by id, which none has twice; null when closed
  Table<Memory> memories_;
  Table<Operation> operations_;
};

}  // namespace dxtensor::addon
