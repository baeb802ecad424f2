// Made by npm run generate from the families in src/ops.
import type { Sample } from "../../ops/declare/sample.ts";
import { samples as $attentionAttention } from "../../ops/attention/attention.ts";
import { samples as $convFold } from "../../ops/conv/fold.ts";
import { samples as $dataState } from "../../ops/data/state.ts";
import { samples as $elementwiseActivation } from "../../ops/elementwise/activation.ts";
import { samples as $elementwiseArithmetic } from "../../ops/elementwise/arithmetic.ts";
import { samples as $elementwiseCompare } from "../../ops/elementwise/compare.ts";
import { samples as $elementwiseDivision } from "../../ops/elementwise/division.ts";
import { samples as $elementwiseElementary } from "../../ops/elementwise/elementary.ts";
import { samples as $elementwiseFloats } from "../../ops/elementwise/floats.ts";
import { samples as $elementwiseHardActivation } from "../../ops/elementwise/hard-activation.ts";
import { samples as $elementwiseUnary } from "../../ops/elementwise/unary.ts";
import { samples as $elementwiseWhere } from "../../ops/elementwise/where.ts";
import { samples as $indexEmbedding } from "../../ops/index/embedding.ts";
import { samples as $indexNonzero } from "../../ops/index/nonzero.ts";
import { samples as $indexScatter } from "../../ops/index/scatter.ts";
import { samples as $normBatchLayerNorm } from "../../ops/norm/batch-layer-norm.ts";
import { samples as $normRmsNorm } from "../../ops/norm/rms-norm.ts";
import { samples as $poolUnpool } from "../../ops/pool/unpool.ts";
import { samples as $randomDropout } from "../../ops/random/dropout.ts";
import { samples as $randomRandom } from "../../ops/random/random.ts";
import { samples as $recurrentRecurrentCell } from "../../ops/recurrent/recurrent-cell.ts";
import { samples as $recurrentRecurrentNode } from "../../ops/recurrent/recurrent-node.ts";
import { samples as $recurrentRecurrent } from "../../ops/recurrent/recurrent.ts";
import { samples as $reduceDistance } from "../../ops/reduce/distance.ts";
import { samples as $reduceExtrema } from "../../ops/reduce/extrema.ts";
import { samples as $reduceMoments } from "../../ops/reduce/moments.ts";
import { samples as $scanCumulativeExtrema } from "../../ops/scan/cumulative-extrema.ts";
import { samples as $scanScanLinear } from "../../ops/scan/scan-linear.ts";
import { samples as $shapePad } from "../../ops/shape/pad.ts";
import { samples as $shapeStridedViews } from "../../ops/shape/strided-views.ts";
import { samples as $sortSearch } from "../../ops/sort/search.ts";
import { samples as $sortSort } from "../../ops/sort/sort.ts";
import { samples as $specialBessel } from "../../ops/special/bessel.ts";
import { samples as $specialErrorFunctions } from "../../ops/special/error-functions.ts";
import { samples as $specialGamma } from "../../ops/special/gamma.ts";
import { samples as $specialIncompleteGamma } from "../../ops/special/incomplete-gamma.ts";
import { samples as $specialPolynomials } from "../../ops/special/polynomials.ts";

export const samples = (): readonly Sample[] => [
  ...$attentionAttention(),
  ...$convFold(),
  ...$dataState(),
  ...$elementwiseActivation(),
  ...$elementwiseArithmetic(),
  ...$elementwiseCompare(),
  ...$elementwiseDivision(),
  ...$elementwiseElementary(),
  ...$elementwiseFloats(),
  ...$elementwiseHardActivation(),
  ...$elementwiseUnary(),
  ...$elementwiseWhere(),
  ...$indexEmbedding(),
  ...$indexNonzero(),
  ...$indexScatter(),
  ...$normBatchLayerNorm(),
  ...$normRmsNorm(),
  ...$poolUnpool(),
  ...$randomDropout(),
  ...$randomRandom(),
  ...$recurrentRecurrentCell(),
  ...$recurrentRecurrentNode(),
  ...$recurrentRecurrent(),
  ...$reduceDistance(),
  ...$reduceExtrema(),
  ...$reduceMoments(),
  ...$scanCumulativeExtrema(),
  ...$scanScanLinear(),
  ...$shapePad(),
  ...$shapeStridedViews(),
  ...$sortSearch(),
  ...$sortSort(),
  ...$specialBessel(),
  ...$specialErrorFunctions(),
  ...$specialGamma(),
  ...$specialIncompleteGamma(),
  ...$specialPolynomials(),
];
