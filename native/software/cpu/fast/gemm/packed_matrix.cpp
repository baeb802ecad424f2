#include "packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "gemm.h"
#include "matrix_vector.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (no workload): not tuned, but kMinUnpacked, from which on unpacking took less time for [M, 576] x [1536, 576] (AVX2, AVX-512).
constexpr int64_t kWork = 1 << 17;    // elements of the matrix that are worth a thread
constexpr int64_t kBlock = 512;       // results that get their epilogue at once
constexpr int64_t kMaxVectors = 32;   // with more, unpacking the matrix pays
constexpr int64_t kMinUnpacked = 12;  // vectors for which some rows at once become floats
constexpr int64_t kRowsAtOnce = 64;   // which stay in the cache for all vectors

// Codes [rows, width] with one scale, and perhaps one minimum, for each block of a row; these are float32 or halves.
struct PackedMatrix {
  int64_t rows = 1, width = 1, blocks = 1;
  int bits = 8;
  int32_t middle = 0;
  bool flips = false;  // signed
  int scale_bytes = 4, minimum_bytes = 0;

  int64_t RowBytes() const { return width * bits / 8; }
  int64_t Block() const { return width / blocks; }
  // Of a row; null minima where there are none.
  const uint8_t* ScalesOf(const KernelArguments& a, int64_t row) const { return a.inputs[3] + row * blocks * scale_bytes; }
  const uint8_t* MinimaOf(const KernelArguments& a, int64_t row) const {
    return minimum_bytes ? a.inputs[4] + row * blocks * minimum_bytes : nullptr;
  }
};

// Number i of float32 or of halves; 0 where there are none.
float NumberAt(const uint8_t* from, int64_t i, int bytes) {
  if (!from) return 0;
  float number;
  if (bytes == 2) Table().load(DML_TENSOR_DATA_TYPE_FLOAT16, reinterpret_cast<uint8_t*>(&number), from + 2 * i, 1, 1);
  else std::memcpy(&number, from + 4 * i, 4);
  return number;
}

std::optional<PackedMatrix> PackedMatrixOf(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs();
  if (desc.type() != DML_OPERATOR_DEQUANTIZE || in.size() != 2 || !in[1]) return {};
  const schema::TensorDesc &codes = *in[0], &scales = *in[1], &out = *desc.Outputs()[0];
  if (scales.data_type != DML_TENSOR_DATA_TYPE_FLOAT32 || out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return {};
  if (!codes.IsPacked() || !scales.IsPacked() || !out.IsPacked()) return {};
  PackedMatrix m;
  switch (codes.data_type) {
    case DML_TENSOR_DATA_TYPE_UINT4: m.bits = 4, m.middle = 8; break;
    case DML_TENSOR_DATA_TYPE_UINT8: m.middle = 128; break;
    case DML_TENSOR_DATA_TYPE_INT8: m.middle = 128, m.flips = true; break;
    default: return {};
  }
  const uint32_t last = codes.rank - 1;
  for (uint32_t i = 0; i < last; ++i) {
    if (scales.sizes[i] != codes.sizes[i]) return {};
    m.rows *= codes.sizes[i];
  }
  m.width = codes.sizes[last];
  m.blocks = scales.sizes[last];
  if (m.bits == 4 && m.Block() % 2 != 0) return {};
  return m;
}

// (code - middle) * scale + minimum of a row. `parts`: of 4 bits, those of the low halves of a block's bytes come before those of the high
// ones.
void UnpackRow(const PackedMatrix& m, const uint8_t* codes, const uint8_t* scales, const uint8_t* minima, float* to, bool parts) {
  const int64_t block = m.Block(), half = block / 2;
  const int flip = m.flips ? 0x80 : 0;
  for (int64_t b = 0; b < m.blocks; ++b, codes += block * m.bits / 8, to += block) {
    const float scale = NumberAt(scales, b, m.scale_bytes);
    if (m.bits == 8) {
      for (int64_t i = 0; i < block; ++i) to[i] = static_cast<float>((codes[i] ^ flip) - 128) * scale;
    } else if (parts) {
      for (int64_t i = 0; i < half; ++i) to[i] = static_cast<float>((codes[i] & 15) - 8) * scale;
      for (int64_t i = 0; i < half; ++i) to[half + i] = static_cast<float>((codes[i] >> 4) - 8) * scale;
    } else {
      for (int64_t i = 0; i < half; ++i) {
        to[2 * i] = static_cast<float>((codes[i] & 15) - 8) * scale;
        to[2 * i + 1] = static_cast<float>((codes[i] >> 4) - 8) * scale;
      }
    }
    if (!minima) continue;
    const float minimum = NumberAt(minima, b, m.minimum_bytes);
    for (int64_t i = 0; i < block; ++i) to[i] += minimum;
  }
}

// The epilogue of results [j, j + n) of vector v: alpha, C, activations.
void Finish(const GemmShape& p, const KernelArguments& a, int64_t v, int64_t j, int64_t n, const float* sums) {
  const IsaTable& table = Table();
  alignas(64) float block[kBlock], c_values[kBlock];
  static_assert(kRowsAtOnce <= kBlock);
  table.scale_shift(block, sums, p.alpha, 0, n);
  if (p.adds_c) {
    table.load(p.c.type, reinterpret_cast<uint8_t*>(c_values), a.inputs[2] + (v * p.c.row + j * p.c.column) * p.c.bytes, p.c.column, n);
    table.axpy(block, c_values, p.beta, n);
  }
  Activate(p.activations, block, n);
  table.store(p.out.type, a.outputs[0] + (v * p.out.row + j * p.out.column) * p.out.bytes, reinterpret_cast<const uint8_t*>(block),
              p.out.column, n);
}

// For many vectors, and instruction sets without products of bytes: some rows at once become floats, which stay in the cache for all
// vectors.
class UnpackingGemmKernel final : public Kernel {
 public:
  UnpackingGemmKernel(GemmShape p, const PackedMatrix& matrix) : p_(std::move(p)), matrix_(matrix) {}
  size_t ScratchBytes() const override {
    return static_cast<size_t>(p_.m * Padded(p_.k) + ThreadPool::Get().size() * OfSlot()) * sizeof(float);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool& pool = ThreadPool::Get();
    auto* vectors = reinterpret_cast<float*>(a.scratch);
    float* slots = vectors + p_.m * Padded(p_.k);
    for (int64_t v = 0; v < p_.m; ++v) LoadVector(a, v, vectors + v * Padded(p_.k), slots);
    const int64_t tasks = DivideUp(matrix_.rows, kRowsAtOnce), work = kRowsAtOnce * p_.k * p_.m;
    pool.ParallelFor(0, tasks, std::max<int64_t>(1, kWork / work), [&](int64_t first, int64_t last, int slot) {
      float* rows = slots + slot * OfSlot();
      float* sums = rows + kMaxDotRows * Padded(p_.k);
      for (int64_t task = first; task < last; ++task) {
        const int64_t j = task * kRowsAtOnce, n = std::min(kRowsAtOnce, matrix_.rows - j);
        for (int64_t r = 0; r < n; r += kMaxDotRows) Multiply(a, j + r, std::min(kMaxDotRows, n - r), rows, vectors, sums + r);
        for (int64_t v = 0; v < p_.m; ++v) Finish(p_, a, v, j, n, sums + v * kRowsAtOnce);
      }
    });
  }

 private:
  static constexpr int64_t kMaxDotRows = 4, kMaxSteps = 256;  // additions to one lane: longer sums lose too much to rounding

  static int64_t Padded(int64_t floats) { return RoundUp(floats, kMaxWidth); }
  int64_t OfSlot() const { return kMaxDotRows * Padded(p_.k) + p_.m * kRowsAtOnce; }

  // In the order of unpacked rows. `buffer`: K floats.
  void LoadVector(const KernelArguments& a, int64_t v, float* to, float* buffer) const {
    float* x = matrix_.bits == 8 ? to : buffer;
    Table().load(p_.a.type, reinterpret_cast<uint8_t*>(x), a.inputs[0] + v * p_.a.row * p_.a.bytes, p_.a.column, p_.k);
    if (matrix_.bits == 8) return;
    const int64_t block = matrix_.Block(), half = block / 2;
    for (int64_t first = 0; first < p_.k; first += block)
      for (int64_t i = 0; i < half; ++i) {
        to[first + i] = x[first + 2 * i];
        to[first + half + i] = x[first + 2 * i + 1];
      }
  }
  // sums[v * kRowsAtOnce + r] = row j + r times vector v.
  void Multiply(const KernelArguments& a, int64_t j, int64_t n, float* rows, const float* vectors, float* sums) const {
    const IsaTable& table = Table();
    const int64_t stride = Padded(p_.k), max_length = kMaxSteps * table.width;
    for (int64_t r = 0; r < n; ++r)
      UnpackRow(matrix_, a.inputs[1] + (j + r) * matrix_.RowBytes(), matrix_.ScalesOf(a, j + r), matrix_.MinimaOf(a, j + r),
                rows + r * stride, true);
    const int64_t at_once = p_.m == 1 ? n : table.dot_sums / (p_.m == 2 ? 2 : table.max_dot_vectors);
    for (int64_t k = 0; k < p_.k; k += max_length) {
      const int64_t length = std::min(max_length, p_.k - k);
      for (int64_t r = 0; r < n; r += at_once) {
        const int count = static_cast<int>(std::min(at_once, n - r));
        if (p_.m == 1) table.dot_rows(sums, rows + k, stride, vectors + k, count, length, k > 0);
        for (int64_t v = 0; p_.m > 1 && v < p_.m; v += table.max_dot_vectors) {
          const auto some = static_cast<int>(std::min<int64_t>(table.max_dot_vectors, p_.m - v));
          table.dot_tile({rows + r * stride + k, stride, count, vectors + v * stride + k, stride, some, length, sums + v * kRowsAtOnce + r,
                          kRowsAtOnce, k > 0});
        }
      }
    }
  }

  GemmShape p_;
  PackedMatrix matrix_;
};

class PackedGemmKernel final : public Kernel {
 public:
  PackedGemmKernel(GemmShape p, const PackedMatrix& matrix) : p_(std::move(p)), matrix_(matrix) {
    const IsaTable& table = Table();
    const int64_t bytes = table.packed_lanes * 4, of_lane = 32 / matrix.bits, block = matrix.Block();
    groups_ = DivideUp(matrix.RowBytes(), kPackedBytes);
    // The first scale of a window, and its vector of codes.
    int64_t window = 0, window_at = 0;
    for (int64_t at = 0; at < groups_ * kPackedBytes; at += bytes) {
      PackedScales s{};
      const int64_t first = at * 8 / matrix.bits;
      s.first = static_cast<int32_t>(std::min(first / block, matrix.blocks - 1));
      for (int64_t lane = 0; lane < table.packed_lanes; ++lane) {
        const int64_t element = first + lane * of_lane;
        if (element >= matrix.width) break;
        s.lanes[lane] = static_cast<int32_t>(element / block - s.first);
        s.count = s.lanes[lane] + 1;
      }
      if (at == 0 || s.first + s.count - window > table.width) {
        window = s.first;
        window_at = static_cast<int64_t>(scales_of_.size());
      } else {
        PackedScales& begin = scales_of_[static_cast<size_t>(window_at)];
        begin.count = std::max(begin.count, static_cast<int32_t>(s.first + s.count - window));
        for (int32_t& lane : s.lanes) lane += static_cast<int32_t>(s.first - window);
        s.count = 0;
      }
      scales_of_.push_back(s);
    }
  }
  size_t ScratchBytes() const override {
    return static_cast<size_t>(p_.m * groups_) * sizeof(PackedGroup) + static_cast<size_t>(p_.m * Padded(p_.k)) * sizeof(float) +
           static_cast<size_t>(p_.m * (matrix_.rows + BlockSums())) * sizeof(float);
  }
  void Run(const KernelArguments& a) const override {
    const IsaTable& table = Table();
    ThreadPool& pool = ThreadPool::Get();
    auto* groups = reinterpret_cast<PackedGroup*>(a.scratch);
    auto* copies = reinterpret_cast<float*>(groups + p_.m * groups_);
    float* block_sums = copies + p_.m * Padded(p_.k);
    float* sums = block_sums + p_.m * BlockSums();
    bool is_plain[kMaxVectors];
    for (int64_t v = 0; v < p_.m; ++v) {
      float* x = copies + v * Padded(p_.k);
      table.load(p_.a.type, reinterpret_cast<uint8_t*>(x), a.inputs[0] + v * p_.a.row * p_.a.bytes, p_.a.column, p_.k);
      is_plain[v] = table.pack_vector(x, p_.k, matrix_.bits, matrix_.middle, groups + v * groups_);
      if (BlockSums() && is_plain[v]) SumBlocks(groups + v * groups_, block_sums + v * BlockSums());
    }
    const int64_t tasks = DivideUp(matrix_.rows, kRowsAtOnce);
    const int64_t grain = std::max<int64_t>(1, kWork / (kRowsAtOnce * p_.k * p_.m));
    pool.ParallelFor(0, tasks, grain, [&](int64_t first, int64_t last, int) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t j = task * kRowsAtOnce, n = std::min(kRowsAtOnce, matrix_.rows - j);
        PackedDot t{};
        t.codes = a.inputs[1] + j * matrix_.RowBytes();
        t.row_bytes = matrix_.RowBytes();
        t.scales = matrix_.ScalesOf(a, j);
        t.minima = matrix_.MinimaOf(a, j);
        t.half_scales = matrix_.scale_bytes == 2;
        t.half_minima = matrix_.minimum_bytes == 2;
        t.blocks = matrix_.blocks;
        t.scales_of = scales_of_.data();
        t.rows = static_cast<int>(n);
        t.bits = matrix_.bits;
        t.flips = matrix_.flips;
        for (int64_t v = 0; v < p_.m; ++v) {
          t.groups = groups + v * groups_;
          t.block_sums = block_sums + v * BlockSums();
          t.sums = sums + v * matrix_.rows + j;
          if (is_plain[v]) table.packed_dot(t);
          else DotOfFloats(t, copies + v * Padded(p_.k));
          Finish(p_, a, v, j, n, t.sums);
        }
      }
    });
  }

 private:
  static int64_t Padded(int64_t floats) { return RoundUp(floats, kMaxWidth); }

  // Sums of blocks of a vector, for minima.
  int64_t BlockSums() const { return matrix_.minimum_bytes ? Padded(matrix_.blocks) : 0; }
  void SumBlocks(const PackedGroup* groups, float* to) const {
    constexpr int64_t kLanes = kPackedBytes / 4;
    const int64_t lanes_of_block = matrix_.Block() * matrix_.bits / 32;
    std::fill(to, to + BlockSums(), 0.0f);
    for (int64_t b = 0; b < matrix_.blocks; ++b) {
      double sum = 0;
      for (int64_t lane = b * lanes_of_block; lane < (b + 1) * lanes_of_block; ++lane)
        sum += static_cast<double>(groups[lane / kLanes].sums[lane % kLanes]) * groups[lane / kLanes].scale;
      to[b] = static_cast<float>(sum);
    }
  }

  // For vectors that integers cannot represent: with NaN, infinities, denormals, or numbers whose sums could overflow.
  void DotOfFloats(const PackedDot& t, const float* x) const {
    const int64_t block = matrix_.Block();
    for (int r = 0; r < t.rows; ++r) {
      const uint8_t* codes = t.codes + r * t.row_bytes;
      double total = 0;
      for (int64_t i = 0; i < matrix_.width; ++i) {
        const int32_t code = t.bits == 4 ? codes[i / 2] >> (i % 2 * 4) & 15 : codes[i] ^ (t.flips ? 0x80 : 0);
        const int64_t b = r * t.blocks + i / block;
        const double value = static_cast<float>(code - matrix_.middle) * NumberAt(t.scales, b, matrix_.scale_bytes);
        total += (value + NumberAt(t.minima, b, matrix_.minimum_bytes)) * x[i];
      }
      t.sums[r] = static_cast<float>(total);
    }
  }

  GemmShape p_;
  PackedMatrix matrix_;
  int64_t groups_ = 0;
  std::vector<PackedScales> scales_of_;
};

class DequantizeKernel final : public Kernel {
 public:
  explicit DequantizeKernel(const PackedMatrix& m) : m_(m) {}
  void Run(const KernelArguments& a) const override {
    const uint8_t* scales = a.inputs[1];
    auto* out = reinterpret_cast<float*>(a.outputs[0]);
    ThreadPool::Get().ParallelFor(0, m_.rows, std::max<int64_t>(1, kWork / m_.width), [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row)
        UnpackRow(m_, a.inputs[0] + row * m_.RowBytes(), scales + row * m_.blocks * m_.scale_bytes, nullptr, out + row * m_.width, false);
    });
  }

 private:
  PackedMatrix m_;
};

// Whether the rows of B are K-contiguous, one after the other.
bool HasRows(const GemmShape& p) { return (p.k == 1 || p.b.row == 1) && (p.n == 1 || p.b.column == p.k); }

}  // namespace

std::unique_ptr<Kernel> MakePackedGemmKernel(const schema::OperatorDesc& gemm, const schema::OperatorDesc& dequantize,
                                             const Activations& after, const schema::TensorDesc* stored, const PackedParts& parts) {
  auto matrix = PackedMatrixOf(dequantize);
  auto shape = ShapeOfGemm(gemm, after, stored);
  if (!matrix || !shape || shape->batch != 1 || shape->m > kMaxVectors) return nullptr;
  GemmShape& p = *shape;
  const int64_t of_lane = 32 / matrix->bits;
  if (p.k != matrix->width || p.n != matrix->rows || matrix->Block() % of_lane != 0 || !HasRows(p)) return nullptr;
  if (parts.half_scales) matrix->scale_bytes = 2;
  if (parts.minima) {
    const auto c = ShapeOfGemm(*parts.minima, {}, nullptr);
    if (!c || c->batch != 1 || c->m != p.m || c->n != p.n || c->k != matrix->blocks || !HasRows(*c) || !c->activations.empty())
      return nullptr;
    if (c->alpha != 1 || p.alpha != 1 || p.beta != 1 || c->b.type != DML_TENSOR_DATA_TYPE_FLOAT32) return nullptr;
    if (c->out.type != DML_TENSOR_DATA_TYPE_FLOAT32) return nullptr;  // C is not rounded on the way
    matrix->minimum_bytes = parts.half_minima ? 2 : 4;
    p.c = c->c;
    p.beta = c->beta;
    p.adds_c = c->adds_c;
  }
  if (!Table().packed_dot || p.m >= kMinUnpacked) return std::make_unique<UnpackingGemmKernel>(std::move(p), *matrix);
  return std::make_unique<PackedGemmKernel>(std::move(p), *matrix);
}

bool SumsBlocks(const schema::OperatorDesc& reduce, const schema::OperatorDesc& gemm, const schema::OperatorDesc& dequantize) {
  const auto matrix = PackedMatrixOf(dequantize);
  const auto shape = ShapeOfGemm(gemm, {}, nullptr);
  if (!matrix || !shape || reduce.type() != DML_OPERATOR_REDUCE || reduce.UInt("Function") != DML_REDUCE_FUNCTION_SUM) return false;
  const schema::TensorDesc &in = *reduce.Inputs()[0], &out = *reduce.Outputs()[0];
  if (in.data_type != DML_TENSOR_DATA_TYPE_FLOAT32 || out.data_type != in.data_type || !in.IsPacked() || !out.IsPacked()) return false;
  if (reduce.UInts("Axes") != std::vector<uint32_t>{in.rank - 1} || in.sizes[in.rank - 1] != matrix->Block()) return false;
  const Matrix& a = shape->a;
  if (a.type != in.data_type || (shape->k > 1 && a.column != 1) || (shape->m > 1 && a.row != shape->k)) return false;
  int64_t count = 1;
  for (uint32_t i = 0; i < in.rank; ++i) count *= in.sizes[i];
  return count == shape->m * shape->k;
}

std::unique_ptr<Kernel> MakeDequantizeKernel(const schema::OperatorDesc& desc) {
  const auto matrix = PackedMatrixOf(desc);
  if (!matrix) return nullptr;
  return std::make_unique<DequantizeKernel>(*matrix);
}

}  // namespace dxtensor::software::fast
