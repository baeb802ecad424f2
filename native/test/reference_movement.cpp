// Slices, joins, padding, tiles, gather, one-hot.
#include <cstdlib>

#include "reference.h"

namespace dxtensor::test {

namespace {

using Coordinates = std::vector<uint32_t>;

struct SliceWindow {
  const std::vector<uint32_t>&offsets, &sizes;
  const std::vector<int32_t>& strides;

  explicit SliceWindow(const schema::OperatorDesc& d)
      : offsets(d.UInts("InputWindowOffsets")),
        sizes(d.UInts("InputWindowSizes")),
        strides(d.Get<std::vector<int32_t>>("InputWindowStrides")) {}
  // A negative stride starts at the window's last element.
  Coordinates Source(const Coordinates& at) const {
    Coordinates from(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t start = strides[d] > 0 ? offsets[d] : int64_t{offsets[d]} + sizes[d] - 1;
      from[d] = static_cast<uint32_t>(start + int64_t{at[d]} * strides[d]);
    }
    return from;
  }
};

void Slice(const Evaluation& e) {
  const SliceWindow window(e.desc);
  ForEach(e.outputs[0].sizes,
          [&](const Coordinates& at, size_t flat) { e.outputs[0].Copy(flat, e.inputs[0], Flat(window.Source(at), e.inputs[0].sizes)); });
}

void SliceGrad(const Evaluation& e) {
  const SliceWindow window(e.desc);
  ForEach(e.inputs[0].sizes,
          [&](const Coordinates& at, size_t flat) { e.outputs[0].Copy(Flat(window.Source(at), e.outputs[0].sizes), e.inputs[0], flat); });
}

// Moves between a whole and its parts along the axis.
void Parts(const Evaluation& e, std::vector<Values>& parts, Values& whole, bool to_parts) {
  const uint32_t axis = e.desc.UInt("Axis");
  uint32_t start = 0;
  for (Values& part : parts) {
    ForEach(part.sizes, [&](Coordinates at, size_t flat) {
      at[axis] += start;
      if (to_parts) part.Copy(flat, whole, Flat(at, whole.sizes));
      else whole.Copy(Flat(at, whole.sizes), part, flat);
    });
    start += part.sizes[axis];
  }
}

void Padding(const Evaluation& e) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const auto& start = e.desc.UInts("StartPadding");
  const uint32_t mode = e.desc.UInt("PaddingMode");
  Values constant = y;
  if (e.desc.Has("PaddingValueDataType")) {
    const DML_SCALAR_UNION value = e.desc.Get<DML_SCALAR_UNION>("PaddingValue");
    if (!y.is_float()) constant.SetWhole(0, value.Int64);
    else if (y.type == DML_TENSOR_DATA_TYPE_FLOAT16) constant.real[0] = HalfToFloat(value.UInt16);
    else constant.real[0] = y.type == DML_TENSOR_DATA_TYPE_FLOAT64 ? value.Float64 : static_cast<double>(value.Float32);
  } else if (y.is_float()) {
    constant.Set(0, static_cast<double>(e.desc.Float("PaddingValue")));
  } else {
    constant.SetWhole(0, static_cast<int64_t>(e.desc.Float("PaddingValue")));
  }
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    Coordinates from(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t pos = int64_t{at[d]} - start[d];
      const int64_t size = x.sizes[d];
      if (pos < 0 || pos >= size) {
        if (mode == DML_PADDING_MODE_CONSTANT) {
          y.Copy(flat, constant, 0);
          return;
        }
        if (mode == DML_PADDING_MODE_EDGE) pos = pos < 0 ? 0 : size - 1;
        else if (mode == DML_PADDING_MODE_REFLECTION) pos = pos < 0 ? -pos : 2 * (size - 1) - pos;
        else pos = pos < 0 ? -pos - 1 : 2 * size - 1 - pos;
      }
      from[d] = static_cast<uint32_t>(pos);
    }
    y.Copy(flat, x, Flat(from, x.sizes));
  });
}

void Gather(const Evaluation& e) {
  const Values &x = e.inputs[0], &indices = e.inputs[1];
  Values& y = e.outputs[0];
  const uint32_t axis = e.desc.UInt("Axis"), count = e.desc.UInt("IndexDimensions");
  const size_t rank = y.sizes.size();
  // Right aligned: the input's sizes after the axis come last, before them the index dimensions.
  const size_t tail = rank - axis - 1;
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    Coordinates index(rank, 0), from(rank, 0);
    for (size_t i = 0; i < count; ++i) index[rank - count + i] = at[rank - tail - count + i];
    for (size_t i = 0; i < tail; ++i) from[axis + 1 + i] = at[rank - tail + i];
    // What remains in front are the sizes before the axis.
    for (size_t i = 0; i < axis; ++i) {
      const int64_t source = static_cast<int64_t>(rank - tail - count) - static_cast<int64_t>(axis) + static_cast<int64_t>(i);
      from[i] = source >= 0 ? at[static_cast<size_t>(source)] : 0;
    }
    int64_t selected = indices.whole[Flat(index, indices.sizes)];
    if (selected < 0) selected += x.sizes[axis];
    from[axis] = static_cast<uint32_t>(selected);
    y.Copy(flat, x, Flat(from, x.sizes));
  });
}

void OneHot(const Evaluation& e) {
  const Values &indices = e.inputs[0], &values = e.inputs[1];
  Values& y = e.outputs[0];
  const uint32_t axis = e.desc.UInt("Axis");
  ForEach(y.sizes, [&](Coordinates at, size_t flat) {
    const uint32_t position = at[axis];
    at[axis] = 0;
    int64_t index = indices.whole[Flat(at, indices.sizes)];
    if (index < 0 && IsSigned(indices.type)) index += y.sizes[axis];
    y.Copy(flat, values, index == position ? 1 : 0);
  });
}

}  // namespace

bool EvaluateMovement(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_SLICE1: Slice(e); return true;
    case DML_OPERATOR_SLICE_GRAD: SliceGrad(e); return true;
    case DML_OPERATOR_SPLIT: {
      Values whole = e.inputs[0];
      Parts(e, e.outputs, whole, true);
      return true;
    }
    case DML_OPERATOR_JOIN: {
      std::vector<Values> parts = e.inputs;
      Parts(e, parts, e.outputs[0], false);
      return true;
    }
    case DML_OPERATOR_PADDING:
    case DML_OPERATOR_PADDING1: Padding(e); return true;
    case DML_OPERATOR_GATHER: Gather(e); return true;
    case DML_OPERATOR_ONE_HOT: OneHot(e); return true;
    case DML_OPERATOR_TILE:
      ForEach(e.outputs[0].sizes, [&](Coordinates at, size_t flat) {
        for (size_t d = 0; d < at.size(); ++d) at[d] %= e.inputs[0].sizes[d];
        e.outputs[0].Copy(flat, e.inputs[0], Flat(at, e.inputs[0].sizes));
      });
      return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
