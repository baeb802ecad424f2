// Average and maximum pooling over two or three spatial dimensions, and their gradients.
#include <algorithm>
#include <limits>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "windows.h"

namespace dxtensor::software {

namespace {

// Sums of the gradients are carried in float, in the order of the windows, one for each image element.
template <typename T>
void StoreSums(const Grid& image, const float* sums, uint8_t* out) {
  ForEach(image, [&](uint64_t n, uint64_t c, const Position& p) {
    Store<T>(out, image.At(n, c) + image.At(p), sums[n * image.n_packed + c * image.c_packed + image.PackedAt(p)]);
  });
}
uint64_t ElementsOf(const Grid& g) { return g.n * g.c * g.size[0] * g.size[1] * g.size[2]; }

}  // namespace

KernelPointer MakeAveragePooling(const schema::OperatorDesc& desc) {
  const Grid in(*desc.Inputs()[0]), out(*desc.Outputs()[0]);
  const Window window(desc);
  const bool counts_padding = desc.Get<bool>("IncludePadding");
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      ForEach(out, [&](uint64_t n, uint64_t c, const Position& output_index) {
        double sum = 0;
        uint64_t taps = 0;
        window.Visit(in.size, output_index, [&](const Position& p) {
          sum += Load<T>(a.inputs[0], in.At(n, c) + in.At(p));
          ++taps;
        });
        if (counts_padding) taps = window.Taps();
        Store<T>(a.outputs[0], out.At(n, c) + out.At(output_index), static_cast<float>(sum / static_cast<double>(taps)));
      });
    });
  });
}

KernelPointer MakeAveragePoolingGrad(const schema::OperatorDesc& desc) {
  const Grid dy(*desc.Inputs()[0]), dx(*desc.Outputs()[0]);
  const Window window(desc);
  const bool counts_padding = desc.Get<bool>("IncludePadding");
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* sums = reinterpret_cast<float*>(a.scratch);
          std::fill(sums, sums + ElementsOf(dx), 0.0f);
          ForEach(dy, [&](uint64_t n, uint64_t c, const Position& output_index) {
            uint64_t taps = 0;
            if (counts_padding) taps = window.Taps();
            else window.Visit(dx.size, output_index, [&](const Position&) { ++taps; });
            const float share = Load<T>(a.inputs[0], dy.At(n, c) + dy.At(output_index)) / static_cast<float>(taps);
            float* image = sums + n * dx.n_packed + c * dx.c_packed;
            window.Visit(dx.size, output_index, [&](const Position& p) { image[dx.PackedAt(p)] += share; });
          });
          StoreSums<T>(dx, sums, a.outputs[0]);
        },
        ElementsOf(dx) * sizeof(float));
  });
}

namespace {

template <typename T>
Compute<T> Lowest() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  else return -std::numeric_limits<Compute<T>>::infinity();
}

// The largest element of an output's window, and its index: of equals the first. NaN is never the largest. A window of -infinity alone
// gives that, where Microsoft's library gives the smallest finite number, and the index of its first tap.
template <typename T>
struct Best {
  Compute<T> value;
  Position position{};
  bool found = false;
};

template <typename T>
Best<T> Largest(const Window& window, const Grid& in, const uint8_t* data, uint64_t start, const Position& output_index) {
  Best<T> best;
  best.value = Lowest<T>();
  window.Visit(in.size, output_index, [&](const Position& p) {
    if (!best.found) best.position = p;
    best.found = true;
    const Compute<T> x = Load<T>(data, start + in.At(p));
    if (!(x > best.value)) return;
    best.value = x;
    best.position = p;
  });
  return best;
}

}  // namespace

KernelPointer MakeMaxPooling(const schema::OperatorDesc& desc) {
  const Grid in(*desc.Inputs()[0]), out(*desc.Outputs()[0]);
  const Window window(desc);
  const auto outputs = desc.Outputs();
  const schema::TensorDesc* indices = outputs.size() > 1 ? outputs[1] : nullptr;
  const Grid index(indices ? *indices : *outputs[0]);
  const bool wide_index = indices && schema::BytesPerElement(indices->data_type) == 8;
  return ByNumber(outputs[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, has_index = indices != nullptr](const KernelArguments& a) {
      ForEach(out, [&](uint64_t n, uint64_t c, const Position& output_index) {
        const Best<T> best = Largest<T>(window, in, a.inputs[0], in.At(n, c), output_index);
        Store<T>(a.outputs[0], out.At(n, c) + out.At(output_index), best.value);
        if (!has_index || !a.outputs[1]) return;
        const uint64_t at = index.At(n, c) + index.At(output_index);
        const uint64_t flat = n * in.n_packed + c * in.c_packed + in.PackedAt(best.position);
        if (wide_index) Store<uint64_t>(a.outputs[1], at, flat);
        else Store<uint32_t>(a.outputs[1], at, static_cast<uint32_t>(flat));
      });
    });
  });
}

KernelPointer MakeMaxPoolingGrad(const schema::OperatorDesc& desc) {
  const Grid in(*desc.Inputs()[0]), dy(*desc.Inputs()[1]), dx(*desc.Outputs()[0]);
  const Window window(desc);
  return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* sums = reinterpret_cast<float*>(a.scratch);
          std::fill(sums, sums + ElementsOf(dx), 0.0f);
          ForEach(dy, [&](uint64_t n, uint64_t c, const Position& output_index) {
            const Best<T> best = Largest<T>(window, in, a.inputs[0], in.At(n, c), output_index);
            if (!best.found) return;
            sums[n * dx.n_packed + c * dx.c_packed + dx.PackedAt(best.position)] += Load<T>(a.inputs[1], dy.At(n, c) + dy.At(output_index));
          });
          StoreSums<T>(dx, sums, a.outputs[0]);
        },
        ElementsOf(dx) * sizeof(float));
  });
}

}  // namespace dxtensor::software
