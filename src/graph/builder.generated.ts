// Made by npm run generate from native/schema/directml.json.
import type { DML_AXIS_DIRECTION, DML_CONVOLUTION_DIRECTION, DML_CONVOLUTION_MODE, DML_DEPTH_SPACE_ORDER, DML_INTERPOLATION_MODE, DML_IS_INFINITY_MODE, DML_MATRIX_TRANSFORM, DML_MULTIHEAD_ATTENTION_MASK_TYPE, DML_PADDING_MODE, DML_QUANTIZATION_TYPE, DML_RANDOM_GENERATOR_TYPE, DML_RECURRENT_NETWORK_DIRECTION, DML_REDUCE_FUNCTION, DML_ROUNDING_MODE, DML_TENSOR_DATA_TYPE } from "../dml/operators.generated.ts";
import { Emitter, type Activation, type Expr, type OutputSizes, type OutputSpec, type Scalar } from "./emitter.ts";

/** A graph of DirectML operators under construction: one method for each operator. Required tensors come first, the rest by name. */
export class GraphBuilder extends Emitter {
  /** ELEMENT_WISE_IDENTITY (feature level 1.0). y = x (x := x*Scale+Bias when ScaleBias is given). */
  elementWiseIdentity(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_IDENTITY", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ABS (feature level 1.0). y = |x|; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAbs(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ABS_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ABS_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ABS", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ACOS (feature level 1.0). y = acos(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAcos(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ACOS_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ACOS_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ACOS", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ADD (feature level 1.0). y = a + b (integers wrap; not stated in docs). */
  elementWiseAdd(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ADD_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ADD", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ASIN (feature level 1.0). y = asin(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAsin(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ASIN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ASIN_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ASIN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ATAN (feature level 1.0). y = atan(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAtan(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ATAN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ATAN_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ATAN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_CEIL (feature level 1.0). y = smallest integer >= x; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseCeil(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CEIL_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_CEIL_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_CEIL", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_CLIP (feature level 1.0). y = min(Max, max(Min, x)); x := x*Scale+Bias first when ScaleBias is given. NaN handling undocumented. */
  elementWiseClip(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CLIP_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_CLIP_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null;
    /** Lower limit. Reference: DML_ELEMENT_WISE_CLIP_OPERATOR_DESC.Min. */
    min: number;
    /** Upper limit. Reference: DML_ELEMENT_WISE_CLIP_OPERATOR_DESC.Max. */
    max: number
  }): Expr {
    return this.emit("ELEMENT_WISE_CLIP", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_COS (feature level 1.0). y = cos(x), radians; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseCos(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_COS_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_COS_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_COS", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_DIVIDE (feature level 1.0). y = a / b; integer quotients truncate toward zero. Integer division by zero is not documented. */
  elementWiseDivide(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_DIVIDE", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_EXP (feature level 1.0). y = e^x; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseExp(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_EXP_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_EXP_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_EXP", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_FLOOR (feature level 1.0). y = largest integer <= x; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseFloor(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_FLOOR", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOG (feature level 1.0). y = ln(x); x := x*Scale+Bias when ScaleBias is given. x < 0 gives an indefinite value (NaN); x = 0 gives -inf. */
  elementWiseLog(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOG_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_LOG_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_LOG", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_AND (feature level 1.0). y = (a && b) ? 1 : 0; nonzero is true. */
  elementWiseLogicalAnd(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_AND", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_EQUALS (feature level 1.0). y = (a == b) ? 1 : 0. */
  elementWiseLogicalEquals(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_EQUALS", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_GREATER_THAN (feature level 1.0). y = (a > b) ? 1 : 0. */
  elementWiseLogicalGreaterThan(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_GREATER_THAN", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_LESS_THAN (feature level 1.0). y = (a < b) ? 1 : 0. */
  elementWiseLogicalLessThan(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_LESS_THAN", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_NOT (feature level 1.0). y = (x == 0) ? 1 : 0. */
  elementWiseLogicalNot(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_NOT", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_OR (feature level 1.0). y = (a || b) ? 1 : 0; nonzero is true. */
  elementWiseLogicalOr(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_OR", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_XOR (feature level 1.0). y = ((a != 0) != (b != 0)) ? 1 : 0. */
  elementWiseLogicalXor(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_XOR", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MAX (feature level 1.0). y = max(a, b). NaN handling undocumented. */
  elementWiseMax(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MAX_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MAX", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MEAN (feature level 1.0). y = (a + b) / 2. Integer rounding and overflow of the sum undocumented. */
  elementWiseMean(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MEAN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MEAN", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MIN (feature level 1.0). y = min(a, b). NaN handling undocumented. */
  elementWiseMin(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MIN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MIN", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MULTIPLY (feature level 1.0). y = a * b. */
  elementWiseMultiply(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MULTIPLY", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_POW (feature level 1.0). y = pow(x, e); negative x with integral e is supported, else NaN. With integer x and e the result is exact. ScaleBias applies to x only. */
  elementWisePow(input: Expr, exponent: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_POW_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_POW_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_POW", { input, exponent, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_CONSTANT_POW (feature level 1.0). y = pow(x, Exponent); negative x with integral Exponent is supported, else NaN. */
  elementWiseConstantPow(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null;
    /** The power. Reference: DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC.Exponent. */
    exponent: number
  }): Expr {
    return this.emit("ELEMENT_WISE_CONSTANT_POW", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_RECIP (feature level 1.0). y = 1 / x; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseRecip(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_RECIP_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_RECIP_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_RECIP", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_SIN (feature level 1.0). y = sin(x), radians; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseSin(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_SIN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_SIN_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_SIN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_SQRT (feature level 1.0). y = sqrt(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseSqrt(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_SQRT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_SQRT_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_SQRT", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_SUBTRACT (feature level 1.0). y = a - b. */
  elementWiseSubtract(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_SUBTRACT", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_TAN (feature level 1.0). y = tan(x), radians; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseTan(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_TAN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_TAN_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_TAN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_THRESHOLD (feature level 1.0). y = max(x, Min); x := x*Scale+Bias first when ScaleBias is given. */
  elementWiseThreshold(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null;
    /** Lower limit. Reference: DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC.Min. */
    min: number
  }): Expr {
    return this.emit("ELEMENT_WISE_THRESHOLD", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_QUANTIZE_LINEAR (feature level 1.0). y = clamp(round(x / scale) + zeroPoint, Min, Max); UINT8: [0,255], INT8: [-128,127]; missing zero point = 0. Rounding of halves is not stated on the page (nearest-even assumed, as ONNX QuantizeLinear requires). */
  elementWiseQuantizeLinear(input: Expr, scale: Expr, options: {
    /** The zero point; null for none. Reference: DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC.ZeroPointTensor. */
    zeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_QUANTIZE_LINEAR", { input, scale, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_DEQUANTIZE_LINEAR (feature level 1.0). y = (x - zeroPoint) * scale; missing zero point = 0. */
  elementWiseDequantizeLinear(input: Expr, scale: Expr, options: {
    /** The zero point; null for none. Reference: DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC.ZeroPointTensor. */
    zeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_DEQUANTIZE_LINEAR", { input, scale, ...options }).output as Expr;
  }

  /** ACTIVATION_ELU (feature level 1.0). y = x >= 0 ? x : Alpha*(exp(x)-1). Typical Alpha 1.0. */
  activationElu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_ELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_ELU_OPERATOR_DESC.Alpha. */
    alpha: number
  }): Expr {
    return this.emit("ACTIVATION_ELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_HARDMAX (feature level 1.0). Per row (last axis): 1 at the first occurrence of the maximum, 0 elsewhere. */
  activationHardmax(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_HARDMAX_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_HARDMAX", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_HARD_SIGMOID (feature level 1.0). y = max(0, min(Alpha*x+Beta, 1)). Typical Alpha 0.2, Beta 0.5. */
  activationHardSigmoid(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC.Beta. */
    beta: number
  }): Expr {
    return this.emit("ACTIVATION_HARD_SIGMOID", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_IDENTITY (feature level 1.0). y = x. */
  activationIdentity(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_IDENTITY_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_IDENTITY", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_LEAKY_RELU (feature level 1.0). y = x >= 0 ? x : Alpha*x. Typical Alpha 0.01. */
  activationLeakyRelu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC.Alpha. */
    alpha: number
  }): Expr {
    return this.emit("ACTIVATION_LEAKY_RELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_LINEAR (feature level 1.0). y = Alpha*x + Beta. */
  activationLinear(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_LINEAR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_LINEAR_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_ACTIVATION_LINEAR_OPERATOR_DESC.Beta. */
    beta: number
  }): Expr {
    return this.emit("ACTIVATION_LINEAR", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_LOG_SOFTMAX (feature level 1.0). y_i = ln(exp(x_i) / sum_j exp(x_j)) along the last axis. */
  activationLogSoftmax(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_LOG_SOFTMAX", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_PARAMETERIZED_RELU (feature level 1.0). y = x >= 0 ? x : slope*x. */
  activationParameterizedRelu(input: Expr, slope: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_PARAMETERIZED_RELU", { input, slope, ...options }).output as Expr;
  }

  /** ACTIVATION_PARAMETRIC_SOFTPLUS (feature level 1.0). y = Alpha * ln(1 + exp(Beta*x)). */
  activationParametricSoftplus(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC.Beta. */
    beta: number
  }): Expr {
    return this.emit("ACTIVATION_PARAMETRIC_SOFTPLUS", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_RELU (feature level 1.0). y = max(0, x). */
  activationRelu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_RELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_RELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SCALED_ELU (feature level 1.0). y = x > 0 ? Gamma*x : Gamma*(Alpha*exp(x) - Alpha). Typical Alpha 1.6732, Gamma 1.0507. */
  activationScaledElu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's number gamma. Reference: DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC.Gamma. */
    gamma: number
  }): Expr {
    return this.emit("ACTIVATION_SCALED_ELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SCALED_TANH (feature level 1.0). y = Alpha * tanh(Beta*x). Typical Alpha 1.0, Beta 0.5. */
  activationScaledTanh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC.Beta. */
    beta: number
  }): Expr {
    return this.emit("ACTIVATION_SCALED_TANH", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SIGMOID (feature level 1.0). y = 1 / (1 + exp(-x)). */
  activationSigmoid(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SIGMOID_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_SIGMOID", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SOFTMAX (feature level 1.0). y_i = exp(x_i) / sum_j exp(x_j) along the last axis (a max-shift is the usual stable form). */
  activationSoftmax(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SOFTMAX_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_SOFTMAX", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SOFTPLUS (feature level 1.0). y = ln(1 + exp(Steepness*x)) / Steepness. Typical Steepness 1.0. */
  activationSoftplus(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Slope of the transition. Reference: DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC.Steepness. */
    steepness: number
  }): Expr {
    return this.emit("ACTIVATION_SOFTPLUS", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SOFTSIGN (feature level 1.0). y = x / (1 + |x|). */
  activationSoftsign(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_SOFTSIGN", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_TANH (feature level 1.0). y = tanh(x). */
  activationTanh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_TANH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_TANH", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_THRESHOLDED_RELU (feature level 1.0). y = x > Alpha ? x : 0. Typical Alpha 1.0. */
  activationThresholdedRelu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC.Alpha. */
    alpha: number
  }): Expr {
    return this.emit("ACTIVATION_THRESHOLDED_RELU", { input, ...options }).output as Expr;
  }

  /** CONVOLUTION (feature level 1.0). FORWARD: out[n,co,p] = act(bias[co] + sum over ci in group, k of in[n,ci,p*Stride + k*Dilation - StartPadding] * w[co,ci,k]), zero padding. CROSS_CORRELATION leaves the kernel as is; CONVOLUTION flips it along every spatial axis. BACKWARD is the transpose of that map: every input element scatters in*w to p_in*Stride + k*Dilation - StartPadding; OutputPadding lengthens the end. Kernel orientation: CROSS_CORRELATION+FORWARD and CONVOLUTION+BACKWARD identity; the other two flipped relative to a plain gather. */
  convolution(input: Expr, filter: Expr, options: {
    /** Added to the result; null for none. Reference: DML_CONVOLUTION_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_CONVOLUTION_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** CONVOLUTION turns the kernel around; CROSS_CORRELATION, what networks call a convolution, does not. Reference: DML_CONVOLUTION_OPERATOR_DESC.Mode. */
    mode: DML_CONVOLUTION_MODE;
    /** Which way it runs. Reference: DML_CONVOLUTION_OPERATOR_DESC.Direction. */
    direction: DML_CONVOLUTION_DIRECTION;
    /** Steps of the window along each axis, in elements. Reference: DML_CONVOLUTION_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_CONVOLUTION_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_CONVOLUTION_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_CONVOLUTION_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Elements added to the output's end along each spatial axis, of a transposed convolution. Reference: DML_CONVOLUTION_OPERATOR_DESC.OutputPadding. */
    outputPadding: readonly number[];
    /** Groups into which channels are divided. Reference: DML_CONVOLUTION_OPERATOR_DESC.GroupCount. */
    groupCount: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_CONVOLUTION_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("CONVOLUTION", { input, filter, ...options }).output as Expr;
  }

  /** GEMM (feature level 1.0). out = act(Alpha * opA(A) x opB(B) + Beta * C), one M x K by K x N product per leading coordinate. */
  gemm(a: Expr, b: Expr, options: {
    /** The c; null for none. Reference: DML_GEMM_OPERATOR_DESC.CTensor. */
    c?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_GEMM_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Whether a is transposed. Reference: DML_GEMM_OPERATOR_DESC.TransA. */
    transA: DML_MATRIX_TRANSFORM;
    /** Whether b is transposed. Reference: DML_GEMM_OPERATOR_DESC.TransB. */
    transB: DML_MATRIX_TRANSFORM;
    /** The operator's first factor, alpha. Reference: DML_GEMM_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_GEMM_OPERATOR_DESC.Beta. */
    beta: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_GEMM_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("GEMM", { a, b, ...options }).output as Expr;
  }

  /** REDUCE (feature level 1.0). N = product of reduced sizes. ARGMAX/ARGMIN: index of first extreme along the reduced axes (several axes: row-major index over them); AVERAGE: sum/N; L1: sum|x|; L2: sqrt(sum x^2); LOG_SUM: ln(sum x); LOG_SUM_EXP: ln(sum e^x); MAX; MIN; MULTIPLY: product; SUM; SUM_SQUARE: sum x^2. */
  reduce(input: Expr, options: {
    /** How elements are reduced. Reference: DML_REDUCE_OPERATOR_DESC.Function. */
    function: DML_REDUCE_FUNCTION;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_REDUCE_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The axes it works along. Reference: DML_REDUCE_OPERATOR_DESC.Axes. */
    axes: readonly number[]
  }): Expr {
    return this.emit("REDUCE", { input, ...options }).output as Expr;
  }

  /** AVERAGE_POOLING (feature level 1.0). Mean of the window. IncludePadding TRUE: padded cells count as 0 and in the divisor (window size); FALSE: divisor is the number of in-bounds cells. */
  averagePooling(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Whether padded elements count in the average. Reference: DML_AVERAGE_POOLING_OPERATOR_DESC.IncludePadding. */
    includePadding: boolean
  }): Expr {
    return this.emit("AVERAGE_POOLING", { input, ...options }).output as Expr;
  }

  /** LP_POOLING (feature level 1.0). y = (sum over window of |x|^P)^(1/P) (page writes x^P without the absolute value); padded cells contribute 0. */
  lpPooling(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_LP_POOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_LP_POOLING_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_LP_POOLING_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_LP_POOLING_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_LP_POOLING_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Order of the norm. Reference: DML_LP_POOLING_OPERATOR_DESC.P. */
    p: number
  }): Expr {
    return this.emit("LP_POOLING", { input, ...options }).output as Expr;
  }

  /** MAX_POOLING (feature level 1.0). y = maximum over the in-bounds window cells (padding never wins: acts as the lowest value). */
  maxPooling(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MAX_POOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_MAX_POOLING_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_MAX_POOLING_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_MAX_POOLING_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_MAX_POOLING_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): Expr {
    return this.emit("MAX_POOLING", { input, ...options }).output as Expr;
  }

  /** ROI_POOLING (feature level 1.0). Max over a bin. x1,y1,x2,y2 := round(coord*SpatialScale); rh = y2-y1+1, rw = x2-x1+1; startY = oy*rh/PH + y1 and endY = ((oy+1)*rh + PH - 1)/PH + y1 (integer division; X alike), clamped to the input; end is exclusive by construction (ceil). */
  roiPooling(input: Expr, roi: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ROI_POOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** From the regions' coordinates to the input's. Reference: DML_ROI_POOLING_OPERATOR_DESC.SpatialScale. */
    spatialScale: number;
    /** Lengths of the output's spatial axes. Reference: DML_ROI_POOLING_OPERATOR_DESC.PooledSize. */
    pooledSize: readonly [width: number, height: number]
  }): Expr {
    return this.emit("ROI_POOLING", { input, roi, ...options }).output as Expr;
  }

  /** SLICE (feature level 1.0). out[c] = in[Offsets + Strides*c]. */
  slice(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SLICE_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** First element along each axis. Reference: DML_SLICE_OPERATOR_DESC.Offsets. */
    offsets: readonly number[];
    /** Length along each axis. Reference: DML_SLICE_OPERATOR_DESC.Sizes. */
    sizes: readonly number[];
    /** Steps of the window along each axis, in elements. Reference: DML_SLICE_OPERATOR_DESC.Strides. */
    strides: readonly number[]
  }): Expr {
    return this.emit("SLICE", { input, ...options }).output as Expr;
  }

  /** CAST (feature level 1.0). y = x converted to the output type. Float to integer rounding (truncation expected) and out-of-range handling are not documented. */
  cast(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_CAST_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("CAST", { input, ...options }).output as Expr;
  }

  /** SPLIT (feature level 1.0). Outputs are consecutive slices of the input along Axis; one output is a copy. */
  split(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SPLIT_OPERATOR_DESC.OutputTensors. */
    outputs: readonly OutputSpec[];
    /** The axis it works along, from 0. Reference: DML_SPLIT_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr[] {
    return this.emit("SPLIT", { input, ...options }).outputs as Expr[];
  }

  /** JOIN (feature level 1.0). Concatenation along Axis; one input is a copy. */
  join(inputs: readonly Expr[], options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_JOIN_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axis it works along, from 0. Reference: DML_JOIN_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr {
    return this.emit("JOIN", { inputs, ...options }).output as Expr;
  }

  /** PADDING (feature level 1.0). CONSTANT: value; EDGE: nearest edge element; REFLECTION: mirror without repeating the edge, period 2*(n-1); SYMMETRIC (3.0+): mirror repeating the edge, period 2*n; WRAP (6.4+): index modulo n. Padding longer than the input folds periodically for REFLECTION and SYMMETRIC. */
  padding(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_PADDING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** What padded elements are. Reference: DML_PADDING_OPERATOR_DESC.PaddingMode. */
    paddingMode: DML_PADDING_MODE;
    /** The value of padded elements. Reference: DML_PADDING_OPERATOR_DESC.PaddingValue. */
    paddingValue: number;
    /** Elements added before the first one of each axis. Reference: DML_PADDING_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_PADDING_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): Expr {
    return this.emit("PADDING", { input, ...options }).output as Expr;
  }

  /** VALUE_SCALE_2D (feature level 1.0). y[n,c,h,w] = x*Scale + Bias[c]. */
  valueScale2d(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_VALUE_SCALE_2D_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Factor. Reference: DML_VALUE_SCALE_2D_OPERATOR_DESC.Scale. */
    scale: number;
    /** Added to the product with the scale. Reference: DML_VALUE_SCALE_2D_OPERATOR_DESC.Bias. */
    bias: readonly number[]
  }): Expr {
    return this.emit("VALUE_SCALE_2D", { input, ...options }).output as Expr;
  }

  /** UPSAMPLE_2D (feature level 1.0). NEAREST_NEIGHBOR: in[floor(y/sh), floor(x/sw)]. LINEAR: bilinear over H and W only with pixel centers (src = (dst+0.5)/s - 0.5), edges clamped; never across batch, channel or depth. */
  upsample2d(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_UPSAMPLE_2D_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Factors of width and height. Reference: DML_UPSAMPLE_2D_OPERATOR_DESC.ScaleSize. */
    scaleSize: readonly [width: number, height: number];
    /** Nearest element, or linear between elements. Reference: DML_UPSAMPLE_2D_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE
  }): Expr {
    return this.emit("UPSAMPLE_2D", { input, ...options }).output as Expr;
  }

  /** GATHER (feature level 1.0). out[pre, i.., post] = in[pre, indices[i..], post]. */
  gather(input: Expr, indices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_GATHER_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axis it works along, from 0. Reference: DML_GATHER_OPERATOR_DESC.Axis. */
    axis: number;
    /** Leading axes that the indices address. Reference: DML_GATHER_OPERATOR_DESC.IndexDimensions. */
    indexDimensions: number
  }): Expr {
    return this.emit("GATHER", { input, indices, ...options }).output as Expr;
  }

  /** SPACE_TO_DEPTH (feature level 1.0). out[n, (i*B+j)*C + c, y, x] = in[n, c, y*B+i, x*B+j] (DEPTH_COLUMN_ROW order). */
  spaceToDepth(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SPACE_TO_DEPTH_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Length of the blocks of space. Reference: DML_SPACE_TO_DEPTH_OPERATOR_DESC.BlockSize. */
    blockSize: number
  }): Expr {
    return this.emit("SPACE_TO_DEPTH", { input, ...options }).output as Expr;
  }

  /** DEPTH_TO_SPACE (feature level 1.0). out[n, c, y*B+i, x*B+j] = in[n, (i*B+j)*Cout + c, y, x] (DEPTH_COLUMN_ROW order). */
  depthToSpace(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DEPTH_TO_SPACE_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Length of the blocks of space. Reference: DML_DEPTH_TO_SPACE_OPERATOR_DESC.BlockSize. */
    blockSize: number
  }): Expr {
    return this.emit("DEPTH_TO_SPACE", { input, ...options }).output as Expr;
  }

  /** TILE (feature level 1.0). out[c] = in[c mod InputSizes]. */
  tile(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_TILE_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** How often each axis is repeated. Reference: DML_TILE_OPERATOR_DESC.Repeats. */
    repeats: readonly number[]
  }): Expr {
    return this.emit("TILE", { input, ...options }).output as Expr;
  }

  /** TOP_K (feature level 1.0). TOP_K1 with DECREASING: the K largest in descending order, ties by ascending index. */
  topK(input: Expr, options: {
    /** Sizes and dtype of the output value, where they do not follow from the inputs. Reference: DML_TOP_K_OPERATOR_DESC.OutputValueTensor. */
    outputValue: OutputSizes;
    /** Sizes and dtype of the output index, where they do not follow from the inputs. Reference: DML_TOP_K_OPERATOR_DESC.OutputIndexTensor. */
    outputIndex: OutputSpec;
    /** The axis it works along, from 0. Reference: DML_TOP_K_OPERATOR_DESC.Axis. */
    axis: number;
    /** How many elements are kept. Reference: DML_TOP_K_OPERATOR_DESC.K. */
    k: number
  }): { outputValue: Expr; outputIndex: Expr } {
    return this.emit("TOP_K", { input, ...options }) as { outputValue: Expr; outputIndex: Expr };
  }

  /** BATCH_NORMALIZATION (feature level 1.0). y = act(Scale*(x - Mean)/sqrt(Variance + Epsilon) + Bias). */
  batchNormalization(input: Expr, mean: Expr, variance: Expr, scale: Expr, bias: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Whether statistics are shared by all positions of a channel. Reference: DML_BATCH_NORMALIZATION_OPERATOR_DESC.Spatial. */
    spatial: boolean;
    /** Added to the variance, against a division by zero. Reference: DML_BATCH_NORMALIZATION_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_BATCH_NORMALIZATION_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("BATCH_NORMALIZATION", { input, mean, variance, scale, bias, ...options }).output as Expr;
  }

  /** MEAN_VARIANCE_NORMALIZATION (feature level 1.0). Mean and population variance over {C,H,W} (CrossChannel) or {H,W}. y = act(Scale*(x-mean)/sqrt(var+Epsilon) + Bias); NormalizeVariance FALSE: y = act(Scale*(x-mean) + Bias). Missing Scale = 1, Bias = 0. Typical Epsilon 1e-5. */
  meanVarianceNormalization(input: Expr, options: {
    /** Factors; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.ScaleTensor. */
    scale?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Whether mean and variance are taken over channels too. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.CrossChannel. */
    crossChannel: boolean;
    /** Whether it divides by the standard deviation. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.NormalizeVariance. */
    normalizeVariance: boolean;
    /** Added to the variance, against a division by zero. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("MEAN_VARIANCE_NORMALIZATION", { input, ...options }).output as Expr;
  }

  /** LOCAL_RESPONSE_NORMALIZATION (feature level 1.0). y = x / (Bias + (Alpha/LocalSize)*sum of squares over the local region)^Beta. Typical Alpha 1e-4, Beta 0.75, Bias 1. Region: LocalSize neighbours along C when CrossChannel, else LocalSize x LocalSize over H, W; clipped at edges. */
  localResponseNormalization(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Whether mean and variance are taken over channels too. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.CrossChannel. */
    crossChannel: boolean;
    /** Number of neighbours that are summed. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.LocalSize. */
    localSize: number;
    /** The operator's first factor, alpha. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.Beta. */
    beta: number;
    /** Added to the product with the scale. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC.Bias. */
    bias: number
  }): Expr {
    return this.emit("LOCAL_RESPONSE_NORMALIZATION", { input, ...options }).output as Expr;
  }

  /** LP_NORMALIZATION (feature level 1.0). y = x / norm_P over Axis, P=1: sum|x|, P=2: sqrt(sum x^2), with Epsilon guarding the zero norm (exact placement undocumented). Typical Epsilon 1e-5. */
  lpNormalization(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_LP_NORMALIZATION_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axis it works along, from 0. Reference: DML_LP_NORMALIZATION_OPERATOR_DESC.Axis. */
    axis: number;
    /** Added to the variance, against a division by zero. Reference: DML_LP_NORMALIZATION_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** Order of the norm. Reference: DML_LP_NORMALIZATION_OPERATOR_DESC.P. */
    p: number
  }): Expr {
    return this.emit("LP_NORMALIZATION", { input, ...options }).output as Expr;
  }

  /** RNN (feature level 1.0). H_t = f(X_t W^T + H_{t-1} R^T + Wb + Rb). Steps at t >= the sequence length of a batch item leave the hidden state; OutputSequence beyond it is 0. BACKWARD runs time reversed; BIDIRECTIONAL runs both, direction axis 0 = forward. */
  rnn(input: Expr, weight: Expr, recurrence: Expr, options: {
    /** Added to the result; null for none. Reference: DML_RNN_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** The hidden init; null for none. Reference: DML_RNN_OPERATOR_DESC.HiddenInitTensor. */
    hiddenInit?: Expr | null;
    /** The sequence lengths; null for none. Reference: DML_RNN_OPERATOR_DESC.SequenceLengthsTensor. */
    sequenceLengths?: Expr | null;
    /** Sizes and dtype of the output sequence, where they do not follow from the inputs. Reference: DML_RNN_OPERATOR_DESC.OutputSequenceTensor. */
    outputSequence?: OutputSizes;
    /** Sizes and dtype of the output single, where they do not follow from the inputs. Reference: DML_RNN_OPERATOR_DESC.OutputSingleTensor. */
    outputSingle?: OutputSizes;
    /** The activations of the gates, one after the other; twice as many for both directions. Reference: DML_RNN_OPERATOR_DESC.ActivationDescs. */
    activationDescs: readonly Activation[];
    /** Which way it runs. Reference: DML_RNN_OPERATOR_DESC.Direction. */
    direction: DML_RECURRENT_NETWORK_DIRECTION
  }): { outputSequence: Expr | null; outputSingle: Expr | null } {
    return this.emit("RNN", { input, weight, recurrence, ...options }) as { outputSequence: Expr | null; outputSingle: Expr | null };
  }

  /** LSTM (feature level 1.0). i = f(X Wi + H Ri + Pi.C + b); fg = CoupleInputForget ? 1-i : f(X Wf + H Rf + Pf.C + b); c = g(X Wc + H Rc + b); C = fg.C + i.c; o = f(X Wo + H Ro + Po.C_new + b); H = o.h(C). UseClipThreshold clamps the input of every activation to [-ClipThreshold, ClipThreshold]. Steps at t >= the sequence length of a batch item leave the hidden state; OutputSequence beyond it is 0. BACKWARD runs time reversed; BIDIRECTIONAL runs both, direction axis 0 = forward. */
  lstm(input: Expr, weight: Expr, recurrence: Expr, options: {
    /** Added to the result; null for none. Reference: DML_LSTM_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** The hidden init; null for none. Reference: DML_LSTM_OPERATOR_DESC.HiddenInitTensor. */
    hiddenInit?: Expr | null;
    /** The cell mem init; null for none. Reference: DML_LSTM_OPERATOR_DESC.CellMemInitTensor. */
    cellMemInit?: Expr | null;
    /** The sequence lengths; null for none. Reference: DML_LSTM_OPERATOR_DESC.SequenceLengthsTensor. */
    sequenceLengths?: Expr | null;
    /** The peephole; null for none. Reference: DML_LSTM_OPERATOR_DESC.PeepholeTensor. */
    peephole?: Expr | null;
    /** Sizes and dtype of the output sequence, where they do not follow from the inputs. Reference: DML_LSTM_OPERATOR_DESC.OutputSequenceTensor. */
    outputSequence?: OutputSizes;
    /** Sizes and dtype of the output single, where they do not follow from the inputs. Reference: DML_LSTM_OPERATOR_DESC.OutputSingleTensor. */
    outputSingle?: OutputSizes;
    /** Sizes and dtype of the output cell single, where they do not follow from the inputs. Reference: DML_LSTM_OPERATOR_DESC.OutputCellSingleTensor. */
    outputCellSingle?: OutputSizes;
    /** The activations of the gates, one after the other; twice as many for both directions. Reference: DML_LSTM_OPERATOR_DESC.ActivationDescs. */
    activationDescs: readonly Activation[];
    /** Which way it runs. Reference: DML_LSTM_OPERATOR_DESC.Direction. */
    direction: DML_RECURRENT_NETWORK_DIRECTION;
    /** The limit of a cell's input in both directions. Reference: DML_LSTM_OPERATOR_DESC.ClipThreshold. */
    clipThreshold: number;
    /** Whether the clip threshold is in force. Reference: DML_LSTM_OPERATOR_DESC.UseClipThreshold. */
    useClipThreshold: boolean;
    /** Whether the forget gate is 1 minus the input gate. Reference: DML_LSTM_OPERATOR_DESC.CoupleInputForget. */
    coupleInputForget: boolean
  }): { outputSequence: Expr | null; outputSingle: Expr | null; outputCellSingle: Expr | null } {
    return this.emit("LSTM", { input, weight, recurrence, ...options }) as { outputSequence: Expr | null; outputSingle: Expr | null; outputCellSingle: Expr | null };
  }

  /** GRU (feature level 1.0). z = f(X Wz + H Rz + b); r = f(X Wr + H Rr + b); LinearBeforeReset FALSE: h = g(X Wh + (r.H) Rh + Rbh + Wbh), TRUE: h = g(X Wh + r.(H Rh + Rbh) + Wbh); H = (1-z).h + z.H. Steps at t >= the sequence length of a batch item leave the hidden state; OutputSequence beyond it is 0. BACKWARD runs time reversed; BIDIRECTIONAL runs both, direction axis 0 = forward. */
  gru(input: Expr, weight: Expr, recurrence: Expr, options: {
    /** Added to the result; null for none. Reference: DML_GRU_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** The hidden init; null for none. Reference: DML_GRU_OPERATOR_DESC.HiddenInitTensor. */
    hiddenInit?: Expr | null;
    /** The sequence lengths; null for none. Reference: DML_GRU_OPERATOR_DESC.SequenceLengthsTensor. */
    sequenceLengths?: Expr | null;
    /** Sizes and dtype of the output sequence, where they do not follow from the inputs. Reference: DML_GRU_OPERATOR_DESC.OutputSequenceTensor. */
    outputSequence?: OutputSizes;
    /** Sizes and dtype of the output single, where they do not follow from the inputs. Reference: DML_GRU_OPERATOR_DESC.OutputSingleTensor. */
    outputSingle?: OutputSizes;
    /** The activations of the gates, one after the other; twice as many for both directions. Reference: DML_GRU_OPERATOR_DESC.ActivationDescs. */
    activationDescs: readonly Activation[];
    /** Which way it runs. Reference: DML_GRU_OPERATOR_DESC.Direction. */
    direction: DML_RECURRENT_NETWORK_DIRECTION;
    /** Whether the reset gate comes after the product with the recurrent weights. Reference: DML_GRU_OPERATOR_DESC.LinearBeforeReset. */
    linearBeforeReset: boolean
  }): { outputSequence: Expr | null; outputSingle: Expr | null } {
    return this.emit("GRU", { input, weight, recurrence, ...options }) as { outputSequence: Expr | null; outputSingle: Expr | null };
  }

  /** ELEMENT_WISE_SIGN (feature level 2.0). y = -1 if x < 0, 0 if x = 0, 1 if x > 0. NaN undocumented. */
  elementWiseSign(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_SIGN_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_SIGN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_IS_NAN (feature level 2.0). y = isnan(x) ? 1 : 0. */
  elementWiseIsNan(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_IS_NAN", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ERF (feature level 2.0). y = 2/sqrt(pi) * integral from 0 to x of exp(-t^2) dt; x := x*Scale+Bias when ScaleBias is given. */
  elementWiseErf(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ERF_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ERF_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ERF", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_SINH (feature level 2.0). y = sinh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseSinh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_SINH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_SINH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_SINH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_COSH (feature level 2.0). y = cosh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseCosh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_COSH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_COSH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_COSH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_TANH (feature level 2.0). y = tanh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseTanh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_TANH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_TANH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_TANH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ASINH (feature level 2.0). y = asinh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAsinh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ASINH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ASINH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ASINH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ACOSH (feature level 2.0). y = acosh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAcosh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ACOSH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ATANH (feature level 2.0). y = atanh(x); x := x*Scale+Bias when ScaleBias is given. */
  elementWiseAtanh(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ATANH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_ATANH_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ATANH", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_IF (feature level 2.0). y = cond != 0 ? a : b. */
  elementWiseIf(condition: Expr, a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_IF_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_IF", { condition, a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ADD1 (feature level 2.0). y = act(a + b). */
  elementWiseAdd1(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** An activation of the result, in the same pass; null for none. Reference: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ADD1", { a, b, ...options }).output as Expr;
  }

  /** ACTIVATION_SHRINK (feature level 2.0). y = x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0. Typical Bias 0.0, Threshold 0.5. */
  activationShrink(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SHRINK_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Added to the product with the scale. Reference: DML_ACTIVATION_SHRINK_OPERATOR_DESC.Bias. */
    bias: number;
    /** The limit. Reference: DML_ACTIVATION_SHRINK_OPERATOR_DESC.Threshold. */
    threshold: number
  }): Expr {
    return this.emit("ACTIVATION_SHRINK", { input, ...options }).output as Expr;
  }

  /** MAX_POOLING1 (feature level 2.0). y = maximum over the in-bounds window cells (padding never wins: acts as the lowest value). OutputIndicesTensor: zero-based index of the chosen element in the input tensor seen as one contiguous 1-D array (whole tensor, batch and channel included); ties pick the first element met. Without indices equals MAX_POOLING. */
  maxPooling1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MAX_POOLING1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Sizes and dtype of the output indices, where they do not follow from the inputs. Reference: DML_MAX_POOLING1_OPERATOR_DESC.OutputIndicesTensor. */
    outputIndices?: OutputSpec;
    /** Steps of the window along each axis, in elements. Reference: DML_MAX_POOLING1_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_MAX_POOLING1_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_MAX_POOLING1_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_MAX_POOLING1_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): { output: Expr; outputIndices: Expr | null } {
    return this.emit("MAX_POOLING1", { input, ...options }) as { output: Expr; outputIndices: Expr | null };
  }

  /** MAX_UNPOOLING (feature level 2.0). out = 0 everywhere, then out_flat[indices[c]] = in[c]; the index is zero-based into the whole output seen as a contiguous 1-D array. */
  maxUnpooling(input: Expr, indices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MAX_UNPOOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes
  }): Expr {
    return this.emit("MAX_UNPOOLING", { input, indices, ...options }).output as Expr;
  }

  /** DIAGONAL_MATRIX (feature level 2.0). out[.., y, x] = (x == y + Offset) ? Value : 0. */
  diagonalMatrix(options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DIAGONAL_MATRIX_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Which diagonal: 0 for the main one, above it if positive. Reference: DML_DIAGONAL_MATRIX_OPERATOR_DESC.Offset. */
    offset: number;
    /** The value. Reference: DML_DIAGONAL_MATRIX_OPERATOR_DESC.Value. */
    value: number
  }): Expr {
    return this.emit("DIAGONAL_MATRIX", { ...options }).output as Expr;
  }

  /** SCATTER (feature level 2.0). out = in; out[.., indices[c] on Axis, ..] = updates[c]. Colliding indices: the winner is unspecified. */
  scatter(input: Expr, indices: Expr, updates: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SCATTER_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axis it works along, from 0. Reference: DML_SCATTER_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr {
    return this.emit("SCATTER", { input, indices, updates, ...options }).output as Expr;
  }

  /** ONE_HOT (feature level 2.0). out[c] = (c[Axis] == index of that line) ? OnValue : OffValue; out-of-range indices leave the line all OffValue. */
  oneHot(indices: Expr, values: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ONE_HOT_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axis it works along, from 0. Reference: DML_ONE_HOT_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr {
    return this.emit("ONE_HOT", { indices, values, ...options }).output as Expr;
  }

  /** RESAMPLE (feature level 2.0). Pixel centers: src = (dst + 0.5)/scale - 0.5. NEAREST: the element whose center is nearest (RESAMPLE1 with offsets 0.5/-0.5). LINEAR: weighted mean of two neighbours per dimension, edges clamped. */
  resample(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_RESAMPLE_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE_OPERATOR_DESC.Scales. */
    scales: readonly number[]
  }): Expr {
    return this.emit("RESAMPLE", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_SHIFT_LEFT (feature level 2.1). y = a << b, logical, on raw bits. Shift counts >= bit width undocumented. */
  elementWiseBitShiftLeft(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_SHIFT_LEFT", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_SHIFT_RIGHT (feature level 2.1). y = a >> b, logical (zero fill), on raw bits. Shift counts >= bit width undocumented. */
  elementWiseBitShiftRight(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_SHIFT_RIGHT", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ROUND (feature level 2.1). HALVES_TO_NEAREST_EVEN: nearest, ties to even. TOWARD_ZERO: truncate. TOWARD_INFINITY: nearest, ties away from zero (not ceil). */
  elementWiseRound(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ROUND_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Which way numbers round. Reference: DML_ELEMENT_WISE_ROUND_OPERATOR_DESC.RoundingMode. */
    roundingMode: DML_ROUNDING_MODE
  }): Expr {
    return this.emit("ELEMENT_WISE_ROUND", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_IS_INFINITY (feature level 2.1). y = 1 when x is an infinity whose sign matches InfinityMode (EITHER, POSITIVE, NEGATIVE), else 0. */
  elementWiseIsInfinity(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>;
    /** Infinities of which sign count. Reference: DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC.InfinityMode. */
    infinityMode: DML_IS_INFINITY_MODE
  }): Expr {
    return this.emit("ELEMENT_WISE_IS_INFINITY", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MODULUS_TRUNCATE (feature level 2.1). y = a - b*trunc(a/b); sign of the dividend (C fmod / %). */
  elementWiseModulusTruncate(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MODULUS_TRUNCATE", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_MODULUS_FLOOR (feature level 2.1). y = a - b*floor(a/b); sign of the divisor (Python %). */
  elementWiseModulusFloor(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_MODULUS_FLOOR", { a, b, ...options }).output as Expr;
  }

  /** FILL_VALUE_CONSTANT (feature level 2.1). out = Value everywhere. */
  fillValueConstant(options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_FILL_VALUE_CONSTANT_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The dtype of the values. Reference: DML_FILL_VALUE_CONSTANT_OPERATOR_DESC.ValueDataType. */
    valueDataType: DML_TENSOR_DATA_TYPE;
    /** The value. Reference: DML_FILL_VALUE_CONSTANT_OPERATOR_DESC.Value. */
    value: Scalar
  }): Expr {
    return this.emit("FILL_VALUE_CONSTANT", { ...options }).output as Expr;
  }

  /** FILL_VALUE_SEQUENCE (feature level 2.1). Row-major: out[k] = ValueStart + k*ValueDelta in the output type (integers wrap). */
  fillValueSequence(options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The dtype of the values. Reference: DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC.ValueDataType. */
    valueDataType: DML_TENSOR_DATA_TYPE;
    /** The first value. Reference: DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC.ValueStart. */
    valueStart: Scalar;
    /** Step from one value to the next. Reference: DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC.ValueDelta. */
    valueDelta: Scalar
  }): Expr {
    return this.emit("FILL_VALUE_SEQUENCE", { ...options }).output as Expr;
  }

  /** CUMULATIVE_SUMMATION (feature level 2.1). Running sum along Axis, ascending (INCREASING) or descending index order; HasExclusiveSum TRUE excludes the current element (first written value 0). */
  cumulativeSummation(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axis it works along, from 0. Reference: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC.Axis. */
    axis: number;
    /** From which end of the axis it counts; of equal values the first in this direction wins. Reference: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC.AxisDirection. */
    axisDirection: DML_AXIS_DIRECTION;
    /** Whether an element's own value is left out of its sum. Reference: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC.HasExclusiveSum. */
    hasExclusiveSum: boolean
  }): Expr {
    return this.emit("CUMULATIVE_SUMMATION", { input, ...options }).output as Expr;
  }

  /** REVERSE_SUBSEQUENCES (feature level 2.1). Per line along Axis with length L = min(length, size): the first L elements are reversed, the rest copied; L of 0 or 1 copies. */
  reverseSubsequences(input: Expr, sequenceLengths: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axis it works along, from 0. Reference: DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr {
    return this.emit("REVERSE_SUBSEQUENCES", { input, sequenceLengths, ...options }).output as Expr;
  }

  /** GATHER_ELEMENTS (feature level 2.1). out[c] = in[c with c[Axis] replaced by indices[c]]. */
  gatherElements(input: Expr, indices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_GATHER_ELEMENTS_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axis it works along, from 0. Reference: DML_GATHER_ELEMENTS_OPERATOR_DESC.Axis. */
    axis: number
  }): Expr {
    return this.emit("GATHER_ELEMENTS", { input, indices, ...options }).output as Expr;
  }

  /** GATHER_ND (feature level 2.1). out[i.., s..] = in[indices[i..][0..T), s..] over the meaningful dimensions. */
  gatherNd(input: Expr, indices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_GATHER_ND_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The input dimension count. Reference: DML_GATHER_ND_OPERATOR_DESC.InputDimensionCount. */
    inputDimensionCount: number;
    /** The indices dimension count. Reference: DML_GATHER_ND_OPERATOR_DESC.IndicesDimensionCount. */
    indicesDimensionCount: number
  }): Expr {
    return this.emit("GATHER_ND", { input, indices, ...options }).output as Expr;
  }

  /** SCATTER_ND (feature level 2.1). out = in; out[indices[i..][0..T), s..] = updates[i.., s..]. Colliding indices: the winner is unspecified. */
  scatterNd(input: Expr, indices: Expr, updates: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SCATTER_ND_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The input dimension count. Reference: DML_SCATTER_ND_OPERATOR_DESC.InputDimensionCount. */
    inputDimensionCount: number;
    /** The indices dimension count. Reference: DML_SCATTER_ND_OPERATOR_DESC.IndicesDimensionCount. */
    indicesDimensionCount: number
  }): Expr {
    return this.emit("SCATTER_ND", { input, indices, updates, ...options }).output as Expr;
  }

  /** MAX_POOLING2 (feature level 2.1). y = maximum over the in-bounds window cells (padding never wins: acts as the lowest value). OutputIndicesTensor: zero-based index of the chosen element in the input tensor seen as one contiguous 1-D array (whole tensor, batch and channel included); ties pick the first element met. Window cells are Dilations apart; all 1 equals MAX_POOLING1. */
  maxPooling2(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MAX_POOLING2_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Sizes and dtype of the output indices, where they do not follow from the inputs. Reference: DML_MAX_POOLING2_OPERATOR_DESC.OutputIndicesTensor. */
    outputIndices?: OutputSpec;
    /** Steps of the window along each axis, in elements. Reference: DML_MAX_POOLING2_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_MAX_POOLING2_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_MAX_POOLING2_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_MAX_POOLING2_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_MAX_POOLING2_OPERATOR_DESC.Dilations. */
    dilations: readonly number[]
  }): { output: Expr; outputIndices: Expr | null } {
    return this.emit("MAX_POOLING2", { input, ...options }) as { output: Expr; outputIndices: Expr | null };
  }

  /** SLICE1 (feature level 2.1). start[i] = Offset[i] + (Stride[i] < 0 ? WindowSize[i]-1 : 0); out[c] = in[start + Stride*c]. */
  slice1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SLICE1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** First element of the window along each axis. Reference: DML_SLICE1_OPERATOR_DESC.InputWindowOffsets. */
    inputWindowOffsets: readonly number[];
    /** Length of the window along each axis. Reference: DML_SLICE1_OPERATOR_DESC.InputWindowSizes. */
    inputWindowSizes: readonly number[];
    /** Step through the window along each axis; negative ones go backwards. Reference: DML_SLICE1_OPERATOR_DESC.InputWindowStrides. */
    inputWindowStrides: readonly number[]
  }): Expr {
    return this.emit("SLICE1", { input, ...options }).output as Expr;
  }

  /** TOP_K1 (feature level 2.1). Per line along Axis: INCREASING picks the K smallest in ascending order, DECREASING the K largest in descending order. Index is relative to the line; ties ordered by ascending index whichever the direction. NaN undocumented. */
  topK1(input: Expr, options: {
    /** Sizes and dtype of the output value, where they do not follow from the inputs. Reference: DML_TOP_K1_OPERATOR_DESC.OutputValueTensor. */
    outputValue: OutputSizes;
    /** Sizes and dtype of the output index, where they do not follow from the inputs. Reference: DML_TOP_K1_OPERATOR_DESC.OutputIndexTensor. */
    outputIndex: OutputSpec;
    /** The axis it works along, from 0. Reference: DML_TOP_K1_OPERATOR_DESC.Axis. */
    axis: number;
    /** How many elements are kept. Reference: DML_TOP_K1_OPERATOR_DESC.K. */
    k: number;
    /** From which end of the axis it counts; of equal values the first in this direction wins. Reference: DML_TOP_K1_OPERATOR_DESC.AxisDirection. */
    axisDirection: DML_AXIS_DIRECTION
  }): { outputValue: Expr; outputIndex: Expr } {
    return this.emit("TOP_K1", { input, ...options }) as { outputValue: Expr; outputIndex: Expr };
  }

  /** DEPTH_TO_SPACE1 (feature level 2.1). DEPTH_COLUMN_ROW: out[n,c,y*B+i,x*B+j] = in[n,(i*B+j)*Cout+c,y,x]; COLUMN_ROW_DEPTH: = in[n,c*B*B+i*B+j,y,x]. */
  depthToSpace1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DEPTH_TO_SPACE1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Length of the blocks of space. Reference: DML_DEPTH_TO_SPACE1_OPERATOR_DESC.BlockSize. */
    blockSize: number;
    /** How blocks of space lie in the channels. Reference: DML_DEPTH_TO_SPACE1_OPERATOR_DESC.Order. */
    order: DML_DEPTH_SPACE_ORDER
  }): Expr {
    return this.emit("DEPTH_TO_SPACE1", { input, ...options }).output as Expr;
  }

  /** SPACE_TO_DEPTH1 (feature level 2.1). DEPTH_COLUMN_ROW: out[n,(i*B+j)*C+c,y,x] = in[n,c,y*B+i,x*B+j]; COLUMN_ROW_DEPTH: out channel c*B*B+i*B+j. */
  spaceToDepth1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_SPACE_TO_DEPTH1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Length of the blocks of space. Reference: DML_SPACE_TO_DEPTH1_OPERATOR_DESC.BlockSize. */
    blockSize: number;
    /** How blocks of space lie in the channels. Reference: DML_SPACE_TO_DEPTH1_OPERATOR_DESC.Order. */
    order: DML_DEPTH_SPACE_ORDER
  }): Expr {
    return this.emit("SPACE_TO_DEPTH1", { input, ...options }).output as Expr;
  }

  /** MEAN_VARIANCE_NORMALIZATION1 (feature level 2.1). Mean and population variance over Axes. y = act(Scale*(x-mean)/sqrt(var+Epsilon) + Bias); NormalizeVariance FALSE: y = act(Scale*(x-mean) + Bias). Axes {2,3} = version 0 with CrossChannel FALSE, {1,2,3} = TRUE. Typical Epsilon 1e-5. */
  meanVarianceNormalization1(input: Expr, options: {
    /** Factors; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.ScaleTensor. */
    scale?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axes it works along. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.Axes. */
    axes: readonly number[];
    /** Whether it divides by the standard deviation. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.NormalizeVariance. */
    normalizeVariance: boolean;
    /** Added to the variance, against a division by zero. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("MEAN_VARIANCE_NORMALIZATION1", { input, ...options }).output as Expr;
  }

  /** RESAMPLE1 (feature level 2.1). outX = (inX + InputPixelOffset)*Scale + OutputPixelOffset, so inX = (outX - OutputPixelOffset)/Scale - InputPixelOffset. LINEAR: weighted mean of two neighbours per dimension, edges clamped. NEAREST: nearest element to inX, i.e. floor(inX + 0.5)-like rounding (equals RESAMPLE2 DECREASING with OutputPixelOffset lowered by 0.5 as its page states). Offsets 0.5/-0.5 give RESAMPLE. */
  resample1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_RESAMPLE1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE1_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE1_OPERATOR_DESC.Scales. */
    scales: readonly number[];
    /** Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels. Reference: DML_RESAMPLE1_OPERATOR_DESC.InputPixelOffsets. */
    inputPixelOffsets: readonly number[];
    /** Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels. Reference: DML_RESAMPLE1_OPERATOR_DESC.OutputPixelOffsets. */
    outputPixelOffsets: readonly number[]
  }): Expr {
    return this.emit("RESAMPLE1", { input, ...options }).output as Expr;
  }

  /** MATRIX_MULTIPLY_INTEGER (feature level 2.1). out = (A - Azp) x (B - Bzp) in INT32. */
  matrixMultiplyInteger(a: Expr, b: Expr, options: {
    /** The azero point; null for none. Reference: DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC.AZeroPointTensor. */
    aZeroPoint?: Expr | null;
    /** The bzero point; null for none. Reference: DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC.BZeroPointTensor. */
    bZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("MATRIX_MULTIPLY_INTEGER", { a, b, ...options }).output as Expr;
  }

  /** QUANTIZED_LINEAR_MATRIX_MULTIPLY (feature level 2.1). v = ((A-Azp)*As) x ((B-Bzp)*Bs); y = clamp(round(v/Os) + Ozp, type range). */
  quantizedLinearMatrixMultiply(a: Expr, aScale: Expr, b: Expr, bScale: Expr, outputScale: Expr, options: {
    /** The azero point; null for none. Reference: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC.AZeroPointTensor. */
    aZeroPoint?: Expr | null;
    /** The bzero point; null for none. Reference: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC.BZeroPointTensor. */
    bZeroPoint?: Expr | null;
    /** The output zero point; null for none. Reference: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC.OutputZeroPointTensor. */
    outputZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("QUANTIZED_LINEAR_MATRIX_MULTIPLY", { a, aScale, b, bScale, outputScale, ...options }).output as Expr;
  }

  /** CONVOLUTION_INTEGER (feature level 2.1). out = sum (x - xzp)*(w - wzp) in INT32; padding counts as x = xzp, i.e. contributes 0. */
  convolutionInteger(input: Expr, filter: Expr, options: {
    /** The input zero point; null for none. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.InputZeroPointTensor. */
    inputZeroPoint?: Expr | null;
    /** The filter zero point; null for none. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.FilterZeroPointTensor. */
    filterZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Steps of the window along each axis, in elements. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Groups into which channels are divided. Reference: DML_CONVOLUTION_INTEGER_OPERATOR_DESC.GroupCount. */
    groupCount: number
  }): Expr {
    return this.emit("CONVOLUTION_INTEGER", { input, filter, ...options }).output as Expr;
  }

  /** QUANTIZED_LINEAR_CONVOLUTION (feature level 2.1). v = xs*ws[co]*(sum (x-xzp)*(w-wzp) + bias[co]) (bias is in units of xs*ws, ONNX convention, not printed); y = clamp(round(v/os) + ozp, type range). */
  quantizedLinearConvolution(input: Expr, inputScale: Expr, filter: Expr, filterScale: Expr, outputScale: Expr, options: {
    /** The input zero point; null for none. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.InputZeroPointTensor. */
    inputZeroPoint?: Expr | null;
    /** The filter zero point; null for none. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.FilterZeroPointTensor. */
    filterZeroPoint?: Expr | null;
    /** Added to the result; null for none. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** The output zero point; null for none. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.OutputZeroPointTensor. */
    outputZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Steps of the window along each axis, in elements. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Groups into which channels are divided. Reference: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC.GroupCount. */
    groupCount: number
  }): Expr {
    return this.emit("QUANTIZED_LINEAR_CONVOLUTION", { input, inputScale, filter, filterScale, outputScale, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_AND (feature level 3.0). y = a & b on raw bits; DataType only fixes the width. */
  elementWiseBitAnd(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_AND", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_OR (feature level 3.0). y = a | b on raw bits; DataType only fixes the width. */
  elementWiseBitOr(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_OR", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_XOR (feature level 3.0). y = a ^ b on raw bits; DataType only fixes the width. */
  elementWiseBitXor(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_XOR", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_NOT (feature level 3.0). y = ~x on raw bits; DataType only fixes the width. */
  elementWiseBitNot(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_BIT_NOT", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_BIT_COUNT (feature level 3.0). y = number of 1 bits in the raw element. */
  elementWiseBitCount(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_BIT_COUNT", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL (feature level 3.0). y = (a >= b) ? 1 : 0. */
  elementWiseLogicalGreaterThanOrEqual(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL (feature level 3.0). y = (a <= b) ? 1 : 0. */
  elementWiseLogicalLessThanOrEqual(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>
  }): Expr {
    return this.emit("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", { a, b, ...options }).output as Expr;
  }

  /** ACTIVATION_CELU (feature level 3.0). y = max(0,x) + min(0, Alpha*(exp(x/Alpha)-1)). Typical Alpha 1.0. */
  activationCelu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_CELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_CELU_OPERATOR_DESC.Alpha. */
    alpha: number
  }): Expr {
    return this.emit("ACTIVATION_CELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_RELU_GRAD (feature level 3.0). dx = x > 0 ? dy : 0. */
  activationReluGrad(input: Expr, inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_RELU_GRAD", { input, inputGradient, ...options }).outputGradient as Expr;
  }

  /** AVERAGE_POOLING_GRAD (feature level 3.0). Transpose of AVERAGE_POOLING: every dy is divided by its window divisor (window size, or in-bounds count when IncludePadding is FALSE) and added to each in-bounds cell. */
  averagePoolingGrad(inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Whether padded elements count in the average. Reference: DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC.IncludePadding. */
    includePadding: boolean
  }): Expr {
    return this.emit("AVERAGE_POOLING_GRAD", { inputGradient, ...options }).outputGradient as Expr;
  }

  /** MAX_POOLING_GRAD (feature level 3.0). Recompute the argmax of every window from InputTensor (ties: lowest element index) and add dy there; overlaps sum; the rest is 0. */
  maxPoolingGrad(input: Expr, inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** Steps of the window along each axis, in elements. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_MAX_POOLING_GRAD_OPERATOR_DESC.Dilations. */
    dilations: readonly number[]
  }): Expr {
    return this.emit("MAX_POOLING_GRAD", { input, inputGradient, ...options }).outputGradient as Expr;
  }

  /** RANDOM_GENERATOR (feature level 3.0). Philox 4x32-10: state words 0..3 = 128-bit counter (word 0 least significant), words 4..5 = 64-bit key. Output elements 4k..4k+3 are the four words of the block for counter + k. OutputState: counter + ceil(elementCount/4), key unchanged. */
  randomGenerator(inputState: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_RANDOM_GENERATOR_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Sizes and dtype of the output state, where they do not follow from the inputs. Reference: DML_RANDOM_GENERATOR_OPERATOR_DESC.OutputStateTensor. */
    outputState?: Partial<OutputSpec>;
    /** The algorithm of the random numbers. Reference: DML_RANDOM_GENERATOR_OPERATOR_DESC.Type. */
    type: DML_RANDOM_GENERATOR_TYPE
  }): { output: Expr; outputState: Expr | null } {
    return this.emit("RANDOM_GENERATOR", { inputState, ...options }) as { output: Expr; outputState: Expr | null };
  }

  /** NONZERO_COORDINATES (feature level 3.0). Count of nonzero elements (+0 and -0 are zero) and their coordinates in ascending element order, one row each with the last N coordinates; rows past the count are undefined. */
  nonzeroCoordinates(input: Expr, options: {
    /** Sizes and dtype of the output count, where they do not follow from the inputs. Reference: DML_NONZERO_COORDINATES_OPERATOR_DESC.OutputCountTensor. */
    outputCount: OutputSpec;
    /** Sizes and dtype of the output coordinates, where they do not follow from the inputs. Reference: DML_NONZERO_COORDINATES_OPERATOR_DESC.OutputCoordinatesTensor. */
    outputCoordinates: OutputSpec
  }): { outputCount: Expr; outputCoordinates: Expr } {
    return this.emit("NONZERO_COORDINATES", { input, ...options }) as { outputCount: Expr; outputCoordinates: Expr };
  }

  /** RESAMPLE_GRAD (feature level 3.0). Transpose of RESAMPLE1 as a linear map (weighted scatter-add); unread elements get 0. */
  resampleGrad(inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_RESAMPLE_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE_GRAD_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE_GRAD_OPERATOR_DESC.Scales. */
    scales: readonly number[];
    /** Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels. Reference: DML_RESAMPLE_GRAD_OPERATOR_DESC.InputPixelOffsets. */
    inputPixelOffsets: readonly number[];
    /** Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels. Reference: DML_RESAMPLE_GRAD_OPERATOR_DESC.OutputPixelOffsets. */
    outputPixelOffsets: readonly number[]
  }): Expr {
    return this.emit("RESAMPLE_GRAD", { inputGradient, ...options }).outputGradient as Expr;
  }

  /** SLICE_GRAD (feature level 3.0). dx = 0; dx[start + Stride*c] = dy[c] with start as in SLICE1. */
  sliceGrad(inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_SLICE_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient: OutputSizes;
    /** First element of the window along each axis. Reference: DML_SLICE_GRAD_OPERATOR_DESC.InputWindowOffsets. */
    inputWindowOffsets: readonly number[];
    /** Length of the window along each axis. Reference: DML_SLICE_GRAD_OPERATOR_DESC.InputWindowSizes. */
    inputWindowSizes: readonly number[];
    /** Step through the window along each axis; negative ones go backwards. Reference: DML_SLICE_GRAD_OPERATOR_DESC.InputWindowStrides. */
    inputWindowStrides: readonly number[]
  }): Expr {
    return this.emit("SLICE_GRAD", { inputGradient, ...options }).outputGradient as Expr;
  }

  /** ADAM_OPTIMIZER (feature level 3.0). m = Beta1*m + (1-Beta1)*g; v = Beta2*v + (1-Beta2)*g*g; a = sqrt(1 - Beta2^t)/(1 - Beta1^t); x = x - LearningRate*a*m/(sqrt(v) + Epsilon). Epsilon is added to the uncorrected sqrt(v). t = 0 divides by zero. Typical 0.9, 0.999, 1e-8. */
  adamOptimizer(inputParameters: Expr, inputFirstMoment: Expr, inputSecondMoment: Expr, gradient: Expr, trainingStep: Expr, options: {
    /** Sizes and dtype of the output parameters, where they do not follow from the inputs. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.OutputParametersTensor. */
    outputParameters?: Partial<OutputSpec>;
    /** Sizes and dtype of the output first moment, where they do not follow from the inputs. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.OutputFirstMomentTensor. */
    outputFirstMoment?: Partial<OutputSpec>;
    /** Sizes and dtype of the output second moment, where they do not follow from the inputs. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.OutputSecondMomentTensor. */
    outputSecondMoment?: Partial<OutputSpec>;
    /** Factor of the update. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.LearningRate. */
    learningRate: number;
    /** Decay of the first moment. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.Beta1. */
    beta1: number;
    /** Decay of the second moment. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.Beta2. */
    beta2: number;
    /** Added to the variance, against a division by zero. Reference: DML_ADAM_OPTIMIZER_OPERATOR_DESC.Epsilon. */
    epsilon: number
  }): { outputParameters: Expr; outputFirstMoment: Expr; outputSecondMoment: Expr } {
    return this.emit("ADAM_OPTIMIZER", { inputParameters, inputFirstMoment, inputSecondMoment, gradient, trainingStep, ...options }) as { outputParameters: Expr; outputFirstMoment: Expr; outputSecondMoment: Expr };
  }

  /** ARGMIN (feature level 3.0). Index of the minimum over the listed axes jointly, row-major within those axes; ties: INCREASING first, DECREASING last. Same as REDUCE ARGMIN for INCREASING. NaN undocumented. */
  argmin(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ARGMIN_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The axes it works along. Reference: DML_ARGMIN_OPERATOR_DESC.Axes. */
    axes: readonly number[];
    /** From which end of the axis it counts; of equal values the first in this direction wins. Reference: DML_ARGMIN_OPERATOR_DESC.AxisDirection. */
    axisDirection: DML_AXIS_DIRECTION
  }): Expr {
    return this.emit("ARGMIN", { input, ...options }).output as Expr;
  }

  /** ARGMAX (feature level 3.0). Index of the maximum over the listed axes jointly, row-major within those axes; ties: INCREASING first, DECREASING last. Same as REDUCE ARGMAX for INCREASING. NaN undocumented. */
  argmax(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ARGMAX_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The axes it works along. Reference: DML_ARGMAX_OPERATOR_DESC.Axes. */
    axes: readonly number[];
    /** From which end of the axis it counts; of equal values the first in this direction wins. Reference: DML_ARGMAX_OPERATOR_DESC.AxisDirection. */
    axisDirection: DML_AXIS_DIRECTION
  }): Expr {
    return this.emit("ARGMAX", { input, ...options }).output as Expr;
  }

  /** ROI_ALIGN (feature level 3.0). ROI_ALIGN1 with InputPixelOffset 0.5, OutputPixelOffset -0.5, AlignRegionsToCorners FALSE. */
  roiAlign(input: Expr, roi: Expr, batchIndices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ROI_ALIGN_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** How samples of a region become one element. Reference: DML_ROI_ALIGN_OPERATOR_DESC.ReductionFunction. */
    reductionFunction: DML_REDUCE_FUNCTION;
    /** Nearest element, or linear between elements. Reference: DML_ROI_ALIGN_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** From the regions' x coordinates to the input's. Reference: DML_ROI_ALIGN_OPERATOR_DESC.SpatialScaleX. */
    spatialScaleX: number;
    /** From the regions' y coordinates to the input's. Reference: DML_ROI_ALIGN_OPERATOR_DESC.SpatialScaleY. */
    spatialScaleY: number;
    /** What lies outside of the input. Reference: DML_ROI_ALIGN_OPERATOR_DESC.OutOfBoundsInputValue. */
    outOfBoundsInputValue: number;
    /** At least so many samples for each output element along an axis. Reference: DML_ROI_ALIGN_OPERATOR_DESC.MinimumSamplesPerOutput. */
    minimumSamplesPerOutput: number;
    /** At most so many samples for each output element along an axis. Reference: DML_ROI_ALIGN_OPERATOR_DESC.MaximumSamplesPerOutput. */
    maximumSamplesPerOutput: number
  }): Expr {
    return this.emit("ROI_ALIGN", { input, roi, batchIndices, ...options }).output as Expr;
  }

  /** GATHER_ND1 (feature level 3.0). out[b.., i.., s..] = in[b.., indices[b.., i..][0..T), s..]. B = 0 equals GATHER_ND. */
  gatherNd1(input: Expr, indices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_GATHER_ND1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The input dimension count. Reference: DML_GATHER_ND1_OPERATOR_DESC.InputDimensionCount. */
    inputDimensionCount: number;
    /** The indices dimension count. Reference: DML_GATHER_ND1_OPERATOR_DESC.IndicesDimensionCount. */
    indicesDimensionCount: number;
    /** The batch dimension count. Reference: DML_GATHER_ND1_OPERATOR_DESC.BatchDimensionCount. */
    batchDimensionCount: number
  }): Expr {
    return this.emit("GATHER_ND1", { input, indices, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_ATAN_YX (feature level 3.1). y = atan2(a, b), a = Y axis, b = X axis; undefined at a = b = 0. */
  elementWiseAtanYx(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_ATAN_YX", { a, b, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_CLIP_GRAD (feature level 3.1). dx = (x <= Min or x >= Max) ? 0 : dy (the bounds themselves give 0). */
  elementWiseClipGrad(input: Expr, inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** Lower limit. Reference: DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC.Min. */
    min: number;
    /** Upper limit. Reference: DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC.Max. */
    max: number
  }): Expr {
    return this.emit("ELEMENT_WISE_CLIP_GRAD", { input, inputGradient, ...options }).outputGradient as Expr;
  }

  /** ELEMENT_WISE_DIFFERENCE_SQUARE (feature level 3.1). y = (a - b) * (a - b). */
  elementWiseDifferenceSquare(a: Expr, b: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_DIFFERENCE_SQUARE", { a, b, ...options }).output as Expr;
  }

  /** LOCAL_RESPONSE_NORMALIZATION_GRAD (feature level 3.1). With s_j = Bias + (Alpha/LocalSize)*sum of x^2 over region(j): dx_i = dy_i*s_i^-Beta - 2*Beta*(Alpha/LocalSize)*x_i * sum over j whose region holds i of dy_j*x_j*s_j^(-Beta-1). Region clipped to bounds. */
  localResponseNormalizationGrad(input: Expr, inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** Whether mean and variance are taken over channels too. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.CrossChannel. */
    crossChannel: boolean;
    /** Number of neighbours that are summed. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.LocalSize. */
    localSize: number;
    /** The operator's first factor, alpha. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.Beta. */
    beta: number;
    /** Added to the product with the scale. Reference: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC.Bias. */
    bias: number
  }): Expr {
    return this.emit("LOCAL_RESPONSE_NORMALIZATION_GRAD", { input, inputGradient, ...options }).outputGradient as Expr;
  }

  /** CUMULATIVE_PRODUCT (feature level 3.1). Running product along Axis, ascending (INCREASING) or descending index order; HasExclusiveProduct TRUE excludes the current element (first written value 1). */
  cumulativeProduct(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_CUMULATIVE_PRODUCT_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axis it works along, from 0. Reference: DML_CUMULATIVE_PRODUCT_OPERATOR_DESC.Axis. */
    axis: number;
    /** From which end of the axis it counts; of equal values the first in this direction wins. Reference: DML_CUMULATIVE_PRODUCT_OPERATOR_DESC.AxisDirection. */
    axisDirection: DML_AXIS_DIRECTION;
    /** Whether an element's own value is left out of its product. Reference: DML_CUMULATIVE_PRODUCT_OPERATOR_DESC.HasExclusiveProduct. */
    hasExclusiveProduct: boolean
  }): Expr {
    return this.emit("CUMULATIVE_PRODUCT", { input, ...options }).output as Expr;
  }

  /** BATCH_NORMALIZATION_GRAD (feature level 3.1). r = 1/sqrt(Variance + Epsilon); dx = dy*Scale*r; dScale = sum(dy*(x - Mean)*r); dBias = sum(dy). Mean and variance are constants. */
  batchNormalizationGrad(input: Expr, inputGradient: Expr, mean: Expr, variance: Expr, scale: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** Sizes and dtype of the output scale gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC.OutputScaleGradientTensor. */
    outputScaleGradient?: Partial<OutputSpec>;
    /** Sizes and dtype of the output bias gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC.OutputBiasGradientTensor. */
    outputBiasGradient?: Partial<OutputSpec>;
    /** Added to the variance, against a division by zero. Reference: DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC.Epsilon. */
    epsilon?: number | null
  } = {}): { outputGradient: Expr; outputScaleGradient: Expr; outputBiasGradient: Expr } {
    return this.emit("BATCH_NORMALIZATION_GRAD", { input, inputGradient, mean, variance, scale, ...options }) as { outputGradient: Expr; outputScaleGradient: Expr; outputBiasGradient: Expr };
  }

  /** ELEMENT_WISE_QUANTIZED_LINEAR_ADD (feature level 4.0). v = (a-azp)*as + (b-bzp)*bs; y = clamp(round(v/os)+ozp, Min, Max), UINT8 [0,255], INT8 [-128,127]. */
  elementWiseQuantizedLinearAdd(a: Expr, aScale: Expr, b: Expr, bScale: Expr, outputScale: Expr, options: {
    /** The azero point; null for none. Reference: DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC.AZeroPointTensor. */
    aZeroPoint?: Expr | null;
    /** The bzero point; null for none. Reference: DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC.BZeroPointTensor. */
    bZeroPoint?: Expr | null;
    /** The output zero point; null for none. Reference: DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC.OutputZeroPointTensor. */
    outputZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", { a, aScale, b, bScale, outputScale, ...options }).output as Expr;
  }

  /** DYNAMIC_QUANTIZE_LINEAR (feature level 4.0). scale = (max - min)/(Max - Min); zp = Min - min/scale; y = clamp(round(x/scale) + zp, Min, Max); UINT8 [0,255], INT8 [-128,127]. */
  dynamicQuantizeLinear(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.OutputTensor. */
    output: Partial<OutputSpec>;
    /** Sizes and dtype of the output scale, where they do not follow from the inputs. Reference: DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.OutputScaleTensor. */
    outputScale: OutputSpec;
    /** Sizes and dtype of the output zero point, where they do not follow from the inputs. Reference: DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.OutputZeroPointTensor. */
    outputZeroPoint: OutputSpec
  }): { output: Expr; outputScale: Expr; outputZeroPoint: Expr } {
    return this.emit("DYNAMIC_QUANTIZE_LINEAR", { input, ...options }) as { output: Expr; outputScale: Expr; outputZeroPoint: Expr };
  }

  /** ROI_ALIGN1 (feature level 4.0). Scaled region = roi * SpatialScale. samples = clamp(regionSize/outSize, Min, Max) per axis (number of samples an integer; rounding of the quotient not printed, ceil is the Mask R-CNN habit). step = regionSize/(outSize*samples). Sample s of output o: in = (o*samples + s - OutputPixelOffset)*step + regionStart - InputPixelOffset; interpolate (LINEAR bilinear or NEAREST), out-of-bounds reads give OutOfBoundsInputValue; reduce samples by AVERAGE or MAX. AlignRegionsToCorners TRUE stretches the sample points to the region corners: step = regionSize/(outSize*samples - 1). */
  roiAlign1(input: Expr, roi: Expr, batchIndices: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** How samples of a region become one element. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.ReductionFunction. */
    reductionFunction: DML_REDUCE_FUNCTION;
    /** Nearest element, or linear between elements. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** From the regions' x coordinates to the input's. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.SpatialScaleX. */
    spatialScaleX: number;
    /** From the regions' y coordinates to the input's. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.SpatialScaleY. */
    spatialScaleY: number;
    /** Offset of an input sample's centre, in elements. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.InputPixelOffset. */
    inputPixelOffset: number;
    /** Offset of an output sample's centre, in elements. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.OutputPixelOffset. */
    outputPixelOffset: number;
    /** What lies outside of the input. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.OutOfBoundsInputValue. */
    outOfBoundsInputValue: number;
    /** At least so many samples for each output element along an axis. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.MinimumSamplesPerOutput. */
    minimumSamplesPerOutput: number;
    /** At most so many samples for each output element along an axis. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.MaximumSamplesPerOutput. */
    maximumSamplesPerOutput: number;
    /** Whether regions end at the centres of corner elements, not at their outer edges. Reference: DML_ROI_ALIGN1_OPERATOR_DESC.AlignRegionsToCorners. */
    alignRegionsToCorners: boolean
  }): Expr {
    return this.emit("ROI_ALIGN1", { input, roi, batchIndices, ...options }).output as Expr;
  }

  /** ROI_ALIGN_GRAD (feature level 4.1). OutputGradient: transpose of ROI_ALIGN1 (scatter-add by interpolation weight / sample count, overlaps sum, MAX sends dy to the winning sample). ROI gradient: per sample, bilinear image gradients gx, gy times dy, then row += [gx*(W-ox), gy*(H-oy), gx*ox, gy*oy] over output coordinates ox, oy. */
  roiAlignGrad(inputGradient: Expr, roi: Expr, batchIndices: Expr, options: {
    /** The input; null for none. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.InputTensor. */
    input?: Expr | null;
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: OutputSizes;
    /** Sizes and dtype of the output roigradient, where they do not follow from the inputs. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.OutputROIGradientTensor. */
    outputROIGradient?: OutputSizes;
    /** How samples of a region become one element. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.ReductionFunction. */
    reductionFunction: DML_REDUCE_FUNCTION;
    /** Nearest element, or linear between elements. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** From the regions' x coordinates to the input's. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.SpatialScaleX. */
    spatialScaleX: number;
    /** From the regions' y coordinates to the input's. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.SpatialScaleY. */
    spatialScaleY: number;
    /** Offset of an input sample's centre, in elements. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.InputPixelOffset. */
    inputPixelOffset: number;
    /** Offset of an output sample's centre, in elements. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.OutputPixelOffset. */
    outputPixelOffset: number;
    /** At least so many samples for each output element along an axis. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.MinimumSamplesPerOutput. */
    minimumSamplesPerOutput: number;
    /** At most so many samples for each output element along an axis. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.MaximumSamplesPerOutput. */
    maximumSamplesPerOutput: number;
    /** Whether regions end at the centres of corner elements, not at their outer edges. Reference: DML_ROI_ALIGN_GRAD_OPERATOR_DESC.AlignRegionsToCorners. */
    alignRegionsToCorners: boolean
  }): { outputGradient: Expr | null; outputROIGradient: Expr | null } {
    return this.emit("ROI_ALIGN_GRAD", { inputGradient, roi, batchIndices, ...options }) as { outputGradient: Expr | null; outputROIGradient: Expr | null };
  }

  /** BATCH_NORMALIZATION_TRAINING (feature level 4.1). Population mean and variance; y = act(Scale*(x - mean)/sqrt(var + Epsilon) + Bias + FusedAdd); also outputs mean and var. */
  batchNormalizationTraining(input: Expr, scale: Expr, bias: Expr, options: {
    /** The fused add; null for none. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.FusedAddTensor. */
    fusedAdd?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Sizes and dtype of the output mean, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.OutputMeanTensor. */
    outputMean?: Partial<OutputSpec>;
    /** Sizes and dtype of the output variance, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.OutputVarianceTensor. */
    outputVariance?: Partial<OutputSpec>;
    /** Added to the variance, against a division by zero. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): { output: Expr; outputMean: Expr; outputVariance: Expr } {
    return this.emit("BATCH_NORMALIZATION_TRAINING", { input, scale, bias, ...options }) as { output: Expr; outputMean: Expr; outputVariance: Expr };
  }

  /** BATCH_NORMALIZATION_TRAINING_GRAD (feature level 4.1). r = 1/sqrt(Variance + Epsilon), means over the broadcast dimensions: dx = Scale*r*((dy - mean(dy)) - (x - mean(x))*mean(dy*(x - mean(x)))/(Variance + Epsilon)); dScale = sum(dy*(x - Mean)*r); dBias = sum(dy). */
  batchNormalizationTrainingGrad(input: Expr, inputGradient: Expr, mean: Expr, variance: Expr, scale: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** Sizes and dtype of the output scale gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.OutputScaleGradientTensor. */
    outputScaleGradient?: Partial<OutputSpec>;
    /** Sizes and dtype of the output bias gradient, where they do not follow from the inputs. Reference: DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.OutputBiasGradientTensor. */
    outputBiasGradient?: Partial<OutputSpec>;
    /** Added to the variance, against a division by zero. Reference: DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.Epsilon. */
    epsilon: number
  }): { outputGradient: Expr; outputScaleGradient: Expr; outputBiasGradient: Expr } {
    return this.emit("BATCH_NORMALIZATION_TRAINING_GRAD", { input, inputGradient, mean, variance, scale, ...options }) as { outputGradient: Expr; outputScaleGradient: Expr; outputBiasGradient: Expr };
  }

  /** ELEMENT_WISE_CLIP1 (feature level 5.0). y = max(Min, min(x, Max)); x := x*Scale+Bias first when ScaleBias is given. Note the nesting order differs from CLIP when Min > Max. */
  elementWiseClip1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** [scale, bias]: the operator computes of scale * x + bias. null for x itself. Reference: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC.ScaleBias. */
    scaleBias?: readonly [scale: number, bias: number] | null;
    /** The dtype of min and max. Reference: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC.MinMaxDataType. */
    minMaxDataType: DML_TENSOR_DATA_TYPE;
    /** Lower limit. Reference: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC.Min. */
    min: Scalar;
    /** Upper limit. Reference: DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC.Max. */
    max: Scalar
  }): Expr {
    return this.emit("ELEMENT_WISE_CLIP1", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_CLIP_GRAD1 (feature level 5.0). dx = (x <= Min or x >= Max) ? 0 : dy. */
  elementWiseClipGrad1(input: Expr, inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient?: Partial<OutputSpec>;
    /** The dtype of min and max. Reference: DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC.MinMaxDataType. */
    minMaxDataType: DML_TENSOR_DATA_TYPE;
    /** Lower limit. Reference: DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC.Min. */
    min: Scalar;
    /** Upper limit. Reference: DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC.Max. */
    max: Scalar
  }): Expr {
    return this.emit("ELEMENT_WISE_CLIP_GRAD1", { input, inputGradient, ...options }).outputGradient as Expr;
  }

  /** PADDING1 (feature level 5.0). CONSTANT: value; EDGE: nearest edge element; REFLECTION: mirror without repeating the edge, period 2*(n-1); SYMMETRIC (3.0+): mirror repeating the edge, period 2*n; WRAP (6.4+): index modulo n. Padding longer than the input folds periodically for REFLECTION and SYMMETRIC. */
  padding1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_PADDING1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** What padded elements are. Reference: DML_PADDING1_OPERATOR_DESC.PaddingMode. */
    paddingMode: DML_PADDING_MODE;
    /** The dtype of the padding's value. Reference: DML_PADDING1_OPERATOR_DESC.PaddingValueDataType. */
    paddingValueDataType: DML_TENSOR_DATA_TYPE;
    /** The value of padded elements. Reference: DML_PADDING1_OPERATOR_DESC.PaddingValue. */
    paddingValue: Scalar;
    /** Elements added before the first one of each axis. Reference: DML_PADDING1_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_PADDING1_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): Expr {
    return this.emit("PADDING1", { input, ...options }).output as Expr;
  }

  /** ELEMENT_WISE_NEGATE (feature level 5.0). y = -x. */
  elementWiseNegate(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ELEMENT_WISE_NEGATE", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_GELU (feature level 5.1). y = 0.5 * x * (1 + erf(x / sqrt(2))) (exact form, no tanh approximation). */
  activationGelu(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_GELU_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>
  } = {}): Expr {
    return this.emit("ACTIVATION_GELU", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SOFTMAX1 (feature level 5.1). y = exp(x) / sum of exp(x) over all listed axes together. Same as SOFTMAX when Axes = {DimensionCount-1}. */
  activationSoftmax1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axes it works along. Reference: DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC.Axes. */
    axes: readonly number[]
  }): Expr {
    return this.emit("ACTIVATION_SOFTMAX1", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_LOG_SOFTMAX1 (feature level 5.1). y = ln(exp(x) / sum of exp(x) over all listed axes together). Same as LOG_SOFTMAX when Axes = {DimensionCount-1}. */
  activationLogSoftmax1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axes it works along. Reference: DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC.Axes. */
    axes: readonly number[]
  }): Expr {
    return this.emit("ACTIVATION_LOG_SOFTMAX1", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_HARDMAX1 (feature level 5.1). 1 at the first maximum over the listed axes jointly (first in row-major order of the reduced coordinates), 0 elsewhere. Same as HARDMAX when Axes = {DimensionCount-1}. */
  activationHardmax1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_HARDMAX1_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The axes it works along. Reference: DML_ACTIVATION_HARDMAX1_OPERATOR_DESC.Axes. */
    axes: readonly number[]
  }): Expr {
    return this.emit("ACTIVATION_HARDMAX1", { input, ...options }).output as Expr;
  }

  /** RESAMPLE2 (feature level 5.1). outX = (inX + InputPixelOffset)*Scale + OutputPixelOffset, hence inX = (outX - OutputPixelOffset)/Scale - InputPixelOffset per dimension. NEAREST: ceil (INCREASING) or floor (DECREASING) of inX, clamped. LINEAR: weighted mean of the two neighbours per dimension, edges clamped (up to 4-linear); RoundingDirection ignored. */
  resample2(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_RESAMPLE2_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE2_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Whether output lengths round down or up. Reference: DML_RESAMPLE2_OPERATOR_DESC.RoundingDirection. */
    roundingDirection: DML_AXIS_DIRECTION;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE2_OPERATOR_DESC.Scales. */
    scales: readonly number[];
    /** Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels. Reference: DML_RESAMPLE2_OPERATOR_DESC.InputPixelOffsets. */
    inputPixelOffsets: readonly number[];
    /** Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels. Reference: DML_RESAMPLE2_OPERATOR_DESC.OutputPixelOffsets. */
    outputPixelOffsets: readonly number[]
  }): Expr {
    return this.emit("RESAMPLE2", { input, ...options }).output as Expr;
  }

  /** RESAMPLE_GRAD1 (feature level 5.1). Transpose of RESAMPLE2 as a linear map: every dy element is scattered (added, weighted by its forward interpolation weights) to the input elements it read; unread elements get 0. */
  resampleGrad1(inputGradient: Expr, options: {
    /** Sizes and dtype of the output gradient, where they do not follow from the inputs. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.OutputGradientTensor. */
    outputGradient: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Whether output lengths round down or up. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.RoundingDirection. */
    roundingDirection: DML_AXIS_DIRECTION;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.Scales. */
    scales: readonly number[];
    /** Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.InputPixelOffsets. */
    inputPixelOffsets: readonly number[];
    /** Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels. Reference: DML_RESAMPLE_GRAD1_OPERATOR_DESC.OutputPixelOffsets. */
    outputPixelOffsets: readonly number[]
  }): Expr {
    return this.emit("RESAMPLE_GRAD1", { inputGradient, ...options }).outputGradient as Expr;
  }

  /** DIAGONAL_MATRIX1 (feature level 5.1). d = x - y (column minus row). use = (End >= Begin) XOR (d >= Begin) XOR (d < End) (signed compare; inverted range when Begin > End inverts the fill). out = use ? Value : (InputTensor ? in : 0). */
  diagonalMatrix1(options: {
    /** The input; null for none. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.InputTensor. */
    input?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** The dtype of the values. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.ValueDataType. */
    valueDataType: DML_TENSOR_DATA_TYPE;
    /** The value. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.Value. */
    value: Scalar;
    /** The first diagonal that is kept. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.DiagonalFillBegin. */
    diagonalFillBegin: number;
    /** The last diagonal that is kept. Reference: DML_DIAGONAL_MATRIX1_OPERATOR_DESC.DiagonalFillEnd. */
    diagonalFillEnd: number
  }): Expr {
    return this.emit("DIAGONAL_MATRIX1", { ...options }).output as Expr;
  }

  /** MULTIHEAD_ATTENTION (feature level 6.1). S = (Q+bq)(K+bk)^T * Scale [+ RelativePositionBias] [+ mask: MaskFilterValue at masked positions]; P = softmax(S) over keys; out = P (V+bv), heads merged. Typical Scale 1/sqrt(headSize), MaskFilterValue -10000. */
  multiheadAttention(options: {
    /** The query; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.QueryTensor. */
    query?: Expr | null;
    /** The key; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.KeyTensor. */
    key?: Expr | null;
    /** The value; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.ValueTensor. */
    value?: Expr | null;
    /** The stacked query key; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.StackedQueryKeyTensor. */
    stackedQueryKey?: Expr | null;
    /** The stacked key value; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.StackedKeyValueTensor. */
    stackedKeyValue?: Expr | null;
    /** The stacked query key value; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.StackedQueryKeyValueTensor. */
    stackedQueryKeyValue?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Which scores are masked. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.MaskTensor. */
    mask?: Expr | null;
    /** The relative position bias; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.RelativePositionBiasTensor. */
    relativePositionBias?: Expr | null;
    /** The past key; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.PastKeyTensor. */
    pastKey?: Expr | null;
    /** The past value; null for none. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.PastValueTensor. */
    pastValue?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Sizes and dtype of the output present key, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.OutputPresentKeyTensor. */
    outputPresentKey?: OutputSpec;
    /** Sizes and dtype of the output present value, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.OutputPresentValueTensor. */
    outputPresentValue?: OutputSpec;
    /** Factor. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.Scale. */
    scale: number;
    /** Replaces scores that are masked. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.MaskFilterValue. */
    maskFilterValue: number;
    /** Number of attention heads. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.HeadCount. */
    headCount: number;
    /** What the mask holds. Reference: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC.MaskType. */
    maskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE
  }): { output: Expr; outputPresentKey: Expr | null; outputPresentValue: Expr | null } {
    return this.emit("MULTIHEAD_ATTENTION", { ...options }) as { output: Expr; outputPresentKey: Expr | null; outputPresentValue: Expr | null };
  }

  /** LP_POOLING1 (feature level 6.2). y = (sum over window of |x|^P)^(1/P) (page writes x^P without the absolute value); padded cells contribute 0. Window cells are Dilations apart. */
  lpPooling1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_LP_POOLING1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_LP_POOLING1_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_LP_POOLING1_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_LP_POOLING1_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_LP_POOLING1_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_LP_POOLING1_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Order of the norm. Reference: DML_LP_POOLING1_OPERATOR_DESC.P. */
    p: number
  }): Expr {
    return this.emit("LP_POOLING1", { input, ...options }).output as Expr;
  }

  /** AVERAGE_POOLING1 (feature level 6.2). Mean of the window. IncludePadding TRUE: padded cells count as 0 and in the divisor (window size); FALSE: divisor is the number of in-bounds cells. Window cells are Dilations apart. Equals AVERAGE_POOLING when all Dilations are 1. */
  averagePooling1(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Steps of the window along each axis, in elements. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Whether padded elements count in the average. Reference: DML_AVERAGE_POOLING1_OPERATOR_DESC.IncludePadding. */
    includePadding: boolean
  }): Expr {
    return this.emit("AVERAGE_POOLING1", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_SWISH (feature level 6.2). y = x * sigmoid(SigmoidInputScale * x). Typical SigmoidInputScale 1.0. */
  activationSwish(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_SWISH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** Factor of the sigmoid's argument. Reference: DML_ACTIVATION_SWISH_OPERATOR_DESC.SigmoidInputScale. */
    sigmoidInputScale: number
  }): Expr {
    return this.emit("ACTIVATION_SWISH", { input, ...options }).output as Expr;
  }

  /** ACTIVATION_HARD_SWISH (feature level 6.2). y = x * max(0, min(Alpha*x+Beta, 1)). Typical Alpha 1/6, Beta 0.5. */
  activationHardSwish(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC.OutputTensor. */
    output?: Partial<OutputSpec>;
    /** The operator's first factor, alpha. Reference: DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC.Alpha. */
    alpha: number;
    /** The operator's second number, beta. Reference: DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC.Beta. */
    beta: number
  }): Expr {
    return this.emit("ACTIVATION_HARD_SWISH", { input, ...options }).output as Expr;
  }

  /** QUANTIZED_LINEAR_AVERAGE_POOLING (feature level 6.2). Dequantize (x-zp)*scale, average as AVERAGE_POOLING1 (Dilations, IncludePadding), then clamp(round(v/oscale)+ozp, type range). */
  quantizedLinearAveragePooling(input: Expr, inputScale: Expr, outputScale: Expr, options: {
    /** The input zero point; null for none. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.InputZeroPointTensor. */
    inputZeroPoint?: Expr | null;
    /** The output zero point; null for none. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.OutputZeroPointTensor. */
    outputZeroPoint?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Steps of the window along each axis, in elements. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Length of the window along each axis. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.WindowSize. */
    windowSize: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Whether padded elements count in the average. Reference: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC.IncludePadding. */
    includePadding: boolean
  }): Expr {
    return this.emit("QUANTIZED_LINEAR_AVERAGE_POOLING", { input, inputScale, outputScale, ...options }).output as Expr;
  }

  /** MATRIX_MULTIPLY_INTEGER_TO_FLOAT (feature level 6.2). out = ((A - Azp) x (B - Bzp)) * AScale * BScale + Bias; missing zero point = 0. */
  matrixMultiplyIntegerToFloat(a: Expr, aScale: Expr, b: Expr, bScale: Expr, options: {
    /** The azero point; null for none. Reference: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC.AZeroPointTensor. */
    aZeroPoint?: Expr | null;
    /** The bzero point; null for none. Reference: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC.BZeroPointTensor. */
    bZeroPoint?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", { a, aScale, b, bScale, ...options }).output as Expr;
  }

  /** MEAN_VARIANCE_NORMALIZATION2 (feature level 6.3). Mean and population variance over Axes. y = act(Scale*(x - (UseMean ? mean : 0)) / (UseVariance ? sqrt(var + Epsilon) : 1) + Bias). Typical Epsilon 1e-5. */
  meanVarianceNormalization2(input: Expr, options: {
    /** Factors; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.ScaleTensor. */
    scale?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** The axes it works along. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.Axes. */
    axes: readonly number[];
    /** Whether the mean is subtracted. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.UseMean. */
    useMean: boolean;
    /** Whether it divides by the standard deviation. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.UseVariance. */
    useVariance: boolean;
    /** Added to the variance, against a division by zero. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.Epsilon. */
    epsilon: number;
    /** An activation of the result, in the same pass; null for none. Reference: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC.FusedActivation. */
    fusedActivation?: Activation | null
  }): Expr {
    return this.emit("MEAN_VARIANCE_NORMALIZATION2", { input, ...options }).output as Expr;
  }

  /** MULTIHEAD_ATTENTION1 (feature level 6.3). S = (Q+bq)(K+bk)^T * Scale [+ RelativePositionBias] [+ mask: MaskFilterValue at masked positions]; P = softmax(S) over keys; out = P (V+bv), heads merged. Typical Scale 1/sqrt(headSize), MaskFilterValue -10000. K/V heads are shared by QueryHeadCount/KeyValueHeadCount query heads. */
  multiheadAttention1(options: {
    /** The query; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.QueryTensor. */
    query?: Expr | null;
    /** The key; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.KeyTensor. */
    key?: Expr | null;
    /** The value; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.ValueTensor. */
    value?: Expr | null;
    /** The stacked query key; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.StackedQueryKeyTensor. */
    stackedQueryKey?: Expr | null;
    /** The stacked key value; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.StackedKeyValueTensor. */
    stackedKeyValue?: Expr | null;
    /** The stacked query key value; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.StackedQueryKeyValueTensor. */
    stackedQueryKeyValue?: Expr | null;
    /** Added to the result; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.BiasTensor. */
    bias?: Expr | null;
    /** Which scores are masked. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.MaskTensor. */
    mask?: Expr | null;
    /** The relative position bias; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.RelativePositionBiasTensor. */
    relativePositionBias?: Expr | null;
    /** The past key; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.PastKeyTensor. */
    pastKey?: Expr | null;
    /** The past value; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.PastValueTensor. */
    pastValue?: Expr | null;
    /** The past sequence lengths; null for none. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.PastSequenceLengthsTensor. */
    pastSequenceLengths?: Expr | null;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Sizes and dtype of the output present key, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.OutputPresentKeyTensor. */
    outputPresentKey?: OutputSpec;
    /** Sizes and dtype of the output present value, where they do not follow from the inputs. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.OutputPresentValueTensor. */
    outputPresentValue?: OutputSpec;
    /** Factor. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.Scale. */
    scale: number;
    /** Replaces scores that are masked. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.MaskFilterValue. */
    maskFilterValue: number;
    /** Number of heads of queries. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.QueryHeadCount. */
    queryHeadCount: number;
    /** Number of heads of keys and values. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.KeyValueHeadCount. */
    keyValueHeadCount: number;
    /** What the mask holds. Reference: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.MaskType. */
    maskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE
  }): { output: Expr; outputPresentKey: Expr | null; outputPresentValue: Expr | null } {
    return this.emit("MULTIHEAD_ATTENTION1", { ...options }) as { output: Expr; outputPresentKey: Expr | null; outputPresentValue: Expr | null };
  }

  /** QUANTIZE (feature level 6.3). y = clamp(round(x/scale) + zeroPoint, type range); scale dimensions may be smaller than the tensor in block-wise use (block = InputSize/ScaleSize per dimension; not printed). */
  quantize(input: Expr, quantizations: readonly Expr[], options: {
    /** Whether there is a scale, or a scale and a zero point. Reference: DML_QUANTIZE_OPERATOR_DESC.QuantizationType. */
    quantizationType: DML_QUANTIZATION_TYPE;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_QUANTIZE_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("QUANTIZE", { input, quantizations, ...options }).output as Expr;
  }

  /** DEQUANTIZE (feature level 6.3). y = (x - zeroPoint)*scale; block-wise scales as in QUANTIZE. */
  dequantize(input: Expr, quantizations: readonly Expr[], options: {
    /** Whether there is a scale, or a scale and a zero point. Reference: DML_DEQUANTIZE_OPERATOR_DESC.QuantizationType. */
    quantizationType: DML_QUANTIZATION_TYPE;
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_DEQUANTIZE_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec
  }): Expr {
    return this.emit("DEQUANTIZE", { input, quantizations, ...options }).output as Expr;
  }

  /** RESAMPLE3 (feature level 6.4). As RESAMPLE2 when Antialiased is FALSE. Antialiased TRUE (only with LINEAR and 1/Scale > 2): the interpolation filter is stretched by max(1, 1/Scale), so more input elements are averaged; otherwise as RESAMPLE2. */
  resample3(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_RESAMPLE3_OPERATOR_DESC.OutputTensor. */
    output: OutputSizes;
    /** Nearest element, or linear between elements. Reference: DML_RESAMPLE3_OPERATOR_DESC.InterpolationMode. */
    interpolationMode: DML_INTERPOLATION_MODE;
    /** Whether output lengths round down or up. Reference: DML_RESAMPLE3_OPERATOR_DESC.RoundingDirection. */
    roundingDirection: DML_AXIS_DIRECTION;
    /** Output length over input length, for each axis. Reference: DML_RESAMPLE3_OPERATOR_DESC.Scales. */
    scales: readonly number[];
    /** Offset of an input sample's centre along each axis, in elements: 0.5 for centres of pixels. Reference: DML_RESAMPLE3_OPERATOR_DESC.InputPixelOffsets. */
    inputPixelOffsets: readonly number[];
    /** Offset of an output sample's centre along each axis, in elements: -0.5 for centres of pixels. Reference: DML_RESAMPLE3_OPERATOR_DESC.OutputPixelOffsets. */
    outputPixelOffsets: readonly number[];
    /** Whether samples are averaged over their distance when the output is smaller. Reference: DML_RESAMPLE3_OPERATOR_DESC.Antialiased. */
    antialiased: boolean
  }): Expr {
    return this.emit("RESAMPLE3", { input, ...options }).output as Expr;
  }

  /** FOLD (feature level 6.4). Overlap-add: out[n,c,p] = sum of in[n, c*prod(Window)+k, block] over all (k, block) with block*Stride + k*Dilation - StartPadding = p; contributions in the padding are dropped. Row order of k: row-major over the window, channel outermost; columns row-major over blocks. */
  fold(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_FOLD_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Length of the window along each axis. Reference: DML_FOLD_OPERATOR_DESC.WindowSizes. */
    windowSizes: readonly number[];
    /** Steps of the window along each axis, in elements. Reference: DML_FOLD_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_FOLD_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_FOLD_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_FOLD_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): Expr {
    return this.emit("FOLD", { input, ...options }).output as Expr;
  }

  /** UNFOLD (feature level 6.4). im2col: out[n, c*prod(Window)+k, block] = in[n, c, block*Stride + k*Dilation - StartPadding], zero outside. Row-major k and blocks, channel outermost. */
  unfold(input: Expr, options: {
    /** Sizes and dtype of the output, where they do not follow from the inputs. Reference: DML_UNFOLD_OPERATOR_DESC.OutputTensor. */
    output: OutputSpec;
    /** Length of the window along each axis. Reference: DML_UNFOLD_OPERATOR_DESC.WindowSizes. */
    windowSizes: readonly number[];
    /** Steps of the window along each axis, in elements. Reference: DML_UNFOLD_OPERATOR_DESC.Strides. */
    strides: readonly number[];
    /** Distance between the kernel's elements along each spatial axis, in elements. Reference: DML_UNFOLD_OPERATOR_DESC.Dilations. */
    dilations: readonly number[];
    /** Elements added before the first one of each axis. Reference: DML_UNFOLD_OPERATOR_DESC.StartPadding. */
    startPadding: readonly number[];
    /** Elements added behind the last one of each axis. Reference: DML_UNFOLD_OPERATOR_DESC.EndPadding. */
    endPadding: readonly number[]
  }): Expr {
    return this.emit("UNFOLD", { input, ...options }).output as Expr;
  }
}
