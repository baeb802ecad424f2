#include "gemm.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "matrix_vector.h"
#include "panel_gemm.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kNarrowWork: within 5 % from 1/4 to 4 times; kMaxNarrowDepth 0.54 at 1/4, 0.89 at 1/2, 0.92 at 2;
// kNarrowRows (linear 64 x 512 to 10) 1.02 at 1/4, 0.60 at 4.
constexpr int64_t kNarrowRows = 64, kMaxNarrowDepth = 1024;  // rows of A at once, K: 1.64 for linear 64 x 512 to 10 (AVX-512)
constexpr int64_t kNarrowWork = 1 << 17;                     // multiply-adds of vectors that are worth a thread
constexpr int64_t kMaxTileColumns = 32;

class GemmKernel final : public Kernel {
 public:
  explicit GemmKernel(GemmShape shape);
  size_t ScratchBytes() const override {
    return is_narrow_ ? static_cast<size_t>(batch_ * k_ * Table().width) * sizeof(float) : panel_gemm_.ScratchBytes();
  }
  void Run(const KernelArguments& arguments) const override;

 private:
  friend struct GemmSource;
  void RunNarrow(const KernelArguments& arguments) const;

  Matrix a_, b_, c_, out_;
  int64_t batch_, channels_, m_, n_, k_;
  float alpha_, beta_;
  bool adds_c_, direct_, is_narrow_;
  Activations activations_;
  std::optional<ClampRange> clamp_;  // set where apply_epilogue does everything
  PanelGemm panel_gemm_;
};

struct GemmSource final : PanelSource {
  const GemmKernel& g;
  const KernelArguments& arguments;
  GemmSource(const GemmKernel& kernel, const KernelArguments& from) : g(kernel), arguments(from) {}

  int64_t Offset(const Matrix& x, int64_t batch, int64_t row, int64_t column) const {
    const int64_t outer = g.channels_ == 1 ? batch : batch / g.channels_;
    return outer * x.outer + (batch - outer * g.channels_) * x.inner + row * x.row + column * x.column;
  }
  // to[j * to_stride + i] = x[i * row_stride + j * column_stride]
  static void Pack(const Matrix& x, const uint8_t* from, float* to, int64_t to_stride, int64_t height, int64_t row_stride,
                   int64_t column_stride, int64_t n) {
    const IsaTable& table = Table();
    if (x.type == DML_TENSOR_DATA_TYPE_FLOAT32) {
      table.pack_rows(to, to_stride, height, reinterpret_cast<const float*>(from), row_stride, column_stride, n);
      return;
    }
    constexpr int64_t kChunk = 64;
    alignas(64) float values[32 * kChunk];
    for (int64_t j = 0; j < n; j += kChunk) {
      const int64_t count = std::min(kChunk, n - j);
      if (row_stride == 1) {
        for (int64_t i = 0; i < count; ++i)
          table.load(x.type, reinterpret_cast<uint8_t*>(values), from + (j + i) * column_stride * x.bytes, 1, height),
              std::memcpy(to + (j + i) * to_stride, values, static_cast<size_t>(height) * sizeof(float));
        continue;
      }
      for (int64_t i = 0; i < height; ++i)
        table.load(x.type, reinterpret_cast<uint8_t*>(values + i * kChunk), from + (i * row_stride + j * column_stride) * x.bytes,
                   column_stride, count);
      table.pack_rows(to + j * to_stride, to_stride, height, values, kChunk, 1, count);
    }
  }
  void PackA(int64_t batch, int64_t m, int64_t rows, int64_t k, int64_t count, float* to) const override {
    Pack(g.a_, arguments.inputs[0] + Offset(g.a_, batch, m, k) * g.a_.bytes, to, rows, rows, g.a_.row, g.a_.column, count);
    if (g.alpha_ != 1) Table().scale_shift(to, to, g.alpha_, 0, rows * count);
  }
  void PackB(int64_t batch, int64_t n, int64_t columns, int64_t width, int64_t k, int64_t count, float* to) const override {
    if (columns < width) std::memset(to, 0, static_cast<size_t>(width * count) * sizeof(float));
    Pack(g.b_, arguments.inputs[1] + Offset(g.b_, batch, k, n) * g.b_.bytes, to, width, columns, g.b_.column, g.b_.row, count);
  }
  // Some rows of all panels at a time: reads long segments of the rows of B.
  void PackBlockOfB(int64_t batch, int64_t n, int64_t n_last, int64_t width, int64_t k, int64_t count, float* to) const override {
    const int64_t k_step = g.b_.column == 1 ? 8 : count;
    for (int64_t j = 0; j < count; j += k_step)
      for (int64_t i = n; i < n_last; i += width)
        PackB(batch, i, std::min(width, n_last - i), width, k + j, std::min(k_step, count - j), to + (i - n) * count + j * width);
  }
  const float* DirectA(int64_t batch, int64_t m, int64_t k, int64_t* stride) const override {
    if (g.a_.type != DML_TENSOR_DATA_TYPE_FLOAT32 || (g.a_.column != 1 && g.k_ > 1) || g.alpha_ != 1) return nullptr;
    *stride = g.a_.row;
    return reinterpret_cast<const float*>(arguments.inputs[0]) + Offset(g.a_, batch, m, k);
  }
  const float* DirectB(int64_t batch, int64_t n, int64_t, int64_t k, int64_t* stride) const override {
    if (g.b_.type != DML_TENSOR_DATA_TYPE_FLOAT32 || g.b_.column != 1) return nullptr;
    *stride = g.b_.row;
    return reinterpret_cast<const float*>(arguments.inputs[1]) + Offset(g.b_, batch, k, n);
  }
  float* DirectC(int64_t batch, int64_t m, int64_t n, int64_t, int64_t* stride) const override {
    if (!g.direct_) return nullptr;
    *stride = g.out_.row;
    return reinterpret_cast<float*>(arguments.outputs[0]) + Offset(g.out_, batch, m, n);
  }
  bool NeedsStore() const override { return g.adds_c_ || !g.activations_.empty(); }
  void Store(int64_t batch, int64_t m, int64_t rows, int64_t n, int64_t columns, float* tile, int64_t stride) const override {
    const IsaTable& table = Table();
    if (g.clamp_) {
      TileEpilogue epilogue{g.clamp_->low, g.clamp_->high};
      epilogue.residual_stride = g.c_.row;
      if (g.adds_c_) epilogue.residual = reinterpret_cast<const float*>(arguments.inputs[2]) + Offset(g.c_, batch, m, n);
      table.apply_epilogue(reinterpret_cast<float*>(arguments.outputs[0]) + Offset(g.out_, batch, m, n), g.out_.row, tile, stride, epilogue,
                           rows, columns);
      return;
    }
    alignas(64) float local[kMaxTileFloats];
    if (!g.activations_.empty() && stride != table.tile_columns) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(local + r * table.tile_columns, tile + r * stride, static_cast<size_t>(columns) * sizeof(float));
      tile = local;
      stride = table.tile_columns;
    }
    if (g.adds_c_) {
      alignas(64) float residual[32];
      for (int64_t r = 0; r < rows; ++r) {
        table.load(g.c_.type, reinterpret_cast<uint8_t*>(residual), arguments.inputs[2] + Offset(g.c_, batch, m + r, n) * g.c_.bytes,
                   g.c_.column, columns);
        table.axpy(tile + r * stride, residual, g.beta_, columns);
      }
    }
    if (!g.activations_.empty()) Activate(g.activations_, tile, rows * stride);
    for (int64_t r = 0; r < rows; ++r) {
      uint8_t* to = arguments.outputs[0] + Offset(g.out_, batch, m + r, n) * g.out_.bytes;
      const auto* from = reinterpret_cast<const uint8_t*>(tile + r * stride);
      if (to != from) table.store(g.out_.type, to, from, g.out_.column, columns);
    }
  }
};

GemmShape GemmShapeOf(const schema::OperatorDesc& desc, Activations activations, const schema::TensorDesc& out) {
  const schema::TensorDesc &a = *desc.Tensor("ATensor"), &b = *desc.Tensor("BTensor");
  const bool trans_a = desc.UInt("TransA") == DML_MATRIX_TRANSFORM_TRANSPOSE,
             trans_b = desc.UInt("TransB") == DML_MATRIX_TRANSFORM_TRANSPOSE;
  GemmShape p;
  p.alpha = desc.Float("Alpha");
  p.activations = std::move(activations);
  p.a = Matrix(a, trans_a);
  p.b = Matrix(b, trans_b);
  p.out = Matrix(out, false);
  const uint32_t rank = out.rank;
  p.m = out.sizes[rank - 2];
  p.n = out.sizes[rank - 1];
  p.k = trans_a ? a.sizes[rank - 2] : a.sizes[rank - 1];
  if (auto& c = desc.Tensor("CTensor")) {
    p.c = Matrix(*c, false);
    p.beta = desc.Float("Beta");
    p.adds_c = p.beta != 0;
  }
  if (rank > 2) p.channels = out.sizes[rank - 3];
  p.batch = p.channels * (rank > 3 ? out.sizes[rank - 4] : 1);
  // One GEMM for the whole batch where B is shared and the rows of A and of the output are evenly spaced across it.
  auto row_of = [&](const Matrix& x) { return p.m == 1 ? x.inner : x.row; };
  auto merges = [&](const Matrix& x) { return row_of(x) != 0 && x.inner == row_of(x) * p.m; };
  if (p.batch == p.channels && p.batch > 1 && p.b.inner == 0 && merges(p.a) && merges(p.out) &&
      (!p.adds_c || merges(p.c) || (p.c.inner == 0 && p.c.row == 0))) {
    for (Matrix* x : {&p.a, &p.out, &p.c}) x->row = row_of(*x);
    p.m *= p.batch;
    p.batch = p.channels = 1;
  }
  return p;
}

GemmKernel::GemmKernel(GemmShape p)
    : a_(p.a),
      b_(p.b),
      c_(p.c),
      out_(p.out),
      batch_(p.batch),
      channels_(p.channels),
      m_(p.m),
      n_(p.n),
      k_(p.k),
      alpha_(p.alpha),
      beta_(p.beta),
      adds_c_(p.adds_c),
      activations_(std::move(p.activations)) {
  direct_ = out_.type == DML_TENSOR_DATA_TYPE_FLOAT32 && out_.column == 1 && n_ != 1;
  if (direct_ && (!adds_c_ || (beta_ == 1 && c_.type == DML_TENSOR_DATA_TYPE_FLOAT32 && c_.column == 1))) clamp_ = ClampOf(activations_);
  // Small N: at most a vector of columns, narrower than a tile, and K-contiguous rows of A.
  is_narrow_ = n_ <= Table().width && Table().width < Table().tile_columns && m_ >= kNarrowRows && k_ <= kMaxNarrowDepth &&
               a_.column == 1 && a_.type == DML_TENSOR_DATA_TYPE_FLOAT32 && alpha_ == 1;
  if (is_narrow_) return;
  panel_gemm_ = PanelGemm(p.batch, m_, n_, k_, direct_, a_.inner == 0 && a_.outer == 0);
}

void GemmKernel::Run(const KernelArguments& arguments) const {
  if (is_narrow_) RunNarrow(arguments);
  else panel_gemm_.Run(GemmSource(*this, arguments), arguments.scratch);
}

void GemmKernel::RunNarrow(const KernelArguments& arguments) const {
  const IsaTable& table = Table();
  const GemmSource source(*this, arguments);
  const int64_t width = table.width, stride = table.tile_columns, blocks = (m_ + kNarrowRows - 1) / kNarrowRows;
  auto* b = reinterpret_cast<float*>(arguments.scratch);
  for (int64_t batch = 0; batch < batch_; ++batch) source.PackB(batch, 0, n_, width, 0, k_, b + batch * k_ * width);
  const bool stores = source.NeedsStore() || !direct_ || n_ != width;
  const int64_t grain = std::max<int64_t>(1, kNarrowWork / (kNarrowRows * k_));
  ThreadPool::Get().ParallelFor(0, batch_ * blocks, grain, [&](int64_t first, int64_t last, int) {
    alignas(64) float sums[kNarrowRows * kMaxTileColumns] = {};
    for (int64_t i = first; i < last; ++i) {
      const int64_t batch = i / blocks, m = i % blocks * kNarrowRows, rows = std::min(kNarrowRows, m_ - m);
      int64_t a_stride = 0, c_stride = stride;
      const float* a = source.DirectA(batch, m, 0, &a_stride);
      float* c = stores ? sums : source.DirectC(batch, m, 0, n_, &c_stride);
      table.narrow_gemm(k_, a, a_stride, b + batch * k_ * width, c, c_stride, rows);
      if (stores) source.Store(batch, m, rows, 0, n_, sums, stride);
    }
  });
}

}  // namespace

std::optional<GemmShape> ShapeOfGemm(const schema::OperatorDesc& desc, const Activations& after, const schema::TensorDesc* stored) {
  if (desc.type() != DML_OPERATOR_GEMM) return {};
  const schema::TensorDesc& out = stored ? *stored : *desc.Tensor("OutputTensor");
  auto is_float = [](DML_TENSOR_DATA_TYPE t) { return t == DML_TENSOR_DATA_TYPE_FLOAT32 || t == DML_TENSOR_DATA_TYPE_FLOAT16; };
  if (!is_float(desc.Tensor("ATensor")->data_type) || !is_float(out.data_type) || out.rank < 2 || out.rank > 4) return {};
  auto activations = FusedActivations(desc);
  if (!activations) return {};
  activations->insert(activations->end(), after.begin(), after.end());
  return GemmShapeOf(desc, std::move(*activations), out);
}

std::unique_ptr<Kernel> MakeGemmKernel(const schema::OperatorDesc& desc, const Activations& after, const schema::TensorDesc* stored) {
  auto shape = ShapeOfGemm(desc, after, stored);
  if (!shape) return nullptr;
  if (auto kernel = MakeMatrixVectorKernel(*shape)) return kernel;
  return std::make_unique<GemmKernel>(std::move(*shape));
}

}  // namespace dxtensor::software::fast
