// Made by npm run generate from the families in src/ops.
import * as creationCreation from "../creation/creation.ts";
import * as creationNewLike from "../creation/new-like.ts";
import * as creationRanges from "../creation/ranges.ts";
import * as dataAliases from "../data/aliases.ts";
import * as dataConversion from "../data/conversion.ts";
import * as dataState from "../data/state.ts";
import * as elementwiseActivation from "../elementwise/activation.ts";
import * as elementwiseArithmetic from "../elementwise/arithmetic.ts";
import * as elementwiseBinary from "../elementwise/binary.ts";
import * as elementwiseBits from "../elementwise/bits.ts";
import * as elementwiseCloseness from "../elementwise/closeness.ts";
import * as elementwiseCompare from "../elementwise/compare.ts";
import * as elementwiseDirectmlFunctions from "../elementwise/directml-functions.ts";
import * as elementwiseDivision from "../elementwise/division.ts";
import * as elementwiseElementary from "../elementwise/elementary.ts";
import * as elementwiseFloats from "../elementwise/floats.ts";
import * as elementwisePower from "../elementwise/power.ts";
import * as elementwiseTruth from "../elementwise/truth.ts";
import * as elementwiseUnary from "../elementwise/unary.ts";
import * as elementwiseWhere from "../elementwise/where.ts";
import * as indexGather from "../index/gather.ts";
import * as indexIndexRows from "../index/index-rows.ts";
import * as indexIndexing from "../index/indexing.ts";
import * as indexNonzero from "../index/nonzero.ts";
import * as indexOneHot from "../index/one-hot.ts";
import * as indexPut from "../index/put.ts";
import * as indexScatter from "../index/scatter.ts";
import * as linalgAliases from "../linalg/aliases.ts";
import * as matmulContraction from "../matmul/contraction.ts";
import * as matmulMatmul from "../matmul/matmul.ts";
import * as matmulMatrixProducts from "../matmul/matrix-products.ts";
import * as quantizedQuantize from "../quantized/quantize.ts";
import * as randomDistributions from "../random/distributions.ts";
import * as randomRandom from "../random/random.ts";
import * as recurrentReverseSequence from "../recurrent/reverse-sequence.ts";
import * as reduceCalculus from "../reduce/calculus.ts";
import * as reduceDistance from "../reduce/distance.ts";
import * as reduceExtrema from "../reduce/extrema.ts";
import * as reduceHistogram from "../reduce/histogram.ts";
import * as reduceMoments from "../reduce/moments.ts";
import * as reduceReduce from "../reduce/reduce.ts";
import * as reduceSegment from "../reduce/segment.ts";
import * as reduceSoftmax from "../reduce/softmax.ts";
import * as reduceStatistics from "../reduce/statistics.ts";
import * as scanCumulativeExtrema from "../scan/cumulative-extrema.ts";
import * as scanCumulative from "../scan/cumulative.ts";
import * as shapeDiagonals from "../shape/diagonals.ts";
import * as shapeJoin from "../shape/join.ts";
import * as shapeMovement from "../shape/movement.ts";
import * as shapePad from "../shape/pad.ts";
import * as shapeRearrange from "../shape/rearrange.ts";
import * as shapeRepeats from "../shape/repeats.ts";
import * as shapeStorageSize from "../shape/storage-size.ts";
import * as shapeStridedViews from "../shape/strided-views.ts";
import * as sortOrderStatistics from "../sort/order-statistics.ts";
import * as sortSearch from "../sort/search.ts";
import * as sortSort from "../sort/sort.ts";
import * as sortUnique from "../sort/unique.ts";
import * as specialBessel from "../special/bessel.ts";
import * as specialErrorFunctions from "../special/error-functions.ts";
import * as specialGamma from "../special/gamma.ts";
import * as specialIncompleteGamma from "../special/incomplete-gamma.ts";

export const methods = {
  ...creationCreation.methods,
  ...creationNewLike.methods,
  ...creationRanges.methods,
  ...dataAliases.methods,
  ...dataConversion.methods,
  ...dataState.methods,
  ...elementwiseActivation.methods,
  ...elementwiseArithmetic.methods,
  ...elementwiseBinary.methods,
  ...elementwiseBits.methods,
  ...elementwiseCloseness.methods,
  ...elementwiseCompare.methods,
  ...elementwiseDirectmlFunctions.methods,
  ...elementwiseDivision.methods,
  ...elementwiseElementary.methods,
  ...elementwiseFloats.methods,
  ...elementwisePower.methods,
  ...elementwiseTruth.methods,
  ...elementwiseUnary.methods,
  ...elementwiseWhere.methods,
  ...indexGather.methods,
  ...indexIndexRows.methods,
  ...indexIndexing.methods,
  ...indexNonzero.methods,
  ...indexOneHot.methods,
  ...indexPut.methods,
  ...indexScatter.methods,
  ...linalgAliases.methods,
  ...matmulContraction.methods,
  ...matmulMatmul.methods,
  ...matmulMatrixProducts.methods,
  ...quantizedQuantize.methods,
  ...randomDistributions.methods,
  ...randomRandom.methods,
  ...recurrentReverseSequence.methods,
  ...reduceCalculus.methods,
  ...reduceDistance.methods,
  ...reduceExtrema.methods,
  ...reduceHistogram.methods,
  ...reduceMoments.methods,
  ...reduceReduce.methods,
  ...reduceSegment.methods,
  ...reduceSoftmax.methods,
  ...reduceStatistics.methods,
  ...scanCumulativeExtrema.methods,
  ...scanCumulative.methods,
  ...shapeDiagonals.methods,
  ...shapeJoin.methods,
  ...shapeMovement.methods,
  ...shapePad.methods,
  ...shapeRearrange.methods,
  ...shapeRepeats.methods,
  ...shapeStorageSize.methods,
  ...shapeStridedViews.methods,
  ...sortOrderStatistics.methods,
  ...sortSearch.methods,
  ...sortSort.methods,
  ...sortUnique.methods,
  ...specialBessel.methods,
  ...specialErrorFunctions.methods,
  ...specialGamma.methods,
  ...specialIncompleteGamma.methods,
};
export const inPlaceMethods = {
  ...dataAliases.inPlaceMethods,
  ...elementwiseActivation.inPlaceMethods,
  ...elementwiseArithmetic.inPlaceMethods,
  ...elementwiseBinary.inPlaceMethods,
  ...elementwiseDivision.inPlaceMethods,
  ...elementwiseElementary.inPlaceMethods,
  ...elementwiseFloats.inPlaceMethods,
  ...elementwisePower.inPlaceMethods,
  ...elementwiseUnary.inPlaceMethods,
  ...elementwiseWhere.inPlaceMethods,
  ...indexIndexRows.inPlaceMethods,
  ...indexIndexing.inPlaceMethods,
  ...indexNonzero.inPlaceMethods,
  ...indexPut.inPlaceMethods,
  ...indexScatter.inPlaceMethods,
  ...matmulMatrixProducts.inPlaceMethods,
  ...specialBessel.inPlaceMethods,
  ...specialErrorFunctions.inPlaceMethods,
  ...specialGamma.inPlaceMethods,
  ...specialIncompleteGamma.inPlaceMethods,
};
export const overloaded = {
  ...dataConversion.overloaded,
  ...indexNonzero.overloaded,
  ...indexOneHot.overloaded,
  ...reduceExtrema.overloaded,
  ...shapeRepeats.overloaded,
  ...sortOrderStatistics.overloaded,
};
