// REDUCE, ARGMAX and ARGMIN of floats.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kTask, kMinRows, kWideBlock: within 5 % from 1/4 to 4 times; kRowsAtOnce 0.87 at 1/4; kFlush 0.92 at
// 1/4. Speed (no workload, 1 thread, AVX-512): kBlock 0.78 at 1/4, 0.92 at 1/2, 1.07 at 4.
constexpr int64_t kBlock = 1024, kWideBlock = 4096;
constexpr int64_t kTask = 2 * kTaskElements;  // reads only
constexpr int64_t kRowsAtOnce = 64, kMinRows = 4;
// Length of rows from which on argmax is faster than the plain kernel with one thread: contiguous floats, and others. Measured for 81920
// elements: 0.28 for rows of 2, 0.63 of 10, 1.06 of 24, 1.8 of 64 (AVX-512).
constexpr int64_t kMinExtremes = 24, kMinStridedExtremes = 48;

enum class Finish { None, Mean, Root, Log };

struct Function {
  Fold fold;
  Finish finish;
};

bool FindFunction(uint32_t function, Function* f) {
  switch (function) {
    case DML_REDUCE_FUNCTION_SUM: *f = {Fold::Sum, Finish::None}; return true;
    case DML_REDUCE_FUNCTION_AVERAGE: *f = {Fold::Sum, Finish::Mean}; return true;
    case DML_REDUCE_FUNCTION_L1: *f = {Fold::SumOfAbsolutes, Finish::None}; return true;
    case DML_REDUCE_FUNCTION_L2: *f = {Fold::SumOfSquares, Finish::Root}; return true;
    case DML_REDUCE_FUNCTION_SUM_SQUARE: *f = {Fold::SumOfSquares, Finish::None}; return true;
    case DML_REDUCE_FUNCTION_LOG_SUM: *f = {Fold::Sum, Finish::Log}; return true;
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP: *f = {Fold::SumOfExponentials, Finish::Log}; return true;
    case DML_REDUCE_FUNCTION_MAX: *f = {Fold::Max, Finish::None}; return true;
    case DML_REDUCE_FUNCTION_MIN: *f = {Fold::Min, Finish::None}; return true;
    default: return false;
  }
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const schema::TensorDesc& in, const schema::TensorDesc& out, uint32_t axes, Function function)
      : in_(in), out_(out), function_(function), rows_(in, axes, {BroadcastStrides(in), BroadcastStrides(out)}, false) {
    // Where adjacent rows are contiguous and the elements of a row are not, many rows are folded at once.
    across_ = rows_.element_stride(0) != 1 && rows_.kept_stride(0) == 1 && rows_.kept_length() >= 4;
    sums_across_ = across_ && function_.fold == Fold::Sum;
    if (sums_across_) {
      const int64_t width = rows_.kept_length(), tasks = rows_.count() / width * ((width + kWideBlock - 1) / kWideBlock);
      const int64_t threads = ThreadPool::Get().size(), units = rows_.runs() > 1 ? rows_.runs() : rows_.run_length();
      if (threads > 1 && tasks < threads * 4 && rows_.count() * rows_.length() > 2 * kTask)
        pieces_ = std::clamp<int64_t>(threads * 8 / tasks, 1, std::max<int64_t>(1, std::min(units, rows_.length() / 64)));
    }
    if (!across_ && rows_.count() < ThreadPool::Get().size() * 2 && rows_.length() > 2 * kTask) {
      pieces_ = std::min<int64_t>((rows_.length() + kTask - 1) / kTask, 64);
      // Pieces are whole runs, or cut a single run.
      if (rows_.runs() > 1) pieces_ = std::min(pieces_, rows_.runs());
    }
    has_short_rows_ = in.data_type == DML_TENSOR_DATA_TYPE_FLOAT32 && function_.fold != Fold::SumOfExponentials && !across_ &&
                      pieces_ == 1 && rows_.element_stride(0) == 1 && rows_.run_length() <= kFoldedRow &&
                      (rows_.runs() == 1       ? rows_.kept_length()
                       : rows_.has_even_runs() ? rows_.runs()
                                               : 0) >= kMinRows;
  }
  size_t ScratchBytes() const override {
    return pieces_ > 1 || sums_across_ ? static_cast<size_t>(rows_.count() * pieces_) * sizeof(double) : 0;
  }
  void Run(const KernelArguments& a) const override {
    if (across_) RunAcross(a);
    else if (pieces_ > 1) RunInPieces(a);
    else if (has_short_rows_) RunRows(a);
    else RunEachRow(a);
  }

 private:
  double First() const { return function_.fold == Fold::Max ? -INFINITY : function_.fold == Fold::Min ? INFINITY : 0.0; }
  double Join(double x, double y) const {
    return function_.fold == Fold::Max ? std::fmax(x, y) : function_.fold == Fold::Min ? std::fmin(x, y) : x + y;
  }
  double FoldOf(const float* x, int64_t n) const {
    const IsaTable& table = Table();
    switch (function_.fold) {
      case Fold::Sum: return table.sum(x, n);
      case Fold::SumOfAbsolutes: return table.sum_of_absolutes(x, n);
      case Fold::SumOfSquares: return table.sum_of_squares(x, n);
      case Fold::SumOfExponentials: return table.exp_sum(nullptr, x, 0, n);
      case Fold::Max: return static_cast<double>(table.max(x, n));
      default: return static_cast<double>(table.min(x, n));
    }
  }
  float Finished(double value) const {
    switch (function_.finish) {
      case Finish::Mean: return static_cast<float>(value / static_cast<double>(rows_.length()));
      case Finish::Root: return static_cast<float>(std::sqrt(value));
      case Finish::Log: return static_cast<float>(std::log(value));
      default: return static_cast<float>(value);
    }
  }
  // The fold of elements [first, last) of one run.
  double FoldRun(const uint8_t* base, int64_t offset, int64_t first, int64_t last) const {
    const int64_t element_stride = rows_.element_stride(0);
    if (in_.type == DML_TENSOR_DATA_TYPE_FLOAT32 && element_stride == 1)
      return FoldOf(reinterpret_cast<const float*>(base) + offset + first, last - first);
    alignas(64) float buffer[kBlock];
    double value = First();
    for (int64_t i = first; i < last; i += kBlock) {
      const int64_t n = std::min(kBlock, last - i);
      value = Join(value, FoldOf(in_.Read(base, offset + i * element_stride, element_stride, n, buffer), n));
    }
    return value;
  }
  void RunEachRow(const KernelArguments& a) const {
    const int64_t grain = std::max<int64_t>(1, kTask / rows_.length());
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets start = rows_.Start(row);
        double value = First();
        rows_.ForRuns(
            start, [&](const RowSplit::Offsets& at, int64_t) { value = Join(value, FoldRun(a.inputs[0], at[0], 0, rows_.run_length())); });
        out_.Write(a.outputs[0], start[1], Finished(value));
      }
    });
  }
  // Of a row whose runs are evenly strided.
  double OfRuns(const float* from) const {
    alignas(64) float folds[kRowsAtOnce];
    double value = First();
    for (int64_t run = 0, element_stride = rows_.run_stride(0); run < rows_.runs(); run += kRowsAtOnce) {
      const int64_t n = std::min(kRowsAtOnce, rows_.runs() - run);
      Table().fold_rows(function_.fold, folds, from + run * element_stride, element_stride, n, rows_.run_length());
      value = Join(value, Joined(folds, n));
    }
    return value;
  }
  // What several folds are together.
  double Joined(const float* folds, int64_t n) const {
    const IsaTable& table = Table();
    if (function_.fold == Fold::Max) return static_cast<double>(table.max(folds, n));
    if (function_.fold == Fold::Min) return static_cast<double>(table.min(folds, n));
    return table.sum(folds, n);
  }
  // Evenly strided runs: rows of one run each, or the runs of a row.
  void RunRows(const KernelArguments& a) const {
    const auto* base = reinterpret_cast<const float*>(a.inputs[0]);
    const int64_t grain = std::max<int64_t>(1, kTask / 2 / rows_.length()), length = rows_.run_length(), runs = rows_.runs();
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int) {
      alignas(64) float folds[kRowsAtOnce];
      for (int64_t row = first; row < last;) {
        const RowSplit::Offsets start = rows_.Start(row);
        if (runs == 1) {
          const int64_t n = std::min({last - row, rows_.kept_length() - row % rows_.kept_length(), kRowsAtOnce});
          Table().fold_rows(function_.fold, folds, base + start[0], rows_.kept_stride(0), n, length);
          if (function_.finish != Finish::None)
            for (int64_t i = 0; i < n; ++i) folds[i] = Finished(static_cast<double>(folds[i]));
          out_.Write(a.outputs[0], start[1], rows_.kept_stride(1), n, folds);
          row += n;
          continue;
        }
        out_.Write(a.outputs[0], start[1], Finished(OfRuns(base + start[0])));
        ++row;
      }
    });
  }
  void RunInPieces(const KernelArguments& a) const {
    double* partial = reinterpret_cast<double*>(a.scratch);
    const bool cuts = rows_.runs() == 1;
    const int64_t total = cuts ? rows_.run_length() : rows_.runs();
    ThreadPool::Get().ParallelFor(0, rows_.count() * pieces_, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t p = first; p < last; ++p) {
        const RowSplit::Offsets start = rows_.Start(p / pieces_);
        const int64_t from = total * (p % pieces_) / pieces_, to = total * (p % pieces_ + 1) / pieces_;
        double value = First();
        if (cuts) value = FoldRun(a.inputs[0], start[0], from, to);
        else
          rows_.ForRuns(start, from, to, [&](const RowSplit::Offsets& at, int64_t) {
            value = Join(value, FoldRun(a.inputs[0], at[0], 0, rows_.run_length()));
          });
        partial[p] = value;
      }
    });
    for (int64_t row = 0; row < rows_.count(); ++row) {
      double value = First();
      for (int64_t p = 0; p < pieces_; ++p) value = Join(value, partial[row * pieces_ + p]);
      out_.Write(a.outputs[0], rows_.Start(row)[1], Finished(value));
    }
  }
  // Blocks of adjacent rows: float over a few elements, then double. Sums of few blocks are cut into chunks, so that each thread reads one
  // segment of memory.
  void RunAcross(const KernelArguments& a) const {
    const int64_t width = rows_.kept_length(), groups = rows_.count() / width;
    if (sums_across_) {
      RunSumsAcross(a);
      return;
    }
    // Narrow enough that every thread has work, wide enough for vectors.
    int64_t block = std::min(kBlock, width);
    while (block > 64 && groups * ((width + block - 1) / block) < ThreadPool::Get().size() * 2) block /= 2;
    const int64_t blocks = (width + block - 1) / block;
    const int64_t grain = std::max<int64_t>(1, kTask / (block * rows_.length()));
    ThreadPool::Get().ParallelFor(0, groups * blocks, grain, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = i / blocks * width + i % blocks * block;
        FoldBlock(a, row, std::min(block, width - i % blocks * block));
      }
    });
  }
  // The totals of each part are contiguous; those of the first part become the result.
  void RunSumsAcross(const KernelArguments& a) const {
    ThreadPool& pool = ThreadPool::Get();
    auto* totals = reinterpret_cast<double*>(a.scratch);
    const int64_t width = rows_.kept_length(), blocks = (width + kWideBlock - 1) / kWideBlock, tasks = rows_.count() / width * blocks;
    auto row_of = [&](int64_t task) { return task / blocks * width + task % blocks * kWideBlock; };
    auto length_of = [&](int64_t task) { return std::min(kWideBlock, width - task % blocks * kWideBlock); };
    const int64_t work = std::min(kWideBlock, width) * std::max<int64_t>(1, rows_.length() / pieces_);
    pool.ParallelFor(0, tasks * pieces_, std::max<int64_t>(1, kTask / work), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t task = i / pieces_, piece = i % pieces_, row = row_of(task);
        double* to = totals + piece * rows_.count() + row;
        SumRows(a, row, length_of(task), piece, to);
        if (pieces_ == 1) WriteAcross(a, row, length_of(task), to);
      }
    });
    if (pieces_ == 1) return;
    pool.ParallelFor(0, tasks, std::max<int64_t>(1, kTask / (kWideBlock * pieces_)), [&](int64_t first, int64_t last, int) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t row = row_of(task), n = length_of(task);
        double* total = totals + row;
        for (int64_t piece = 1; piece < pieces_; ++piece)
          for (int64_t i = 0; i < n; ++i) total[i] += total[piece * rows_.count() + i];
        WriteAcross(a, row, n, total);
      }
    });
  }
  // The sums of a chunk of n adjacent rows.
  void SumRows(const KernelArguments& a, int64_t row, int64_t n, int64_t piece, double* totals) const {
    constexpr int64_t kRows = 4, kFlush = 64;  // at once; until the floats are emptied
    static const float kOnes[kRows] = {1, 1, 1, 1};
    alignas(64) float buffer[kWideBlock], sums[kWideBlock];
    const IsaTable& table = Table();
    const int64_t element_stride = rows_.element_stride(0), length = rows_.run_length();
    const bool direct = in_.type == DML_TENSOR_DATA_TYPE_FLOAT32;
    std::fill(sums, sums + n, 0.0f);
    std::fill(totals, totals + n, 0.0);
    int64_t summed = 0;
    auto add = [&](int64_t offset, int64_t first, int64_t last) {
      for (int64_t i = first; i < last;) {
        const int64_t rows = direct ? std::min(kRows, last - i) : 1;
        table.add_rows(sums, in_.Read(a.inputs[0], offset + i * element_stride, 1, n, buffer), element_stride, kOnes,
                       static_cast<int>(rows), n);
        i += rows;
        if ((summed += rows) < kFlush) continue;
        table.flush_sums(totals, sums, n);
        summed = 0;
      }
    };
    const RowSplit::Offsets start = rows_.Start(row);
    const int64_t units = rows_.runs() > 1 ? rows_.runs() : length, first = units * piece / pieces_, last = units * (piece + 1) / pieces_;
    if (rows_.runs() > 1) rows_.ForRuns(start, first, last, [&](const RowSplit::Offsets& at, int64_t) { add(at[0], 0, length); });
    else add(start[0], first, last);
    table.flush_sums(totals, sums, n);
  }
  void WriteAcross(const KernelArguments& a, int64_t row, int64_t n, const double* totals) const {
    alignas(64) float results[kWideBlock];
    for (int64_t i = 0; i < n; ++i) results[i] = Finished(totals[i]);
    out_.Write(a.outputs[0], rows_.Start(row)[1], rows_.kept_stride(1), n, results);
  }
  void FoldBlock(const KernelArguments& a, int64_t row, int64_t n) const {
    constexpr int64_t kRows = 32;
    alignas(64) float buffer[kBlock + kMaxWidth], sums[kBlock + kMaxWidth], mapped[kBlock + kMaxWidth];
    alignas(64) double totals[kBlock];
    const IsaTable& table = Table();
    const bool extreme = function_.fold == Fold::Max || function_.fold == Fold::Min;
    const RowSplit::Offsets start = rows_.Start(row);
    MicroOp ops[2];
    int count = 0;
    if (function_.fold == Fold::SumOfAbsolutes) ops[count++].code = Code::FAbs;
    if (function_.fold == Fold::SumOfSquares) ops[count++].code = Code::FSquare;
    if (function_.fold == Fold::SumOfExponentials) ops[count++].code = Code::FExp;
    if (count) {
      ops[0].a = ops[0].b = ops[0].c = 0;
      ops[0].d = 2;
    }
    MicroOp& join = ops[count];
    join.code = function_.fold == Fold::Max ? Code::FMax : function_.fold == Fold::Min ? Code::FMin : Code::FAdd;
    join.a = join.d = 1;
    join.b = join.c = count ? 2 : 0;
    ++count;
    const auto first = static_cast<float>(First());
    std::fill(sums, sums + kBlock + kMaxWidth, first);
    std::fill(totals, totals + n, 0.0);
    const int64_t padded = (n + table.width - 1) / table.width * table.width, element_stride = rows_.element_stride(0);
    int64_t rows = 0;
    auto flush = [&] {
      for (int64_t i = 0; i < n; ++i) totals[i] += static_cast<double>(sums[i]);
      std::fill(sums, sums + n, 0.0f);
      rows = 0;
    };
    rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t) {
      for (int64_t i = 0; i < rows_.run_length(); ++i) {
        const float* x = in_.Read(a.inputs[0], at[0] + i * element_stride, 1, n, buffer);
        if (x != buffer && padded != n) {
          std::memcpy(buffer, x, static_cast<size_t>(n) * sizeof(float));
          x = buffer;
        }
        uint8_t* registers[3] = {reinterpret_cast<uint8_t*>(const_cast<float*>(x)), reinterpret_cast<uint8_t*>(sums),
                                 reinterpret_cast<uint8_t*>(mapped)};
        table.execute(ops, count, registers, padded);
        if (!extreme && ++rows == kRows) flush();
      }
    });
    if (!extreme) flush();
    for (int64_t i = 0; i < n; ++i) buffer[i] = Finished(extreme ? static_cast<double>(sums[i]) : totals[i]);
    out_.Write(a.outputs[0], start[1], rows_.kept_stride(1), n, buffer);
  }

  FloatOperand in_, out_;
  Function function_;
  RowSplit rows_;
  bool across_ = false, sums_across_ = false, has_short_rows_ = false;
  int64_t pieces_ = 1;
};

// The position of the extreme in row-major order; of equals the first or the last. A NaN counts only when it comes first.
class ExtremeKernel final : public Kernel {
 public:
  ExtremeKernel(const schema::TensorDesc& in, const schema::TensorDesc& out, uint32_t axes, bool largest, bool last)
      : in_(in),
        wide_(schema::BytesPerElement(out.data_type) == 8),
        largest_(largest),
        last_(last),
        rows_(in, axes, {BroadcastStrides(in), BroadcastStrides(out)}, true) {}
  // Whether it is faster than the plain kernel, which has one thread: a thread gains about the square root of length / kMinExtremes.
  bool IsWorthwhile() const {
    const int64_t tasks = std::min<int64_t>(ThreadPool::Get().size(), (rows_.count() + Grain() - 1) / Grain());
    const bool is_contiguous = in_.type == DML_TENSOR_DATA_TYPE_FLOAT32 && rows_.element_stride(0) == 1;
    return rows_.length() * tasks * tasks >= (is_contiguous ? kMinExtremes : kMinStridedExtremes);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool::Get().ParallelFor(0, rows_.count(), Grain(), [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets start = rows_.Start(row);
        const int64_t index = IndexIn(a.inputs[0], start);
        if (wide_) std::memcpy(a.outputs[0] + start[1] * 8, &index, 8);
        else {
          const auto narrow = static_cast<uint32_t>(index);
          std::memcpy(a.outputs[0] + start[1] * 4, &narrow, 4);
        }
      }
    });
  }

 private:
  int64_t Grain() const { return std::max<int64_t>(1, kTask / 2 / rows_.length()); }
  int64_t IndexIn(const uint8_t* base, const RowSplit::Offsets& start) const {
    float best = in_.Read(base, start[0]);
    int64_t index = 0;
    if (best != best) return 0;
    alignas(64) float buffer[kBlock];
    const int64_t element_stride = rows_.element_stride(0);
    rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t position) {
      for (int64_t i = 0; i < rows_.run_length(); i += kBlock) {
        const int64_t n = std::min(kBlock, rows_.run_length() - i);
        const float* x = in_.Read(base, at[0] + i * element_stride, element_stride, n, buffer);
        const float extreme = largest_ ? Table().max(x, n) : Table().min(x, n);
        const bool better = largest_ ? extreme > best : extreme < best;
        if (!better && !(last_ && extreme == best)) continue;
        best = extreme;
        int64_t k = 0;
        if (last_) {
          for (k = n - 1; x[k] != extreme;) --k;
        } else {
          k = Table().first_equal(x, extreme, n);
        }
        index = position + i + k;
      }
    });
    return index;
  }

  FloatOperand in_;
  bool wide_, largest_, last_;
  RowSplit rows_;
};

uint32_t MaskOf(const std::vector<uint32_t>& axes) {
  uint32_t mask = 0;
  for (uint32_t axis : axes) mask |= 1u << axis;
  return mask;
}

}  // namespace

std::unique_ptr<Kernel> MakeReduceKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (!IsFloatType(in.data_type)) return nullptr;
  const uint32_t axes = MaskOf(desc.UInts("Axes"));
  auto extreme = [&](bool largest, bool last) {
    auto kernel = std::make_unique<ExtremeKernel>(in, out, axes, largest, last);
    return kernel->IsWorthwhile() ? std::move(kernel) : nullptr;
  };
  if (desc.type() != DML_OPERATOR_REDUCE)
    return extreme(desc.type() == DML_OPERATOR_ARGMAX, desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_DECREASING);
  const uint32_t function = desc.UInt("Function");
  if (function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN)
    return extreme(function == DML_REDUCE_FUNCTION_ARGMAX, false);
  Function f;
  if (!FindFunction(function, &f)) return nullptr;
  return std::make_unique<ReduceKernel>(in, out, axes, f);
}

}  // namespace dxtensor::software::fast
