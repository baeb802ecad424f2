/** Reads COM interfaces out of the C side of vkd3d's headers, which widl wrote. Pure: text in, data out. */

export interface Parameter {
  readonly type: string;
  readonly name: string;
  /** "[4]" of an array parameter, else "". */
  readonly array: string;
}

export interface Method {
  /** The interface that declares it. */
  readonly owner: string;
  readonly name: string;
  readonly result: string;
  /** Without the object itself. A structure that is returned by value is a first parameter named __ret. */
  readonly parameters: readonly Parameter[];
}

export interface Headers {
  /** Every method of an interface in the order of its table, those of its bases first. */
  readonly interfaces: ReadonlyMap<string, readonly Method[]>;
  readonly bases: ReadonlyMap<string, string>;
  /** Structures with objects inside, at any depth. */
  readonly holders: ReadonlySet<string>;
}

const words = (text: string): string[] => text.match(/\w+/g) ?? [];
const spaced = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** A regular expression's group that is always there. */
function group(match: RegExpMatchArray, index: number): string {
  const text = match[index];
  if (text === undefined) throw new Error(`group ${index} of "${match[0]}" is missing`);
  return text;
}

function findHolders(text: string): Set<string> {
  const structures = new Map<string, string>();
  for (const match of text.matchAll(/typedef struct (\w+) \{([^]*?)\n\} \1;/g)) {
    const name = group(match, 1);
    if (!name.endsWith("Vtbl")) structures.set(name, group(match, 2));
  }
  // These two point to their parts as untyped memory.
  const holders = new Set(["D3D12_PIPELINE_STATE_STREAM_DESC", "D3D12_STATE_OBJECT_DESC"]);
  for (let size = 0; size !== holders.size;) {
    size = holders.size;
    for (const [name, body] of structures)
      if (/\bI(D3D|Unknown)\w*\s*\*/.test(body) || words(body).some((word) => holders.has(word))) holders.add(name);
  }
  return holders;
}

function parseParameter(text: string): Parameter {
  const match = /^(.*?)(\w+)((?:\[\d+\])?)$/.exec(spaced(text));
  if (match === null) throw new Error(`cannot read the parameter "${text}"`);
  return { type: group(match, 1).trim(), name: group(match, 2), array: group(match, 3) };
}

function parseTable(body: string): Method[] {
  const methods: Method[] = [];
  // Odd parts are the names of the interfaces that declare what follows.
  const parts = body.split(/\/\*\*\* (\w+) methods \*\*\*\//);
  for (let i = 1; i + 1 < parts.length; i += 2)
    for (const match of (parts[i + 1] ?? "").matchAll(/([^;]*?)\(STDMETHODCALLTYPE \*(\w+)\)\(([^]*?)\);/g)) {
      const parameters = group(match, 3).split(",").slice(1).map(parseParameter);
      methods.push({ owner: parts[i] ?? "", name: group(match, 2), result: spaced(group(match, 1)), parameters });
    }
  return methods;
}

export function parseHeaders(text: string): Headers {
  const interfaces = new Map<string, readonly Method[]>();
  for (const match of text.matchAll(/typedef struct (\w+)Vtbl \{\s*BEGIN_INTERFACE([^]*?)END_INTERFACE/g))
    interfaces.set(group(match, 1), parseTable(group(match, 2)));
  const object = interfaces.get("ID3D12Object");
  if (object === undefined) throw new Error("the headers have no ID3D12Object");
  interfaces.set("IUnknown", object.slice(0, 3));
  const bases = new Map([...text.matchAll(/^(I\w+) : public (I\w+)\n\{/gm)].map((match) => [group(match, 1), group(match, 2)]));
  return { interfaces, bases, holders: findHolders(text) };
}

/** The wanted interfaces and their bases, bases first. */
export function withBases(headers: Headers, wanted: readonly string[]): string[] {
  const needed: string[] = [];
  const add = (name: string): void => {
    if (!headers.interfaces.has(name)) throw new Error(`${name} is in none of the headers`);
    const base = headers.bases.get(name);
    if (base !== undefined) add(base);
    if (!needed.includes(name)) needed.push(name);
  };
  for (const name of wanted) add(name);
  return needed;
}
