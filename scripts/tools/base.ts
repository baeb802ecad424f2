// A minimal Debian as a container image, made by debootstrap: for machines that reach Debian's archive but no container registry.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { installPackages } from "./apt.ts";
import { debootstrap } from "./debian.ts";
import type { Engine } from "./docker/engine.ts";
import { findImage, importImage } from "./docker/images.ts";
import { withLock } from "./lock.ts";
import { ScriptError, cacheFolder } from "./project.ts";
import { suites } from "./suites.ts";

/** The prefix keeps an engine from asking a registry on the internet for it. */
export const baseName = (suite: string) => `localhost/dxtensor-base:${suite}`;

/** Marks what this project made in an engine. */
export const label = "dxtensor.base";

const ownBundle = "/etc/ssl/certs/host.crt";

/** Certificates that this machine trusts beyond Debian's, as behind a proxy that opens TLS. */
function certificates() {
  const file = process.env.NODE_EXTRA_CA_CERTS || process.env.SSL_CERT_FILE;
  return file && existsSync(file) ? file : null;
}

async function needDebootstrap() {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    throw new ScriptError(
      "ROOT",
      "A base image is made by debootstrap, which runs as root on Linux.",
      "Take one from a registry: BASE_IMAGE=ubuntu:20.04",
    );
  const has = async () => !(await execa("debootstrap", ["--version"], { reject: false })).failed;
  if (await has()) return;
  await installPackages("base-image", ["debootstrap"]);
  if (!(await has()))
    throw new ScriptError(
      "DEBOOTSTRAP",
      "debootstrap is missing and apt could not install it.",
      "On Debian or Ubuntu: apt-get install debootstrap",
    );
}

async function makeTar(suite: string, mirror: string | undefined, tar: string) {
  await needDebootstrap();
  mkdirSync(cacheFolder("base"), { recursive: true });
  const work = mkdtempSync(join(cacheFolder("base"), `${suite}-`));
  try {
    const root = join(work, "root");
    const from = await debootstrap(suite, root, { mirror, include: ["ca-certificates"], caller: "base-image" });
    for (const name of ["var/cache/apt/archives", "var/lib/apt/lists"]) {
      rmSync(join(root, name), { recursive: true, force: true });
      mkdirSync(join(root, name, "partial"), { recursive: true });
    }
    await execa("tar", ["--numeric-owner", "--one-file-system", "-C", root, "-cf", `${tar}.new`, "."]);
    renameSync(`${tar}.new`, tar);
    return from;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A suite as a folder to chroot into, where no engine is: made by debootstrap once, kept in the cache. */
export async function ensureRoot(suite: string) {
  const folder = join(cacheFolder("base"), `${suite}-root`);
  return withLock(join(cacheFolder("base"), `${suite}.lock`), async () => {
    if (existsSync(folder)) return folder;
    const tar = join(cacheFolder("base"), `${suite}.tar`);
    if (!existsSync(tar) || statSync(tar).size === 0) await makeTar(suite, undefined, tar);
    mkdirSync(`${folder}.new`, { recursive: true });
    await execa("tar", ["--numeric-owner", "-C", `${folder}.new`, "-xf", tar]);
    renameSync(`${folder}.new`, folder);
    return folder;
  });
}

/** Imports the tar; a bundle of certificates is laid over it, since what a build fetches inside passes the same proxy. */
async function importTar(engine: Engine, tar: string, image: string, suite: string): Promise<string> {
  const changes = [`LABEL ${label}=${suite}`, 'CMD ["/bin/bash"]'];
  const bundle = certificates();
  const work = mkdtempSync(join(cacheFolder("base"), "import-"));
  try {
    let file = tar;
    if (bundle !== null) {
      file = join(work, "base.tar");
      copyFileSync(tar, file);
      mkdirSync(join(work, "etc/ssl/certs"), { recursive: true });
      copyFileSync(bundle, join(work, ownBundle));
      await execa("tar", ["--numeric-owner", "--owner=0", "--group=0", "-C", work, "-rf", file, `.${ownBundle}`]);
      for (const name of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"])
        changes.push(`ENV ${name}=${ownBundle}`);
    }
    return await importImage(engine, { image, from: file, changes });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

interface BaseOptions {
  readonly mirror?: string | undefined;
  readonly refresh?: boolean | undefined;
}

export interface Base {
  readonly image: string;
  readonly id: string;
  readonly suite: string;
  readonly glibc: string;
  readonly standsFor: string;
  /** What was done for it; null: it was there. */
  readonly changed: string | null;
}

export function checkSuite(suite: string): void {
  if (!Object.hasOwn(suites, suite))
    throw new ScriptError("SUITE", `Unknown suite ${suite}.`, `Known are ${Object.keys(suites).join(", ")} (scripts/tools/suites.ts).`);
}

/**
 * The image of a suite in an engine: {image, id, suite, glibc, standsFor, changed}. One that is there is kept; else the tar in the cache is imported; else debootstrap makes it (root, half a minute). `refresh` makes it again.
 */
export async function ensureBase(engine: Engine, suite: string, { mirror, refresh = false }: BaseOptions = {}): Promise<Base> {
  checkSuite(suite);
  const image = baseName(suite);
  const { glibc, standsFor } = suites[suite]!;
  const known = async () => {
    const id = refresh ? null : await findImage(engine, image);
    return id === null ? null : { image, id, suite, glibc, standsFor, changed: null };
  };
  const there = await known();
  if (there !== null) return there;
  return withLock(join(cacheFolder("base"), `${suite}.lock`), async () => {
    const meanwhile = await known();
    if (meanwhile !== null) return meanwhile;
    const tar = join(cacheFolder("base"), `${suite}.tar`);
    let how = `imported from ${tar}`;
    if (refresh || !existsSync(tar) || statSync(tar).size === 0) {
      how = `made from ${await makeTar(suite, mirror, tar)}`;
    }
    const id = await importTar(engine, tar, image, suite);
    return { image, id, suite, glibc, standsFor, changed: how };
  });
}
