#include "plane_reduction.h"

#include <algorithm>

namespace dxtensor::software {

using schema::TensorDesc;

std::vector<TensorDesc*> TensorsOf(schema::OperatorDesc* desc, schema::FieldKind kind) {
  std::vector<TensorDesc*> tensors;
  for (size_t i = 0; i < desc->fields.size(); ++i) {
    const schema::FieldSchema& field = desc->schema->fields[i];
    if (field.kind != kind) continue;
    if (field.type == schema::FieldType::TensorArray) {
      for (TensorDesc& t : std::get<std::vector<TensorDesc>>(desc->fields[i])) tensors.push_back(&t);
    } else if (field.type == schema::FieldType::Tensor) {
      auto& t = std::get<std::optional<TensorDesc>>(desc->fields[i]);
      tensors.push_back(t ? &*t : nullptr);
    }
  }
  return tensors;
}

bool ReducePlanes(GraphNode* node, const TensorDesc* written) {
  const TensorDesc& rows = *node->desc.Inputs()[0];
  if (!written || !IsPacked4D(*written) || !rows.IsPacked() || written->data_type != rows.data_type) return false;
  const auto& axes = node->desc.UInts("Axes");
  uint64_t kept = 1, reduced = 1;
  for (uint32_t d = 0; d < rows.rank; ++d) {
    const bool reduces = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!reduces && rows.sizes[d] > 1 && reduced > 1) return false;
    (reduces ? reduced : kept) *= rows.sizes[d];
  }
  const std::array<uint32_t, schema::kMaxRank>& planes = written->sizes;
  if (kept != static_cast<uint64_t>(planes[0]) * planes[1] || reduced * kept != written->ElementCount()) return false;
  if (!node->desc.Outputs()[0]->IsPacked()) return false;
  const auto reshape = [&](TensorDesc* t, uint32_t height, uint32_t width) {
    t->rank = 4;
    t->sizes = {planes[0], planes[1], height, width};
    t->strides = {planes[1] * height * width, height * width, width, 1};
    t->has_strides = true;
  };
  reshape(TensorsOf(&node->desc, schema::FieldKind::Input)[0], planes[2], planes[3]);
  reshape(TensorsOf(&node->desc, schema::FieldKind::Output)[0], 1, 1);
  node->desc.Set("Axes", std::vector<uint32_t>{2, 3});
  node->desc.Set("AxisCount", uint32_t{2});
  return true;
}

}  // namespace dxtensor::software
