#include "mutate.h"

#include <cmath>

#include "describe.h"

namespace dxtensor::test {

using namespace schema;

namespace {

class Mutator {
 public:
  explicit Mutator(const OperatorDesc& good) : good_(good) {}

  std::vector<Mutant> All() {
    for (size_t i = 0; i < good_.fields.size(); ++i) MutateField(i);
    MutateTogether();
    return std::move(out_);
  }

 private:
  void Add(const std::string& name, OperatorDesc desc) {
    SetCounts(desc);
    out_.push_back({name, std::move(desc)});
  }
  std::string Name(size_t field) const { return good_.schema->fields[field].name; }
  bool IsCount(size_t field) const {
    for (int i = 0; i < good_.schema->field_count; ++i)
      if (good_.schema->fields[i].count_field == static_cast<int>(field)) return true;
    return false;
  }

  // One changed copy with a new value of the field.
  template <typename T>
  void With(size_t field, const std::string& what, const T& value) {
    OperatorDesc desc = good_;
    desc.fields[field] = value;
    Add(Name(field) + " " + what, std::move(desc));
  }

  static void Resize(TensorDesc& t) {
    t.size_in_bytes = BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.has_strides ? t.strides.data() : nullptr);
  }
  static void Prepend(TensorDesc& t, uint32_t ones) {
    if (t.rank + ones > kMaxRank) return;
    std::vector<uint32_t> sizes(ones, 1);
    sizes.insert(sizes.end(), t.sizes.begin(), t.sizes.begin() + t.rank);
    t = MakeTensor(t.data_type, sizes);
  }
  static void Strip(TensorDesc& t) {
    if (t.rank < 2) return;
    t = MakeTensor(t.data_type, std::vector<uint32_t>(t.sizes.begin() + 1, t.sizes.begin() + t.rank));
  }

  void MutateTensor(const std::string& name, const TensorDesc& t, const std::function<void(const std::string&, const TensorDesc&)>& add) {
    auto with = [&](const std::string& what, auto change) {
      TensorDesc copy = t;
      change(copy);
      add(name + what, copy);
    };
    for (uint32_t type : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 99})
      with(" type " + std::to_string(type), [&](TensorDesc& c) {
        c.data_type = static_cast<DML_TENSOR_DATA_TYPE>(type);
        Resize(c);
      });
    for (uint32_t d = 0; d < t.rank; ++d) {
      for (uint32_t size : {0u, 1u, 2u, t.sizes[d] + 1, t.sizes[d] - 1, t.sizes[d] * 2})
        with(" sizes[" + std::to_string(d) + "] " + std::to_string(size), [&](TensorDesc& c) {
          c.sizes[d] = size;
          Pack(c);
        });
      for (uint32_t stride : {0u, 1u, t.strides[d] * 2, t.strides[d] + 1, 64u})
        with(" strides[" + std::to_string(d) + "] " + std::to_string(stride), [&](TensorDesc& c) {
          c.has_strides = true;
          c.strides[d] = stride;
          Resize(c);
        });
    }
    with(" explicit strides", [](TensorDesc& c) { c.has_strides = true; });
    with(" more ranks", [](TensorDesc& c) { Prepend(c, 1); });
    with(" rank 5", [](TensorDesc& c) { Prepend(c, c.rank < 5 ? 5 - c.rank : 0); });
    with(" rank 8", [](TensorDesc& c) { Prepend(c, 8 - c.rank); });
    with(" fewer ranks", [](TensorDesc& c) { Strip(c); });
    with(" rank 1", [](TensorDesc& c) {
      while (c.rank > 1) Strip(c);
    });
    with(" owned", [](TensorDesc& c) { c.flags = 1; });
    with(" flag 0x80", [](TensorDesc& c) { c.flags = 0x80; });
    with(" bytes too small", [](TensorDesc& c) { c.size_in_bytes -= 4; });
    with(" bytes 0", [](TensorDesc& c) { c.size_in_bytes = 0; });
    with(" bytes odd", [](TensorDesc& c) { c.size_in_bytes += 3; });
    with(" bytes without rounding", [](TensorDesc& c) { c.size_in_bytes -= 1; });
    with(" bytes large", [](TensorDesc& c) { c.size_in_bytes += uint64_t{1} << 33; });
    for (uint32_t alignment : {1u, 2u, 3u, 4u, 16u, 48u, 256u, 1u << 20})
      with(" alignment " + std::to_string(alignment), [&](TensorDesc& c) { c.alignment = alignment; });
    with(" huge", [](TensorDesc& c) {
      c.sizes[c.rank - 1] = 0x80000000u;
      if (c.rank > 1) c.sizes[c.rank - 2] = 4;
      Pack(c);
      c.size_in_bytes = uint64_t{1} << 40;
    });
  }

  template <typename T>
  void MutateArray(size_t field, const std::vector<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::vector<T> values;
      if constexpr (std::is_same_v<T, float>) values = {0.0f, -1.0f, 0.5f, 2.0f, NAN, INFINITY, 1e30f};
      else
        values = {0,
                  1,
                  static_cast<T>(static_cast<uint32_t>(list[i]) + 1),
                  static_cast<T>(static_cast<uint32_t>(list[i]) - 1),
                  2,
                  3,
                  4,
                  100,
                  static_cast<T>(-1),
                  static_cast<T>(0x7fffffff),
                  static_cast<T>(0x80000000u)};
      for (T value : values) {
        std::vector<T> copy = list;
        copy[i] = value;
        With(field, "[" + std::to_string(i) + "] " + std::to_string(value), copy);
      }
    }
    int count = good_.schema->fields[field].count_field;
    for (int i = 0; i < static_cast<int>(field); ++i)
      if (good_.schema->fields[i].count_field == count) return;  // the first array of a count changes all
    for (int change : {+1, -1, +9}) {
      OperatorDesc desc = good_;
      ResizeArrays(desc, count, change, true);
      Add(Name(field) + " length " + std::to_string(change), std::move(desc));
    }
    OperatorDesc desc = good_;
    ResizeArrays(desc, count, -static_cast<int>(list.size()), true);
    Add(Name(field) + " empty", std::move(desc));
  }

  // Lengthens or shortens, at the end or at the start, every plain array that has this count.
  void ResizeArrays(OperatorDesc& desc, int count, int change, bool at_end) {
    for (size_t i = 0; i < desc.fields.size(); ++i) {
      if (good_.schema->fields[i].count_field != count) continue;
      std::visit(
          [&](auto& v) {
            using V = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<V, std::vector<uint32_t>> || std::is_same_v<V, std::vector<int32_t>> ||
                          std::is_same_v<V, std::vector<float>>) {
              using T = typename V::value_type;
              std::string name = Name(i);
              bool ones = name.find("Padding") == std::string::npos && name.find("Offsets") == std::string::npos;
              for (int k = 0; k < change; ++k) v.insert(at_end ? v.end() : v.begin(), static_cast<T>(ones ? 1 : 0));
              for (int k = 0; k > change && !v.empty(); --k) v.erase(at_end ? v.end() - 1 : v.begin());
            }
          },
          desc.fields[i]);
    }
  }

  void MutateField(size_t i) {
    const FieldSchema& f = good_.schema->fields[i];
    const Field& field = good_.fields[i];
    if (auto* tensor = std::get_if<std::optional<TensorDesc>>(&field)) {
      if (!*tensor) return;
      With(i, "null", std::optional<TensorDesc>());
      MutateTensor(Name(i), **tensor, [&](const std::string& name, const TensorDesc& t) {
        OperatorDesc desc = good_;
        desc.fields[i] = std::optional<TensorDesc>(t);
        Add(name, std::move(desc));
      });
    } else if (auto* tensors = std::get_if<std::vector<TensorDesc>>(&field)) {
      With(i, "empty", std::vector<TensorDesc>());
      std::vector<TensorDesc> longer = *tensors, shorter = *tensors;
      longer.push_back(tensors->back());
      shorter.pop_back();
      With(i, "longer", longer);
      With(i, "shorter", shorter);
      for (size_t k = 0; k < tensors->size(); ++k)
        MutateTensor(Name(i) + "[" + std::to_string(k) + "]", (*tensors)[k], [&](const std::string& name, const TensorDesc& t) {
          OperatorDesc desc = good_;
          std::get<std::vector<TensorDesc>>(desc.fields[i])[k] = t;
          Add(name, std::move(desc));
        });
    } else if (auto* number = std::get_if<uint32_t>(&field)) {
      if (IsCount(i)) return;
      for (uint32_t v : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 12u, *number + 1, *number - 1, 0x7fffffffu, 0xffffffffu})
        With(i, std::to_string(v), v);
    } else if (auto* signed_number = std::get_if<int32_t>(&field)) {
      const auto bits = static_cast<uint32_t>(*signed_number);
      for (int32_t v :
           {0, 1, -1, 2, 3, 4, 5, 6, 7, -7, static_cast<int32_t>(bits + 1), static_cast<int32_t>(bits - 1), INT32_MAX, INT32_MIN})
        With(i, std::to_string(v), v);
    } else if (std::get_if<float>(&field)) {
      for (float v : {0.0f, -1.0f, 0.5f, 1.0f, 2.0f, NAN, INFINITY, -INFINITY, 1e30f}) With(i, std::to_string(v), v);
    } else if (auto* flag = std::get_if<bool>(&field)) {
      With(i, "toggled", !*flag);
    } else if (auto* list = std::get_if<std::vector<uint32_t>>(&field)) {
      MutateArray(i, *list);
    } else if (auto* signed_list = std::get_if<std::vector<int32_t>>(&field)) {
      MutateArray(i, *signed_list);
    } else if (auto* floats = std::get_if<std::vector<float>>(&field)) {
      MutateArray(i, *floats);
    } else if (f.type == FieldType::Operator) {
      With(i, "null", std::shared_ptr<const OperatorDesc>());
      for (const OperatorDesc& inner : Activations()) With(i, inner.schema->name, std::make_shared<const OperatorDesc>(inner));
      OperatorDesc relu = Parse("ACTIVATION_RELU InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4]");
      With(i, "with tensors", std::make_shared<const OperatorDesc>(relu));
    } else if (auto* operators = std::get_if<std::vector<OperatorDesc>>(&field)) {
      With(i, "empty", std::vector<OperatorDesc>());
      std::vector<OperatorDesc> longer = *operators, shorter = *operators;
      longer.push_back(operators->back());
      shorter.pop_back();
      With(i, "longer", longer);
      With(i, "shorter", shorter);
      for (const OperatorDesc& inner : Activations()) {
        std::vector<OperatorDesc> changed = *operators;
        changed[0] = inner;
        With(i, std::string("[0] ") + inner.schema->name, changed);
      }
    } else if (f.type == FieldType::ScaleBias) {
      With(i, "null", std::optional<DML_SCALE_BIAS>());
      With(i, "2:1", std::optional<DML_SCALE_BIAS>(DML_SCALE_BIAS{2, 1}));
    } else if (auto* size = std::get_if<DML_SIZE_2D>(&field)) {
      for (UINT v : {0u, 1u, 2u, 3u, 4u, 100u, 0xffffffffu}) {
        With(i, "width " + std::to_string(v), DML_SIZE_2D{v, size->Height});
        With(i, "height " + std::to_string(v), DML_SIZE_2D{size->Width, v});
      }
    }
  }

  static std::vector<OperatorDesc> Activations() {
    std::vector<OperatorDesc> list;
    for (const OperatorSchema* s : AllOperators()) {
      std::string name = s->name;
      if (!s->fusable_activation && name.find("ACTIVATION_") != 0 && name != "ELEMENT_WISE_CLIP1" && name != "ELEMENT_WISE_ABS" &&
          name != "GEMM" && name != "ELEMENT_WISE_TANH")
        continue;
      OperatorDesc desc = Empty(*s);
      for (Field& field : desc.fields)
        if (auto* number = std::get_if<float>(&field)) *number = 1.0f;
      if (desc.Has("Axes")) desc = Parse(name + " Axes=[1]");
      list.push_back(desc);
    }
    return list;
  }

  // Calls change(tensor) on every tensor for which it is asked.
  template <typename Which, typename Change>
  void AddTensorChange(const std::string& name, Which&& which, Change&& change, int prepend = 0) {
    OperatorDesc desc = good_;
    for (Field& field : desc.fields) {
      if (auto* one = std::get_if<std::optional<TensorDesc>>(&field)) {
        if (*one && which(**one)) change(**one);
      } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&field)) {
        for (TensorDesc& t : *many)
          if (which(t)) change(t);
      }
    }
    if (prepend)
      for (int count = 0; count < good_.schema->field_count; ++count)
        if (IsCount(static_cast<size_t>(count))) ResizeArrays(desc, count, prepend, false);
    Add(name, std::move(desc));
  }

  void MutateTogether() {
    auto all = [](const TensorDesc&) { return true; };
    for (uint32_t ones : {1u, 2u, 4u})
      for (bool arrays : {false, true})
        AddTensorChange(
            "all tensors: " + std::to_string(ones) + " more ranks" + (arrays ? ", arrays too" : ""), all,
            [&](TensorDesc& t) { Prepend(t, ones); }, arrays ? static_cast<int>(ones) : 0);
    for (uint32_t fewer : {1u, 2u, 3u})
      for (bool arrays : {false, true})
        AddTensorChange(
            "all tensors: " + std::to_string(fewer) + " fewer ranks" + (arrays ? ", arrays too" : ""), all,
            [&](TensorDesc& t) {
              for (uint32_t i = 0; i < fewer; ++i) Strip(t);
            },
            arrays ? -static_cast<int>(fewer) : 0);
    uint32_t present = 0;
    std::vector<const TensorDesc*> tensors = good_.Inputs();
    for (const TensorDesc* t : good_.Outputs()) tensors.push_back(t);
    for (const TensorDesc* t : tensors)
      if (t) present |= 1u << t->data_type;
    for (uint32_t from = 1; from < 14; ++from)
      for (uint32_t to = 1; to < 14; ++to)
        if (present >> from & 1)
          AddTensorChange(
              std::string("all ") + ShortName(static_cast<DML_TENSOR_DATA_TYPE>(from)) + " become " +
                  ShortName(static_cast<DML_TENSOR_DATA_TYPE>(to)),
              [&](const TensorDesc& t) { return t.data_type == static_cast<DML_TENSOR_DATA_TYPE>(from); },
              [&](TensorDesc& t) {
                t.data_type = static_cast<DML_TENSOR_DATA_TYPE>(to);
                Resize(t);
              });
    for (uint32_t d = 0; d < 5; ++d)
      for (uint32_t size : {1u, 2u, 3u, 5u, 7u})
        AddTensorChange("all tensors: sizes[" + std::to_string(d) + "] " + std::to_string(size), all, [&](TensorDesc& t) {
          if (d >= t.rank) return;
          t.sizes[d] = size;
          Pack(t);
        });
    AddTensorChange("all tensors: all sizes 1", all, [&](TensorDesc& t) {
      for (uint32_t i = 0; i < t.rank; ++i) t.sizes[i] = 1;
      Pack(t);
    });
    AddTensorChange("all tensors null", all, [](TensorDesc&) {});
    OperatorDesc& last = out_.back().desc;
    for (Field& field : last.fields)
      if (std::get_if<std::optional<TensorDesc>>(&field)) field = std::optional<TensorDesc>();
  }

  const OperatorDesc& good_;
  std::vector<Mutant> out_;
};

}  // namespace

std::vector<Mutant> Mutants(const OperatorDesc& good) { return Mutator(good).All(); }

}  // namespace dxtensor::test
