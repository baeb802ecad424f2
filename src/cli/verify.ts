/** `dxtensor verify`: differential conformance of two devices. See docs/verify.md. */
import type { Command } from "commander";

export function addVerify(program: Command): void {
  program
    .command("verify")
    .description("compare a device's results with the software adapter's, operator by operator")
    .option("--list", "");
}
