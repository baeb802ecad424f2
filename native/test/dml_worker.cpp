#include "dml_worker.h"

#include <thread>

#include "check.h"
#include "describe.h"

namespace dxtensor::test {

namespace {

constexpr uint32_t kSizes[] = {4, 100, 1000, 70000};
constexpr size_t kMaxTensors = 24, kMaxRecords = 4;

schema::OperatorDesc AddOperator(uint32_t count) {
  std::string tensor = "f32[1,1,1," + std::to_string(count) + "]";
  return Parse("ELEMENT_WISE_ADD ATensor=" + tensor + " BTensor=" + tensor + " OutputTensor=" + tensor);
}

}  // namespace

dml::ProgramDesc AddProgram(uint32_t count) {
  uint64_t size = count * sizeof(float);
  dml::ProgramDesc desc;
  desc.name = "add";
  desc.inputs = {size, size};
  desc.outputs = {size};
  desc.dispatchables.emplace_back(AddOperator(count));
  desc.steps.push_back({0, 0, {{0, 0, size}, {1, 0, size}}, {{2, 0, size}}});
  return desc;
}

dml::ProgramDesc AccumulateProgram(uint32_t count) {
  uint64_t size = count * sizeof(float);
  dml::ProgramDesc desc = AddProgram(count);
  desc.name = "accumulate";
  desc.scratch = size;
  desc.steps[0].outputs = {{3, 0, size}};
  desc.steps.push_back({1, 0, {{3, 0, size}, {1, 0, size}}, {{2, 0, size}}});
  desc.steps.push_back({2, -1, {{2, 0, size}}, {{0, 0, size}}});
  return desc;
}

Worker::Worker(uint32_t seed, bool faults, Tally& tally) : random_(seed * 2654435761u + 1), faults_(faults), tally_(tally) {}

Worker::~Worker() { device_.reset(); }

uint32_t Worker::Random(uint32_t below) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_ % below;
}

void Worker::Round() {
  try {
    if (!device_) Open();
    for (uint32_t i = 0, acts = 20 + Random(60); i < acts; ++i) Act();
    if (Random(3) == 0) Close();
  } catch (const dml::Failure& failure) {
    bool expected = faults_ && (failure.kind() == dml::FailureKind::Removed || failure.kind() == dml::FailureKind::Timeout);
    if (!expected) throw;
    ++tally_.lost;
    Close();
  }
}

void Worker::Open() {
  dml::Device::Options options;
  options.limit_in_bytes = 256u << 20;
  if (faults_) options.patience_ms = 5000;
  count_ = kSizes[Random(4)];
  device_ = dml::Device::Open(dml::RuntimeKind::Software, 0, options);
  ++tally_.opened;
  add_ = device_->CreateProgram(AddProgram(count_));
  accumulate_ = device_->CreateProgram(AccumulateProgram(count_));
  for (int i = 0; i < 3; ++i) {
    Floats values(count_);
    for (float& value : values) value = static_cast<float>(Random(100));
    size_t tensor = Add(values);
    device_->Upload(AddressOf(tensor), values.data(), count_ * sizeof(float));
  }
}

// Mostly with work pending, in one of three ways: everything done first, dropped, or left to the device's end.
void Worker::Close() {
  if (!device_) return;
  if (Random(3) == 0) {
    try {
      device_->Finish();
    } catch (const dml::Failure& failure) {
      if (!faults_ && failure.kind() != dml::FailureKind::Device) throw;
    }
  }
  for (const Record& record : records_)
    if (Random(2)) device_->ReleaseRecording(record.recording);
  records_.clear();
  device_.reset();
  tensors_.clear();
  // Whoever was asked for before is told, one way or the other.
  CheckReads(true);
}

size_t Worker::Add(Floats expected) {
  uint32_t block = device_->pool().Allocate(count_ * sizeof(float), Random(4) ? dml::HeapPool::Use::Tensor : dml::HeapPool::Use::Program);
  tensors_[next_] = {block, std::move(expected)};
  return next_++;
}

void Worker::Free(size_t tensor) {
  device_->pool().Free(tensors_.at(tensor).block);
  tensors_.erase(tensor);
}

dml::Address Worker::AddressOf(size_t tensor) const { return device_->pool().AddressOf(tensors_.at(tensor).block); }

size_t Worker::AnyTensor() {
  auto at = tensors_.begin();
  std::advance(at, Random(static_cast<uint32_t>(tensors_.size())));
  return at->first;
}

void Worker::Act() {
  ++tally_.actions;
  switch (Random(22)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: return Run();
    case 6: return Upload();
    case 7:
    case 8: return Copy();
    case 9: return Read(true);
    case 10:
    case 11: return Read(false);
    case 12: return Record_();
    case 13:
    case 14:
    case 15: return Replay();
    case 16: return Hold();
    case 17: device_->Flush(); return;
    case 18: CheckReads(false); return;
    case 19:
      if (Random(4) == 0) device_->pool().Trim();
      return;
    case 20: device_->Wait(); return;
    default:
      if (!faults_) return;
      if (Random(12) == 0) device_->RemoveForTest();
  }
}

void Worker::Run() {
  size_t a = AnyTensor(), b = AnyTensor();
  Floats sum(count_);
  for (uint32_t i = 0; i < count_; ++i) {
    // Exact in float32 for any number of rounds.
    sum[i] = tensors_.at(a).expected[i] + tensors_.at(b).expected[i];
    if (sum[i] > 1e6f) return;
  }
  size_t out = Add(std::move(sum));
  dml::Address slots[dml::Task::kSlots] = {AddressOf(a), AddressOf(b), AddressOf(out), 0};
  device_->Run(*add_, slots);
  while (tensors_.size() > kMaxTensors) {
    size_t gone = AnyTensor();
    bool fixed = false;
    for (const Record& r : records_) fixed = fixed || gone == r.state || gone == r.input || gone == r.result;
    if (fixed) break;
    Free(gone);
  }
}

void Worker::Upload() {
  size_t tensor = AnyTensor();
  uint32_t begin = Random(count_), end = begin + 1 + Random(count_ - begin);
  Floats part(end - begin);
  for (float& value : part) value = static_cast<float>(Random(100));
  device_->Upload(AddressOf(tensor) + begin * sizeof(float), part.data(), part.size() * sizeof(float));
  std::copy(part.begin(), part.end(), tensors_.at(tensor).expected.begin() + begin);
}

void Worker::Copy() {
  size_t from = AnyTensor(), to = AnyTensor();
  uint32_t size = 1 + Random(count_), at = Random(count_ - size + 1), target = Random(count_ - size + 1);
  if (from == to && at < target + size && target < at + size) return;
  device_->Copy(AddressOf(from) + at * sizeof(float), AddressOf(to) + target * sizeof(float), size * sizeof(float));
  const Floats source = tensors_.at(from).expected;
  std::copy_n(source.begin() + at, size, tensors_.at(to).expected.begin() + target);
}

void Worker::Read(bool waits) {
  size_t tensor = AnyTensor();
  const Floats& expected = tensors_.at(tensor).expected;
  if (waits) {
    Floats bytes(count_);
    device_->ReadAndWait(AddressOf(tensor), bytes.data(), count_ * sizeof(float));
    CHECK(bytes == expected);
    ++tally_.compared;
    return;
  }
  auto read = std::make_shared<PendingRead>();
  read->bytes.resize(count_);
  read->expected = expected;
  device_->Read(AddressOf(tensor), read->bytes.data(), count_ * sizeof(float),
                [read](const dml::Failure* failure) { read->settled.store(failure ? 2 : 1, std::memory_order_release); });
  reads_.push_back(std::move(read));
}

void Worker::CheckReads(bool all) {
  if (all || reads_.size() > 8) {
    // Of a device that is gone all are settled; of another they will be.
    if (device_) device_->Wait();
    for (const auto& read : reads_)
      while (!read->settled.load(std::memory_order_acquire)) {
        CHECK(device_);
        std::this_thread::yield();
      }
  }
  for (size_t i = 0; i < reads_.size();) {
    int settled = reads_[i]->settled.load(std::memory_order_acquire);
    if (!settled) {
      ++i;
      continue;
    }
    if (settled == 1) {
      CHECK(reads_[i]->bytes == reads_[i]->expected);
      ++tally_.compared;
    }
    reads_.erase(reads_.begin() + static_cast<ptrdiff_t>(i));
  }
}

void Worker::Record_() {
  if (records_.size() == kMaxRecords) {
    Record old = records_.front();
    records_.erase(records_.begin());
    device_->ReleaseRecording(old.recording);
    return;
  }
  Record record;
  record.state = Add(tensors_.at(AnyTensor()).expected);
  const Floats start = tensors_.at(record.state).expected;
  device_->Upload(AddressOf(record.state), start.data(), count_ * sizeof(float));
  record.input = AnyTensor();
  record.result = Add(Floats(count_, 0));
  const Floats zeros(count_, 0);
  device_->Upload(AddressOf(record.result), zeros.data(), count_ * sizeof(float));
  size_t scratch = Add(Floats(count_, 0));
  std::vector<dml::Address> slots = {AddressOf(record.state), AddressOf(record.input), AddressOf(record.result), AddressOf(scratch)};
  // Not compared, and never freed while the device lives: the recording's own.
  tensors_.erase(scratch);
  record.recording = device_->Record(*accumulate_, slots, Random(2) ? 1 + Random(3) : 6 + Random(11));
  records_.push_back(record);
}

void Worker::Replay() {
  if (records_.empty()) return;
  const Record record = records_[Random(static_cast<uint32_t>(records_.size()))];
  auto work = std::make_unique<dml::ReplayWork>();
  uint64_t size = count_ * sizeof(float);
  size_t before = AnyTensor();
  Floats &state = tensors_.at(record.state).expected, &input = tensors_.at(record.input).expected;
  // A copy of an input before, and of the result to a new tensor after, as compiled functions have them.
  if (before != record.input && Random(2)) {
    work->before.push_back({AddressOf(before), AddressOf(record.input), size});
    input = tensors_.at(before).expected;
  }
  for (uint32_t i = 0; i < count_; ++i)
    if (state[i] + 2 * input[i] > 1e6f) {
      // Starts over before numbers stop being exact.
      const Floats zeros(count_, 0);
      device_->Upload(AddressOf(record.state), zeros.data(), size);
      device_->Upload(AddressOf(record.input), zeros.data(), size);
      if (!work->before.empty()) work->before.clear();
      state = input = zeros;
      break;
    }
  Floats next(count_);
  for (uint32_t i = 0; i < count_; ++i) next[i] = state[i] + input[i] + input[i];
  // The state and the input may be one tensor.
  tensors_.at(record.result).expected = next;
  tensors_.at(record.state).expected = next;
  size_t out = Add(next);
  work->after.push_back({AddressOf(record.result), AddressOf(out), size});
  device_->Replay(*record.recording, std::move(work));
}

void Worker::Hold() {
  device_->Hold(true);
  try {
    for (uint32_t i = 0, runs = Random(10); i < runs; ++i) Run();
    if (Random(2)) Replay();
    Read(false);
  } catch (...) {
    device_->Hold(false);
    throw;
  }
  device_->Hold(false);
}

}  // namespace dxtensor::test
