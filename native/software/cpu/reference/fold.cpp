// UNFOLD (windows of an image as columns) and FOLD (their sum back into an image), over one to six spatial dimensions.
#include <algorithm>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// The image {N, C, spatial...} and its columns {N, C * taps, blocks}.
struct Windows {
  uint32_t spatial = 0;
  uint64_t batch = 1, channels = 1, taps = 1, blocks = 1;
  Dimensions image_sizes{}, image_strides{}, column_strides{};  // spatial dimensions follow the first two
  std::array<uint32_t, schema::kMaxRank> window{}, stride{}, dilation{}, padding{}, positions{};

  Windows(const schema::OperatorDesc& desc, const schema::TensorDesc& image, const schema::TensorDesc& columns)
      : spatial(desc.UInt("DimensionCount")),
        batch(image.sizes[0]),
        channels(image.sizes[1]),
        image_sizes(SizesOf(image)),
        image_strides(BroadcastStrides(image)),
        column_strides(BroadcastStrides(columns)) {
    for (uint32_t d = 0; d < spatial; ++d) {
      window[d] = desc.UInts("WindowSizes")[d];
      stride[d] = desc.UInts("Strides")[d];
      dilation[d] = desc.UInts("Dilations")[d];
      padding[d] = desc.UInts("StartPadding")[d];
      const uint64_t padded = image.sizes[d + 2] + uint64_t{padding[d]} + desc.UInts("EndPadding")[d];
      positions[d] = static_cast<uint32_t>((padded - uint64_t{dilation[d]} * (window[d] - 1) - 1) / stride[d] + 1);
      taps *= window[d];
      blocks *= positions[d];
    }
  }

  // Where tap `k` of block `b` lies in its channel; false in the padding.
  bool Locate(uint64_t k, uint64_t b, uint64_t* offset) const {
    *offset = 0;
    for (uint32_t d = spatial; d-- > 0; k /= window[d], b /= positions[d]) {
      const int64_t at =
          static_cast<int64_t>(b % positions[d]) * stride[d] + static_cast<int64_t>(k % window[d]) * dilation[d] - padding[d];
      if (at < 0 || at >= static_cast<int64_t>(image_sizes[d + 2])) return false;
      *offset += static_cast<uint64_t>(at) * image_strides[d + 2];
    }
    return true;
  }

  // visit(column offset, image offset, whether it lies in the image) for every element of the columns.
  template <typename F>
  void ForEach(F&& visit) const {
    for (uint64_t n = 0; n < batch; ++n)
      for (uint64_t c = 0; c < channels; ++c)
        for (uint64_t k = 0; k < taps; ++k)
          for (uint64_t b = 0; b < blocks; ++b) {
            uint64_t position;
            const bool inside = Locate(k, b, &position);
            visit(n * column_strides[0] + (c * taps + k) * column_strides[1] + b * column_strides[2],
                  n * image_strides[0] + c * image_strides[1] + position, inside);
          }
  }
};

}  // namespace

KernelPointer MakeUnfold(const schema::OperatorDesc& desc) {
  const Windows windows(desc, *desc.Inputs()[0], *desc.Outputs()[0]);
  return ByAny(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([windows](const KernelArguments& a) {
      windows.ForEach(
          [&](uint64_t to, uint64_t from, bool inside) { Store<T>(a.outputs[0], to, inside ? Load<T>(a.inputs[0], from) : Compute<T>{}); });
    });
  });
}

KernelPointer MakeFold(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& image = *desc.Outputs()[0];
  Windows windows(desc, image, *desc.Inputs()[0]);
  windows.image_strides = PackedStrides(image);
  const uint64_t elements = image.ElementCount();
  BoxIterator<1> store(image.rank, SizesOf(image), {BroadcastStrides(image)});
  return ByAny(image.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* sums = reinterpret_cast<Sum<T>*>(a.scratch);
          std::fill(sums, sums + elements, Sum<T>{});
          windows.ForEach([&](uint64_t from, uint64_t to, bool inside) {
            if (inside) sums[to] += static_cast<Sum<T>>(Load<T>(a.inputs[0], from));
          });
          uint64_t i = 0;
          store([&](const Offsets<1>& to) {
            if constexpr (std::is_integral_v<T>) Store<T>(a.outputs[0], to[0], Narrow<T>(sums[i++]));
            else Store<T>(a.outputs[0], to[0], static_cast<Compute<T>>(sums[i++]));
          });
        },
        elements * sizeof(Sum<T>));
  });
}

}  // namespace dxtensor::software
