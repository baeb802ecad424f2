// Made by npm run generate from the families in src/ops.
import { bind, isAll, isTensor, refused, under } from "../ops/declare/checked.ts";
import * as kinds from "../ops/exports/kinds.generated.ts";
import * as $autogradGradMode from "../autograd/grad-mode.ts";
import * as $autogradAnomaly from "../autograd/anomaly.ts";
import * as $autogradCheckpoint from "../autograd/checkpoint.ts";
import * as $autogradFunction from "../autograd/function.ts";
import * as $autogradFunctional from "../autograd/functional.ts";
import * as $funcGradOf from "../func/grad-of.ts";
import * as $funcVmap from "../func/vmap.ts";
import * as $autogradSavedHooks from "../autograd/saved-hooks.ts";
import * as $compileCompile from "../compile/compile.ts";
import * as $controlCond from "../control/cond.ts";
import * as $controlScan from "../control/scan.ts";
import * as $controlWhileLoop from "../control/while-loop.ts";
import * as $coreAutocast from "../core/autocast.ts";
import * as $complexAutograd from "../complex/autograd.ts";
import * as $complexMake from "../complex/make.ts";
import * as $complexPromotion from "../complex/promotion.ts";
import * as $complexSeveral from "../complex/several.ts";
import * as $fftStft from "../fft/stft.ts";
import * as $coreDevice from "../core/device.ts";
import * as $coreScope from "../core/scope.ts";
import * as $corePrint from "../core/print.ts";
import * as $ioCheckpointLoad from "../io/checkpoint/load.ts";
import * as $ioCheckpointSave from "../io/checkpoint/save.ts";
import * as $profileProfile from "../profile/profile.ts";
import * as $runtimeDevices from "../runtime/devices.ts";
import * as $runtimeFallback from "../runtime/fallback.ts";
import * as $runtimeDeviceStatistics from "../runtime/device-statistics.ts";
/**
 * Runs fn without recording: its results require no gradient. When fn returns a promise, that holds for all that fn does until the promise
 * settles, and for nothing else that runs meanwhile.
 */
export const noGrad = function ($0: never) { if (!(kinds.callback.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("noGrad", "fn:callback", arguments); return $autogradGradMode.noGrad($0); } as unknown as typeof $autogradGradMode.noGrad;
/**
 * Runs fn without recording, as noGrad() does. Tensors that fn makes are inference tensors (`isInference`): they may be read and computed with
 * afterwards, but changing one in place, saving one for backward and setting its requiresGrad are an AutogradError outside of the mode; clone() makes an ordinary
 * one. Views of ordinary tensors are ordinary. fn may return a promise, as noGrad()'s. Inside compile() it is noGrad(). Reference: torch.inference_mode.
 */
export const inferenceMode = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.InferenceModeOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("inferenceMode", "fn:callback options:InferenceModeOptions?", arguments); return $autogradGradMode.inferenceMode($0, $1); } as unknown as typeof $autogradGradMode.inferenceMode;
/** Runs fn with recording, inside noGrad too; fn may return a promise, as noGrad()'s. */
export const enableGrad = function ($0: never) { if (!(kinds.callback.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("enableGrad", "fn:callback", arguments); return $autogradGradMode.enableGrad($0); } as unknown as typeof $autogradGradMode.enableGrad;
/** Switches recording on or off until called again, or until the noGrad() or enableGrad() around it ends. */
export const setGradEnabled = function ($0: never) { if (!(kinds.boolean.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setGradEnabled", "isEnabled:boolean", arguments); return $autogradGradMode.setGradEnabled($0); } as unknown as typeof $autogradGradMode.setGradEnabled;
/**
 * Runs fn so that a backward pass throws AnomalyError at the first gradient with a NaN. The error names the operation whose gradient it is and the line that
 * called the operation, if that was inside of such a region too. Each gradient is read, so it is slow: for debugging. Compiled functions run eagerly inside.
 * fn may return a promise, as noGrad()'s. Reference: torch.autograd.detect_anomaly.
 */
export const detectAnomaly = function ($0: never) { if (!(kinds.callback.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("detectAnomaly", "fn:callback", arguments); return $autogradAnomaly.detectAnomaly($0); } as unknown as typeof $autogradAnomaly.detectAnomaly;
/**
 * Switches detectAnomaly()'s checks on or off until called again, or until the detectAnomaly() around it ends.
 * Reference: torch.autograd.set_detect_anomaly.
 */
export const setDetectAnomaly = function ($0: never) { if (!(kinds.boolean.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setDetectAnomaly", "isEnabled:boolean", arguments); return $autogradAnomaly.setDetectAnomaly($0); } as unknown as typeof $autogradAnomaly.setDetectAnomaly;
/**
 * fn(...inputs), of which nothing is saved for backward but the inputs: backward calls fn again and recomputes what it needs. That saves memory, and
 * costs a second forward pass.
 *
 * fn: gives tensors in any structure that scope() knows; what else it makes is disposed of when it returns. It must compute the same in both calls: the
 * default generator, autocast and the default device are as in the first call, so dropout drops the same elements. inputs: any values; tensors of
 * arrays and plain objects are saved too. Calls nest, and gradients of gradients are right. Inside compile the program recomputes,
 * and fn is called once.
 * Throws ValueError where fn returns a promise; backward throws CheckpointError where the second call saves other tensors, by number, shape or dtype,
 * and AutogradError where an input was changed in place. Reference: torch.utils.checkpoint.checkpoint with use_reentrant=False.
 */
export const checkpoint = function ($0: never, ...rest: never[]) { if (!(kinds.callback.is($0))) [$0, ...rest] = bind("checkpoint", "fn:callback ...inputs:eachAnything", arguments); return $autogradCheckpoint.checkpoint($0, ...rest); } as unknown as typeof $autogradCheckpoint.checkpoint;
/**
 * A function that autograd treats as one operation with the given backward. With createGraph, backward's own operations are
 * recorded. Reference: torch.autograd.Function.
 */
export const defineFunction = function ($0: never) { if (!(kinds.name_4b3c75.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("defineFunction", "definition:name_4b3c75", arguments); return $autogradFunction.defineFunction($0); } as unknown as typeof $autogradFunction.defineFunction;
/**
 * fn(...inputs), and the derivatives of its results in the direction v: the Jacobian times v. It is computed by two backward passes: the gradient of a
 * gradient by the gradient that flows in. So each operation needs a second derivative, and the cost is about three times that of vjp().
 *
 * v: like the inputs; may be missing for one number. Results: both as fn's result. Else as vjp(). Reference: torch.autograd.functional.jvp.
 */
export const jvp = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && (isTensor($2) || $2 === undefined || kinds.tensorOrTensors.is($2)) && ($3 === undefined || kinds.FunctionalOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("jvp", "fn:callback inputs:tensorOrTensors v:tensorOrTensors? options:FunctionalOptions?", arguments); return $autogradFunctional.jvp($0, $1, $2, $3); } as unknown as typeof $autogradFunctional.jvp;
/**
 * fn(...inputs), and the gradients of its results' products with v by the inputs: v times the Jacobian.
 *
 * fn: gives a floating tensor or a list of them. inputs: one floating tensor or a list, which fn gets as arguments. v: like fn's result; may be missing for one
 * number. Results: as fn's result, as the inputs. They have no history without createGraph. Throws AutogradError for a missing v, for inference tensors outside of
 * inferenceMode(), and if strict for what does not depend on an input; DTypeError for complex tensors and integers; ShapeError for v. Reference:
 * torch.autograd.functional.vjp.
 */
export const vjp = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && (isTensor($2) || $2 === undefined || kinds.tensorOrTensors.is($2)) && ($3 === undefined || kinds.FunctionalOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("vjp", "fn:callback inputs:tensorOrTensors v:tensorOrTensors? options:FunctionalOptions?", arguments); return $autogradFunctional.vjp($0, $1, $2, $3); } as unknown as typeof $autogradFunctional.vjp;
/**
 * The derivatives of all elements of fn's results by all elements of the inputs, by one backward pass for each element of the results.
 *
 * Result: [...result's shape, ...input's shape]. Of several inputs a list; of several results a list of these, by result first. Else as vjp().
 * Reference: torch.autograd.functional.jacobian.
 */
export const jacobian = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && ($2 === undefined || kinds.FunctionalOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("jacobian", "fn:callback inputs:tensorOrTensors options:FunctionalOptions?", arguments); return $autogradFunctional.jacobian($0, $1, $2); } as unknown as typeof $autogradFunctional.jacobian;
/**
 * The second derivatives of the number that fn gives by all elements of the inputs: the Jacobian of the gradient.
 *
 * fn: gives a tensor of one element. Result: [...shape of the input, ...shape of the input]; of several inputs a list of lists, [i][j] by inputs i and j.
 * Else as vjp(). Reference: torch.autograd.functional.hessian.
 */
export const hessian = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && ($2 === undefined || kinds.FunctionalOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("hessian", "fn:callback inputs:tensorOrTensors options:FunctionalOptions?", arguments); return $autogradFunctional.hessian($0, $1, $2); } as unknown as typeof $autogradFunctional.hessian;
/**
 * fn(...inputs), a number, and its Hessian times v: computed as vhp(), since Hessians of functions that are twice differentiable are symmetric. PyTorch
 * computes it by three backward passes, with the same values. Reference: torch.autograd.functional.hvp.
 */
export const hvp = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && (isTensor($2) || $2 === undefined || kinds.tensorOrTensors.is($2)) && ($3 === undefined || kinds.FunctionalOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("hvp", "fn:callback inputs:tensorOrTensors v:tensorOrTensors? options:FunctionalOptions?", arguments); return $autogradFunctional.hvp($0, $1, $2, $3); } as unknown as typeof $autogradFunctional.hvp;
/**
 * fn(...inputs), a number, and v times its Hessian, by two backward passes. v: like the inputs; may be missing for one number. Results: a tensor, and as
 * the inputs. Else as vjp(). Reference: torch.autograd.functional.vhp.
 */
export const vhp = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.callback.is($0) && (isTensor($1) || kinds.tensorOrTensors.is($1)) && (isTensor($2) || $2 === undefined || kinds.tensorOrTensors.is($2)) && ($3 === undefined || kinds.FunctionalOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("vhp", "fn:callback inputs:tensorOrTensors v:tensorOrTensors? options:FunctionalOptions?", arguments); return $autogradFunctional.vhp($0, $1, $2, $3); } as unknown as typeof $autogradFunctional.vhp;
/**
 * A function of the same arguments that gives the gradient of fn, which gives one number, by one of them: a tensor, or arrays and objects of tensors; the gradient has the
 * same shape. With vmap() it gives gradients of each sample. Calls can be nested, for higher derivatives, and gradients flow through the result to what requires one.
 *
 * fn: gives a floating tensor of no axes; with hasAux [value, aux]. Arguments by which the gradient is taken: floating tensors. Result: the gradient; with several argnums a list;
 * with hasAux [gradient, aux]. Throws AutogradError where fn gives something else, ValueError for argnums out of range, DTypeError for integers and complex tensors.
 * Reference: torch.func.grad.
 */
export const gradOf = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.GradOfOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gradOf", "fn:callback options:GradOfOptions?", arguments); return $funcGradOf.gradOf($0, $1); } as unknown as typeof $funcGradOf.gradOf;
/**
 * gradOf() with fn's value: the result is [gradient, value], with hasAux [gradient, [value, aux]]. Reference: torch.func.grad_and_value.
 */
export const gradAndValue = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.GradOfOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("gradAndValue", "fn:callback options:GradOfOptions?", arguments); return $funcGradOf.gradAndValue($0, $1); } as unknown as typeof $funcGradOf.gradAndValue;
/**
 * fn, which is written for one sample, as a function of a batch: it runs once, and each of its operations computes all samples. Inside of fn a tensor shows the shape of
 * one sample. A matrix product becomes a batched one, a convolution one with groups; an operation without such a rule runs once for each sample, which fallbackStats()
 * counts as "vmap". Calls can be nested, and contain gradOf(), vjp(), jvp(), jacobian(); gradients flow through the result.
 *
 * fn: gives a tensor, or arrays and objects of tensors. Its arguments are tensors, arrays and objects of them; an argument that is none has null in inDims.
 * Result: a function of the same arguments with their batch axes. It throws ValueError for axes that do not exist, for random numbers unless randomness allows them, and for an
 * in-place change by different values of a tensor that is the same for all samples; ShapeError for batch axes of different lengths; TraceError where fn asks for numbers
 * of a tensor. Reference: torch.func.vmap.
 */
export const vmap = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.VmapOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("vmap", "fn:callback options:VmapOptions?", arguments); return $funcVmap.vmap($0, $1); } as unknown as typeof $funcVmap.vmap;
/**
 * Runs fn so that what its operations save for backward goes through two functions: pack gets each saved tensor, without a history, when the operation is
 * recorded; unpack gets what pack gave, in each backward pass that needs the tensor, and gives a tensor of the same shape, dtype and device. The hooks of the
 * innermost region apply. fn may return a promise, as noGrad()'s.
 *
 * What pack makes is disposed of: at once, or with the node of the tape if it is part of what pack returns (a tensor, arrays and plain objects of them).
 * dx.keep() takes a tensor out of that. Changes of a saved tensor in place are not noticed if pack returns the tensor itself.
 * Throws AutogradError where pack changes its argument, or unpack gives another kind of tensor, and TraceError inside compile; a compiled function may be called
 * by fn. Reference: torch.autograd.graph.saved_tensors_hooks.
 */
export const savedTensorsHooks = function ($0: never, $1: never, $2: never) { if (!(kinds.callback.is($0) && kinds.callback.is($1) && kinds.callback.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("savedTensorsHooks", "pack:callback unpack:callback fn:callback", arguments); return $autogradSavedHooks.savedTensorsHooks($0, $1, $2); } as unknown as typeof $autogradSavedHooks.savedTensorsHooks;
/**
 * Runs fn so that what its operations save for backward is in the host's memory, in place of the device's, until a backward pass needs it. Each saved tensor
 * is read, which waits for the device, and uploaded again in each pass. fn may return a promise, as noGrad()'s.
 * Throws TraceError inside compile. Reference: torch.autograd.graph.save_on_cpu.
 */
export const saveOnHost = function ($0: never) { if (!(kinds.callback.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("saveOnHost", "fn:callback", arguments); return $autogradSavedHooks.saveOnHost($0); } as unknown as typeof $autogradSavedHooks.saveOnHost;
/**
 * fn as a compiled function: the first call with arguments of a kind records what fn asks for as one program, later ones replay
 * it. It returns what fn returns and changes what fn changes; gradients flow through its results. The whole contract, what is
 * refused, and how often fn's own JavaScript runs: docs/compile.md.
 */
export const compile = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.CompileOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("compile", "fn:callback options:CompileOptions?", arguments); return $compileCompile.compile($0, $1); } as unknown as typeof $compileCompile.compile;
/**
 * trueFn(...operands) if the predicate is true, else falseFn(...operands).
 *
 * predicate: a boolean, or a bool tensor of one element. operands: any values. The functions must be synchronous, and return trees of tensors (nested
 * arrays and plain objects) with the same structure, shapes and dtypes. With a tensor, a result that is an operand or a tensor of a closure is copied. Gradients of
 * any order flow through the function that was chosen; the other one's are zero.
 *
 * A boolean is an `if`: the result is the function's own. Outside of compile() only the chosen function runs; a tensor is read, which waits for the device. In a compiled function a
 * tensor is not read: the program computes both, and chooses results, writes and gradients on the device. So another value records nothing.
 * Throws DTypeError or ShapeError for another predicate; TraceError for a branch that changes what is no tensor, or gradients of leaves, in a compiled
 * function; and for results that differ DTypeError, ShapeError or ValueError with the leaf's path, where both functions run.
 * Reference: torch.cond, jax.lax.cond.
 */
export const cond = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrBoolean.is($0)) && kinds.callback.is($1) && kinds.callback.is($2) && ($3 === undefined || kinds.listOfAnything.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("cond", "predicate:tensorOrBoolean trueFn:callback falseFn:callback operands:listOfAnything?", arguments); return $controlCond.cond($0, $1, $2, $3); } as unknown as typeof $controlCond.cond;
/**
 * fn(carry, x) for each slice x of xs along an axis, where each call gets the carry that the call before returned: [the last carry, the second results
 * stacked along a new axis `dim`].
 *
 * fn: gives [carry, y], trees of tensors (nested arrays and plain objects); the carry is like init, and each y like the first one, in structure, shapes
 * and dtypes. init: a tree of tensors, or null. xs: a tree of tensors of the same length along the axis `dim` (default 0; negative counts from the
 * last). reverse: from the last slice to the first; y of slice i is at i all the same. Gradients of any order flow to init, xs and closures.
 *
 * A last carry that is init is a copy of it. Without slices fn is called once on zeros, without gradients, for the shapes of the y.
 * In a compiled function fn is traced once for all slices (from five on), and is a program of its own, which other lengths run too: it must do the same for each
 * slice. Where it writes outside, draws random numbers or depends on a counter, each slice is traced.
 * Throws ShapeError, DTypeError or ValueError with the path of the leaf for a carry or y that differs, for xs without tensors or of several lengths, and
 * for a function that returns a promise or anything but a pair.
 * Reference: torch._higher_order_ops.scan, jax.lax.scan.
 */
export const scan = function ($0: never, $1: never, $2: never, $3: never = undefined as never) { if (!(kinds.callback.is($0) && ($3 === undefined || kinds.ScanOptions.is($3)) && (arguments.length <= 4 || isAll(arguments, 4)))) [$0, $1, $2, $3] = bind("scan", "fn:callback init:anything xs:anything options:ScanOptions?", arguments); return $controlScan.scan($0, $1, $2, $3); } as unknown as typeof $controlScan.scan;
/**
 * Repeats `carried = bodyFn(...carried)` while condFn(...carried) is true, and gives the last `carried`.
 *
 * condFn: gives a boolean, or a bool tensor of one element, which is read in each round. bodyFn: gives an array like carried: trees of tensors (nested arrays
 * and plain objects) with the same structure, shapes and dtypes. carried: an array, whose elements are the arguments of both. Without a round the
 * tensors of carried are copied. Both functions must be synchronous; they may be compiled functions, which are then replayed in each round.
 *
 * Gradients of any order flow through the rounds that ran, to carried and to closures; each round saves what they need, so use noGrad() where none are
 * wanted. condFn has no gradient.
 * In a compiled function condition and body are programs of their own, and the condition is read in each round. A function whose loop needs gradients, or whose
 * condition or body is no function of its tensors alone (see scan()), runs eagerly, with a warning.
 * Throws ShapeError, DTypeError or ValueError with the path of the leaf for a result that differs from carried.
 * Reference: torch.while_loop, jax.lax.while_loop.
 */
export const whileLoop = function ($0: never, $1: never, $2: never) { if (!(kinds.callback.is($0) && kinds.callback.is($1) && kinds.listOfAnything.is($2) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("whileLoop", "condFn:callback bodyFn:callback carried:listOfAnything", arguments); return $controlWhileLoop.whileLoop($0, $1, $2); } as unknown as typeof $controlWhileLoop.whileLoop;
/**
 * Runs fn with mixed precision: matrix products, linear layers, convolutions, attention and recurrent layers cast their inputs to dtype; losses,
 * softmax, normalizations, sums, exponentials, logarithms and powers compute in float32; a few operations take the widest dtype of their
 * inputs. Other operations run in the dtypes of their inputs. docs/mixed-precision.md lists them. Parameters stay float32: a weight that requires
 * a gradient is cast once until the outermost region ends, and its gradient is float32. backward() runs outside of the region, in the
 * dtypes of the forward operations. When fn returns a promise, the region ends when that settles, as noGrad()'s.
 *
 * dtype: "float16" (use optim.GradScaler) or "bfloat16". Regions nest; the innermost one applies. In-place operations cast nothing.
 * Throws ValueError for another dtype. Reference: torch.autocast on CUDA.
 */
export const autocast = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.float16_bfloat16.is($0) && kinds.callback.is($1) && ($2 === undefined || kinds.AutocastOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("autocast", "dtype:float16_bfloat16 fn:callback options:AutocastOptions?", arguments); return $coreAutocast.autocast($0, $1, $2); } as unknown as typeof $coreAutocast.autocast;
/** Adds the gradient of the results, real or complex, to the `grad` of every leaf that requires one. Reference: torch.autograd.backward. */
export const backward = function ($0: never, $1: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrComplexTensorOrL_c75b3e.is($0)) && ($1 === undefined || kinds.ComplexBackwardOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("backward", "result:tensorOrComplexTensorOrL_c75b3e options:ComplexBackwardOptions?", arguments); return $complexAutograd.backward($0, $1); } as unknown as typeof $complexAutograd.backward;
/**
 * Gradients of the results with respect to the given tensors, real or complex, without touching any `grad`.
 *
 * results: one tensor or several, whose gradients are added. inputs: tensors that require a gradient. Result: for each input a tensor of its
 * shape and dtype. Throws AutogradError for an input that the results do not depend on, or gives null for it with allowUnused.
 * Reference: torch.autograd.grad.
 */
export const grad = function ($0: never, $1: never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrComplexTensorOrL_c75b3e.is($0)) && kinds.listOfTensorOrComplexTensor.is($1) && ($2 === undefined || kinds.retainGraph_0a64bb.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("grad", "results:tensorOrComplexTensorOrL_c75b3e inputs:listOfTensorOrComplexTensor options:retainGraph_0a64bb?", arguments); return $complexAutograd.grad($0, $1, $2); } as unknown as typeof $complexAutograd.grad;
/**
 * Throws AutogradError unless the gradients of fn at the inputs, real or complex, agree with finite differences by both parts; true
 * otherwise. Inputs are float32 or complex64, of which those that require a gradient are checked. Reference: torch.autograd.gradcheck.
 */
export const gradcheck = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.callback.is($0) && kinds.listOfTensorOrComplexTensor.is($1) && ($2 === undefined || kinds.GradcheckOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("gradcheck", "fn:callback inputs:listOfTensorOrComplexTensor options:GradcheckOptions?", arguments); return $complexAutograd.gradcheck($0, $1, $2); } as unknown as typeof $complexAutograd.gradcheck;
/** gradcheck of the gradient of fn. gradients: one for each part of a complex result. Reference: torch.autograd.gradgradcheck. */
export const gradgradcheck = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.callback.is($0) && kinds.listOfTensorOrComplexTensor.is($1) && ($2 === undefined || kinds.GradgradcheckOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("gradgradcheck", "fn:callback inputs:listOfTensorOrComplexTensor options:GradgradcheckOptions?", arguments); return $complexAutograd.gradgradcheck($0, $1, $2); } as unknown as typeof $complexAutograd.gradgradcheck;
/**
 * real + i imag: a copy of both, broadcast against each other. Both float32, or both float16. Both parts require a gradient where one of
 * the arguments does, and a gradient of one is a gradient of both, as in PyTorch. Reference: torch.complex. DirectML: JOIN.
 */
export const complex = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("complex", "real imag", arguments); try { return $complexMake.complex($0, $1); } catch (error) { throw under("complex", error); } } as unknown as typeof $complexMake.complex;
/** The imaginary parts: a view, of a conjugate a copy. Throws DTypeError for a real tensor. Reference: torch.imag. */
export const imag = function ($0: never) { if (!(kinds.complexTensor.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("imag", "x:complexTensor", arguments); try { return $complexMake.imag($0); } catch (error) { throw under("imag", error); } } as unknown as typeof $complexMake.imag;
/** length (cos angle + i sin angle). Both float32, or both float16; they broadcast. Reference: torch.polar. */
export const polar = function ($0: never, $1: never) { if (!(isTensor($0) && isTensor($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("polar", "length angle", arguments); try { return $complexMake.polar($0, $1); } catch (error) { throw under("polar", error); } } as unknown as typeof $complexMake.polar;
/** The real parts, a view; of a real tensor the tensor itself. Reference: torch.real. */
export const real = function ($0: never) { if (!((isTensor($0) || kinds.tensorOrComplexTensor.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("real", "x:tensorOrComplexTensor", arguments); try { return $complexMake.real($0); } catch (error) { throw under("real", error); } } as unknown as typeof $complexMake.real;
/** x [..., 2] as complex numbers of its pairs: a view. Reference: torch.view_as_complex. */
export const viewAsComplex = function ($0: never) { if (!(isTensor($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("viewAsComplex", "x", arguments); try { return $complexMake.viewAsComplex($0); } catch (error) { throw under("viewAsComplex", error); } } as unknown as typeof $complexMake.viewAsComplex;
/** z as pairs of real numbers [..., 2]: a view. Throws ValueError for a conjugate that is a view. Reference: torch.view_as_real. */
export const viewAsReal = function ($0: never) { if (!(kinds.complexTensor.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("viewAsReal", "z:complexTensor", arguments); try { return $complexMake.viewAsReal($0); } catch (error) { throw under("viewAsReal", error); } } as unknown as typeof $complexMake.viewAsReal;
/**
 * Whether values of one dtype may be written into another in place: complex numbers into none of real ones, floats into no integer,
 * numbers into no bool. Reference: torch.can_cast.
 */
export const canCast = function ($0: never, $1: never) { if (!(kinds.complex32_complex64OrDtype.is($0) && kinds.complex32_complex64OrDtype.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("canCast", "from:complex32_complex64OrDtype to:complex32_complex64OrDtype", arguments); try { return $complexPromotion.canCast($0, $1); } catch (error) { throw under("canCast", error); } } as unknown as typeof $complexPromotion.canCast;
/** The dtype of an operation over two dtypes. Reference: torch.promote_types. */
export const promoteTypes = function ($0: never, $1: never) { if (!(kinds.complex32_complex64OrDtype.is($0) && kinds.complex32_complex64OrDtype.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("promoteTypes", "a:complex32_complex64OrDtype b:complex32_complex64OrDtype", arguments); try { return $complexPromotion.promoteTypes($0, $1); } catch (error) { throw under("promoteTypes", error); } } as unknown as typeof $complexPromotion.promoteTypes;
/** |x|, element by element: real numbers either way. Keeps a real tensor's dtype. Reference: torch.abs. DirectML: ELEMENT_WISE_ABS. */
export const abs = function ($0: never) { if (!((isTensor($0) || kinds.tensorOrComplexTensor.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("abs", "x:tensorOrComplexTensor", arguments); try { return $complexSeveral.abs($0); } catch (error) { throw under("abs", error); } } as unknown as typeof $complexSeveral.abs;
/** The angle: of real numbers 0, π for negative ones, NaN for NaN. Integers give float32. Reference: torch.angle. */
export const angle = function ($0: never) { if (!((isTensor($0) || kinds.tensorOrComplexTensor.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("angle", "x:tensorOrComplexTensor", arguments); try { return $complexSeveral.angle($0); } catch (error) { throw under("angle", error); } } as unknown as typeof $complexSeveral.angle;
/**
 * The tensors joined along an axis. All other lengths must agree; dtypes promote. Tensors of shape [0] are left
 * out, as in PyTorch. Throws ShapeError when they do not fit. DirectML: JOIN. Reference: torch.cat.
 */
export const cat = function ($0: never, $1: never = undefined as never) { if (!(kinds.listOfTensorOrComplexTensor.is($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("cat", "tensors:listOfTensorOrComplexTensor axis:number?", arguments); try { return $complexSeveral.cat($0, $1); } catch (error) { throw under("cat", error); } } as unknown as typeof $complexSeveral.cat;
/** Tensors of one shape as parts along a new axis. Reference: torch.stack. DirectML: JOIN. */
export const stack = function ($0: never, $1: never = undefined as never) { if (!(kinds.listOfTensorOrComplexTensor.is($0) && ($1 === undefined || kinds.number.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("stack", "tensors:listOfTensorOrComplexTensor axis:number?", arguments); try { return $complexSeveral.stack($0, $1); } catch (error) { throw under("stack", error); } } as unknown as typeof $complexSeveral.stack;
/** a where the condition is true, else b. All broadcast. Reference: torch.where. DirectML: ELEMENT_WISE_IF. */
export const where = function ($0: never, $1: never, $2: never) { if (!(isTensor($0) && (isTensor($1) || kinds.operandOrComplexTensor.is($1)) && (isTensor($2) || kinds.operandOrComplexTensor.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("where", "condition a:operandOrComplexTensor b:operandOrComplexTensor", arguments); try { return $complexSeveral.where($0, $1, $2); } catch (error) { throw under("where", error); } } as unknown as typeof $complexSeveral.where;
/**
 * The signal whose stft is nearest to z in the sense of least squares: the inverse transforms times the window are added and divided
 * by the sum of the windows' squares, which must not be zero within the result.
 *
 * z: [frequencies, frames] or [B, frequencies, frames]. DirectML: as ifft, PADDING. Reference: torch.istft.
 */
export const istft = function ($0: never, $1: never, $2: never = undefined as never) { if (!(kinds.complexTensor.is($0) && kinds.number.is($1) && ($2 === undefined || kinds.IstftOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("istft", "z:complexTensor nFft:number options:IstftOptions?", arguments); try { return $fftStft.istft($0, $1, $2); } catch (error) { throw under("istft", error); } } as unknown as typeof $fftStft.istft;
/**
 * The spectra of x's frames, each times the window: [..., frequencies, frames].
 *
 * x: [L] or [B, L], real or complex. Throws ShapeError where x is shorter than a frame. DirectML: as fft. Reference: torch.stft.
 */
export const stft = function ($0: never, $1: never, $2: never = undefined as never) { if (!((isTensor($0) || kinds.tensorOrComplexTensor.is($0)) && kinds.number.is($1) && ($2 === undefined || kinds.StftOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("stft", "x:tensorOrComplexTensor nFft:number options:StftOptions?", arguments); try { return $fftStft.stft($0, $1, $2); } catch (error) { throw under("stft", error); } } as unknown as typeof $fftStft.stft;
/** Changes the default device of this thread, or inside withDevice() until that ends; null: find it again. */
export const setDefaultDevice = function ($0: never) { if (!(kinds.deviceOrStringOrNull.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setDefaultDevice", "name:deviceOrStringOrNull", arguments); return $coreDevice.setDefaultDevice($0); } as unknown as typeof $coreDevice.setDefaultDevice;
/**
 * Runs fn with another default device. When fn returns a promise, that device is the default for all that fn does until the promise
 * settles, and for nothing else that runs meanwhile.
 */
export const withDevice = function ($0: never, $1: never) { if (!(kinds.deviceOrString.is($0) && kinds.callback.is($1) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("withDevice", "name:deviceOrString fn:callback", arguments); return $coreDevice.withDevice($0, $1); } as unknown as typeof $coreDevice.withDevice;
/**
 * Runs fn and disposes of the tensors made inside, except those in its result (a tensor, a complex tensor, or arrays, plain objects and Maps
 * of them), which belong to the scope around this one. When fn returns a promise, the scope ends when that settles; what other code makes
 * meanwhile is not in it.
 */
export const scope = function ($0: never) { if (!(kinds.callback.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("scope", "fn:callback", arguments); return $coreScope.scope($0); } as unknown as typeof $coreScope.scope;
/** Changes how tensors are written from now on; null: as at the start. */
export const setPrintOptions = function ($0: never) { if (!(kinds.PrintOptionsOrNull.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setPrintOptions", "options:PrintOptionsOrNull", arguments); try { return $corePrint.setPrintOptions($0); } catch (error) { throw under("setPrintOptions", error); } } as unknown as typeof $corePrint.setPrintOptions;
/**
 * The path of the last complete checkpoint in a folder, by the time when it was saved; null where there is none, or no folder. Files that are damaged,
 * incomplete or no checkpoints are left out. Throws DTypeError for what is no path.
 */
export const latest = async function ($0: never) { if (!((arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("latest", "folder:anything", arguments); return await $ioCheckpointLoad.latest($0); } as unknown as typeof $ioCheckpointLoad.latest;
/**
 * The state that save() wrote. Objects that had a state come as what their stateDict() gave, a generator as what getState() gives; tensors go straight
 * to their devices, in pieces. Any other safetensors file gives its tensors by name.
 *
 * With `into` the states are loaded into the objects that it names (modules, optimizers, …), and the rest is the result's `state`; names and shapes of
 * modules are compared before anything is read. path: text or a file: URL. Throws FormatError for a file that is damaged, no safetensors file, or of a
 * newer version; with `into` ValueError for names that do not fit, ShapeError for shapes. Reference: torch.load.
 */
export const load = async function ($0: never, $1: never = undefined as never) { if (!(($1 === undefined || kinds.CheckpointLoadOptionsOrC_99b350.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("load", "path:anything options:CheckpointLoadOptionsOrC_99b350?", arguments); return await $ioCheckpointLoad.load($0, $1); } as unknown as typeof $ioCheckpointLoad.load;
/**
 * Writes a nested state into a safetensors file, which appears complete or not at all: modules, optimizers, schedules, GradScaler, generators, loaders
 * and other objects with stateDict(), tensors (all dtypes, any strides), typed arrays, and plain data (also undefined, NaN, BigInt, Date, Map and Set)
 * in objects and lists. Tensors that share memory share it again after load(), and are stored once.
 *
 * What is saved is the state of now. A tensor that changes before its bytes were read is a ValueError; the first 256 MiB are read at once.
 * path: text or a file: URL. With maxShardBytes a state that is larger goes into files next to it ("NAME-00001-of-00003-ID.safetensors"), which
 * belong to the file at path. Those of the checkpoint that is replaced are removed once the new one is complete, and those of killed processes.
 * Throws ValueError where state is undefined, DTypeError for what cannot be saved (a function, an object of a class without stateDict()), ValueError for cycles, options out of their
 * range, and where the file cannot be written. Reference: torch.save.
 */
export const save = async function ($0: never, $1: never, $2: never = undefined as never) { if (!(($2 === undefined || kinds.CheckpointSaveOptions.is($2)) && (arguments.length <= 3 || isAll(arguments, 3)))) [$0, $1, $2] = bind("save", "path:anything state:anything options:CheckpointSaveOptions?", arguments); return await $ioCheckpointSave.save($0, $1, $2); } as unknown as typeof $ioCheckpointSave.save;
/**
 * Runs fn and reports where its time goes: JavaScript, queue and device time of each operation, module and source line, memory over time, FLOP, waits for
 * the device and fallbacks. Eager operations and compiled functions, forward and backward passes. console.log shows the table.
 *
 * fn: is called without arguments. It may return a promise: the profile then lasts until that settles, and contains what else runs in this thread
 * meanwhile. Ends with a wait for the devices that are open.
 *
 * Throws what fn throws; DxError inside of another profile of this thread, TraceError inside of a compiled function, ValueError for options out of their
 * range. Reference: torch.profiler.profile.
 */
export const profile = function ($0: never, $1: never = undefined as never) { if (!(kinds.callback.is($0) && ($1 === undefined || kinds.ProfileOptions.is($1)) && (arguments.length <= 2 || isAll(arguments, 2)))) [$0, $1] = bind("profile", "fn:callback options:ProfileOptions?", arguments); return $profileProfile.profile($0, $1); } as unknown as typeof $profileProfile.profile;
/**
 * Starts a profile that lasts until its stop(), or, with a schedule, records the steps of a loop that the schedule names: call step() at the end of each.
 * Throws DxError inside of another profile of this thread, TraceError inside of a compiled function, ValueError for options out of their range.
 * Reference: torch.profiler.profile with schedule and on_trace_ready.
 */
export const startProfile = function ($0: never = undefined as never) { if (!(($0 === undefined || kinds.ProfileSessionOptions.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("startProfile", "options:ProfileSessionOptions?", arguments); return $profileProfile.startProfile($0); } as unknown as typeof $profileProfile.startProfile;
/**
 * Closes a device of this thread, the default one if none is named: its tensors and programs are dead, and may still be disposed of. The next use opens it again, also
 * after it was removed or has hung.
 */
export const closeDevice = function ($0: never = undefined as never) { if (!(($0 === undefined || kinds.deviceOrString.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("closeDevice", "name:deviceOrString?", arguments); try { return $runtimeDevices.closeDevice($0); } catch (error) { throw under("closeDevice", error); } } as unknown as typeof $runtimeDevices.closeDevice;
/** What is known of a device, which is opened if it isn't. Throws when there is no such device. */
export const deviceInfo = function ($0: never) { if (!(($0 === undefined || kinds.deviceOrString.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("deviceInfo", "name:deviceOrString?", arguments); try { return $runtimeDevices.deviceInfo($0); } catch (error) { throw under("deviceInfo", error); } } as unknown as typeof $runtimeDevices.deviceInfo;
/**
 * How long a device of this thread, open ones too, may finish nothing while it has work: then who waits for it (data, dataSync, synchronize) is
 * told by a DeviceTimeoutError. undefined: DXTENSOR_TIMEOUT_MS, else ten minutes. closeDevice() waits as well, but not longer than five
 * seconds; the end of a process or of a worker abandons the device's work.
 */
export const setDeviceTimeout = function ($0: never) { if (!(($0 === undefined || kinds.number.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setDeviceTimeout", "ms:number?", arguments); try { return $runtimeDevices.setDeviceTimeout($0); } catch (error) { throw under("setDeviceTimeout", error); } } as unknown as typeof $runtimeDevices.setDeviceTimeout;
/**
 * Bytes that the buffers of each device of this thread may take, open ones too; undefined: as much as the device gives. Where more than the
 * limit is taken already, nothing is lost: the next allocation is an OutOfMemoryError until enough has been disposed of.
 */
export const setMemoryLimit = function ($0: never) { if (!(($0 === undefined || kinds.number.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setMemoryLimit", "bytes:number?", arguments); try { return $runtimeDevices.setMemoryLimit($0); } catch (error) { throw under("setMemoryLimit", error); } } as unknown as typeof $runtimeDevices.setMemoryLimit;
/**
 * In strict mode a fallback throws UnsupportedError, and so does a compiled function that would have to run eagerly. `host` operations
 * (dx.linalg) do what they say on every device and are no fallback: they run and are counted. null: as DXTENSOR_STRICT says.
 */
export const setStrict = function ($0: never) { if (!(kinds.booleanOrNull.is($0) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("setStrict", "mode:booleanOrNull", arguments); try { return $runtimeFallback.setStrict($0); } catch (error) { throw under("setStrict", error); } } as unknown as typeof $runtimeFallback.setStrict;
/** What the native side has counted since the device was opened: dispatches recorded, replays, copies, barriers, … */
export const counters = function ($0: never) { if (!(($0 === undefined || kinds.deviceOrString.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("counters", "name:deviceOrString?", arguments); try { return $runtimeDeviceStatistics.counters($0); } catch (error) { throw under("counters", error); } } as unknown as typeof $runtimeDeviceStatistics.counters;
/**
 * Where a device's memory is: live and peak bytes of tensors, of these parameters, their gradients and what optimizers keep; bytes of programs,
 * pooled and of these idle, and staging.
 */
export const memoryStatistics = function ($0: never) { if (!(($0 === undefined || kinds.deviceOrString.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("memoryStatistics", "name:deviceOrString?", arguments); try { return $runtimeDeviceStatistics.memoryStatistics($0); } catch (error) { throw under("memoryStatistics", error); } } as unknown as typeof $runtimeDeviceStatistics.memoryStatistics;
/** Resolves when everything queued on the device is done. */
export const synchronize = async function ($0: never) { if (!(($0 === undefined || kinds.deviceOrString.is($0)) && (arguments.length <= 1 || isAll(arguments, 1)))) [$0] = bind("synchronize", "name:deviceOrString?", arguments); try { return await $runtimeDeviceStatistics.synchronize($0); } catch (error) { throw under("synchronize", error); } } as unknown as typeof $runtimeDeviceStatistics.synchronize;
