/** The families of models by the names in their files. Each family is a module of its own, which is loaded when it is first asked for. */
import type { ConfigValues } from "./config-values.ts";
import type { ModelFamilies, ModelFamily } from "./options.ts";
import type { LayerOptions } from "../nn/options.ts";

/** How models of a family are made of a config. */
export type MakeModel<F extends ModelFamily> = (config: ConfigValues, options: LayerOptions) => ModelFamilies[F];

const makers: { readonly [F in ModelFamily]: () => Promise<MakeModel<F>> } = {
  llama: async () => {
    const { Llama } = await import("./llama.ts");
    return (config, options) => new Llama(config, options);
  },
  gpt2: async () => {
    const { Gpt2 } = await import("./gpt2.ts");
    return (config, options) => new Gpt2(config, options);
  },
  bert: async () => {
    const { Bert } = await import("./bert.ts");
    return (config, options) => new Bert(config, options);
  },
  resnet: async () => {
    const { ResNet } = await import("./resnet.ts");
    return (config, options) => new ResNet(config, options);
  },
  mobilenet_v2: async () => {
    const { MobileNetV2 } = await import("./mobilenet-v2.ts");
    return (config, options) => new MobileNetV2(config, options);
  },
  whisper: async () => {
    const { Whisper } = await import("./whisper.ts");
    return (config, options) => new Whisper(config, options);
  },
  mobilenet_v3: async () => {
    const { MobileNetV3 } = await import("./mobilenet-v3.ts");
    return (config, options) => new MobileNetV3(config, options);
  },
};

/** transformers' `model_type` of each family. */
const TYPES: Readonly<Record<string, ModelFamily>> = {
  llama: "llama",
  mistral: "llama",
  qwen2: "llama",
  qwen3: "llama",
  gpt2: "gpt2",
  bert: "bert",
  resnet: "resnet",
  mobilenet_v2: "mobilenet_v2",
  mobilenet_v3: "mobilenet_v3",
  whisper: "whisper",
};

/** The family of a config. timm's name an architecture instead of a type. */
function familyOf(config: ConfigValues): ModelFamily {
  const architecture = config.get("architecture");
  if (config.get("model_type") === undefined && typeof architecture === "string" && architecture.startsWith("resnet")) return "resnet";
  return TYPES[config.oneOf("model_type", Object.keys(TYPES))]!;
}

/** The model that a config describes. Throws ValueError for an unknown type, and for another family than the one asked for. */
export async function modelOf<F extends ModelFamily>(
  config: ConfigValues,
  family: F | undefined,
  options: LayerOptions,
): Promise<ModelFamilies[F]> {
  const found = familyOf(config);
  if (family !== undefined && found !== family) throw config.error("model_type", `of the family ${family}`);
  return (await makers[found as F]())(config, options);
}
