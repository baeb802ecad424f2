// Scatter-add of single numbers. Where adjacent numbers go to adjacent indices, as in the gradient of a gather along the last axis, threads
// get blocks of indices, and each reads the numbers near its block; else each thread takes its part of the indices from all numbers.
#include <algorithm>

#include "software/cpu/host/thread_pool.h"
#include "region_rows.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kChunk = 4096;                    // numbers whose range of indices is known
constexpr int64_t kBlock = 4096;                    // sums that stay in the level 1 cache
constexpr int64_t kMaxBlocks = 3;                   // of a chunk, on the average, where they are gone over one after the other
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;  // sums up to this size are carried in double; larger ones are added in the output

class ScatterSumsKernel final : public Kernel {
  // Of a chunk the lowest and highest index, of a block the first and last chunk.
  struct Range {
    uint32_t first = RegionRows::kNone, last = 0;

    void Take(uint32_t i) {
      first = std::min(first, i);
      last = std::max(last, i);
    }
    bool IsEmpty() const { return first > last; }
  };

 public:
  explicit ScatterSumsKernel(const schema::OperatorDesc& desc)
      : regions_(desc),
        count_(desc.Inputs()[1]->sizes[0]),
        positions_(desc.Outputs()[0]->sizes[0]),
        dy_stride_(desc.Inputs()[1]->strides[0]),
        dx_stride_(desc.Outputs()[0]->strides[0]) {}

  size_t ScratchBytes() const override {
    const uint64_t all = IsWide() ? static_cast<uint64_t>(positions_) * sizeof(double) : 0;
    const uint64_t blocks = static_cast<uint64_t>(ThreadPool::Get().size() * kBlock) * sizeof(double);
    return static_cast<size_t>(std::max(all, blocks)) + static_cast<size_t>(Chunks() + Blocks()) * sizeof(Range);
  }

  void Run(const KernelArguments& a) const override {
    auto* of_chunks = reinterpret_cast<Range*>(a.scratch);
    Range* of_blocks = of_chunks + Chunks();
    auto* sums = reinterpret_cast<double*>(of_blocks + Blocks());
    const bool has_any = !regions_.AreNone(a);
    if (!has_any) std::fill_n(of_blocks, Blocks(), Range());
    if (has_any && !FindBlocks(a, of_chunks, of_blocks)) return SumParts(a, sums);
    ThreadPool::Get().ParallelFor(0, Blocks(), 1, [&](int64_t first, int64_t last, int slot) {
      for (int64_t block = first; block < last; ++block) SumBlock(a, block, of_blocks[block], of_chunks, sums + slot * kBlock);
    });
  }

 private:
  int64_t Chunks() const { return (count_ + kChunk - 1) / kChunk; }
  int64_t Blocks() const { return (positions_ + kBlock - 1) / kBlock; }
  bool IsWide() const { return static_cast<uint64_t>(positions_) * sizeof(double) <= kMaxBytes; }

  // False where chunks reach over too many blocks.
  bool FindBlocks(const KernelArguments& a, Range* of_chunks, Range* of_blocks) const {
    ThreadPool::Get().ParallelFor(0, Chunks(), 4, [&](int64_t first, int64_t last, int) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        Range range;
        for (int64_t i = chunk * kChunk; i < std::min(count_, (chunk + 1) * kChunk); ++i) {
          const uint32_t position = regions_.At(a, i);
          if (position != RegionRows::kNone) range.Take(position);
        }
        of_chunks[chunk] = range;
      }
    });
    std::fill_n(of_blocks, Blocks(), Range());
    int64_t left = kMaxBlocks * Chunks();
    for (int64_t chunk = 0; chunk < Chunks(); ++chunk) {
      const Range range = of_chunks[chunk];
      if (range.IsEmpty()) continue;
      left -= range.last / kBlock - range.first / kBlock + 1;
      if (left < 0) return false;
      for (int64_t block = range.first / kBlock; block <= range.last / kBlock; ++block) of_blocks[block].Take(static_cast<uint32_t>(chunk));
    }
    return true;
  }
  void SumBlock(const KernelArguments& a, int64_t block, const Range& chunks, const Range* of_chunks, double* sums) const {
    const int64_t start = block * kBlock, size = std::min(kBlock, positions_ - start);
    std::fill_n(sums, size, 0.0);
    for (int64_t chunk = chunks.first; chunk <= int64_t{chunks.last} && !chunks.IsEmpty(); ++chunk)
      if (!of_chunks[chunk].IsEmpty() && of_chunks[chunk].first < start + size && of_chunks[chunk].last >= start)
        Add(a, chunk * kChunk, std::min(count_, (chunk + 1) * kChunk), start, size, sums, 1);
    Store(a, start, size, sums);
  }
  void SumParts(const KernelArguments& a, double* sums) const {
    const int64_t threads = ThreadPool::Get().size(), part = (positions_ + threads - 1) / threads;
    ThreadPool::Get().ParallelFor(0, positions_, part, [&](int64_t first, int64_t last, int) {
      if (IsWide()) {
        std::fill_n(sums + first, last - first, 0.0);
        Add(a, 0, count_, first, last - first, sums + first, 1);
        Store(a, first, last - first, sums + first);
        return;
      }
      float* dx = reinterpret_cast<float*>(a.outputs[0]) + first * dx_stride_;
      for (int64_t i = 0; i < last - first; ++i) dx[i * dx_stride_] = 0;
      Add(a, 0, count_, first, last - first, dx, dx_stride_);
    });
  }
  // The numbers [first, last), as far as they go to the indices [start, start + size).
  template <typename T>
  void Add(const KernelArguments& a, int64_t first, int64_t last, int64_t start, int64_t size, T* sums, int64_t element_stride) const {
    const auto* dy = reinterpret_cast<const float*>(a.inputs[1]);
    for (int64_t i = first; i < last; ++i) {
      const uint32_t position = regions_.At(a, i);
      const auto at = static_cast<uint64_t>(int64_t{position} - start);
      if (position != RegionRows::kNone && at < static_cast<uint64_t>(size))
        sums[static_cast<int64_t>(at) * element_stride] += dy[i * dy_stride_];
    }
  }
  void Store(const KernelArguments& a, int64_t start, int64_t size, const double* sums) const {
    float* dx = reinterpret_cast<float*>(a.outputs[0]) + start * dx_stride_;
    for (int64_t i = 0; i < size; ++i) dx[i * dx_stride_] = static_cast<float>(sums[i]);
  }

  RegionRows regions_;
  int64_t count_, positions_, dy_stride_, dx_stride_;
};

}  // namespace

std::unique_ptr<Kernel> MakeScatterSums(const schema::OperatorDesc& desc) { return std::make_unique<ScatterSumsKernel>(desc); }

}  // namespace dxtensor::software::fast
