// Made by npm run generate from the families in src/ops.
import * as activation from "./activation.ts";
import * as aliases from "./aliases.ts";
import * as binary from "./binary.ts";
import * as bits from "./bits.ts";
import * as calculus from "./calculus.ts";
import * as closeness from "./closeness.ts";
import * as compare from "./compare.ts";
import * as contraction from "./contraction.ts";
import * as creation from "./creation.ts";
import * as data from "./data.ts";
import * as diagonals from "./diagonals.ts";
import * as distance from "./distance.ts";
import * as distributions from "./distributions.ts";
import * as division from "./division.ts";
import * as elementary from "./elementary.ts";
import * as extrema from "./extrema.ts";
import * as floats from "./floats.ts";
import * as fresh from "./fresh.ts";
import * as gather from "./gather.ts";
import * as histogram from "./histogram.ts";
import * as indexRows from "./index-rows.ts";
import * as indexing from "./indexing.ts";
import * as join from "./join.ts";
import * as linalgNames from "./linalg/names.ts";
import * as matmul from "./matmul.ts";
import * as moments from "./moments.ts";
import * as movement from "./movement.ts";
import * as nonzero from "./nonzero.ts";
import * as oneHot from "./one-hot.ts";
import * as orderStatistics from "./order-statistics.ts";
import * as pad from "./pad.ts";
import * as pairs from "./pairs.ts";
import * as parametric from "./parametric.ts";
import * as power from "./power.ts";
import * as products from "./products.ts";
import * as put from "./put.ts";
import * as quantize from "./quantize.ts";
import * as random from "./random.ts";
import * as ranges from "./ranges.ts";
import * as rearrange from "./rearrange.ts";
import * as reduce from "./reduce.ts";
import * as repeats from "./repeats.ts";
import * as running from "./running.ts";
import * as scan from "./scan.ts";
import * as scatter from "./scatter.ts";
import * as search from "./search.ts";
import * as segment from "./segment.ts";
import * as sequences from "./sequences.ts";
import * as softmax from "./softmax.ts";
import * as sort from "./sort.ts";
import * as specialBessel from "./special/bessel.ts";
import * as specialErrorFunctions from "./special/error-functions.ts";
import * as specialGamma from "./special/gamma.ts";
import * as specialIncompleteGamma from "./special/incomplete-gamma.ts";
import * as state from "./state.ts";
import * as statistics from "./statistics.ts";
import * as storageSize from "./storage-size.ts";
import * as truth from "./truth.ts";
import * as unary from "./unary.ts";
import * as unique from "./unique.ts";
import * as where from "./where.ts";
import * as windows from "./windows.ts";

export const methods = {
  ...activation.methods,
  ...aliases.methods,
  ...binary.methods,
  ...bits.methods,
  ...calculus.methods,
  ...closeness.methods,
  ...compare.methods,
  ...contraction.methods,
  ...creation.methods,
  ...data.methods,
  ...diagonals.methods,
  ...distance.methods,
  ...distributions.methods,
  ...division.methods,
  ...elementary.methods,
  ...extrema.methods,
  ...floats.methods,
  ...fresh.methods,
  ...gather.methods,
  ...histogram.methods,
  ...indexRows.methods,
  ...indexing.methods,
  ...join.methods,
  ...linalgNames.methods,
  ...matmul.methods,
  ...moments.methods,
  ...movement.methods,
  ...nonzero.methods,
  ...oneHot.methods,
  ...orderStatistics.methods,
  ...pad.methods,
  ...pairs.methods,
  ...parametric.methods,
  ...power.methods,
  ...products.methods,
  ...put.methods,
  ...quantize.methods,
  ...random.methods,
  ...ranges.methods,
  ...rearrange.methods,
  ...reduce.methods,
  ...repeats.methods,
  ...running.methods,
  ...scan.methods,
  ...scatter.methods,
  ...search.methods,
  ...segment.methods,
  ...sequences.methods,
  ...softmax.methods,
  ...sort.methods,
  ...specialBessel.methods,
  ...specialErrorFunctions.methods,
  ...specialGamma.methods,
  ...specialIncompleteGamma.methods,
  ...state.methods,
  ...statistics.methods,
  ...storageSize.methods,
  ...truth.methods,
  ...unary.methods,
  ...unique.methods,
  ...where.methods,
  ...windows.methods,
};
export const inPlaceMethods = {
  ...activation.inPlaceMethods,
  ...aliases.inPlaceMethods,
  ...binary.inPlaceMethods,
  ...division.inPlaceMethods,
  ...elementary.inPlaceMethods,
  ...floats.inPlaceMethods,
  ...indexRows.inPlaceMethods,
  ...indexing.inPlaceMethods,
  ...nonzero.inPlaceMethods,
  ...pairs.inPlaceMethods,
  ...power.inPlaceMethods,
  ...products.inPlaceMethods,
  ...put.inPlaceMethods,
  ...scatter.inPlaceMethods,
  ...specialBessel.inPlaceMethods,
  ...specialErrorFunctions.inPlaceMethods,
  ...specialGamma.inPlaceMethods,
  ...specialIncompleteGamma.inPlaceMethods,
  ...unary.inPlaceMethods,
  ...where.inPlaceMethods,
};
export const overloaded = {
  ...data.overloaded,
  ...extrema.overloaded,
  ...nonzero.overloaded,
  ...oneHot.overloaded,
  ...orderStatistics.overloaded,
  ...repeats.overloaded,
};
