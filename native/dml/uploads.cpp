#include "uploads.h"

#include "host_copy.h"

namespace dxtensor::dml {

void WaitForStaging(Queue& queue, StagingPool& staging, uint64_t size) {
  while (staging.IsFull(size)) {
    const uint64_t task = staging.OldestTask();
    if (!task) return;
    queue.Flush();
    queue.WaitForTask(task);
  }
}

void Uploads::Add(Address to, const uint8_t* bytes, uint64_t size, bool more) {
  // Work continues while the next piece is copied; when enough is on its way, this thread waits for the oldest.
  if (!queue_.held()) {
    if (tasks_.size() >= kTransferPieces) {
      queue_.WaitForTask(tasks_.front());
      tasks_.pop_front();
    } else if (more) {
      WaitForStaging(queue_, staging_, size);
    }
  }
  StagingPool::Piece piece = staging_.Allocate(size);
  HostCopy(piece.memory(), bytes, size);
  Task& task = queue_.Next();
  task.kind = Task::Kind::Upload;
  task.transfer = {piece.page->resource.get(), piece.offset, to, size, nullptr, 0};
  queue_.Commit();
  piece.page->last_task = queue_.last_task();
  if (!more) return;
  tasks_.push_back(queue_.last_task());
  queue_.Flush();
}

}  // namespace dxtensor::dml
