/** A certificate of localhost that it has signed itself, made by openssl. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";

/** Whether this machine can make one. */
export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** Its two files in this folder. */
export function certificateIn(folder: string): { readonly key: string; readonly cert: string } {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject];
  execFileSync("openssl", args, { stdio: "ignore" });
  return { key, cert };
}
