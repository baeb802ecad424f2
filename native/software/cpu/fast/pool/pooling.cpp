// Average and maximum pooling of floats and their gradients, plane by plane.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int kSpatial = 3;
constexpr int64_t kMaxPlane = 1 << 24;
using Triple = std::array<int64_t, kSpatial>;

struct Grid {
  Triple size{1, 1, 1}, stride{};
  int64_t images, channels, image_stride, channel_stride;
  FloatOperand floats;

  explicit Grid(const schema::TensorDesc& t) : floats(t) {
    const Extents strides = BroadcastStrides(t);
    images = t.sizes[0];
    channels = t.sizes[1];
    image_stride = strides[0];
    channel_stride = strides[1];
    for (uint32_t d = 2; d < t.rank; ++d) {
      size[kSpatial - t.rank + d] = t.sizes[d];
      stride[kSpatial - t.rank + d] = strides[d];
    }
  }
  int64_t plane() const { return size[0] * size[1] * size[2]; }
  bool packed() const {
    return (size[2] == 1 || stride[2] == 1) && (size[1] == 1 || stride[1] == size[2]) && (size[0] == 1 || stride[0] == size[2] * size[1]);
  }
  int64_t Start(int64_t plane) const { return plane / channels * image_stride + plane % channels * channel_stride; }
  int64_t Row(int64_t z, int64_t y) const { return z * stride[0] + y * stride[1]; }
};

struct Window {
  Triple size{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{};

  explicit Window(const schema::OperatorDesc& desc) {
    const auto spatial = static_cast<size_t>(desc.UInt("DimensionCount")), first = kSpatial - spatial;
    for (size_t d = 0; d < spatial; ++d) {
      size[first + d] = desc.UInts("WindowSize")[d];
      stride[first + d] = desc.UInts("Strides")[d];
      padding[first + d] = desc.UInts("StartPadding")[d];
      if (desc.Has("Dilations")) dilation[first + d] = desc.UInts("Dilations")[d];
    }
  }
};

// The outputs along one dimension: which taps of an output's window lie in the image, and for a tap which outputs it serves.
struct Along {
  int64_t stride, dilation, padding, taps, image, output_count;

  Along(const Window& w, size_t d, int64_t image, int64_t output_count)
      : stride(w.stride[d]), dilation(w.dilation[d]), padding(w.padding[d]), taps(w.size[d]), image(image), output_count(output_count) {}
  int64_t Position(int64_t output_index, int64_t tap) const { return output_index * stride + tap * dilation - padding; }
  bool Inside(int64_t output_index, int64_t tap) const {
    const int64_t at = Position(output_index, tap);
    return at >= 0 && at < image;
  }
  int64_t Count(int64_t output_index) const {
    int64_t n = 0;
    for (int64_t tap = 0; tap < taps; ++tap) n += Inside(output_index, tap);
    return n;
  }
  void OutputsOf(int64_t tap, int64_t* first, int64_t* last) const {
    const int64_t start = tap * dilation - padding;
    *first = start >= 0 ? 0 : (-start + stride - 1) / stride;
    *last = start >= image ? 0 : std::min(output_count, (image - 1 - start) / stride + 1);
  }
};

// The work on one plane: `image` is the larger side (packed floats), the outputs are the smaller.
class PoolingKernel : public Kernel {
 public:
  PoolingKernel(const schema::OperatorDesc& desc, const schema::TensorDesc& image, const schema::TensorDesc& output_count)
      : image_(image),
        positions_(output_count),
        window_(desc),
        z_(window_, 0, image_.size[0], positions_.size[0]),
        y_(window_, 1, image_.size[1], positions_.size[1]),
        x_(window_, 2, image_.size[2], positions_.size[2]) {
    for (int64_t tap = 0; tap < x_.taps; ++tap) {
      int64_t first, last;
      x_.OutputsOf(tap, &first, &last);
      served_.push_back({first, last});
    }
    stride_ = x_.output_count == 1 ? 1 : x_.stride;
    row_floats_ = std::max(x_.padding + x_.image, Padded(x_.output_count) * stride_ + (x_.taps - 1) * x_.dilation) + kMaxWidth;
  }

 protected:
  // Floats of scratch memory for each thread.
  virtual int64_t OwnFloats() const = 0;
  virtual void Plane(const KernelArguments& arguments, int64_t plane, float* own) const = 0;

  size_t ScratchBytes() const override { return static_cast<size_t>(Padded(OwnFloats()) * ThreadPool::Get().size()) * sizeof(float); }
  void Run(const KernelArguments& arguments) const override {
    const int64_t work = positions_.plane() * window_.size[0] * window_.size[1] * window_.size[2];
    const int64_t own = Padded(OwnFloats());
    ThreadPool::Get().ParallelFor(0, positions_.images * positions_.channels, std::max<int64_t>(1, 20000 / work),
                                  [&](int64_t first, int64_t last, int slot) {
                                    for (int64_t plane = first; plane < last; ++plane)
                                      Plane(arguments, plane, reinterpret_cast<float*>(arguments.scratch) + slot * own);
                                  });
  }
  static int64_t Padded(int64_t floats) { return (floats + kMaxWidth - 1) / kMaxWidth * kMaxWidth; }

  // A plane as packed floats: a pointer to its memory, or to a copy in `buffer`.
  const float* ReadPlane(const Grid& grid, const uint8_t* base, int64_t plane, float* buffer) const {
    const int64_t start = grid.Start(plane), width = grid.size[2];
    if (grid.packed()) return grid.floats.Read(base, start, 1, grid.plane(), buffer);
    for (int64_t z = 0; z < grid.size[0]; ++z)
      for (int64_t y = 0; y < grid.size[1]; ++y)
        Table().load(grid.floats.type, reinterpret_cast<uint8_t*>(buffer + (z * grid.size[1] + y) * width),
                     base + (start + grid.Row(z, y)) * grid.floats.bytes, grid.stride[2], width);
    return buffer;
  }
  // Where to compute a plane for WritePlane: its own memory, or `buffer`.
  static float* PlaneBuffer(const Grid& grid, uint8_t* base, int64_t plane, float* buffer) {
    return grid.packed() ? grid.floats.Target(base, grid.Start(plane), 1, buffer) : buffer;
  }
  static void WritePlane(const Grid& grid, uint8_t* base, int64_t plane, const float* from) {
    if (grid.packed()) {
      grid.floats.Write(base, grid.Start(plane), 1, grid.plane(), from);
      return;
    }
    for (int64_t z = 0; z < grid.size[0]; ++z)
      for (int64_t y = 0; y < grid.size[1]; ++y)
        grid.floats.Write(base, grid.Start(plane) + grid.Row(z, y), grid.stride[2], grid.size[2],
                          from + (z * grid.size[1] + y) * grid.size[2]);
  }
  // visit(row of the image in packed elements, tap along x) for the taps of the windows of one row of outputs.
  template <typename Visit>
  void ForTaps(int64_t z, int64_t y, const Visit& visit) const {
    for (int64_t kz = 0; kz < window_.size[0]; ++kz) {
      if (!z_.Inside(z, kz)) continue;
      for (int64_t ky = 0; ky < window_.size[1]; ++ky) {
        if (!y_.Inside(y, ky)) continue;
        const int64_t row = (z_.Position(z, kz) * image_.size[1] + y_.Position(y, ky)) * image_.size[2];
        for (int64_t kx = 0; kx < window_.size[2]; ++kx) visit(row, kx);
      }
    }
  }

  // visit(rows, count, z, y) for each row of outputs, with the rows of the image that its windows meet, in packed elements.
  template <typename Visit>
  void ForRows(const Visit& visit) const {
    std::vector<int64_t> row_count(static_cast<size_t>(window_.size[0] * window_.size[1]));
    for (int64_t z = 0; z < positions_.size[0]; ++z)
      for (int64_t y = 0; y < positions_.size[1]; ++y) {
        int count = 0;
        for (int64_t kz = 0; kz < window_.size[0]; ++kz) {
          if (!z_.Inside(z, kz)) continue;
          for (int64_t ky = 0; ky < window_.size[1]; ++ky)
            if (y_.Inside(y, ky))
              row_count[static_cast<size_t>(count++)] = (z_.Position(z, kz) * image_.size[1] + y_.Position(y, ky)) * image_.size[2];
        }
        visit(row_count.data(), count, z, y);
      }
  }

  Grid image_, positions_;
  Window window_;
  Along z_, y_, x_;
  std::vector<std::pair<int64_t, int64_t>> served_;  // by tap along x: the first and last output
  int64_t stride_ = 1;                               // between adjacent outputs of a row
  int64_t row_floats_ = 0;                           // of a padded row of the image, for whole vectors of outputs
};

constexpr float kLowest = -std::numeric_limits<float>::infinity();

class AveragePooling final : public PoolingKernel {
 public:
  explicit AveragePooling(const schema::OperatorDesc& desc)
      : PoolingKernel(desc, *desc.Inputs()[0], *desc.Outputs()[0]), counts_padding_(desc.Get<bool>("IncludePadding")) {
    for (int64_t x = 0; x < positions_.size[2]; ++x) counts_.push_back(static_cast<float>(counts_padding_ ? x_.taps : x_.Count(x)));
  }

 private:
  int64_t OwnFloats() const override { return image_.plane() + positions_.size[2] + row_floats_; }
  void Plane(const KernelArguments& a, int64_t plane, float* own) const override {
    const float* in = ReadPlane(image_, a.inputs[0], plane, own);
    float *buffer = own + image_.plane(), *row = buffer + positions_.size[2];
    std::fill(row, row + row_floats_, 0.0f);
    ForRows([&](const int64_t* rows, int count, int64_t z, int64_t y) {
      Table().sum_rows(row + x_.padding, in, rows, count, 0, image_.size[2]);
      const int64_t at = positions_.Start(plane) + positions_.Row(z, y), of_window = window_.size[0] * window_.size[1];
      float* out = positions_.floats.Target(a.outputs[0], at, positions_.stride[2], buffer);
      Table().pool_mean_row(out, row, stride_, x_.dilation, x_.taps, counts_.data(),
                            static_cast<float>(counts_padding_ ? of_window : count), positions_.size[2]);
      positions_.floats.Write(a.outputs[0], at, positions_.stride[2], positions_.size[2], out);
    });
  }
  bool counts_padding_;
  std::vector<float> counts_;  // of a window's taps along the row
};

// NHWC, pixel by pixel: maxima or averages.
class PixelPooling final : public PoolingKernel {
 public:
  static bool Fits(const schema::TensorDesc& in, const schema::TensorDesc& out) {
    const Grid image(in), output_count(out);
    auto has_pixels = [](const Grid& g) {
      return g.channel_stride == 1 && g.floats.type == DML_TENSOR_DATA_TYPE_FLOAT32 && g.plane() > 1 && !g.packed();
    };
    return in.rank == 4 && has_pixels(image) &&
           (has_pixels(output_count) ||
            (output_count.plane() == 1 && output_count.channel_stride == 1 && out.data_type == DML_TENSOR_DATA_TYPE_FLOAT32));
  }
  PixelPooling(const schema::OperatorDesc& desc, bool is_average)
      : PoolingKernel(desc, *desc.Inputs()[0], *desc.Outputs()[0]),
        is_average_(is_average),
        counts_padding_(is_average && desc.Get<bool>("IncludePadding")) {}

 private:
  int64_t OwnFloats() const override { return 0; }
  void Plane(const KernelArguments&, int64_t, float*) const override {}
  void Run(const KernelArguments& a) const override {
    const IsaTable& table = Table();
    const int64_t taps = window_.size[1] * window_.size[2], work = positions_.size[2] * positions_.channels * taps;
    const auto* in = reinterpret_cast<const float*>(a.inputs[0]);
    auto* out = reinterpret_cast<float*>(a.outputs[0]);
    ThreadPool::Get().ParallelFor(
        0, positions_.images * positions_.size[1], std::max<int64_t>(1, 40000 / work), [&](int64_t first, int64_t last, int) {
          std::vector<int64_t> rows(static_cast<size_t>(taps));
          for (int64_t i = first; i < last; ++i) {
            const int64_t image = i / positions_.size[1], y = i % positions_.size[1];
            for (int64_t x = 0; x < positions_.size[2]; ++x) {
              int count = 0;
              for (int64_t ky = 0; ky < window_.size[1]; ++ky)
                for (int64_t kx = 0; kx < window_.size[2] && y_.Inside(y, ky); ++kx)
                  if (x_.Inside(x, kx))
                    rows[static_cast<size_t>(count++)] =
                        image * image_.image_stride + y_.Position(y, ky) * image_.stride[1] + x_.Position(x, kx) * image_.stride[2];
              float* to = out + image * positions_.image_stride + y * positions_.stride[1] + x * positions_.stride[2];
              if (!is_average_) {
                table.max_rows(to, in, rows.data(), count, kLowest, positions_.channels);
                continue;
              }
              table.sum_rows(to, in, rows.data(), count, 0, positions_.channels);
              table.scale_shift(to, to, 1 / static_cast<float>(counts_padding_ ? taps : count), 0, positions_.channels);
            }
          }
        });
  }
  bool is_average_, counts_padding_;
};

class AveragePoolingGrad final : public PoolingKernel {
 public:
  explicit AveragePoolingGrad(const schema::OperatorDesc& desc)
      : PoolingKernel(desc, *desc.Outputs()[0], *desc.Inputs()[0]), counts_padding_(desc.Get<bool>("IncludePadding")) {}

 private:
  int64_t OwnFloats() const override { return image_.plane() + positions_.plane() + positions_.size[2]; }
  void Plane(const KernelArguments& a, int64_t plane, float* own) const override {
    float *sums = PlaneBuffer(image_, a.outputs[0], plane, own), *buffer = own + image_.plane(), *shares = buffer + positions_.plane();
    const float* dy = ReadPlane(positions_, a.inputs[0], plane, buffer);
    std::fill(sums, sums + image_.plane(), 0.0f);
    const int64_t width = positions_.size[2], element_stride = x_.stride;
    for (int64_t z = 0; z < positions_.size[0]; ++z)
      for (int64_t y = 0; y < positions_.size[1]; ++y) {
        const float* row_dy = dy + (z * positions_.size[1] + y) * width;
        const int64_t rows = counts_padding_ ? window_.size[0] * window_.size[1] : z_.Count(z) * y_.Count(y);
        for (int64_t x = 0; x < width; ++x)
          shares[x] = row_dy[x] / static_cast<float>(rows * (counts_padding_ ? window_.size[2] : x_.Count(x)));
        ForTaps(z, y, [&](int64_t row, int64_t tap) {
          int64_t first, last;
          x_.OutputsOf(tap, &first, &last);
          float* to = sums + row + x_.Position(0, tap);
          for (int64_t x = first; x < last; ++x) to[x * element_stride] += shares[x];
        });
      }
    WritePlane(image_, a.outputs[0], plane, sums);
  }
  bool counts_padding_;
};

// The largest element of each window of a row, and its index: of equals the first. NaN is never the largest. A window of -infinity alone
// gives that, where Microsoft's library gives the least finite number, and the index of its first tap.
class MaxPoolingBase : public PoolingKernel {
 public:
  using PoolingKernel::PoolingKernel;

 protected:
  void Largest(const float* in, int64_t z, int64_t y, float* best, int32_t* position) const {
    constexpr int kTaps = 64;
    PoolTap taps[kTaps];
    int count = 0;
    bool continues = false;
    auto flush = [&] {
      Table().pool_max_taps(best, position, in, taps, count, x_.stride, kLowest, continues, positions_.size[2]);
      continues = true;
      count = 0;
    };
    ForTaps(z, y, [&](int64_t row, int64_t tap) {
      if (count == kTaps) flush();
      const auto& served = served_[static_cast<size_t>(tap)];
      taps[count++] = {row + x_.Position(0, tap), served.first, served.second};
    });
    if (count || !continues) flush();
  }
};

class MaxPooling final : public PoolingKernel {
 public:
  explicit MaxPooling(const schema::OperatorDesc& desc) : PoolingKernel(desc, *desc.Inputs()[0], *desc.Outputs()[0]) {}

 private:
  int64_t OwnFloats() const override { return image_.plane() + positions_.size[2] + row_floats_; }
  void Plane(const KernelArguments& a, int64_t plane, float* own) const override {
    const float* in = ReadPlane(image_, a.inputs[0], plane, own);
    float *buffer = own + image_.plane(), *row = buffer + positions_.size[2];
    const float lowest = kLowest;
    std::fill(row, row + row_floats_, lowest);
    ForRows([&](const int64_t* rows, int count, int64_t z, int64_t y) {
      Table().max_rows(row + x_.padding, in, rows, count, lowest, image_.size[2]);
      const int64_t at = positions_.Start(plane) + positions_.Row(z, y);
      float* out = positions_.floats.Target(a.outputs[0], at, positions_.stride[2], buffer);
      Table().pool_max_row(out, row, stride_, x_.dilation, x_.taps, lowest, positions_.size[2]);
      positions_.floats.Write(a.outputs[0], at, positions_.stride[2], positions_.size[2], out);
    });
  }
};

class MaxPoolingWithIndices final : public MaxPoolingBase {
 public:
  explicit MaxPoolingWithIndices(const schema::OperatorDesc& desc)
      : MaxPoolingBase(desc, *desc.Inputs()[0], *desc.Outputs()[0]),
        index_(*desc.Outputs()[1]),
        index_bytes_(static_cast<int>(schema::BytesPerElement(desc.Outputs()[1]->data_type))) {}

 private:
  int64_t OwnFloats() const override { return image_.plane() + 2 * positions_.size[2]; }
  void Plane(const KernelArguments& a, int64_t plane, float* own) const override {
    const float* in = ReadPlane(image_, a.inputs[0], plane, own);
    const int64_t width = positions_.size[2];
    float* buffer = own + image_.plane();
    int32_t* position = a.outputs[1] ? reinterpret_cast<int32_t*>(buffer + width) : nullptr;
    for (int64_t z = 0; z < positions_.size[0]; ++z)
      for (int64_t y = 0; y < positions_.size[1]; ++y) {
        const int64_t row = positions_.Start(plane) + positions_.Row(z, y);
        float* best = positions_.floats.Target(a.outputs[0], row, positions_.stride[2], buffer);
        Largest(in, z, y, best, position);
        positions_.floats.Write(a.outputs[0], row, positions_.stride[2], width, best);
        if (!position) continue;
        const int64_t to = index_.Start(plane) + index_.Row(z, y);
        for (int64_t x = 0; x < width; ++x) {
          const uint64_t flat = static_cast<uint64_t>(plane * image_.plane() + std::max(position[x], 0));
          std::memcpy(a.outputs[1] + (to + x * index_.stride[2]) * index_bytes_, &flat, static_cast<size_t>(index_bytes_));
        }
      }
  }
  Grid index_;
  int index_bytes_;
};

class MaxPoolingGrad final : public MaxPoolingBase {
 public:
  explicit MaxPoolingGrad(const schema::OperatorDesc& desc)
      : MaxPoolingBase(desc, *desc.Inputs()[0], *desc.Inputs()[1]), out_(*desc.Outputs()[0]) {}

 private:
  int64_t OwnFloats() const override { return 2 * image_.plane() + positions_.plane() + 2 * positions_.size[2]; }
  void Plane(const KernelArguments& a, int64_t plane, float* own) const override {
    float *buffer = own + 2 * image_.plane(), *best = buffer + positions_.plane();
    float* sums = PlaneBuffer(out_, a.outputs[0], plane, own + image_.plane());
    const int64_t width = positions_.size[2];
    auto* position = reinterpret_cast<int32_t*>(best + width);
    const float* in = ReadPlane(image_, a.inputs[0], plane, own);
    const float* dy = ReadPlane(positions_, a.inputs[1], plane, buffer);
    std::fill(sums, sums + image_.plane(), 0.0f);
    for (int64_t z = 0; z < positions_.size[0]; ++z)
      for (int64_t y = 0; y < positions_.size[1]; ++y) {
        Largest(in, z, y, best, position);
        const float* row = dy + (z * positions_.size[1] + y) * width;
        for (int64_t x = 0; x < width; ++x)
          if (position[x] >= 0) sums[position[x]] += row[x];
      }
    WritePlane(out_, a.outputs[0], plane, sums);
  }
  Grid out_;
};

}  // namespace

std::unique_ptr<Kernel> MakePoolingKernel(const schema::OperatorDesc& desc) {
  if (!IsFloatType(desc.Inputs()[0]->data_type)) return MakeRunningMaximumKernel(desc);
  if (desc.UInt("DimensionCount") > kSpatial) return nullptr;
  for (const schema::TensorDesc* t : {desc.Inputs()[0], desc.Outputs()[0]})
    if (static_cast<int64_t>(t->ElementCount() / t->sizes[0] / t->sizes[1]) > kMaxPlane) return nullptr;  // scratch memory, positions
  const Window window(desc);
  const schema::TensorDesc& output_count = *desc.Outputs()[0];
  const int64_t longest = output_count.sizes[output_count.rank - 1] + kMaxWidth;
  for (size_t d = 0; d < kSpatial; ++d)  // a padded row
    if (window.padding[d] + window.size[d] * window.dilation[d] + longest * window.stride[d] > kMaxPlane) return nullptr;
  switch (desc.type()) {
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1:
      if (PixelPooling::Fits(*desc.Inputs()[0], output_count)) return std::make_unique<PixelPooling>(desc, true);
      return std::make_unique<AveragePooling>(desc);
    case DML_OPERATOR_AVERAGE_POOLING_GRAD: return std::make_unique<AveragePoolingGrad>(desc);
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2:
      if (desc.Outputs().size() > 1 && desc.Outputs()[1]) return std::make_unique<MaxPoolingWithIndices>(desc);
      if (PixelPooling::Fits(*desc.Inputs()[0], output_count)) return std::make_unique<PixelPooling>(desc, false);
      return std::make_unique<MaxPooling>(desc);
    case DML_OPERATOR_MAX_POOLING_GRAD: return std::make_unique<MaxPoolingGrad>(desc);
    default: return nullptr;
  }
}

}  // namespace dxtensor::software::fast
