#include "describe.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace dxtensor::test {

using namespace schema;

namespace {

const char* const kTypes[] = {"?", "f32", "f16", "u32", "u16", "u8", "i32", "i16", "i8", "f64", "u64", "i64", "u4", "i4"};

// Reads one description from left to right.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  OperatorDesc Operator(char end) {
    std::string name = Word();
    const OperatorSchema* found = nullptr;
    for (const OperatorSchema* op : AllOperators())
      if (name == op->name) found = op;
    if (!found) Fail("no operator " + name);
    OperatorDesc desc = Empty(*found);
    for (Skip(); Peek() != end; Skip()) {
      std::string field = Word();
      Expect('=');
      int index = -1;
      for (int i = 0; i < found->field_count; ++i)
        if (field == found->fields[i].name) index = i;
      if (index < 0) Fail(name + " has no field " + field);
      desc.fields[static_cast<size_t>(index)] = Value(found->fields[index].type);
    }
    SetCounts(desc);
    return desc;
  }

  void End() {
    Skip();
    if (at_ != text_.size()) Fail("text after the end");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what + " at " + std::to_string(at_) + " in: " + text_); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() {
    while (Peek() == ' ') ++at_;
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(std::string("expected ") + c);
  }
  std::string Word() {
    size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(Peek())) || Peek() == '_') ++at_;
    if (start == at_) Fail("expected a name");
    return text_.substr(start, at_ - start);
  }
  double Number() {
    const char* start = text_.c_str() + at_;
    char* end = nullptr;
    double value = std::strtod(start, &end);
    if (end == start) Fail("expected a number");
    at_ += static_cast<size_t>(end - start);
    return value;
  }
  int64_t Integer() {
    const char* start = text_.c_str() + at_;
    char* end = nullptr;
    long long value = *start == '-' ? std::strtoll(start, &end, 10) : static_cast<long long>(std::strtoull(start, &end, 10));
    if (end == start) Fail("expected an integer");
    at_ += static_cast<size_t>(end - start);
    return value;
  }
  template <typename T, typename F>
  std::vector<T> List(F&& element) {
    std::vector<T> list;
    Expect('[');
    while (!Take(']')) {
      list.push_back(element());
      Take(',');
    }
    return list;
  }
  std::vector<uint32_t> UInts() {
    return List<uint32_t>([&] { return static_cast<uint32_t>(Integer()); });
  }
  TensorDesc Tensor() {
    DML_TENSOR_DATA_TYPE type = ParseType(Word());
    std::vector<uint32_t> sizes = UInts(), strides;
    if (Take('/')) strides = UInts();
    TensorDesc tensor = MakeTensor(type, sizes, strides);
    if (Take('!')) tensor.flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    if (Take('#')) tensor.size_in_bytes = static_cast<uint64_t>(Integer());
    return tensor;
  }
  OperatorDesc Inner() {
    Expect('{');
    OperatorDesc desc = Operator('}');
    Expect('}');
    return desc;
  }
  Field Value(FieldType type) {
    switch (type) {
      case FieldType::Tensor: return std::optional<TensorDesc>(Tensor());
      case FieldType::TensorArray: return List<TensorDesc>([&] { return Tensor(); });
      case FieldType::Operator: return std::make_shared<const OperatorDesc>(Inner());
      case FieldType::OperatorArray: return List<OperatorDesc>([&] { return Inner(); });
      case FieldType::UInt32: return static_cast<uint32_t>(Integer());
      case FieldType::UInt32Array: return UInts();
      case FieldType::Int32: return static_cast<int32_t>(Integer());
      case FieldType::Int32Array: return List<int32_t>([&] { return static_cast<int32_t>(Integer()); });
      case FieldType::Float32: return static_cast<float>(Number());
      case FieldType::Float32Array: return List<float>([&] { return static_cast<float>(Number()); });
      case FieldType::Bool: return Integer() != 0;
      case FieldType::ScaleBias: {
        DML_SCALE_BIAS value{};
        value.Scale = static_cast<float>(Number());
        Expect(':');
        value.Bias = static_cast<float>(Number());
        return std::optional<DML_SCALE_BIAS>(value);
      }
      case FieldType::Size2D: {
        DML_SIZE_2D value{};
        value.Width = static_cast<UINT>(Integer());
        Expect('x');
        value.Height = static_cast<UINT>(Integer());
        return value;
      }
      case FieldType::ScalarUnion: return Scalar();
    }
    Fail("unknown field type");
  }
  DML_SCALAR_UNION Scalar() {
    DML_SCALAR_UNION value{};
    std::string type = Word();
    Expect(':');
    if (type == "f32") value.Float32 = static_cast<float>(Number());
    else if (type == "f64") value.Float64 = Number();
    else if (type == "f16") value.UInt16 = static_cast<uint16_t>(Integer());  // as bits
    else value.Int64 = Integer();                                             // little endian: every integer type reads its low bytes
    return value;
  }

  const std::string& text_;
  size_t at_ = 0;
};

template <typename T>
std::string Join(const std::vector<T>& list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    char number[40];
    if constexpr (std::is_same_v<T, float>) std::snprintf(number, sizeof number, "%.9g", static_cast<double>(list[i]));
    else std::snprintf(number, sizeof number, "%lld", static_cast<long long>(list[i]));
    out += (i ? "," : "") + std::string(number);
  }
  return out + "]";
}

std::string TensorText(const TensorDesc& t) {
  std::string out = ShortName(t.data_type);
  out += Join(std::vector<uint32_t>(t.sizes.begin(), t.sizes.begin() + t.rank));
  if (t.has_strides) out += "/" + Join(std::vector<uint32_t>(t.strides.begin(), t.strides.begin() + t.rank));
  if (t.flags) out += t.flags == DML_TENSOR_FLAG_OWNED_BY_DML ? "!" : "(flags " + std::to_string(t.flags) + ")";
  if (t.size_in_bytes != BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.has_strides ? t.strides.data() : nullptr))
    out += "#" + std::to_string(t.size_in_bytes);
  if (t.alignment) out += "(alignment " + std::to_string(t.alignment) + ")";
  return out;
}

}  // namespace

OperatorDesc Parse(const std::string& text) {
  Reader reader(text);
  OperatorDesc desc = reader.Operator('\0');
  reader.End();
  return desc;
}

std::string Text(const OperatorDesc& desc) {
  std::string out = desc.schema->name;
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    std::string value = std::visit(
        [](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          char number[80];
          if constexpr (std::is_same_v<T, std::optional<TensorDesc>>) {
            return v ? TensorText(*v) : "";
          } else if constexpr (std::is_same_v<T, std::vector<TensorDesc>>) {
            std::string list = "[";
            for (const TensorDesc& t : v) list += (list.size() > 1 ? "," : "") + TensorText(t);
            return list + "]";
          } else if constexpr (std::is_same_v<T, std::shared_ptr<const OperatorDesc>>) {
            return v ? "{" + Text(*v) + "}" : "";
          } else if constexpr (std::is_same_v<T, std::vector<OperatorDesc>>) {
            std::string list = "[";
            for (const OperatorDesc& t : v) list += (list.size() > 1 ? "," : "") + ("{" + Text(t) + "}");
            return list + "]";
          } else if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, bool>) {
            return std::to_string(v);
          } else if constexpr (std::is_same_v<T, float>) {
            std::snprintf(number, sizeof number, "%.9g", static_cast<double>(v));
            return number;
          } else if constexpr (std::is_same_v<T, std::optional<DML_SCALE_BIAS>>) {
            if (!v) return "";
            std::snprintf(number, sizeof number, "%.9g:%.9g", static_cast<double>(v->Scale), static_cast<double>(v->Bias));
            return number;
          } else if constexpr (std::is_same_v<T, DML_SIZE_2D>) {
            return std::to_string(v.Width) + "x" + std::to_string(v.Height);
          } else if constexpr (std::is_same_v<T, DML_SCALAR_UNION>) {
            return "u64:" + std::to_string(v.UInt64);
          } else {
            return Join(v);
          }
        },
        desc.fields[i]);
    bool derived = false;
    for (size_t k = 0; k < desc.fields.size(); ++k) derived = derived || desc.schema->fields[k].count_field == static_cast<int>(i);
    if (!value.empty() && !derived) out += " " + std::string(desc.schema->fields[i].name) + "=" + value;
  }
  return out;
}

TensorDesc MakeTensor(DML_TENSOR_DATA_TYPE type, const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& strides) {
  if (sizes.size() > kMaxRank || (!strides.empty() && strides.size() != sizes.size())) throw std::runtime_error("tensor of a wrong rank");
  TensorDesc t;
  t.data_type = type;
  t.rank = static_cast<uint32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), t.sizes.begin());
  Pack(t);
  if (!strides.empty()) {
    t.has_strides = true;
    std::copy(strides.begin(), strides.end(), t.strides.begin());
    t.size_in_bytes = BufferTensorSize(type, t.rank, t.sizes.data(), t.strides.data());
  }
  return t;
}

void Pack(TensorDesc& t) {
  t.has_strides = false;
  t.strides = {};
  uint32_t stride = 1;
  for (uint32_t i = t.rank; i-- > 0;) {
    t.strides[i] = stride;
    stride *= t.sizes[i];
  }
  for (uint32_t i = t.rank; i < kMaxRank; ++i) t.sizes[i] = 0;
  t.size_in_bytes = BufferTensorSize(t.data_type, t.rank, t.sizes.data(), nullptr);
}

DML_TENSOR_DATA_TYPE ParseType(const std::string& name) {
  for (size_t i = 1; i < std::size(kTypes); ++i)
    if (name == kTypes[i]) return static_cast<DML_TENSOR_DATA_TYPE>(i);
  throw std::runtime_error("no data type " + name);
}

const char* ShortName(DML_TENSOR_DATA_TYPE type) { return static_cast<size_t>(type) < std::size(kTypes) ? kTypes[type] : "??"; }

void SetCounts(OperatorDesc& desc) {
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    int count = desc.schema->fields[i].count_field;
    if (count < 0) continue;
    desc.fields[static_cast<size_t>(count)] = std::visit(
        [](const auto& v) -> uint32_t {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::vector<TensorDesc>> || std::is_same_v<T, std::vector<OperatorDesc>> ||
                        std::is_same_v<T, std::vector<uint32_t>> || std::is_same_v<T, std::vector<int32_t>> ||
                        std::is_same_v<T, std::vector<float>>)
            return static_cast<uint32_t>(v.size());
          else return 0;
        },
        desc.fields[i]);
  }
}

OperatorDesc Empty(const OperatorSchema& schema) {
  OperatorDesc desc;
  desc.schema = &schema;
  for (int i = 0; i < schema.field_count; ++i) {
    switch (schema.fields[i].type) {
      case FieldType::Tensor: desc.fields.emplace_back(std::optional<TensorDesc>()); break;
      case FieldType::TensorArray: desc.fields.emplace_back(std::vector<TensorDesc>()); break;
      case FieldType::Operator: desc.fields.emplace_back(std::shared_ptr<const OperatorDesc>()); break;
      case FieldType::OperatorArray: desc.fields.emplace_back(std::vector<OperatorDesc>()); break;
      case FieldType::UInt32: desc.fields.emplace_back(uint32_t{0}); break;
      case FieldType::UInt32Array: desc.fields.emplace_back(std::vector<uint32_t>()); break;
      case FieldType::Int32: desc.fields.emplace_back(int32_t{0}); break;
      case FieldType::Int32Array: desc.fields.emplace_back(std::vector<int32_t>()); break;
      case FieldType::Float32: desc.fields.emplace_back(0.0f); break;
      case FieldType::Float32Array: desc.fields.emplace_back(std::vector<float>()); break;
      case FieldType::Bool: desc.fields.emplace_back(false); break;
      case FieldType::ScaleBias: desc.fields.emplace_back(std::optional<DML_SCALE_BIAS>()); break;
      case FieldType::Size2D: desc.fields.emplace_back(DML_SIZE_2D{}); break;
      case FieldType::ScalarUnion: desc.fields.emplace_back(DML_SCALAR_UNION{}); break;
    }
  }
  return desc;
}

}  // namespace dxtensor::test
