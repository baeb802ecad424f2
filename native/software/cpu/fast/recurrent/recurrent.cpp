// The kernel table of recurrent layers and attention, where it gains: PanelGemm, NHWC tiles for prepacked weights, and the thread pool.
#include <algorithm>
#include <utility>
#include <vector>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/gemm/gemm.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/reference/composed.h"

namespace dxtensor::software::fast {

namespace {

schema::TensorDesc Matrix(uint64_t rows, uint64_t columns) {
  schema::TensorDesc t;
  t.data_type = DML_TENSOR_DATA_TYPE_FLOAT32;
  t.rank = 2;
  t.sizes = {static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
  t.strides = {static_cast<uint32_t>(columns), 1};
  t.size_in_bytes = rows * columns * sizeof(float);
  return t;
}

// A GEMM of rows of A with rows of B.
std::unique_ptr<Kernel> MakeGemm(uint64_t m, uint64_t n, uint64_t k) {
  schema::OperatorDesc desc;
  desc.schema = schema::FindOperator(DML_OPERATOR_GEMM);
  for (uint8_t i = 0; i < desc.schema->field_count; ++i) {
    const std::string name = desc.schema->fields[i].name;
    if (name == "ATensor") desc.fields.emplace_back(std::optional(Matrix(m, k)));
    else if (name == "BTensor") desc.fields.emplace_back(std::optional(Matrix(n, k)));
    else if (name == "CTensor") desc.fields.emplace_back(std::optional<schema::TensorDesc>());
    else if (name == "OutputTensor") desc.fields.emplace_back(std::optional(Matrix(m, n)));
    else if (name == "TransA") desc.fields.emplace_back(uint32_t{DML_MATRIX_TRANSFORM_NONE});
    else if (name == "TransB") desc.fields.emplace_back(uint32_t{DML_MATRIX_TRANSFORM_TRANSPOSE});
    else if (name == "Alpha") desc.fields.emplace_back(1.0f);
    else if (name == "Beta") desc.fields.emplace_back(0.0f);
    else desc.fields.emplace_back(std::shared_ptr<const schema::OperatorDesc>());
  }
  return MakeGemmKernel(desc);
}

class BlockedFloatGemm final : public FloatGemm {
 public:
  explicit BlockedFloatGemm(std::unique_ptr<Kernel> gemm) : gemm_(std::move(gemm)) {}
  size_t ScratchBytes() const override { return gemm_->ScratchBytes(); }
  void Run(const float* a, const float* b, const uint8_t*, float* out, uint8_t* scratch) const override {
    const uint8_t* inputs[] = {reinterpret_cast<const uint8_t*>(a), reinterpret_cast<const uint8_t*>(b), nullptr};
    uint8_t* outputs[] = {reinterpret_cast<uint8_t*>(out)};
    gemm_->Run({inputs, outputs, scratch});
  }

 private:
  std::unique_ptr<Kernel> gemm_;
};

// A skinny GEMM (small M) with prepacked b, since packing b in each run would not pay. Tiles of rows of a by vectors of a panel: the
// micro-kernels of implicit_gemm_nhwc.h.
class PrepackedFloatGemm final : public FloatGemm {
 public:
  PrepackedFloatGemm(uint64_t m, uint64_t n, uint64_t k)
      : m_(static_cast<int64_t>(m)), n_(static_cast<int64_t>(n)), k_(static_cast<int64_t>(k)) {
    const IsaTable& table = Table();
    const int64_t vectors = std::min<int64_t>({kVectors, table.pixel_tiles.vectors, DivideUp(n_, table.width)});
    width_ = vectors * table.width;
    panels_ = DivideUp(n_, width_);
    tiles_ = DivideUp(m_, table.pixel_tiles.pixels[vectors - 1]);
    grain_ = std::max(DivideUp(panels_, ThreadPool::Get().size()), kWork / (m_ * k_ * width_));
  }
  size_t PrepackedBytes() const override { return static_cast<size_t>(RoundUp(n_, Table().width) * k_) * sizeof(float); }
  void Prepack(const float* b, uint8_t* to) const override {
    auto* panels = reinterpret_cast<float*>(to);
    ThreadPool::Get().ParallelFor(0, panels_, grain_, [&](int64_t first, int64_t last, int) {
      for (int64_t n = first * width_; n < std::min(last * width_, n_); n += width_) {
        const int64_t width = PanelWidth(n), rows = std::min(width, n_ - n);
        if (rows < width) std::fill_n(panels + n * k_, width * k_, 0.0f);
        Table().pack_rows(panels + n * k_, width, rows, b + n * k_, k_, 1, k_);
      }
    });
  }
  // Each thread always has the same panels, which then stay in its cache.
  void Run(const float* a, const float*, const uint8_t* prepacked, float* out, uint8_t*) const override {
    ThreadPool::Get().ParallelFor(0, panels_, grain_, [&](int64_t first, int64_t last, int) {
      for (int64_t n = first * width_; n < std::min(last * width_, n_); n += width_)
        RunPanel(a, reinterpret_cast<const float*>(prepacked) + n * k_, n, out);
    });
  }

 private:
  static constexpr int64_t kVectors = 2;
  // Speed (suite, 1 thread, AVX-512): kWork: within 5 % from 1/4 to 4 times.
  static constexpr int64_t kWork = 100000;  // multiply-adds that are worth a thread's while

  int64_t PanelWidth(int64_t n) const { return std::min(width_, RoundUp(n_ - n, Table().width)); }
  void RunPanel(const float* a, const float* panel, int64_t n, float* out) const {
    const int64_t width = PanelWidth(n), columns = std::min(width, n_ - n), none = 0;
    const PixelTileKernel* tiles = Table().pixel_tiles.tiles[width / Table().width - 1];
    alignas(64) float sums[PixelTiles::kMaxPixels * kVectors * kMaxWidth];
    PixelTile t{};
    t.in_stride = k_;
    t.offsets = t.filter_offsets = &none;
    t.taps = 1;
    t.length = k_;
    t.filter = panel;
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const int64_t m = m_ * tile / tiles_, rows = m_ * (tile + 1) / tiles_ - m;
      t.in = a + m * k_;
      t.out = columns == width ? out + m * n_ + n : sums;
      t.out_stride = columns == width ? n_ : width;
      tiles[rows - 1](t);
      for (int64_t r = 0; r < rows && columns < width; ++r) std::copy_n(sums + r * width, columns, out + (m + r) * n_ + n);
    }
  }

  int64_t m_, n_, k_;
  int64_t width_ = 0, panels_ = 0, tiles_ = 0, grain_ = 1;
};

// One instruction over the whole vectors of x, and over the rest in a vector of its own.
void RunOver(float* x, uint64_t n, Code code) {
  const IsaTable& table = Table();
  const MicroOp op{code};
  const auto whole = static_cast<int64_t>(n) / table.width * table.width;
  auto run = [&](float* row, int64_t length) {
    uint8_t* registers[] = {reinterpret_cast<uint8_t*>(row)};
    table.execute(&op, 1, registers, length);
  };
  if (whole > 0) run(x, whole);
  const uint64_t rest = n - static_cast<uint64_t>(whole);
  if (rest == 0) return;
  alignas(64) float row[kMaxWidth] = {};
  std::copy_n(x + whole, rest, row);
  run(row, table.width);
  std::copy_n(row, rest, x + whole);
}

const MatrixKernels kFastMatrixKernels{
    [](uint64_t m, uint64_t n, uint64_t k, bool prepacks_b) -> std::unique_ptr<FloatGemm> {
      if (prepacks_b && m > 1) return std::make_unique<PrepackedFloatGemm>(m, n, k);
      return std::make_unique<BlockedFloatGemm>(MakeGemm(m, n, k));
    },
    [] { return static_cast<uint64_t>(ThreadPool::Get().size()); },
    [](uint64_t pieces, const std::function<void(uint64_t, uint64_t)>& work) {
      ThreadPool::Get().ParallelFor(0, static_cast<int64_t>(pieces), 1, [&](int64_t first, int64_t last, int slot) {
        for (int64_t i = first; i < last; ++i) work(static_cast<uint64_t>(i), static_cast<uint64_t>(slot));
      });
    },
    [](const ActivationFunction& f, float* x, uint64_t n) {
      if (f.type == DML_OPERATOR_ACTIVATION_SIGMOID) return RunOver(x, n, Code::FSigmoid);
      if (f.type == DML_OPERATOR_ACTIVATION_TANH) return RunOver(x, n, Code::FTanh);
      for (uint64_t i = 0; i < n; ++i) x[i] = f(x[i]);
    },
};

// Whether no two elements share memory: threads may then write a part each.
bool HasDistinctOffsets(const schema::TensorDesc& t) {
  std::vector<std::pair<uint64_t, uint64_t>> steps;  // stride, size
  for (uint32_t i = 0; i < t.rank; ++i)
    if (t.sizes[i] > 1) steps.emplace_back(t.strides[i], t.sizes[i]);
  std::sort(steps.begin(), steps.end());
  uint64_t reach = 1;
  for (auto [stride, size] : steps) {
    if (stride < reach) return false;
    reach = stride * (size - 1) + reach;
  }
  return true;
}

}  // namespace

std::unique_ptr<Kernel> MakeComposedKernel(const schema::OperatorDesc& desc) {
  for (const schema::TensorDesc* output : desc.Outputs())
    if (output && !HasDistinctOffsets(*output)) return nullptr;
  const bool attends = desc.type() == DML_OPERATOR_MULTIHEAD_ATTENTION || desc.type() == DML_OPERATOR_MULTIHEAD_ATTENTION1;
  return attends ? MakeAttentionWith(desc, kFastMatrixKernels) : MakeRecurrentWith(desc, kFastMatrixKernels);
}

}  // namespace dxtensor::software::fast
