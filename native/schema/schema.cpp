#include "schema.h"

#include <cstring>
#include <stdexcept>

namespace dxtensor::schema {

#include "operator_table.generated.inc"

const OperatorSchema* FindOperator(uint32_t type) {
  for (const OperatorSchema& op : kOperators)
    if (static_cast<uint32_t>(op.type) == type) return &op;
  return nullptr;
}

const std::vector<const OperatorSchema*>& AllOperators() {
  static const std::vector<const OperatorSchema*> all = [] {
    std::vector<const OperatorSchema*> list;
    for (const OperatorSchema& op : kOperators) list.push_back(&op);
    return list;
  }();
  return all;
}

uint64_t TensorDesc::ElementCount() const {
  uint64_t n = 1;
  for (uint32_t i = 0; i < rank; ++i) n *= sizes[i];
  return n;
}

bool TensorDesc::IsPacked() const {
  uint64_t step = 1;
  for (uint32_t i = rank; i-- > 0; step *= sizes[i])
    if (sizes[i] != 1 && strides[i] != step) return false;
  return true;
}

bool TensorDesc::operator==(const TensorDesc& o) const {
  return data_type == o.data_type && flags == o.flags && rank == o.rank && sizes == o.sizes && strides == o.strides &&
         has_strides == o.has_strides && size_in_bytes == o.size_in_bytes && alignment == o.alignment;
}

uint32_t BitsPerElement(DML_TENSOR_DATA_TYPE type) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64: return 64;
    case DML_TENSOR_DATA_TYPE_FLOAT32:
    case DML_TENSOR_DATA_TYPE_INT32:
    case DML_TENSOR_DATA_TYPE_UINT32: return 32;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
    case DML_TENSOR_DATA_TYPE_INT16:
    case DML_TENSOR_DATA_TYPE_UINT16: return 16;
    case DML_TENSOR_DATA_TYPE_INT8:
    case DML_TENSOR_DATA_TYPE_UINT8: return 8;
    case DML_TENSOR_DATA_TYPE_INT4:
    case DML_TENSOR_DATA_TYPE_UINT4: return 4;
    default: return 0;
  }
}

uint32_t BytesPerElement(DML_TENSOR_DATA_TYPE type) { return BitsPerElement(type) / 8; }

const char* DataTypeName(DML_TENSOR_DATA_TYPE type) {
  static const char* const names[] = {"UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32",
                                      "INT16",   "INT8",    "FLOAT64", "UINT64", "INT64",  "UINT4", "INT4"};
  return static_cast<uint32_t>(type) < std::size(names) ? names[type] : "?";
}

uint64_t BufferTensorSize(DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t* sizes, const uint32_t* strides) {
  uint64_t elements = 1;
  if (strides) {
    for (uint32_t i = 0; i < rank; ++i) elements += static_cast<uint64_t>(sizes[i] - 1) * strides[i];
  } else {
    for (uint32_t i = 0; i < rank; ++i) elements *= sizes[i];
  }
  return ((elements * BitsPerElement(type) + 7) / 8 + 3) & ~uint64_t{3};
}

int OperatorDesc::TryIndexOf(const char* name) const {
  for (int i = 0; i < schema->field_count; ++i)
    if (!std::strcmp(schema->fields[i].name, name)) return i;
  return -1;
}

size_t OperatorDesc::IndexOf(const char* name) const {
  int i = TryIndexOf(name);
  if (i < 0) throw std::out_of_range(std::string(schema->name) + " has no field " + name);
  return static_cast<size_t>(i);
}

std::vector<const TensorDesc*> OperatorDesc::Slots(FieldKind kind) const {
  std::vector<const TensorDesc*> slots;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (schema->fields[i].kind != kind) continue;
    if (auto* one = std::get_if<std::optional<TensorDesc>>(&fields[i])) {
      slots.push_back(*one ? &**one : nullptr);
    } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&fields[i])) {
      for (const TensorDesc& t : *many) slots.push_back(&t);
    }
  }
  return slots;
}

namespace {

struct Layout {
  size_t size, alignment;
};

Layout LayoutOf(FieldType type) {
  switch (type) {
    case FieldType::UInt32:
    case FieldType::Int32:
    case FieldType::Float32:
    case FieldType::Bool: return {4, 4};
    case FieldType::Size2D: return {sizeof(DML_SIZE_2D), alignof(DML_SIZE_2D)};
    case FieldType::ScalarUnion: return {sizeof(DML_SCALAR_UNION), alignof(DML_SCALAR_UNION)};
    default: return {sizeof(void*), alignof(void*)};
  }
}

// The structures of DirectML.h are laid out by natural alignment in the order of their fields.
std::vector<size_t> Offsets(const OperatorSchema& schema, size_t& size) {
  std::vector<size_t> offsets;
  size_t at = 0, widest = 1;
  for (int i = 0; i < schema.field_count; ++i) {
    Layout l = LayoutOf(schema.fields[i].type);
    at = (at + l.alignment - 1) / l.alignment * l.alignment;
    offsets.push_back(at);
    at += l.size;
    if (l.alignment > widest) widest = l.alignment;
  }
  size = (at + widest - 1) / widest * widest;
  return offsets;
}

template <typename T>
T Load(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

std::optional<ReadError> ReadTensor(const DML_TENSOR_DESC& from, TensorDesc& to) {
  if (from.Type != DML_TENSOR_TYPE_BUFFER) return ReadError{"the tensor's type is not BUFFER"};
  auto* b = static_cast<const DML_BUFFER_TENSOR_DESC*>(from.Desc);
  if (!b) return ReadError{"the tensor's description is null"};
  if (b->DimensionCount == 0 || b->DimensionCount > kMaxRank) return ReadError{"DimensionCount is not 1 to 8"};
  if (!b->Sizes) return ReadError{"Sizes is null"};
  to.data_type = b->DataType;
  to.flags = static_cast<uint32_t>(b->Flags);
  to.rank = b->DimensionCount;
  to.has_strides = b->Strides != nullptr;
  uint32_t packed = 1;
  for (uint32_t i = to.rank; i-- > 0;) {
    to.sizes[i] = b->Sizes[i];
    to.strides[i] = b->Strides ? b->Strides[i] : packed;
    packed *= b->Sizes[i];
  }
  to.size_in_bytes = b->TotalTensorSizeInBytes;
  to.alignment = b->GuaranteedBaseOffsetAlignment;
  return std::nullopt;
}

template <typename T>
std::optional<ReadError> ReadArray(const void* base, size_t offset, uint32_t count, Field& out) {
  auto* p = Load<const T*>(base, offset);
  if (count && !p) return ReadError{"the array is null and its count is not 0"};
  out = std::vector<T>(p, p + count);
  return std::nullopt;
}

}  // namespace

std::variant<OperatorDesc, ReadError> Read(const DML_OPERATOR_DESC& from) {
  OperatorDesc to;
  to.schema = FindOperator(static_cast<uint32_t>(from.Type));
  if (!to.schema) return ReadError{"operator type " + std::to_string(from.Type) + " is unknown"};
  if (!from.Desc) return ReadError{std::string(to.schema->name) + ": the description is null"};
  size_t size = 0;
  std::vector<size_t> offsets = Offsets(*to.schema, size);
  to.fields.resize(to.schema->field_count);
  for (int i = 0; i < to.schema->field_count; ++i) {
    const FieldSchema& f = to.schema->fields[i];
    Field& out = to.fields[static_cast<size_t>(i)];
    size_t at = offsets[static_cast<size_t>(i)];
    uint32_t count = f.count_field >= 0 ? Load<uint32_t>(from.Desc, offsets[static_cast<size_t>(f.count_field)]) : 0;
    std::optional<ReadError> error;
    switch (f.type) {
      case FieldType::Tensor: {
        std::optional<TensorDesc> tensor;
        if (auto* p = Load<const DML_TENSOR_DESC*>(from.Desc, at)) error = ReadTensor(*p, tensor.emplace());
        out = tensor;
        break;
      }
      case FieldType::TensorArray: {
        auto* p = Load<const DML_TENSOR_DESC*>(from.Desc, at);
        if (count && !p) {
          error = ReadError{"the array is null and its count is not 0"};
          break;
        }
        std::vector<TensorDesc> list(count);
        for (uint32_t k = 0; k < count && !error; ++k) error = ReadTensor(p[k], list[k]);
        out = std::move(list);
        break;
      }
      case FieldType::Operator: {
        std::shared_ptr<const OperatorDesc> inner;
        if (auto* p = Load<const DML_OPERATOR_DESC*>(from.Desc, at)) {
          auto read = Read(*p);
          if (auto* bad = std::get_if<ReadError>(&read)) error = *bad;
          else inner = std::make_shared<const OperatorDesc>(std::move(std::get<OperatorDesc>(read)));
        }
        out = inner;
        break;
      }
      case FieldType::OperatorArray: {
        auto* p = Load<const DML_OPERATOR_DESC*>(from.Desc, at);
        if (count && !p) {
          error = ReadError{"the array is null and its count is not 0"};
          break;
        }
        std::vector<OperatorDesc> list;
        for (uint32_t k = 0; k < count && !error; ++k) {
          auto read = Read(p[k]);
          if (auto* bad = std::get_if<ReadError>(&read)) error = *bad;
          else list.push_back(std::move(std::get<OperatorDesc>(read)));
        }
        out = std::move(list);
        break;
      }
      case FieldType::UInt32: out = Load<uint32_t>(from.Desc, at); break;
      case FieldType::UInt32Array: error = ReadArray<uint32_t>(from.Desc, at, count, out); break;
      case FieldType::Int32: out = Load<int32_t>(from.Desc, at); break;
      case FieldType::Int32Array: error = ReadArray<int32_t>(from.Desc, at, count, out); break;
      case FieldType::Float32: out = Load<float>(from.Desc, at); break;
      case FieldType::Float32Array: error = ReadArray<float>(from.Desc, at, count, out); break;
      case FieldType::Bool: out = Load<uint32_t>(from.Desc, at) != 0; break;
      case FieldType::ScaleBias: {
        auto* p = Load<const DML_SCALE_BIAS*>(from.Desc, at);
        out = p ? std::optional<DML_SCALE_BIAS>(*p) : std::nullopt;
        break;
      }
      case FieldType::Size2D: out = Load<DML_SIZE_2D>(from.Desc, at); break;
      case FieldType::ScalarUnion: out = Load<DML_SCALAR_UNION>(from.Desc, at); break;
    }
    if (error) return ReadError{std::string(to.schema->name) + "." + f.name + ": " + error->text};
  }
  return to;
}

DmlDesc::DmlDesc(const OperatorDesc& desc) { desc_ = Build(desc); }

void* DmlDesc::Allocate(size_t bytes) {
  memory_.emplace_back((bytes + 7) / 8 + 1);
  return memory_.back().data();
}

const DML_TENSOR_DESC* DmlDesc::Tensors(const TensorDesc* first, size_t count) {
  auto* descs = static_cast<DML_TENSOR_DESC*>(Allocate(sizeof(DML_TENSOR_DESC) * count));
  for (size_t i = 0; i < count; ++i) {
    const TensorDesc& t = first[i];
    auto* b = static_cast<DML_BUFFER_TENSOR_DESC*>(Allocate(sizeof(DML_BUFFER_TENSOR_DESC)));
    auto* numbers = static_cast<UINT*>(Allocate(sizeof(UINT) * 2 * kMaxRank));
    std::memcpy(numbers, t.sizes.data(), sizeof(UINT) * t.rank);
    std::memcpy(numbers + kMaxRank, t.strides.data(), sizeof(UINT) * t.rank);
    *b = {t.data_type, static_cast<DML_TENSOR_FLAGS>(t.flags),       t.rank,
          numbers,     t.has_strides ? numbers + kMaxRank : nullptr, t.size_in_bytes,
          t.alignment};
    descs[i] = {DML_TENSOR_TYPE_BUFFER, b};
  }
  return descs;
}

DML_OPERATOR_DESC DmlDesc::Build(const OperatorDesc& desc) {
  size_t size = 0;
  std::vector<size_t> offsets = Offsets(*desc.schema, size);
  char* base = static_cast<char*>(Allocate(size));
  std::memset(base, 0, size);
  for (int i = 0; i < desc.schema->field_count; ++i) {
    const Field& field = desc.fields[static_cast<size_t>(i)];
    char* at = base + offsets[static_cast<size_t>(i)];
    auto put = [&](const auto& value) { std::memcpy(at, &value, sizeof value); };
    auto put_array = [&](const auto& list) {
      void* copy = list.empty() ? nullptr : Allocate(list.size() * sizeof(list[0]));
      if (copy) std::memcpy(copy, list.data(), list.size() * sizeof(list[0]));
      put(copy);
    };
    switch (desc.schema->fields[i].type) {
      case FieldType::Tensor: {
        auto& tensor = std::get<std::optional<TensorDesc>>(field);
        put(tensor ? Tensors(&*tensor, 1) : static_cast<const DML_TENSOR_DESC*>(nullptr));
        break;
      }
      case FieldType::TensorArray: {
        auto& list = std::get<std::vector<TensorDesc>>(field);
        put(Tensors(list.data(), list.size()));
        break;
      }
      case FieldType::Operator: {
        auto& inner = std::get<std::shared_ptr<const OperatorDesc>>(field);
        DML_OPERATOR_DESC* copy = nullptr;
        if (inner) *(copy = static_cast<DML_OPERATOR_DESC*>(Allocate(sizeof *copy))) = Build(*inner);
        put(copy);
        break;
      }
      case FieldType::OperatorArray: {
        auto& list = std::get<std::vector<OperatorDesc>>(field);
        auto* copy = static_cast<DML_OPERATOR_DESC*>(Allocate(sizeof(DML_OPERATOR_DESC) * list.size()));
        for (size_t k = 0; k < list.size(); ++k) copy[k] = Build(list[k]);
        put(copy);
        break;
      }
      case FieldType::UInt32: put(std::get<uint32_t>(field)); break;
      case FieldType::UInt32Array: put_array(std::get<std::vector<uint32_t>>(field)); break;
      case FieldType::Int32: put(std::get<int32_t>(field)); break;
      case FieldType::Int32Array: put_array(std::get<std::vector<int32_t>>(field)); break;
      case FieldType::Float32: put(std::get<float>(field)); break;
      case FieldType::Float32Array: put_array(std::get<std::vector<float>>(field)); break;
      case FieldType::Bool: put(static_cast<uint32_t>(std::get<bool>(field))); break;
      case FieldType::ScaleBias: {
        auto& value = std::get<std::optional<DML_SCALE_BIAS>>(field);
        DML_SCALE_BIAS* copy = nullptr;
        if (value) *(copy = static_cast<DML_SCALE_BIAS*>(Allocate(sizeof *copy))) = *value;
        put(copy);
        break;
      }
      case FieldType::Size2D: put(std::get<DML_SIZE_2D>(field)); break;
      case FieldType::ScalarUnion: put(std::get<DML_SCALAR_UNION>(field)); break;
    }
  }
  return {desc.schema->type, base};
}

}  // namespace dxtensor::schema
