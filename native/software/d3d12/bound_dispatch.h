// A dispatchable bound to addresses: recording a binding table makes one, and the queue runs it.
//
// Immutable and shared: by the table for as long as its bindings stay, by every command list that recorded it. It holds the
// buffers whose addresses it has. Run is called by a queue's thread.
#pragma once

#include "resource.h"

namespace dxtensor::software {

struct BoundBuffer {
  Held<Resource> resource;  // null: nothing is bound
  uint64_t offset = 0, size = 0;

  uint8_t* data() const { return resource->data() + offset; }
};

// One range of bytes that a dispatch reads or writes.
struct Access {
  const uint8_t* begin;
  const uint8_t* end;
  Resource* resource;
  bool write;
};

// What a dispatch did that ends the device's life: thrown by Run.
struct DeviceFault {
  const char* why;
};

class BoundDispatch : public Counted {
 public:
  virtual void Run() const = 0;

  std::vector<Access> accesses;
  std::vector<Held<Resource>> resources;  // each once
  // Inputs of an initialisation may lie in upload heaps, nothing else of a dispatch.
  bool reads_upload = false;
  Held<DescriptorHeap> heap;
  UINT first_descriptor = 0, descriptor_count = 0;
  uint64_t descriptor_write = 0;  // the write that made the descriptors what they have to be
  // Where each was written by itself: its index in the heap and that write.
  std::vector<std::pair<UINT, uint64_t>> views;
};

// Adds a range to what the dispatch uses, and its buffer to the list of buffers.
void AddAccess(BoundDispatch* dispatch, const BoundBuffer& buffer, uint64_t size, bool write);

}  // namespace dxtensor::software
