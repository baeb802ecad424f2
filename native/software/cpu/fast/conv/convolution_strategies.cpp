#include "convolution_strategies.h"

#include <iterator>

namespace dxtensor::software::fast {

// Each in the file of its name.
std::unique_ptr<ConvStrategy> MakeNoTaps(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeWinograd(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeWinogradWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeDepthwiseWeightGradient(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeImplicitGemmNhwc(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeDepthwiseNchw(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeImplicitGemmNchw(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
std::unique_ptr<ConvStrategy> MakeIm2colGemm(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

namespace {

// The last fits every grid.
constexpr ConvStrategyEntry kStrategies[] = {
    {"no_taps", MakeNoTaps},
    {"winograd", MakeWinograd},
    {"winograd_weight_gradient", MakeWinogradWeightGradient},
    {"depthwise_weight_gradient", MakeDepthwiseWeightGradient},
    {"implicit_gemm_nhwc", MakeImplicitGemmNhwc},
    {"depthwise_nchw", MakeDepthwiseNchw},
    {"implicit_gemm_nchw", MakeImplicitGemmNchw},
    {"im2col_gemm", MakeIm2colGemm},
};

}  // namespace

ConvStrategyTable ConvStrategies() { return {std::begin(kStrategies), std::end(kStrategies)}; }

PlannedConvolution PlanConvolution(const ConvolutionProblem& problem, const ConvolutionGrid& grid, std::string_view only) {
  for (const ConvStrategyEntry& entry : kStrategies) {
    // Without taps no other strategy is asked: they divide by the number of taps.
    const bool asked = only.empty() || only == entry.name || grid.depth == 0;
    if (!asked) continue;
    if (auto strategy = entry.make(problem, grid)) return {entry.name, std::move(strategy)};
    if (grid.depth == 0) break;
  }
  return {};
}

}  // namespace dxtensor::software::fast
