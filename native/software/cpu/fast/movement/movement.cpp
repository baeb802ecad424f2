// Operators that only move elements: IDENTITY, slices, SPLIT, JOIN.
#include "movement.h"

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/row_split.h"

namespace dxtensor::software::fast {

namespace {

BoxCopy Whole(const schema::TensorDesc& box) {
  BoxCopy c;
  c.rank = box.rank;
  for (uint32_t d = 0; d < box.rank; ++d) c.sizes[d] = box.sizes[d];
  return c;
}

// The start and strides of a window in a tensor.
void LocateWindow(const schema::OperatorDesc& desc, const schema::TensorDesc& tensor, int64_t* start, Extents* strides) {
  const bool old = desc.type() == DML_OPERATOR_SLICE;
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    int64_t offset = desc.UInts(old ? "Offsets" : "InputWindowOffsets")[d];
    const int64_t element_stride =
        old ? static_cast<int64_t>(desc.UInts("Strides")[d]) : desc.Get<std::vector<int32_t>>("InputWindowStrides")[d];
    if (element_stride < 0) offset += static_cast<int64_t>(desc.UInts("InputWindowSizes")[d]) - 1;
    *start += offset * tensor.strides[d];
    (*strides)[d] = element_stride * tensor.strides[d];
  }
}

BoxCopy Fill(const schema::TensorDesc& out) {
  BoxCopy fill = Whole(out);
  fill.from_slot = -1;
  fill.to_strides = BroadcastStrides(out);
  return fill;
}

std::unique_ptr<Kernel> MakeIdentity(const schema::OperatorDesc& desc, int bytes) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias")) return nullptr;
  BoxCopy c = Whole(out);
  c.from_strides = BroadcastStrides(in);
  c.to_strides = BroadcastStrides(out);
  return MakeCopies(bytes, {c});
}

std::unique_ptr<Kernel> MakeSlice(const schema::OperatorDesc& desc, int bytes) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxCopy c = Whole(out);
  LocateWindow(desc, in, &c.from_start, &c.from_strides);
  c.to_strides = BroadcastStrides(out);
  return MakeCopies(bytes, {c});
}

std::unique_ptr<Kernel> MakeSliceGrad(const schema::OperatorDesc& desc, int bytes) {
  const schema::TensorDesc &dy = *desc.Inputs()[0], &dx = *desc.Outputs()[0];
  BoxCopy c = Whole(dy);
  c.from_strides = BroadcastStrides(dy);
  LocateWindow(desc, dx, &c.to_start, &c.to_strides);
  return MakeCopies(bytes, {Fill(dx), c});
}

// The parts of a JOIN or a SPLIT.
std::unique_ptr<Kernel> MakeParts(const schema::OperatorDesc& desc, int bytes) {
  const bool joins = desc.type() == DML_OPERATOR_JOIN;
  const schema::TensorDesc& whole = joins ? *desc.Outputs()[0] : *desc.Inputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  std::vector<BoxCopy> boxes;
  int64_t start = 0;
  for (const schema::TensorDesc* part : joins ? desc.Inputs() : desc.Outputs()) {
    BoxCopy c = Whole(*part);
    const int slot = static_cast<int>(boxes.size());
    if (joins) {
      c.from_strides = BroadcastStrides(*part);
      c.to_strides = BroadcastStrides(whole);
      c.to_start = start;
      c.from_slot = slot;
    } else {
      c.from_strides = BroadcastStrides(whole);
      c.to_strides = BroadcastStrides(*part);
      c.from_start = start;
      c.to_slot = slot;
    }
    start += static_cast<int64_t>(part->sizes[axis]) * whole.strides[axis];
    boxes.push_back(c);
  }
  return MakeCopies(bytes, boxes);
}

}  // namespace

std::unique_ptr<Kernel> MakeMovementKernel(const schema::OperatorDesc& desc) {
  const int bytes = static_cast<int>(schema::BytesPerElement(desc.Outputs()[0]->data_type));
  switch (desc.type()) {
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY: return MakeIdentity(desc, bytes);
    case DML_OPERATOR_SLICE:
    case DML_OPERATOR_SLICE1: return MakeSlice(desc, bytes);
    case DML_OPERATOR_SLICE_GRAD: return MakeSliceGrad(desc, bytes);
    case DML_OPERATOR_JOIN:
    case DML_OPERATOR_SPLIT: return MakeParts(desc, bytes);
    default: return nullptr;
  }
}

}  // namespace dxtensor::software::fast
