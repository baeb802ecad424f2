// Every executed operator, in every data type that the operator table lists, in several layouts, against the reference.
#include "cases/operators.h"
#include "check.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

// The documentation lists no data types of FOLD and UNFOLD: DirectML.dll makes both of float64 and then does not compile them.
bool IsUnsupported(Suite& suite, const schema::OperatorDesc& desc) {
  if (suite.runtime().software() || (desc.type() != DML_OPERATOR_FOLD && desc.type() != DML_OPERATOR_UNFOLD)) return false;
  return desc.Inputs()[0]->data_type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

void RunOperator(Suite& suite, const std::string& name) {
  Gpu& gpu = suite.gpu();
  std::vector<OperatorCase> cases = CasesOf(name, gpu.feature_level());
  if (cases.empty()) throw Skip{"the feature level has no such operator"};
  std::string failures;
  unsigned failed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const OperatorCase& c = cases[i];
    std::vector<Bytes> inputs = InputsFor(c.desc, static_cast<uint32_t>(i + 1));
    std::vector<Values> expected = Expected(c.desc, inputs);
    std::string difference;
    try {
      std::vector<Bytes> results = gpu.Run(c.desc, inputs);
      std::vector<const schema::TensorDesc*> slots = c.desc.Outputs();
      for (size_t k = 0; k < slots.size() && difference.empty(); ++k)
        if (slots[k]) difference = Difference(Unpack(results[k], *slots[k]), expected[k], c.tolerance);
    } catch (const Failure& failure) {
      difference = failure.text;
    }
    // Compile gave DXGI_ERROR_UNSUPPORTED; if it did not, the results are compared.
    if (IsUnsupported(suite, c.desc) && difference.find("Compile(desc, compiled) gave 887a0004") != std::string::npos) continue;
    if (difference.empty()) continue;
    if (++failed <= 4) failures += "\n    " + c.layout + ": " + difference + "\n      " + Text(c.desc);
    if (FAILED(gpu.dml()->GetDeviceRemovedReason())) break;
  }
  if (failed) throw Failure{std::to_string(failed) + " of " + std::to_string(cases.size()) + " cases" + failures};
}

const bool kRegistered = [] {
  for (const std::string& name : ExecutedOperators()) Register("operator " + name, [name](Suite& suite) { RunOperator(suite, name); });
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
