import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect } from "../../matrix/docker/connect.ts";
import { forward, sshArguments } from "../../scripts/tools/docker/forward.ts";
import { defaultAddress, namedAddress, parseAddress, type EngineEnvironment } from "../../scripts/tools/docker/address.ts";
import { newOwner } from "../../matrix/run/owner.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-test-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const around = (env: Record<string, string> = {}, platform = "linux"): EngineEnvironment => ({ env, platform, folder });

function context(name: string, host: string, withCertificates = false): void {
  const id = createHash("sha256").update(name).digest("hex");
  const meta = join(folder, "contexts", "meta", id);
  mkdirSync(meta, { recursive: true });
  writeFileSync(join(meta, "meta.json"), JSON.stringify({ Name: name, Endpoints: { docker: { Host: host } } }));
  if (withCertificates) mkdirSync(join(folder, "contexts", "tls", id, "docker"), { recursive: true });
}

describe("addresses", () => {
  it.each([
    ["unix:///run/docker.sock", { kind: "socket", path: "/run/docker.sock" }],
    ["npipe:////./pipe/docker_engine", { kind: "socket", path: "//./pipe/docker_engine" }],
    ["tcp://lab:2375", { kind: "tcp", host: "lab", port: 2375, certificates: null }],
    ["tcp://[::1]", { kind: "tcp", host: "::1", port: 2375, certificates: null }],
    ["ssh://me@lab:2222", { kind: "ssh", destination: "me@lab", port: 2222, socket: "/var/run/docker.sock" }],
    ["ssh://lab/run/user/1000/docker.sock", { kind: "ssh", destination: "lab", port: null, socket: "/run/user/1000/docker.sock" }],
  ])("%s", (text, expected) => {
    expect(parseAddress(text, null)).toEqual(expected);
  });

  it("that are none are refused", () => {
    expect(() => parseAddress("ftp://x", null)).toThrow('"ftp://x" is no address of an engine');
  });

  it("follow Docker's order: DOCKER_HOST, DOCKER_CONTEXT, the chosen context, the usual socket", () => {
    context("lab", "ssh://me@lab");
    context("safe", "tcp://safe:2376", true);
    expect(defaultAddress(around())).toEqual({ name: "local", address: { kind: "socket", path: "/var/run/docker.sock" }, isNamed: false });
    expect(defaultAddress(around({}, "win32")).address).toEqual({ kind: "socket", path: "//./pipe/docker_engine" });
    writeFileSync(join(folder, "config.json"), JSON.stringify({ currentContext: "safe" }));
    expect(defaultAddress(around()).address).toMatchObject({ kind: "tcp", host: "safe", certificates: expect.stringContaining("tls") });
    expect(defaultAddress(around({ DOCKER_CONTEXT: "lab" })).address).toMatchObject({ kind: "ssh", destination: "me@lab" });
    expect(defaultAddress(around({ DOCKER_CONTEXT: "lab", DOCKER_HOST: "unix:///x" })).address).toEqual({ kind: "socket", path: "/x" });
    expect(defaultAddress(around({ DOCKER_HOST: "tcp://h:1", DOCKER_TLS_VERIFY: "1" })).address).toMatchObject({ certificates: folder });
    expect(namedAddress("lab", around()).name).toBe("context lab");
    expect(() => namedAddress("moon", around())).toThrow('there is no Docker context "moon"');
  });
});

describe("ssh", () => {
  const address = { kind: "ssh", destination: "me@lab", port: 2222, socket: "/var/run/docker.sock" } as const;

  it("forwards one socket and never asks", () => {
    const args = sshArguments(address, "/tmp/s");
    expect(args).toEqual(
      expect.arrayContaining(["BatchMode=yes", "ExitOnForwardFailure=yes", "/tmp/s:/var/run/docker.sock", "2222", "me@lab"]),
    );
    expect(args.indexOf("--")).toBe(args.length - 2);
  });

  /** A program called ssh that does what ssh does with -L, on this machine. */
  function ssh(body: string): void {
    writeFileSync(join(folder, "ssh"), `#!${process.execPath}\n${body}\n`);
    chmodSync(join(folder, "ssh"), 0o755);
    vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
  }

  it.runIf(process.platform === "linux")("carries requests, and leaves neither socket nor process behind", async () => {
    const remote = join(folder, "remote.sock");
    const server = createServer((_request, response) => response.end("engine"));
    await new Promise<void>((resolve) => {
      server.listen(remote, resolve);
    });
    ssh(`const net = require("net"); const [from, to] = process.argv[process.argv.indexOf("-L") + 1].split(":");
      require("fs").writeFileSync(${JSON.stringify(join(folder, "pid"))}, String(process.pid));
      net.createServer((a) => { const b = net.connect(to); a.pipe(b).pipe(a); }).listen(from);`);
    const way = await forward({ ...address, socket: remote });
    const answer = await new Promise<string>((resolve, reject) => {
      request({ socketPath: way.socket, path: "/" }, (response) => response.on("data", (data: Buffer) => resolve(data.toString())))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe("engine");
    await way.close();
    server.close();
    expect(existsSync(way.socket)).toBe(false);
    expect(() => process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), 0)).toThrow("ESRCH");
  });

  it.runIf(process.platform === "linux")("says why there is no way", async () => {
    ssh(`console.error("me@lab: Permission denied (publickey)."); process.exit(255)`);
    await expect(forward(address)).rejects.toThrow("no way to the engine on me@lab: me@lab: Permission denied (publickey).");
  });
});

describe("connecting", () => {
  it("says which engine does not answer, and starts none where one was named in DOCKER_HOST", async () => {
    vi.stubEnv("DOCKER_HOST", `unix://${folder}/nothing.sock`);
    const { engines, problem } = await connect([], true, newOwner());
    expect(engines).toEqual([]);
    expect(problem).toMatch(/nothing\.sock does not answer \(.*ENOENT/);
  });

  it("fails for an engine that was asked for by name", async () => {
    await expect(connect([`unix://${folder}/nothing.sock`], true, newOwner())).rejects.toThrow(/does not answer/);
  });
});
