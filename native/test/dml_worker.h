// One thread of dml_stress: a device, its buffers, and their expected contents. Used by that thread alone.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../dml/device.h"

namespace dxtensor::test {

// Read by others while it grows.
struct Tally {
  std::atomic<uint64_t> opened{0}, actions{0}, compared{0}, lost{0};
  void operator+=(const Tally& other) {
    opened += other.opened;
    actions += other.actions;
    compared += other.compared;
    lost += other.lost;
  }
};

// sum = a + b of `count` floats: from buffers to a new one.
dml::ProgramDesc AddProgram(uint32_t count);
// As AddProgram, then sum + b by a second dispatch, then a copy of the result over the first input: state.
dml::ProgramDesc AccumulateProgram(uint32_t count);

class Worker {
 public:
  Worker(uint32_t seed, bool faults, Tally& tally);
  ~Worker();
  // Some dozen actions. Throws Failure of the tests where a byte is wrong, dml::Failure where a call fails that may not.
  void Round();

 private:
  using Floats = std::vector<float>;
  struct Tensor {
    uint32_t block;
    Floats expected;
  };
  struct Record {
    dml::Recording* recording;
    size_t state, input, result;  // tensors; state and result belong to the recording alone
  };
  struct PendingRead {
    Floats bytes, expected;
    std::atomic<int> settled{0};  // 1: read, 2: failed
  };

  uint32_t Random(uint32_t below);
  void Open();
  void Close();
  void Act();
  size_t AnyTensor();
  size_t Add(Floats expected);
  void Free(size_t tensor);
  dml::Address AddressOf(size_t tensor) const;
  void Run();
  void Upload();
  void Copy();
  void Read(bool waits);
  void Record_();
  void Replay();
  void Hold();
  void CheckReads(bool all);

  uint32_t random_;
  const bool faults_;
  Tally& tally_;
  uint32_t count_ = 0;
  std::unique_ptr<dml::Device> device_;
  dml::Program *add_ = nullptr, *accumulate_ = nullptr;
  std::map<size_t, Tensor> tensors_;
  size_t next_ = 0;
  std::vector<Record> records_;
  std::vector<std::shared_ptr<PendingRead>> reads_;
};

}  // namespace dxtensor::test
