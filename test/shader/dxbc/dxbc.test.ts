/** The emitted code: checked token by token, and by libvkd3d-shader if `npm run build:vulkan -- --tests` has run. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { hasChecksum } from "../../../src/shader/dxbc/container.ts";
import { emitShader } from "../../../src/shader/dxbc/emit.ts";
import type { Shader } from "../../../src/shader/ir.ts";
import { randomShader } from "../random.ts";
import { build } from "../support.ts";

const doubled = (): Shader =>
  build({ x: "f32", out: "f32" }, { scale: "f32" }, 64, (s) => {
    const i = s.thread;
    s.if(i.lt(s.buffers.out.size), () => s.buffers.out.store(i, s.buffers.x.load(i).mul(s.params.scale)));
  });

const text = [
  "cs_5_0",
  "dcl_thread_group 64, 1, 1",
  "dcl_constantBuffer cb0[1], immediateIndexed",
  "dcl_uav_raw u0",
  "dcl_uav_raw u1",
  "dcl_input vThreadGroupID.xy",
  "dcl_input vThreadIDInGroup.x",
  "dcl_temps 1",
  "imul null, r0.x, vThreadGroupID.y, cb0[0].w",
  "iadd r0.x, r0.x, vThreadGroupID.x",
  "ishl r0.x, r0.x, l(6)",
  "iadd r0.x, r0.x, vThreadIDInGroup.x",
  "ult r0.y, r0.x, cb0[0].y",
  "if_nz r0.y",
  "    ult r0.y, r0.x, cb0[0].x",
  "    movc r0.z, r0.y, r0.x, l(0)",
  "    ishl r0.z, r0.z, l(2)",
  "    ld_raw r0.z, r0.z, u0.x",
  "    movc r0.y, r0.y, r0.z, l(0)",
  "    mul r0.y, r0.y, cb0[0].z",
  "    ishl r0.x, r0.x, l(2)",
  "    store_raw u1.x, r0.x, r0.y",
  "endif",
  "ret",
];

/** The tokens of that text, as libvkd3d-shader 2.1 reads them. */
const tokens =
  "50050 7c 400009b 40 1 1 4000059 208e46 0 1 300009d 11e000 0 300009d 11e000 1 200005f 21032 200005f 22012 2000068 1 8000026 d000 100012 0 2101a 20803a 0 0 600001e 100012 0 10000a 0 2100a 7000029 100012 0 10000a 0 4001 6 600001e 100012 0 10000a 0 2200a 800004f 100022 0 10000a 0 20801a 0 0 304001f 10001a 0 800004f 100022 0 10000a 0 20800a 0 0 9000037 100042 0 10001a 0 10000a 0 4001 0 7000029 100042 0 10002a 0 4001 2 70000a5 100042 0 10002a 0 11e006 0 9000037 100022 0 10001a 0 10002a 0 4001 0 8000038 100022 0 10001a 0 20802a 0 0 7000029 100012 0 10000a 0 4001 2 70000a6 11e012 1 10000a 0 10001a 0 1000015 100003e";

const wordsOf = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);

describe("the container", () => {
  it("has signatures, the tokens and their checksum", () => {
    const { bytes, uniforms } = emitShader(doubled(), { seesTexels: false, roundsHalf: false });
    const words = wordsOf(bytes);
    expect(Buffer.from(bytes.subarray(0, 4)).toString()).toBe("DXBC");
    expect([words[5], words[6], words[7]]).toEqual([1, bytes.length, 3]);
    const chunks = [...words.subarray(8, 11)].map((at) => Buffer.from(bytes.subarray(at, at + 4)).toString());
    expect(chunks).toEqual(["ISGN", "OSGN", "SHEX"]);
    expect(hasChecksum(bytes)).toBe(true);
    expect([...words.subarray(words[10]! / 4 + 2)].map((w) => w.toString(16)).join(" ")).toBe(tokens);
    expect(uniforms.map((u) => u.name)).toEqual(["x.size", "out.size", "scale", "grid"]);
    bytes[bytes.length - 1]! ^= 1;
    expect(hasChecksum(bytes)).toBe(false);
  });

  it("has the checksum that Microsoft's form of MD5 gives for every length of the last block", () => {
    const containers = Array.from(
      { length: 24 },
      (_, n) => emitShader(randomShader(n), { seesTexels: n % 3 === 0, roundsHalf: n % 2 === 0 }).bytes,
    );
    expect(new Set(containers.map((c) => (c.length / 4 - 5) % 16)).size).toBeGreaterThan(8);
    expect(containers.every(hasChecksum)).toBe(true);
  });
});

const checker = join("build", "vulkan", "cmake", "test", "check_dxbc");

describe.skipIf(!existsSync(checker))("libvkd3d-shader (skipped where build:vulkan -- --tests has not run)", () => {
  const check = async (shaders: readonly Shader[], seesTexels = false): Promise<string> => {
    const folder = mkdtempSync(join(tmpdir(), "dxbc-"));
    try {
      const files = shaders.map((s, i) => {
        const file = join(folder, `${i}.dxbc`);
        writeFileSync(file, emitShader(s, { seesTexels, roundsHalf: seesTexels }).bytes);
        return file;
      });
      const { stdout, stderr } = await execa(checker, files);
      expect(stderr).toBe("");
      return stdout;
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it("reads what was meant", async () => {
    expect((await check([doubled()])).trim().split("\n")).toEqual(text);
  });

  it.each([false, true])("takes random shaders, whose checksums it compares; with texels: %s", async (seesTexels) => {
    const shaders = Array.from({ length: 60 }, (_, i) => randomShader(1000 + i));
    const found = await check(shaders, seesTexels);
    expect(found.match(/^cs_5_0$/gm)).toHaveLength(60);
    expect([/ld_uav_typed/, /store_uav_typed/].map((opcode) => opcode.test(found))).toEqual([seesTexels, seesTexels]);
  });
});
