// A valid description must not make a kernel access memory outside its tensors, whatever the data: run under a sanitizer. Every description
// changed in one thing, and random mutations, one after another as long as the result is accepted.
#include "software/directml/validate.h"
#include "cases/good.h"
#include "cases/operators.h"
#include "cases/random_descriptions.h"
#include "describe.h"
#include "kernel_run.h"
#include "kernel_test.h"
#include "mutate.h"

namespace dxtensor::test {

namespace {

constexpr uint64_t kMaxBytes = 8u << 20;
constexpr unsigned kSteps = 8;

// Windows, repeats and numbers of samples so large that plain loops over them take forever.
bool IsEndless(const schema::OperatorDesc& desc) {
  if (desc.Has("MaximumSamplesPerOutput") && desc.UInt("MaximumSamplesPerOutput") > 1000) return true;
  for (const schema::Field& field : desc.fields)
    if (auto* list = std::get_if<std::vector<uint32_t>>(&field))
      for (uint32_t value : *list)
        if (value > 1000) return true;
  return false;
}

bool IsLarge(const schema::OperatorDesc& desc) {
  uint64_t bytes = 0;
  for (const auto& slots : {desc.Inputs(), desc.Outputs()})
    for (const schema::TensorDesc* t : slots) bytes += t ? t->size_in_bytes : 0;
  return bytes > kMaxBytes;
}

// Any bits; or zeros and ones, which are numbers that many operators use as indices and counts.
std::vector<Bytes> AnyBytes(const schema::OperatorDesc& desc, std::mt19937& random) {
  const unsigned kind = random() % 3;
  std::vector<Bytes> inputs;
  for (const schema::TensorDesc* t : desc.Inputs()) {
    inputs.emplace_back(t ? static_cast<size_t>(t->size_in_bytes) : 0);
    for (uint8_t& byte : inputs.back())
      byte = static_cast<uint8_t>(kind == 0 ? random() : kind == 1 ? random() % 2 : random() % 97 ? 0 : 255);
  }
  return inputs;
}

// How many kernels ran.
unsigned RunAccepted(const schema::OperatorDesc& desc, std::mt19937& random) {
  if (IsEndless(desc) || IsLarge(desc)) return 0;
  const std::vector<Bytes> inputs = AnyBytes(desc, random);
  unsigned count = 0;
  for (auto make : {software::MakePlainKernel, software::MakeFastKernel})
    if (auto kernel = make(desc)) {
      RunKernel(*kernel, desc, inputs);
      ++count;
    }
  return count;
}

// What mutations have found once.
constexpr const char* kFound[] = {
    // NaN offsets gave indices far outside the tensor.
    "RESAMPLE3 InputTensor=i8[1,2,3,4] OutputTensor=i8[1,2,6,8] InterpolationMode=1 RoundingDirection=1 Scales=[1,1,2,2] "
    "InputPixelOffsets=[0.5,0.5,0.5,nan] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5] Antialiased=0",
    "RESAMPLE3 InputTensor=u8[1,2,3,4] OutputTensor=u8[1,2,6,2] InterpolationMode=1 RoundingDirection=1 Scales=[1,1,2,0.5] "
    "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,inf,-0.5,nan] Antialiased=1",
    // More index dimensions than the tensor has.
    "GATHER InputTensor=f32[1,1,4,5] IndicesTensor=u32[1,1,2,3] OutputTensor=f32[2,3,4,5] Axis=1 IndexDimensions=2",
    "GATHER InputTensor=f32[4,1,1,5] IndicesTensor=u32[1,1,2,3] OutputTensor=f32[3,1,1,5] Axis=0 IndexDimensions=2",
    // The last size of the indices was looked for at the updates' rank.
    "SCATTER_ND InputTensor=f32[1,4,5,6]/[1,30,6,1] IndicesTensor=i32[1,3,2] UpdatesTensor=f32[1,1,3,6] "
    "OutputTensor=f32[1,4,5,6]/[121,30,6,1] InputDimensionCount=3 IndicesDimensionCount=3",
    "SCATTER_ND InputTensor=f32[1,4,5,6] IndicesTensor=u32[1,1,1,1,1,1,3,2] UpdatesTensor=f32[1,3,6] "
    "OutputTensor=f32[1,4,5,6]/[120,6,24,1] "
    "InputDimensionCount=3 IndicesDimensionCount=2",
};

bool IsAccepted(const schema::OperatorDesc& desc) { return SUCCEEDED(software::Validate(desc, schema::kHighestFeatureLevel, nullptr)); }

void AcceptedDescriptionsAreSafe(Suite& suite) {
  std::mt19937 random(suite.seed);
  unsigned count = 0;
  for (const schema::OperatorDesc& good : GoodDescriptions(schema::kHighestFeatureLevel))
    for (const Mutant& mutant : Mutants(good))
      if (IsAccepted(mutant.desc)) count += RunAccepted(mutant.desc, random);
  for (const char* text : kFound) {
    CHECK(IsAccepted(Parse(text)));
    count += RunAccepted(Parse(text), random);
  }
  CHECK(count > 1000);
  std::printf("accepted descriptions: %u kernel runs\n", count);
}

std::vector<schema::OperatorDesc> Starts(std::mt19937& random) {
  std::vector<schema::OperatorDesc> starts = GoodDescriptions(schema::kHighestFeatureLevel);
  for (const std::string& name : ExecutedOperators())
    for (OperatorCase& c : CasesOf(name, schema::kHighestFeatureLevel)) starts.push_back(std::move(c.desc));
  for (int family = 0; family < kRandomFamilies; ++family)
    for (int i = 0; i < 20; ++i) starts.push_back(RandomDescription(family, random));
  return starts;
}

void RandomBoxes(Suite& suite) {
  std::mt19937 random(suite.seed * 7919u + 17);
  const std::vector<schema::OperatorDesc> starts = Starts(random);
  unsigned runs = 0, accepted = 0, refused = 0;
  for (unsigned round = 0; round < 20 * suite.rounds; ++round) {
    schema::OperatorDesc desc = starts[random() % starts.size()];
    if (random() % 2) {
      schema::OperatorDesc laid_out = desc;
      RandomLayout(laid_out, random);
      if (IsAccepted(laid_out)) desc = std::move(laid_out);
    }
    for (unsigned step = 0; step < kSteps; ++step) {
      std::vector<Mutant> mutants = Mutants(desc);
      if (mutants.empty()) break;
      // Most changes are refused: a few are looked at for each that is made.
      for (unsigned tries = 0; tries < 12; ++tries) {
        Mutant& mutant = mutants[random() % mutants.size()];
        if (!IsAccepted(mutant.desc)) {
          ++refused;
          continue;
        }
        ++accepted;
        desc = std::move(mutant.desc);
        runs += RunAccepted(desc, random);
        break;
      }
    }
  }
  CHECK(runs > 0 && refused > 0);
  std::printf("random mutations: %u descriptions accepted, %u refused, %u kernel runs\n", accepted, refused, runs);
}

const bool kRegistered = [] {
  Register("accepted descriptions are safe", AcceptedDescriptionsAreSafe);
  Register("random mutations of descriptions", RandomBoxes);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
