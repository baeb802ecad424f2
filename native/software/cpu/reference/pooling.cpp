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
      ForEach(out, [&](uint64_t n, uint64_t c, const Position& place) {
        double sum = 0;
        uint64_t cells = 0;
        window.Visit(in.size, place, [&](const Position& p) {
          sum += Load<T>(a.inputs[0], in.At(n, c) + in.At(p));
          ++cells;
        });
        if (counts_padding) cells = window.Cells();
        Store<T>(a.outputs[0], out.At(n, c) + out.At(place), static_cast<float>(sum / static_cast<double>(cells)));
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
          ForEach(dy, [&](uint64_t n, uint64_t c, const Position& place) {
            uint64_t cells = 0;
            if (counts_padding) cells = window.Cells();
            else window.Visit(dx.size, place, [&](const Position&) { ++cells; });
            const float share = Load<T>(a.inputs[0], dy.At(n, c) + dy.At(place)) / static_cast<float>(cells);
            float* image = sums + n * dx.n_packed + c * dx.c_packed;
            window.Visit(dx.size, place, [&](const Position& p) { image[dx.PackedAt(p)] += share; });
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

// The largest element of the window at a place, and where it is: of equals the first. NaN never is. A window of nothing but
// -infinity gives that, where Microsoft's library gives the least finite number, and its first cell.
template <typename T>
struct Best {
  Compute<T> value;
  Position position{};
  bool found = false;
};

template <typename T>
Best<T> Largest(const Window& window, const Grid& in, const uint8_t* data, uint64_t start, const Position& place) {
  Best<T> best;
  best.value = Lowest<T>();
  window.Visit(in.size, place, [&](const Position& p) {
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
      ForEach(out, [&](uint64_t n, uint64_t c, const Position& place) {
        const Best<T> best = Largest<T>(window, in, a.inputs[0], in.At(n, c), place);
        Store<T>(a.outputs[0], out.At(n, c) + out.At(place), best.value);
        if (!has_index || !a.outputs[1]) return;
        const uint64_t at = index.At(n, c) + index.At(place);
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
          ForEach(dy, [&](uint64_t n, uint64_t c, const Position& place) {
            const Best<T> best = Largest<T>(window, in, a.inputs[0], in.At(n, c), place);
            if (!best.found) return;
            sums[n * dx.n_packed + c * dx.c_packed + dx.PackedAt(best.position)] += Load<T>(a.inputs[1], dy.At(n, c) + dy.At(place));
          });
          StoreSums<T>(dx, sums, a.outputs[0]);
        },
        ElementsOf(dx) * sizeof(float));
  });
}

}  // namespace dxtensor::software
