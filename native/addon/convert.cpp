#include "convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "errors.h"

namespace dxtensor::addon {

namespace {

constexpr int kDeepest = 4;  // of operators inside operators
// An array may say any length.
constexpr uint32_t kMaxReserved = 4096, kLongest = 1 << 20;

// The path of a value in its description, for errors: "GEMM.ATensor.sizes".
using Path = std::string;

[[noreturn]] void Reject(const Path& path, const std::string& expected) { Invalid(path + ": expected " + expected); }

double Number(const js::Value& value, const Path& path) {
  if (!value.IsNumber()) Reject(path, "a number");
  return value.Number();
}

template <typename T>
T Whole(const js::Value& value, const Path& path) {
  double number = Number(value, path);
  // Strides and wrapped constants may come as either sign of the same 32 bits.
  if (number != std::floor(number) || number < -2147483648.0 || number > 4294967295.0) Reject(path, "an integer of 32 bits");
  return static_cast<T>(static_cast<int64_t>(number));
}

uint64_t Size(const js::Value& value, const Path& path) {
  double number = Number(value, path);
  if (!(number >= 0 && number <= 9007199254740992.0) || number != std::floor(number)) Reject(path, "a size of 0 to 2^53");
  return static_cast<uint64_t>(number);
}

const js::Value& Object(const js::Value& value, const Path& path) {
  if (!value.IsObject()) Reject(path, "an object");
  return value;
}

const js::Value& Array(const js::Value& value, const Path& path) {
  if (!value.IsArray()) Reject(path, "an array");
  return value;
}

template <typename T, typename F>
std::vector<T> List(const js::Value& value, const Path& path, F&& convert) {
  std::vector<T> list;
  if (value.IsAbsent()) return list;
  js::Value array = Array(value, path);
  uint32_t length = array.Length();
  // What is absent in it may stand for nothing: then only memory would end a list of 2^32 - 1.
  if (length > kLongest) Reject(path, "at most " + std::to_string(kLongest) + " items");
  list.reserve(std::min<uint32_t>(length, kMaxReserved));
  for (uint32_t i = 0; i < length; ++i) list.push_back(convert(array.At(i), path));
  return list;
}

schema::TensorDesc ToTensor(const js::Value& value, const Path& path) {
  js::Value object = Object(value, path);
  schema::TensorDesc tensor;
  tensor.data_type = static_cast<DML_TENSOR_DATA_TYPE>(Whole<uint32_t>(object.Get("dataType"), path + ".dataType"));
  std::vector<uint32_t> sizes = List<uint32_t>(object.Get("sizes"), path + ".sizes", Whole<uint32_t>);
  if (sizes.empty() || sizes.size() > schema::kMaxRank) Reject(path + ".sizes", "1 to 8 sizes");
  tensor.rank = static_cast<uint32_t>(sizes.size());
  js::Value strides = object.Get("strides");
  tensor.has_strides = !strides.IsAbsent();
  std::vector<uint32_t> listed = List<uint32_t>(strides, path + ".strides", Whole<uint32_t>);
  if (tensor.has_strides && listed.size() != sizes.size()) Reject(path + ".strides", "as many strides as sizes");
  uint32_t packed = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = tensor.has_strides ? listed[i] : packed;
    packed *= sizes[i];
  }
  tensor.size_in_bytes = Size(object.Get("sizeInBytes"), path + ".sizeInBytes");
  return tensor;
}

schema::OperatorDesc ToOperator(const js::Value& value, const Path& path, int depth);

schema::Field ToField(const schema::FieldSchema& field, const js::Value& value, const Path& path, int depth) {
  using schema::FieldType;
  switch (field.type) {
    case FieldType::Tensor:
      return value.IsAbsent() ? std::optional<schema::TensorDesc>() : std::optional<schema::TensorDesc>(ToTensor(value, path));
    case FieldType::TensorArray: return List<schema::TensorDesc>(value, path, ToTensor);
    case FieldType::Operator:
      if (value.IsAbsent()) return std::shared_ptr<const schema::OperatorDesc>();
      return std::make_shared<const schema::OperatorDesc>(ToOperator(value, path, depth + 1));
    case FieldType::OperatorArray:
      return List<schema::OperatorDesc>(value, path,
                                        [&](const js::Value& item, const Path& at) { return ToOperator(item, at, depth + 1); });
    case FieldType::UInt32: return Whole<uint32_t>(value, path);
    case FieldType::UInt32Array: return List<uint32_t>(value, path, Whole<uint32_t>);
    case FieldType::Int32: return Whole<int32_t>(value, path);
    case FieldType::Int32Array: return List<int32_t>(value, path, Whole<int32_t>);
    case FieldType::Float32: return static_cast<float>(Number(value, path));
    case FieldType::Float32Array:
      return List<float>(value, path, [](const js::Value& item, const Path& at) { return static_cast<float>(Number(item, at)); });
    case FieldType::Bool:
      if (!value.IsBoolean()) Reject(path, "a boolean");
      return value.Boolean();
    case FieldType::ScaleBias: {
      if (value.IsAbsent()) return std::optional<DML_SCALE_BIAS>();
      js::Value pair = Array(value, path);
      return std::optional<DML_SCALE_BIAS>(
          DML_SCALE_BIAS{static_cast<float>(Number(pair.At(0), path)), static_cast<float>(Number(pair.At(1), path))});
    }
    case FieldType::Size2D: {
      js::Value pair = Array(value, path);
      return DML_SIZE_2D{Whole<uint32_t>(pair.At(0), path), Whole<uint32_t>(pair.At(1), path)};
    }
    case FieldType::ScalarUnion: {
      js::Bytes bytes;
      if (!js::ViewOf(value, &bytes) || bytes.size != sizeof(DML_SCALAR_UNION)) Reject(path, "a Uint8Array of 8 bytes");
      DML_SCALAR_UNION scalar;
      std::memcpy(&scalar, bytes.data, sizeof scalar);
      return scalar;
    }
  }
  Reject(path, "a known kind of field");
}

// DirectML reads as many elements as the count field says.
void CheckCounts(const schema::OperatorDesc& desc, const Path& path) {
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    int count_field = desc.schema->fields[i].count_field;
    if (count_field < 0) continue;
    size_t length = std::visit(
        [](const auto& field) -> size_t {
          using T = std::decay_t<decltype(field)>;
          if constexpr (std::is_same_v<T, std::vector<schema::TensorDesc>> || std::is_same_v<T, std::vector<schema::OperatorDesc>> ||
                        std::is_same_v<T, std::vector<uint32_t>> || std::is_same_v<T, std::vector<int32_t>> ||
                        std::is_same_v<T, std::vector<float>>)
            return field.size();
          else return 0;
        },
        desc.fields[i]);
    uint32_t count = std::get<uint32_t>(desc.fields[static_cast<size_t>(count_field)]);
    // A count of several arrays may leave an optional one out: it is null then.
    bool left_out = length == 0 && desc.schema->fields[i].optional;
    if (length != count && !left_out)
      Invalid(path + "." + desc.schema->fields[i].name + ": has " + std::to_string(length) + " elements, but " +
              desc.schema->fields[count_field].name + " is " + std::to_string(count));
  }
}

schema::OperatorDesc ToOperator(const js::Value& value, const Path& path, int depth) {
  if (depth > kDeepest) Reject(path, "no more operators inside");
  js::Value object = Object(value, path);
  schema::OperatorDesc desc;
  auto type = Whole<uint32_t>(object.Get("type"), path + ".type");
  desc.schema = schema::FindOperator(type);
  if (!desc.schema) Invalid(path + ": " + std::to_string(type) + " is no DirectML operator type");
  Path here = depth == 0 ? Path(desc.schema->name) : path + "." + desc.schema->name;
  js::Value fields = Array(object.Get("fields"), here + ".fields");
  if (fields.Length() != desc.schema->field_count)
    Invalid(here + ": expected " + std::to_string(desc.schema->field_count) + " fields, received " + std::to_string(fields.Length()));
  desc.fields.reserve(desc.schema->field_count);
  for (uint32_t i = 0; i < desc.schema->field_count; ++i) {
    const schema::FieldSchema& field = desc.schema->fields[i];
    desc.fields.push_back(ToField(field, fields.At(i), here + "." + field.name, depth));
  }
  CheckCounts(desc, here);
  return desc;
}

template <size_t N>
std::vector<std::array<uint32_t, N>> Edges(const js::Value& value, const Path& path) {
  return List<std::array<uint32_t, N>>(value, path, [](const js::Value& item, const Path& at) {
    js::Value numbers = Array(item, at);
    std::array<uint32_t, N> edge;
    for (uint32_t i = 0; i < N; ++i) edge[i] = Whole<uint32_t>(numbers.At(i), at);
    return edge;
  });
}

dml::GraphDesc ToGraph(const js::Value& object, const Path& path) {
  dml::GraphDesc graph;
  graph.input_count = Whole<uint32_t>(object.Get("inputCount"), path + ".inputCount");
  graph.output_count = Whole<uint32_t>(object.Get("outputCount"), path + ".outputCount");
  graph.nodes = List<schema::OperatorDesc>(object.Get("nodes"), path + ".nodes", [&](const js::Value& item, const Path& at) {
    // Each has some hundred values.
    js::HandleScope scope(object.env());
    return ToOperator(item, at, 0);
  });
  auto node = [&](uint32_t index) {
    if (index >= graph.nodes.size())
      Invalid(path + ": an edge names node " + std::to_string(index) + " of " + std::to_string(graph.nodes.size()));
    return index;
  };
  for (const auto& e : Edges<3>(object.Get("inputEdges"), path + ".inputEdges")) graph.input_edges.push_back({e[0], node(e[1]), e[2]});
  for (const auto& e : Edges<4>(object.Get("edges"), path + ".edges")) graph.edges.push_back({node(e[0]), e[1], node(e[2]), e[3]});
  for (const auto& e : Edges<3>(object.Get("outputEdges"), path + ".outputEdges")) graph.output_edges.push_back({node(e[0]), e[1], e[2]});
  if (const js::Value overwrites = object.Get("overwrites"); !overwrites.IsAbsent())
    for (const auto& o : Edges<3>(overwrites, path + ".overwrites")) graph.overwrites.push_back({o[0], o[1], o[2]});
  // Each has an edge, so that no number makes the compiler take memory for slots that nobody uses.
  if (graph.input_count > graph.input_edges.size() || graph.output_count > graph.output_edges.size())
    Invalid(path + ": has " + std::to_string(graph.input_count) + " inputs and " + std::to_string(graph.output_count) + " outputs, but " +
            std::to_string(graph.input_edges.size()) + " and " + std::to_string(graph.output_edges.size()) + " edges to them");
  return graph;
}

std::vector<uint8_t> ToBytes(const js::Value& value, const Path& path) {
  js::Bytes bytes;
  if (!js::ViewOf(value, &bytes)) Reject(path, "a view of an ArrayBuffer");
  return std::vector<uint8_t>(bytes.data, bytes.data + bytes.size);
}

dml::ShaderDesc ToShader(const js::Value& object, const Path& path) {
  dml::ShaderDesc shader;
  // Each array is copied before the next getter runs.
  shader.bytes = ToBytes(object.Get("shader"), path + ".shader");
  const std::vector<uint8_t> constants = ToBytes(object.Get("constants"), path + ".constants");
  if (constants.size() % 4) Reject(path + ".constants", "whole words");
  shader.constants.resize(constants.size() / 4);
  if (!constants.empty()) std::memcpy(shader.constants.data(), constants.data(), constants.size());
  const std::vector<uint8_t> views = ToBytes(object.Get("views"), path + ".views");
  if (views.size() % 2 || views.size() / 2 > dml::kMaxShaderViews)
    Reject(path + ".views", "two bytes for each of at most " + std::to_string(dml::kMaxShaderViews));
  for (size_t i = 0; i < views.size(); i += 2) {
    const uint8_t form = views[i + 1];
    if (form != 0 && form != 4 && form != 8 && form != 16 && form != dml::ShaderView::kTexels)
      Reject(path + ".views", "0, 4, 8, 16 or 255 behind each buffer's number");
    shader.views.push_back({views[i], form});
  }
  js::Value groups = Array(object.Get("groups"), path + ".groups");
  if (groups.Length() != 3) Reject(path + ".groups", "3 numbers");
  for (uint32_t i = 0; i < 3; ++i) shader.groups[i] = Whole<uint32_t>(groups.At(i), path + ".groups");
  shader.input_count = Whole<uint32_t>(object.Get("inputCount"), path + ".inputCount");
  if (shader.input_count > dml::kMaxShaderBuffers) Reject(path + ".inputCount", "at most " + std::to_string(dml::kMaxShaderBuffers));
  if (shader.constants.size() > dml::kMaxShaderConstants)
    Reject(path + ".constants", "at most " + std::to_string(dml::kMaxShaderConstants) + " words");
  return shader;
}

dml::SlotRange ToRange(const js::Value& value, const Path& path) {
  dml::SlotRange range;
  if (value.IsAbsent()) return range;
  js::Value numbers = Array(value, path);
  range.slot = Whole<int32_t>(numbers.At(0), path);
  if (range.slot < 0) Reject(path, "a slot of 0 or more");
  range.offset = Size(numbers.At(1), path);
  range.size = Size(numbers.At(2), path);
  return range;
}

dml::StepDesc ToStep(const js::Value& value, const Path& path) {
  js::Value object = Object(value, path);
  dml::StepDesc step;
  step.group = Whole<uint32_t>(object.Get("group"), path + ".group");
  js::Value copy = object.Get("copy");
  if (!copy.IsAbsent()) {
    js::Value pair = Array(copy, path + ".copy");
    step.inputs = {ToRange(pair.At(0), path + ".copy")};
    step.outputs = {ToRange(pair.At(1), path + ".copy")};
    return step;
  }
  step.dispatchable = static_cast<int32_t>(Whole<uint32_t>(object.Get("dispatch"), path + ".dispatch") & 0x7FFFFFFF);
  step.inputs = List<dml::SlotRange>(object.Get("inputs"), path + ".inputs", ToRange);
  step.outputs = List<dml::SlotRange>(object.Get("outputs"), path + ".outputs", ToRange);
  return step;
}

std::string Text(const js::Value& value) { return value.IsString() ? value.Text() : ""; }

}  // namespace

dml::ProgramDesc ToProgram(const js::Value& value) {
  js::Value object = Object(value, "createProgram");
  dml::ProgramDesc program;
  program.name = Text(object.Get("name"));
  Path path = "program '" + program.name + "'";
  program.inputs = List<uint64_t>(object.Get("inputs"), path + ".inputs", Size);
  program.outputs = List<uint64_t>(object.Get("outputs"), path + ".outputs", Size);
  program.scratch = Size(object.Get("scratch"), path + ".scratch");
  js::Value dispatchables = Array(object.Get("dispatchables"), path + ".dispatchables");
  for (uint32_t i = 0; i < dispatchables.Length(); ++i) {
    js::Value one = Object(dispatchables.At(i), path + ".dispatchables");
    if (!one.Get("shader").IsAbsent()) program.dispatchables.emplace_back(ToShader(one, path + " shader " + std::to_string(i)));
    else if (one.Get("nodes").IsAbsent()) program.dispatchables.emplace_back(ToOperator(one, path, 0));
    else program.dispatchables.emplace_back(ToGraph(one, path + " graph " + std::to_string(i)));
  }
  program.steps = List<dml::StepDesc>(object.Get("steps"), path + ".steps", ToStep);
  return program;
}

dml::ShaderDesc ToContainer(const js::Value& bytes, const js::Value& views, const js::Value& constants) {
  dml::ShaderDesc shader;
  shader.bytes = ToBytes(bytes, "preparePipeline: shader");
  const uint32_t view_count = Whole<uint32_t>(views, "preparePipeline: views");
  if (view_count > dml::kMaxShaderViews) Reject("preparePipeline: views", "at most " + std::to_string(dml::kMaxShaderViews));
  const uint32_t constant_count = Whole<uint32_t>(constants, "preparePipeline: constants");
  if (constant_count > dml::kMaxShaderConstants)
    Reject("preparePipeline: constants", "at most " + std::to_string(dml::kMaxShaderConstants) + " words");
  shader.views.resize(view_count);
  shader.constants.resize(constant_count);
  return shader;
}

dml::LibraryPaths ToPaths(const js::Value& value) {
  js::Value object = Object(value, "load: paths");
  dml::LibraryPaths paths;
  paths.folders = List<std::string>(object.Get("folders"), "load: paths.folders", [](const js::Value& item, const Path& at) {
    if (!item.IsString()) Reject(at, "strings");
    return item.Text();
  });
  paths.dxcore = Text(object.Get("dxcore"));
  paths.d3d12 = Text(object.Get("d3d12"));
  paths.directml = Text(object.Get("directml"));
  paths.software = Text(object.Get("software"));
  paths.simulate = Text(object.Get("simulate"));
  return paths;
}

dml::RuntimeKind ToKind(const js::Value& value) {
  std::string text = Text(value);
  if (text == "gpu") return dml::RuntimeKind::Gpu;
  if (text == "software") return dml::RuntimeKind::Software;
  Invalid("expected a runtime of \"gpu\" or \"software\"");
}

uint64_t ToSize(const js::Value& value, const char* what) { return Size(value, what); }
uint32_t ToId(const js::Value& value, const char* what) { return Whole<uint32_t>(value, what); }

}  // namespace dxtensor::addon
