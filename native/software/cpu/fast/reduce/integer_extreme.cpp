// REDUCE MAX and MIN of integers, which any() and all() are as well.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/elementwise/program.h"
#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kBlock = 4096;          // adjacent rows that are folded at once
constexpr int64_t kPieceBytes = 1 << 17;  // worth a thread's while
constexpr int64_t kMinRow = 16;           // contiguous elements, below which plain loops are as fast
constexpr int64_t kPiecesPerThread = 4;

class IntegerExtremeKernel final : public Kernel {
 public:
  IntegerExtremeKernel(const schema::TensorDesc& in, const schema::TensorDesc& out, uint32_t axes, bool largest)
      : type_(in.data_type),
        bytes_(schema::BytesPerElement(in.data_type)),
        largest_(largest),
        rows_(in, axes, {BroadcastStrides(in), BroadcastStrides(out)}, false) {
    along_ = rows_.element_stride(0) == 1 && rows_.run_length() >= kMinRow;
    across_ = !along_ && rows_.kept_stride(0) == 1 && rows_.kept_length() >= kMinRow;
    const int64_t threads = ThreadPool::Get().size(), units = rows_.runs() > 1 ? rows_.runs() : rows_.run_length();
    if (along_ && threads > 1 && rows_.count() < threads && rows_.length() * bytes_ > 2 * kPieceBytes)
      pieces_ = std::clamp<int64_t>(rows_.length() * bytes_ / kPieceBytes, 1, std::min(units, threads * kPiecesPerThread));
  }
  bool IsFast() const { return along_ || across_; }
  size_t ScratchBytes() const override { return pieces_ > 1 ? static_cast<size_t>(rows_.count() * pieces_ * bytes_) : 0; }

  void Run(const KernelArguments& a) const override {
    if (across_) RunAcross(a);
    else if (pieces_ > 1) RunInPieces(a);
    else RunRows(a);
  }

 private:
  // The extreme of elements [first, last) of the run at `x`, and of *to, goes to *to.
  void Fold(const uint8_t* x, int64_t first, int64_t last, uint8_t* to) const {
    Table().integer_extreme(type_, largest_, x + first * bytes_, last - first, to);
  }
  void FoldRow(const KernelArguments& a, int64_t row, int64_t piece, uint8_t* to) const {
    const RowSplit::Offsets start = rows_.Start(row);
    const uint8_t* base = a.inputs[0];
    // The first element is one that counts.
    std::memcpy(to, base + start[0] * bytes_, static_cast<size_t>(bytes_));
    if (rows_.runs() == 1) {
      const int64_t n = rows_.run_length();
      Fold(base + start[0] * bytes_, n * piece / pieces_, n * (piece + 1) / pieces_, to);
      return;
    }
    const int64_t runs = rows_.runs();
    rows_.ForRuns(start, runs * piece / pieces_, runs * (piece + 1) / pieces_,
                  [&](const RowSplit::Offsets& at, int64_t) { Fold(base + at[0] * bytes_, 0, rows_.run_length(), to); });
  }
  void RunRows(const KernelArguments& a) const {
    const int64_t grain = std::max<int64_t>(1, kPieceBytes / (rows_.length() * bytes_));
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row) FoldRow(a, row, 0, a.outputs[0] + rows_.Start(row)[1] * bytes_);
    });
  }
  void RunInPieces(const KernelArguments& a) const {
    ThreadPool::Get().ParallelFor(0, rows_.count() * pieces_, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t p = first; p < last; ++p) FoldRow(a, p / pieces_, p % pieces_, a.scratch + p * bytes_);
    });
    for (int64_t row = 0; row < rows_.count(); ++row) {
      uint8_t* of_row = a.scratch + row * pieces_ * bytes_;
      Fold(of_row, 1, pieces_, of_row);
      std::memcpy(a.outputs[0] + rows_.Start(row)[1] * bytes_, of_row, static_cast<size_t>(bytes_));
    }
  }
  void RunAcross(const KernelArguments& a) const {
    const int64_t width = rows_.kept_length(), blocks = (width + kBlock - 1) / kBlock, element_stride = rows_.element_stride(0);
    const int64_t grain = std::max<int64_t>(1, kPieceBytes / (std::min(kBlock, width) * rows_.length() * bytes_));
    ThreadPool::Get().ParallelFor(0, rows_.count() / width * blocks, grain, [&](int64_t first, int64_t last, int) {
      alignas(64) uint8_t best[kBlock * sizeof(int64_t)];
      for (int64_t i = first; i < last; ++i) {
        const int64_t from = i % blocks * kBlock, n = std::min(kBlock, width - from);
        const RowSplit::Offsets start = rows_.Start(i / blocks * width + from);
        std::memcpy(best, a.inputs[0] + start[0] * bytes_, static_cast<size_t>(n * bytes_));
        rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t) {
          for (int64_t r = 0; r < rows_.run_length(); ++r)
            Table().join_extremes(type_, largest_, best, a.inputs[0] + (at[0] + r * element_stride) * bytes_, n);
        });
        for (int64_t k = 0; k < n; ++k)
          std::memcpy(a.outputs[0] + (start[1] + k * rows_.kept_stride(1)) * bytes_, best + k * bytes_, static_cast<size_t>(bytes_));
      }
    });
  }

  DML_TENSOR_DATA_TYPE type_;
  int64_t bytes_;
  bool largest_, along_, across_;
  RowSplit rows_;
  int64_t pieces_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> MakeIntegerExtremeKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t function = desc.UInt("Function");
  if (function != DML_REDUCE_FUNCTION_MAX && function != DML_REDUCE_FUNCTION_MIN) return nullptr;
  if (!IsEngineType(in.data_type) || in.data_type != out.data_type) return nullptr;
  uint32_t axes = 0;
  for (uint32_t axis : desc.UInts("Axes")) axes |= 1u << axis;
  auto kernel = std::make_unique<IntegerExtremeKernel>(in, out, axes, function == DML_REDUCE_FUNCTION_MAX);
  if (!kernel->IsFast()) return nullptr;
  return kernel;
}

}  // namespace dxtensor::software::fast
