// Made by npm run generate from the families in src/ops.
import type { Sample } from "../../sample.ts";
import { samples as $activation } from "../../ops/activation.ts";
import { samples as $attention } from "../../ops/attention.ts";
import { samples as $compare } from "../../ops/compare.ts";
import { samples as $distance } from "../../ops/distance.ts";
import { samples as $division } from "../../ops/division.ts";
import { samples as $dropout } from "../../ops/dropout.ts";
import { samples as $elementary } from "../../ops/elementary.ts";
import { samples as $embedding } from "../../ops/embedding.ts";
import { samples as $extrema } from "../../ops/extrema.ts";
import { samples as $floats } from "../../ops/floats.ts";
import { samples as $fold } from "../../ops/fold.ts";
import { samples as $moments } from "../../ops/moments.ts";
import { samples as $nonzero } from "../../ops/nonzero.ts";
import { samples as $norm } from "../../ops/norm.ts";
import { samples as $pad } from "../../ops/pad.ts";
import { samples as $pairs } from "../../ops/pairs.ts";
import { samples as $random } from "../../ops/random.ts";
import { samples as $recurrentCell } from "../../ops/recurrent-cell.ts";
import { samples as $recurrentNode } from "../../ops/recurrent-node.ts";
import { samples as $rmsNorm } from "../../ops/rms-norm.ts";
import { samples as $running } from "../../ops/running.ts";
import { samples as $scanLinear } from "../../ops/scan-linear.ts";
import { samples as $scatter } from "../../ops/scatter.ts";
import { samples as $search } from "../../ops/search.ts";
import { samples as $sort } from "../../ops/sort.ts";
import { samples as $specialBessel } from "../../ops/special/bessel.ts";
import { samples as $specialErrorFunctions } from "../../ops/special/error-functions.ts";
import { samples as $specialGamma } from "../../ops/special/gamma.ts";
import { samples as $specialIncompleteGamma } from "../../ops/special/incomplete-gamma.ts";
import { samples as $specialPolynomials } from "../../ops/special/polynomials.ts";
import { samples as $state } from "../../ops/state.ts";
import { samples as $unary } from "../../ops/unary.ts";
import { samples as $unpool } from "../../ops/unpool.ts";
import { samples as $where } from "../../ops/where.ts";
import { samples as $windows } from "../../ops/windows.ts";

export const samples = (): readonly Sample[] => [
  ...$activation(),
  ...$attention(),
  ...$compare(),
  ...$distance(),
  ...$division(),
  ...$dropout(),
  ...$elementary(),
  ...$embedding(),
  ...$extrema(),
  ...$floats(),
  ...$fold(),
  ...$moments(),
  ...$nonzero(),
  ...$norm(),
  ...$pad(),
  ...$pairs(),
  ...$random(),
  ...$recurrentCell(),
  ...$recurrentNode(),
  ...$rmsNorm(),
  ...$running(),
  ...$scanLinear(),
  ...$scatter(),
  ...$search(),
  ...$sort(),
  ...$specialBessel(),
  ...$specialErrorFunctions(),
  ...$specialGamma(),
  ...$specialIncompleteGamma(),
  ...$specialPolynomials(),
  ...$state(),
  ...$unary(),
  ...$unpool(),
  ...$where(),
  ...$windows(),
];
