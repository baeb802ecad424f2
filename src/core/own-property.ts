/** Properties whose names come from files. */

/** Sets a property of any name: to assign "__proto__" would set the object's prototype. */
export function define<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}
