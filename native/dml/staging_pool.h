// Mapped memory between the host and the device: pages of an upload or a readback heap, filled from their start and used again
// when the device and the host are done with all of a page.
//
// Used by the JavaScript thread; Unpin may be called by any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "allocation_faults.h"
#include "context.h"

namespace dxtensor::dml {

class StagingPool {
 public:
  struct Page {
    ComPtr<ID3D12Resource> resource;
    uint8_t* memory = nullptr;
    uint64_t size = 0, used = 0;
    uint64_t last_task = 0;         // the last task that uses the page
    bool is_used = true;            // since the last Settle
    std::atomic<uint32_t> pins{0};  // reads whose bytes the host has not taken yet
  };
  // Keeps a page for the host as long as it lives.
  class Pin {
   public:
    explicit Pin(Page* page) : page_(page) { page->pins.fetch_add(1); }
    ~Pin() { Unpin(page_); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

   private:
    Page* page_;
  };
  struct Piece {
    Page* page = nullptr;
    uint64_t offset = 0;
    uint8_t* memory() const { return page->memory + offset; }
  };

  // `completed`: the number of the last task that the device has finished. `free_memory`: gives memory back to the device.
  StagingPool(const Context& context, D3D12_HEAP_TYPE type, AllocationFaults& faults, std::function<uint64_t()> completed,
              std::function<void()> free_memory);
  ~StagingPool();
  // Throws Failure when the device has no memory. The caller sets the page's last_task, or pins it.
  Piece Allocate(uint64_t size);
  uint64_t SizeInBytes() const {
    uint64_t sum = 0;
    for (auto& page : pages_) sum += page->size;
    return sum;
  }
  // As much is in flight as the pool likes to hold, and no page is idle for this size: waiting is cheaper than another page.
  bool IsFull(uint64_t size) const;
  // The first task that a page in use waits for; 0 where none does.
  uint64_t OldestTask() const;
  // Gives back what nothing has used since the last call.
  void Settle();
  // See Context::LetGo. The memory of pieces is gone then.
  void LetGo() {
    for (auto& page : pages_) page->resource.Reset();
  }
  static void Unpin(Page* page) { page->pins.fetch_sub(1, std::memory_order_release); }

 private:
  bool IsIdle(const Page& page, uint64_t completed) const;
  void DropIdle();

  const Context& context_;
  const D3D12_HEAP_TYPE type_;
  AllocationFaults& faults_;
  std::function<uint64_t()> completed_;
  std::function<void()> free_memory_;
  std::vector<std::unique_ptr<Page>> pages_;
  Page* current_ = nullptr;
};

}  // namespace dxtensor::dml
