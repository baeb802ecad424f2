/** What the HTML pages that this library writes have in common. */

/** Text between tags or in attributes. */
export const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Data as JSON inside of a script element. */
export const scriptData = (data: unknown): string => JSON.stringify(data).replaceAll("<", "\\u003c");

/** The page fits narrow screens, and loads nothing: its only requests are those that its own script makes to where it came from. */
export const PAGE_HEAD = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:">
<link rel="icon" href="data:,">`;

/** JavaScript of pages with charts: make(name, attributes, content) makes an element of SVG. */
export const SVG_SCRIPT = `const ns = "http://www.w3.org/2000/svg";
const make = (name, attributes, content) => {
  const e = document.createElementNS(ns, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (content !== undefined) e.textContent = content;
  return e;
};
`;
