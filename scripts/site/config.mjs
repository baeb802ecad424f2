// VitePress' settings; npm run docs copies this file into build/site/.vitepress and writes api.json next to it.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const stamps = JSON.parse(readFileSync(new URL("stamps.json", import.meta.url), "utf8"));
const api = JSON.parse(readFileSync(new URL("api.json", import.meta.url), "utf8"));
const platforms = JSON.parse(readFileSync(new URL("platforms.json", import.meta.url), "utf8"));
const item = (text, page) => ({ text, link: `/${page}` });

export default defineConfig({
  title: "dxtensor",
  description: "Tensors, autograd and training for Node.js on any DirectX 12 GPU",
  lang: "en",
  base: process.env.DXTENSOR_SITE_BASE ?? "/",
  outDir: "dist",
  cleanUrls: true,
  srcExclude: ["node_modules/**"],
  markdown: {
    theme: { light: "github-light", dark: "github-dark" },
    // A block of Mermaid becomes a picture in the browser.
    config: (md) => {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, i, ...rest) =>
        tokens[i].info.trim() === "mermaid" ? `<Mermaid code="${encodeURIComponent(tokens[i].content)}" />` : fence(tokens, i, ...rest);
    },
  },
  /** Date and version of each page: the theme shows them in its footer. */
  transformPageData({ relativePath, frontmatter }) {
    const { version, commit, date, pages } = stamps;
    return { stamp: { version, commit, date: pages[relativePath] ?? date, ...frontmatter.described } };
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      item("Tour", "tour"),
      item("Platforms", "platforms/"),
      item("Operators", "operators"),
      item("API", "api/"),
      item("Examples", "examples/"),
    ],
    sidebar: {
      "/api/": api.map(({ text, items }) => ({ text, collapsed: items.length > 12, items })),
      "/": [
        { text: "Begin", items: [item("Install", "install"), item("Tour", "tour"), item("Examples", "examples/")] },
        { text: "Compute platforms", items: [item("All platforms", "platforms/"), ...platforms.map(({ text, page }) => item(text, page))] },
        {
          text: "Use",
          items: [
            item("Autograd", "autograd"),
            item("compile", "compile"),
            item("Control flow", "control-flow"),
            item("Memory", "memory"),
            item("Data", "data"),
            item("Data in worker threads", "data-workers"),
            item("Images, tables and text", "readers-peers"),
            item("Augmentation", "data-augment"),
            item("Modules", "modules"),
            item("Optimizers", "optimizers"),
            item("Metrics", "metrics"),
            item("Mixed precision", "mixed-precision"),
            item("Checkpoints", "checkpoints"),
            item("safetensors files", "saving"),
            item("Readers of files", "readers"),
            item("Training loop", "training-loop"),
            item("TensorBoard", "tensorboard"),
            item("Models", "models"),
            item("Fine-tuning", "lora"),
            item("Devices", "devices"),
            item("Write a backend", "write-a-backend"),
            item("Kernels of your own", "kernels"),
            item("Shaders of your own", "shaders"),
            item("Deploying", "deploying"),
            item("Performance", "performance"),
            item("Profiler", "profiler"),
            item("Performance history", "benchmarks/history"),
            item("Support", "support"),
          ],
        },
        {
          text: "Know",
          items: [
            item("From PyTorch", "pytorch"),
            item("From TensorFlow.js", "tfjs"),
            item("Differences from PyTorch", "differences"),
            item("Dtypes", "dtypes"),
            item("Fourier transforms", "fft"),
            item("Linear algebra", "linalg"),
            item("ONNX", "onnx"),
            item("Operators", "operators"),
            item("What operations are made of", "operations"),
            item("API", "api/"),
          ],
        },
        {
          text: "When something is wrong",
          items: [
            item("Errors", "errors"),
            item("Failures", "failures"),
            item("doctor", "doctor"),
            item("verify", "verify"),
            item("conformance", "conformance"),
            item("Environment variables", "environment"),
            item("Telemetry", "telemetry"),
            item("Libraries and their search order", "runtimes"),
          ],
        },
        {
          text: "Inside",
          collapsed: true,
          items: [
            item("Architecture", "architecture"),
            item("Operations inside", "internals/operations"),
            item("Storages", "internals/storages"),
            item("compile inside", "internals/compile"),
            item("The native side", "internals/native"),
            item("The software adapter", "internals/software-adapter"),
            item("Strategies of the software adapter", "software-adapter"),
            item("Tools around the library", "internals/tools"),
            item("Commands", "commands"),
            item("Glossary", "glossary"),
            item("Contributing", "contributing"),
            item("Setting up", "setup"),
            item("WSL", "wsl"),
            item("Vulkan", "vulkan"),
            item("Windows", "windows"),
            item("GPU", "gpu"),
            item("Docker", "docker"),
            item("Dependencies", "dependencies"),
            item("Releases", "releases"),
          ],
        },
      ],
    },
  },
});
