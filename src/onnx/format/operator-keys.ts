/** Names of operators and functions. */

export const functionKey = (domain: string, name: string, overload = ""): string => `${domain} ${name} ${overload}`;
/** "ai.onnx" is another name of "". */
export const domainOf = (domain: string): string => (domain === "ai.onnx" ? "" : domain);
