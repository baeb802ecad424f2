// Convolutions of one to three spatial dimensions, forward and transposed, with groups, dilations, bias and activation.
#include "activation.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

constexpr uint32_t kSpatial = 3;

// A tensor {N, C, D, H, W}; missing leading spatial dimensions have size 1.
struct Volume {
  uint64_t n = 1, c = 1;
  std::array<uint64_t, kSpatial> size{1, 1, 1};
  uint64_t n_stride = 0, c_stride = 0;
  std::array<uint64_t, kSpatial> stride{};

  explicit Volume(const schema::TensorDesc& t) {
    const Dimensions strides = BroadcastStrides(t);
    n = t.sizes[0];
    c = t.sizes[1];
    n_stride = strides[0];
    c_stride = strides[1];
    for (uint32_t d = 2; d < t.rank; ++d) {
      size[kSpatial - t.rank + d] = t.sizes[d];
      stride[kSpatial - t.rank + d] = strides[d];
    }
  }
  uint64_t At(uint64_t batch, uint64_t channel) const { return batch * n_stride + channel * c_stride; }
};

// One spatial dimension of the window. Microsoft's library computes nothing in the last output_padding elements of a dimension:
// they are 0, without bias but activated, in both directions.
struct Axis {
  int64_t stride = 1, dilation = 1, padding = 0;
  uint64_t output_padding = 0;
};

struct Convolution {
  Convolution(const Volume& in, const Volume& filter, const Volume& out) : in(in), filter(filter), out(out) {}

  Volume in, filter, out;
  uint64_t bias_stride = 0;
  std::array<Axis, kSpatial> axis{};
  uint64_t groups = 1;
  bool flips = false;
  bool backward = false;
  ActivationFunction activation;

  // The input position that kernel cell k of output position p reads along dimension d; false when there is none.
  bool Position(uint32_t d, uint64_t p, uint64_t k, uint64_t* position) const {
    const Axis& a = axis[d];
    int64_t at = static_cast<int64_t>(p), cell = static_cast<int64_t>(k) * a.dilation;
    if (backward) {
      at += a.padding - cell;
      if (at < 0 || at % a.stride) return false;
      at /= a.stride;
    } else {
      at = at * a.stride + cell - a.padding;
    }
    if (at < 0 || at >= static_cast<int64_t>(in.size[d])) return false;
    *position = static_cast<uint64_t>(at);
    return true;
  }
  bool IsOutputPadding(const std::array<uint64_t, kSpatial>& p) const {
    for (uint32_t d = 0; d < kSpatial; ++d)
      if (p[d] + axis[d].output_padding >= out.size[d]) return true;
    return false;
  }
  uint64_t Cell(uint32_t d, uint64_t k) const { return (flips ? filter.size[d] - 1 - k : k) * filter.stride[d]; }
};

template <typename T>
double Accumulate(const Convolution& c, const KernelArguments& args, uint64_t n, uint64_t co, const std::array<uint64_t, kSpatial>& p) {
  const uint64_t per_group_in = c.in.c / c.groups, per_group_out = c.out.c / c.groups, group = co / per_group_out;
  double sum = 0;
  for (uint64_t i = 0; i < per_group_in; ++i) {
    const uint64_t ci = group * per_group_in + i;
    const uint64_t from = c.in.At(n, ci), weights = c.backward ? c.filter.At(ci, co % per_group_out) : c.filter.At(co, i);
    uint64_t z, y, x;
    for (uint64_t kz = 0; kz < c.filter.size[0]; ++kz) {
      if (!c.Position(0, p[0], kz, &z)) continue;
      for (uint64_t ky = 0; ky < c.filter.size[1]; ++ky) {
        if (!c.Position(1, p[1], ky, &y)) continue;
        for (uint64_t kx = 0; kx < c.filter.size[2]; ++kx) {
          if (!c.Position(2, p[2], kx, &x)) continue;
          sum += static_cast<double>(Load<T>(args.inputs[0], from + z * c.in.stride[0] + y * c.in.stride[1] + x * c.in.stride[2])) *
                 Load<T>(args.inputs[1], weights + c.Cell(0, kz) + c.Cell(1, ky) + c.Cell(2, kx));
        }
      }
    }
  }
  return sum;
}

template <typename T>
void Run(const Convolution& c, const KernelArguments& args) {
  for (uint64_t n = 0; n < c.out.n; ++n) {
    for (uint64_t co = 0; co < c.out.c; ++co) {
      const float bias = args.inputs[2] ? Load<T>(args.inputs[2], co * c.bias_stride) : 0.0f;
      std::array<uint64_t, kSpatial> p;
      for (p[0] = 0; p[0] < c.out.size[0]; ++p[0])
        for (p[1] = 0; p[1] < c.out.size[1]; ++p[1])
          for (p[2] = 0; p[2] < c.out.size[2]; ++p[2]) {
            float sum = 0;
            if (!c.IsOutputPadding(p)) sum = static_cast<float>(Accumulate<T>(c, args, n, co, p) + static_cast<double>(bias));
            Store<T>(args.outputs[0], c.out.At(n, co) + p[0] * c.out.stride[0] + p[1] * c.out.stride[1] + p[2] * c.out.stride[2],
                     c.activation(sum));
          }
    }
  }
}

}  // namespace

KernelPointer MakeConvolution(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs();
  Convolution c{Volume(*inputs[0]), Volume(*inputs[1]), Volume(*desc.Outputs()[0])};
  if (inputs[2]) c.bias_stride = BroadcastStrides(*inputs[2])[1];
  const uint32_t spatial = desc.UInt("DimensionCount"), first = kSpatial - spatial;
  for (uint32_t d = 0; d < spatial; ++d)
    c.axis[first + d] = {desc.UInts("Strides")[d], desc.UInts("Dilations")[d], desc.UInts("StartPadding")[d],
                         desc.UInts("OutputPadding")[d]};
  c.groups = desc.UInt("GroupCount");
  c.backward = desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD;
  c.flips = desc.UInt("Mode") == DML_CONVOLUTION_MODE_CONVOLUTION;
  c.activation = FusedActivation(desc);
  return ByFloat(inputs[0]->data_type,
                 [&](auto tag) { return KernelFrom([c](const KernelArguments& args) { Run<typename decltype(tag)::Type>(c, args); }); });
}

}  // namespace dxtensor::software
