// CompileGraph: chains, branches, several outputs, reinterpretation, and refused graphs.
#include <cmath>
#include <cstring>

#include "../abi/abi_calls.h"
#include "check.h"
#include "graph_builder.h"
#include "values.h"

namespace dxtensor::test {

namespace {

std::vector<float> Floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Bytes FromFloats(const std::vector<float>& values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes Ramp(size_t count, float start, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = start + step * static_cast<float>(i);
  return FromFloats(values);
}

void CheckClose(const Bytes& actual, const std::function<double(size_t)>& expected) {
  std::vector<float> values = Floats(actual);
  for (size_t i = 0; i < values.size(); ++i) {
    const double e = expected(i), a = static_cast<double>(values[i]);
    if (std::fabs(a - e) > 1e-5 + 1e-4 * std::fabs(e))
      throw Failure{"element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " + std::to_string(e)};
  }
}

const char* const kAdd = "ELEMENT_WISE_ADD ATensor=f32[1,1,4,8] BTensor=f32[1,1,4,8] OutputTensor=f32[1,1,4,8]";
const char* const kMultiply = "ELEMENT_WISE_MULTIPLY ATensor=f32[1,1,4,8] BTensor=f32[1,1,4,8] OutputTensor=f32[1,1,4,8]";
const char* const kRelu = "ACTIVATION_RELU InputTensor=f32[1,1,4,8] OutputTensor=f32[1,1,4,8]";
const char* const kExp = "ELEMENT_WISE_EXP InputTensor=f32[1,1,4,8] OutputTensor=f32[1,1,4,8]";

}  // namespace

// A node that could write over what it reads wants the whole of it, as it lies.
TEST(graph_part_of_an_edge) {
  Gpu& gpu = suite.gpu();
  auto compile = [&](const std::string& text, uint32_t whole) {
    GraphBuilder graph(gpu);
    schema::OperatorDesc part = Parse(text);
    std::get<std::optional<schema::TensorDesc>>(part.fields[0])->size_in_bytes = whole;
    const UINT add = graph.Node("ELEMENT_WISE_ADD ATensor=f32[1,1,1,8] BTensor=f32[1,1,1,8] OutputTensor=f32[1,1,1,8]"),
               to = graph.Node(part);
    graph.Input(0, add, 0);
    graph.Input(1, add, 1);
    graph.Link(add, 0, to, 0);
    graph.Output(to, 0, 0);
    Ref<IDMLCompiledOperator> compiled;
    return graph.Compile(compiled);
  };
  for (const char* name : {"ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_EXP", "ACTIVATION_RELU"}) {
    const std::string op = name;
    CHECK_EQ(compile(op + " InputTensor=f32[1,1,1,4] OutputTensor=f32[1,1,1,4]", 32), E_INVALIDARG);
    CHECK_EQ(compile(op + " InputTensor=f32[1,1,1,1] OutputTensor=f32[1,1,1,1]", 32), E_INVALIDARG);
    CHECK_OK(compile(op + " InputTensor=f32[1,1,1,8] OutputTensor=f32[1,1,1,8]", 32));
    CHECK_OK(compile(op + " InputTensor=f32[1,1,2,4] OutputTensor=f32[1,1,2,4]", 32));
    CHECK_OK(compile(op + " InputTensor=f32[1,1,1,4]/[8,8,8,2] OutputTensor=f32[1,1,1,4]", 32));
    CHECK_OK(compile(op + " InputTensor=f32[1,1,1,8]/[0,0,0,0] OutputTensor=f32[1,1,1,8]", 32));
  }
  CHECK_OK(compile("CAST InputTensor=f32[1,1,1,4] OutputTensor=i32[1,1,1,4]", 32));
}

// An identity of a part of a graph input is left out, and then does not fit the input's other readers.
TEST(graph_identity_of_a_part) {
  Gpu& gpu = suite.gpu();
  auto compile = [&](const std::string& text, UINT other) {
    GraphBuilder graph(gpu);
    schema::OperatorDesc part = Parse(text);
    std::get<std::optional<schema::TensorDesc>>(part.fields[0])->size_in_bytes = 32;
    const UINT first = graph.Node(part), second = graph.Node("ELEMENT_WISE_EXP InputTensor=f32[8] OutputTensor=f32[8]");
    graph.Input(0, first, 0);
    graph.Input(other, second, 0);
    graph.Output(first, 0, 0);
    graph.Output(second, 0, 1);
    Ref<IDMLCompiledOperator> compiled;
    return graph.Compile(compiled);
  };
  CHECK_EQ(compile("ELEMENT_WISE_IDENTITY InputTensor=f32[4] OutputTensor=f32[4]", 0), E_INVALIDARG);
  CHECK_OK(compile("ELEMENT_WISE_IDENTITY InputTensor=f32[4] OutputTensor=f32[4]", 1));
  CHECK_OK(compile("ELEMENT_WISE_ABS InputTensor=f32[4] OutputTensor=f32[4]", 0));
  CHECK_OK(compile("CAST InputTensor=f32[4] OutputTensor=f32[4]", 0));
}

// Slices are seen through; a copy is not. From a graph input there is no edge.
TEST(graph_slice_of_an_edge) {
  Gpu& gpu = suite.gpu();
  const std::string slice =
      "SLICE1 InputTensor=f32[8] OutputTensor=f32[4] DimensionCount=1 InputWindowOffsets=[OFFSET] InputWindowSizes=[SIZE] "
      "InputWindowStrides=[STEP]";
  auto compile = [&](bool is_edge, const char* offset, const char* size, const char* step, const char* between) {
    std::string text = slice;
    for (auto [name, value] : {std::pair("OFFSET", offset), std::pair("SIZE", size), std::pair("STEP", step)})
      text.replace(text.find(name), std::strlen(name), value);
    GraphBuilder graph(gpu);
    const UINT cut = graph.Node(text);
    if (is_edge) {
      const UINT add = graph.Node("ELEMENT_WISE_ADD ATensor=f32[8] BTensor=f32[8] OutputTensor=f32[8]");
      graph.Input(0, add, 0);
      graph.Input(1, add, 1);
      graph.Link(add, 0, cut, 0);
    } else {
      graph.Input(0, cut, 0);
    }
    UINT last = cut;
    for (const char* node : {between, "ELEMENT_WISE_EXP InputTensor=f32[4] OutputTensor=f32[4]"}) {
      if (!node) continue;
      const UINT next = graph.Node(node);
      graph.Link(last, 0, next, 0);
      last = next;
    }
    graph.Output(last, 0, 0);
    Ref<IDMLCompiledOperator> compiled;
    return graph.Compile(compiled);
  };
  const char* copy = "CAST InputTensor=f32[4] OutputTensor=f32[4]";
  for (const char* offset : {"0", "4"}) {
    CHECK_EQ(compile(true, offset, "4", "1", nullptr), E_INVALIDARG);
    CHECK_OK(compile(true, offset, "4", "1", copy));
    CHECK_OK(compile(false, offset, "4", "1", nullptr));
  }
  CHECK_OK(compile(true, "0", "8", "2", nullptr));
}

TEST(graph_chain) {
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT add = graph.Node(kAdd), relu = graph.Node(kRelu), exp = graph.Node(kExp);
  graph.Input(0, add, 0);
  graph.Input(1, add, 1);
  graph.Link(add, 0, relu, 0);
  graph.Link(relu, 0, exp, 0);
  graph.Output(exp, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(32, -2, 0.125f), b = Ramp(32, 1, -0.0625f);
  Bytes result = gpu.Run(compiled.get(), {{&a}, {&b}}, {{nullptr, 128}})[0];
  std::vector<float> x = Floats(a), y = Floats(b);
  CheckClose(result, [&](size_t i) { return std::exp(std::max(0.0, static_cast<double>(x[i]) + static_cast<double>(y[i]))); });
}

TEST(graph_diamond) {
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT relu = graph.Node(kRelu), exp = graph.Node(kExp), multiply = graph.Node(kMultiply), add = graph.Node(kAdd);
  graph.Input(0, relu, 0);
  graph.Link(relu, 0, exp, 0);
  graph.Link(relu, 0, multiply, 0);
  graph.Link(exp, 0, multiply, 1);
  graph.Link(multiply, 0, add, 0);
  graph.Input(0, add, 1);  // one graph input, two nodes
  graph.Output(add, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(32, -2, 0.125f);
  Bytes result = gpu.Run(compiled.get(), {{&a}}, {{nullptr, 128}})[0];
  std::vector<float> x = Floats(a);
  CheckClose(result, [&](size_t i) {
    const double r = std::max(0.0, static_cast<double>(x[i]));
    return r * std::exp(r) + static_cast<double>(x[i]);
  });
}

TEST(graph_several_outputs) {
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT split = graph.Node("SPLIT InputTensor=f32[1,1,6,8] OutputTensors=[f32[1,1,4,8],f32[1,1,2,8]] Axis=2"),
             relu = graph.Node(kRelu);
  graph.Input(0, split, 0);
  graph.Link(split, 0, relu, 0);
  graph.Output(relu, 0, 0);
  graph.Output(split, 1, 1);
  graph.Output(split, 0, 2);  // an intermediate result that is an output as well
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(48, -3, 0.125f);
  std::vector<Bytes> results = gpu.Run(compiled.get(), {{&a}}, {{nullptr, 128}, {nullptr, 64}, {nullptr, 128}});
  std::vector<float> x = Floats(a);
  CheckClose(results[0], [&](size_t i) { return std::max(0.0, static_cast<double>(x[i])); });
  CheckClose(results[1], [&](size_t i) { return static_cast<double>(x[32 + i]); });
  CheckClose(results[2], [&](size_t i) { return static_cast<double>(x[i]); });
}

// Nodes that are too little for several threads, of which many do not depend on each other, and then as many that each depend on one.
TEST(graph_small_nodes) {
  constexpr UINT kNodes = 24, kRows = 64, kColumns = 120;
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  for (UINT i = 0; i < kNodes; ++i) {
    const UINT rows = graph.Node("REDUCE Function=10 InputTensor=f32[1,1,64,120] OutputTensor=f32[1,1,64,1] Axes=[3]"),
               all = graph.Node("REDUCE Function=10 InputTensor=f32[1,1,64,1] OutputTensor=f32[1,1,1,1] Axes=[2]");
    graph.Input(i % 3, rows, 0);
    graph.Link(rows, 0, all, 0);
    graph.Output(rows, 0, 2 * i);
    graph.Output(all, 0, 2 * i + 1);
  }
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  for (int round = 0; round < 20; ++round) {
    const Bytes inputs[3] = {Ramp(kRows * kColumns, static_cast<float>(round), 0.125f), Ramp(kRows * kColumns, -3, 0.5f),
                             Ramp(kRows * kColumns, 1, static_cast<float>(-round))};
    std::vector<Operand> outputs;
    for (UINT i = 0; i < kNodes; ++i) {
      outputs.push_back({nullptr, kRows * 4});
      outputs.push_back({nullptr, 4});
    }
    const std::vector<Bytes> results = gpu.Run(compiled.get(), {{&inputs[0]}, {&inputs[1]}, {&inputs[2]}}, outputs);
    for (UINT i = 0; i < kNodes; ++i) {
      const std::vector<float> x = Floats(inputs[i % 3]);
      double total = 0;
      CheckClose(results[2 * i], [&](size_t row) {
        double sum = 0;
        for (UINT c = 0; c < kColumns; ++c) sum += static_cast<double>(x[row * kColumns + c]);
        total += sum;
        return sum;
      });
      CheckClose(results[2 * i + 1], [&](size_t) { return total; });
    }
  }
}

TEST(graph_reinterpretation) {
  // The next node reads the same bytes with other sizes and strides.
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT relu = graph.Node(kRelu);
  const UINT sum = graph.Node("REDUCE Function=10 InputTensor=f32[8,4]/[1,8] OutputTensor=f32[8,1] Axes=[1]");
  graph.Input(0, relu, 0);
  graph.Link(relu, 0, sum, 0);
  graph.Output(sum, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(32, -2, 0.125f);
  Bytes result = gpu.Run(compiled.get(), {{&a}}, {{nullptr, 32}})[0];
  std::vector<float> x = Floats(a);
  CheckClose(result, [&](size_t column) {
    double total = 0;
    for (size_t row = 0; row < 4; ++row) total += std::max(0.0, static_cast<double>(x[row * 8 + column]));
    return total;
  });
}

TEST(graph_gemm_bias_activation) {
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT gemm = graph.Node("GEMM ATensor=f32[1,1,5,7] BTensor=f32[1,1,7,6] OutputTensor=f32[1,1,5,6] Alpha=1");
  const UINT bias = graph.Node("ELEMENT_WISE_ADD ATensor=f32[1,1,5,6] BTensor=f32[1,1,5,6]/[0,0,0,1] OutputTensor=f32[1,1,5,6]");
  const UINT tanh = graph.Node("ACTIVATION_TANH InputTensor=f32[1,1,5,6] OutputTensor=f32[1,1,5,6]");
  const UINT sum = graph.Node("REDUCE Function=10 InputTensor=f32[1,1,5,6] OutputTensor=f32[1,1,5,1] Axes=[3]");
  graph.Input(0, gemm, 0);
  graph.Input(1, gemm, 1);
  graph.Input(2, bias, 1);
  graph.Link(gemm, 0, bias, 0);
  graph.Link(bias, 0, tanh, 0);
  graph.Link(tanh, 0, sum, 0);
  graph.Output(tanh, 0, 0);
  graph.Output(sum, 0, 1);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(35, -1, 0.0625f), b = Ramp(42, 1, -0.03125f), c = Ramp(6, -1, 0.25f);
  std::vector<Bytes> results = gpu.Run(compiled.get(), {{&a}, {&b}, {&c}}, {{nullptr, 120}, {nullptr, 20}});
  std::vector<float> x = Floats(a), y = Floats(b), z = Floats(c);
  auto at = [&](size_t row, size_t column) {
    double total = static_cast<double>(z[column]);
    for (size_t k = 0; k < 7; ++k) total += static_cast<double>(x[row * 7 + k]) * static_cast<double>(y[k * 6 + column]);
    return std::tanh(total);
  };
  CheckClose(results[0], [&](size_t i) { return at(i / 6, i % 6); });
  CheckClose(results[1], [&](size_t row) {
    double total = 0;
    for (size_t column = 0; column < 6; ++column) total += at(row, column);
    return total;
  });
}

TEST(graph_owned_input) {
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT add = graph.Node("ELEMENT_WISE_ADD ATensor=f32[1,1,4,8] BTensor=f32[1,1,4,8]! OutputTensor=f32[1,1,4,8]"),
             relu = graph.Node(kRelu);
  graph.Input(0, add, 0);
  graph.Input(1, add, 1);
  graph.Link(add, 0, relu, 0);
  graph.Output(relu, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  CHECK(BindingProperties(compiled.get()).PersistentResourceSize >= 128);
  Bytes a = Ramp(32, -2, 0.125f), b = Ramp(32, 1, -0.0625f);
  Bytes result = gpu.Run(compiled.get(), {{&a}, {&b, 0, true}}, {{nullptr, 128}})[0];
  std::vector<float> x = Floats(a), y = Floats(b);
  CheckClose(result, [&](size_t i) { return std::max(0.0, static_cast<double>(x[i]) + static_cast<double>(y[i])); });
}

TEST(graph_unused_input) {
  // A graph input that no node reads is bound NONE.
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT relu = graph.Node(kRelu);
  graph.Input(1, relu, 0);
  graph.Output(relu, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.Compile(compiled));
  Bytes a = Ramp(32, -2, 0.125f);
  Bytes result = gpu.Run(compiled.get(), {{}, {&a}}, {{nullptr, 128}})[0];
  std::vector<float> x = Floats(a);
  CheckClose(result, [&](size_t i) { return std::max(0.0, static_cast<double>(x[i])); });
}

TEST(graph_errors) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLCompiledOperator> compiled;
  {
    GraphBuilder empty(gpu);
    CHECK_HR(empty.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // a required input is not connected
    const UINT add = graph.Node(kAdd);
    graph.Input(0, add, 0);
    graph.Output(add, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // a node whose output nobody uses
    const UINT relu = graph.Node(kRelu), exp = graph.Node(kExp);
    graph.Input(0, relu, 0);
    graph.Input(0, exp, 0);
    graph.Output(relu, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // an edge to no node
    const UINT relu = graph.Node(kRelu);
    graph.Input(0, relu + 5, 0);
    graph.Output(relu, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // an edge to no slot
    const UINT relu = graph.Node(kRelu);
    graph.Input(0, relu, 0);
    graph.Output(relu, 3, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // a cycle
    const UINT add = graph.Node(kAdd), relu = graph.Node(kRelu);
    graph.Input(0, add, 0);
    graph.Link(add, 0, relu, 0);
    graph.Link(relu, 0, add, 1);
    graph.Output(relu, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // sizes in bytes differ
    const UINT relu = graph.Node(kRelu), exp = graph.Node("ELEMENT_WISE_EXP InputTensor=f32[16] OutputTensor=f32[16]");
    graph.Input(0, relu, 0);
    graph.Link(relu, 0, exp, 0);
    graph.Output(exp, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  {
    GraphBuilder graph(gpu);  // an input connected twice
    const UINT relu = graph.Node(kRelu);
    graph.Input(0, relu, 0);
    graph.Input(1, relu, 0);
    graph.Output(relu, 0, 0);
    CHECK_HR(graph.Compile(compiled), E_INVALIDARG);
  }
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
}

}  // namespace dxtensor::test
