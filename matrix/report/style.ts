/** The report's looks. Nothing is loaded from elsewhere, and nothing needs JavaScript: the filter is radio buttons and :has(). */
export const style = `
:root { color-scheme: light dark; --ground: #fff; --text: #1c2128; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa;
  --passed: #1a7f37; --passed-ground: #dafbe1; --failed: #cf222e; --failed-ground: #ffd8d3; --idle: #6e7781; --idle-ground: #eaeef2; --accent: #0969da; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --panel: #161b22;
  --passed: #57d364; --passed-ground: #12311b; --failed: #ff7b72; --failed-ground: #4a1512; --idle: #9198a1; --idle-ground: #21262d; --accent: #58a6ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1500px; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 32px 0 8px; }
p { margin: 4px 0; } .soft { color: var(--soft); } a { color: var(--accent); }
code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
.filter { display: flex; flex-wrap: wrap; gap: 8px; margin: 16px 0 8px; }
.filter label { border: 1px solid var(--line); border-radius: 20px; padding: 4px 14px; cursor: pointer; background: var(--panel); }
.filter input { position: absolute; opacity: 0; }
.filter label:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.filter label:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; margin: 4px 0 12px; color: var(--soft); font-size: 13px; }
.legend > span { display: inline-flex; gap: 8px; align-items: center; } .legend .cell { width: 84px; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; } .grid th { font-weight: 600; font-size: 12.5px; text-align: left; padding: 8px 6px; vertical-align: bottom; background: var(--panel); }
.grid td, .grid tbody th { border-top: 1px solid var(--line); padding: 4px; background: var(--ground); } .grid tbody th { white-space: nowrap; padding: 4px 10px; vertical-align: middle; }
.grid tbody th[scope="rowgroup"] { vertical-align: top; padding-top: 10px; white-space: normal; min-width: 150px; }
.cell { display: block; border-radius: 6px; padding: 3px 6px; text-decoration: none; font-size: 12.5px; line-height: 1.3; border: 2px solid transparent; min-width: 74px; }
.cell b { font-weight: 700; } .cell small { display: block; font-size: 11px; color: var(--soft); }
.passed { background-color: var(--passed-ground); color: var(--passed); } .failed { background-color: var(--failed-ground); color: var(--failed); }
.idle { background-color: var(--idle-ground); color: var(--idle); }
.hardware { border-color: currentColor; border-style: solid; }
.simulated { border: 2px dashed currentColor; background-image: repeating-linear-gradient(135deg, transparent 0 6px, color-mix(in srgb, currentColor 13%, transparent) 6px 8px); }
.emulated { border: 2px dotted currentColor; background-image: radial-gradient(color-mix(in srgb, currentColor 22%, transparent) 1px, transparent 1.5px); background-size: 7px 7px; }
.idle.simulated, .idle.emulated, .idle.hardware { border-color: transparent; background-image: none; }
.run { border: 1px solid var(--line); border-left: 5px solid var(--idle); border-radius: 6px; margin: 8px 0; padding: 0 12px; }
.run.is-passed { border-left-color: var(--passed); } .run.is-failed { border-left-color: var(--failed); }
summary { cursor: pointer; padding: 8px 0; } summary .mark { font-weight: 700; } .is-passed > summary .mark { color: var(--passed); } .is-failed > summary .mark { color: var(--failed); }
.tag { display: inline-block; border: 1px solid var(--line); border-radius: 4px; padding: 0 6px; font-size: 12px; background: var(--panel); color: var(--soft); }
.tag.simulated, .tag.emulated { color: var(--text); }
.facts { width: auto; margin: 4px 0 12px; font-size: 13px; } .facts td { padding: 1px 14px 1px 0; vertical-align: top; } .facts td:first-child { color: var(--soft); }
.file { margin-left: 8px; } .file > summary { padding: 2px 0; font-size: 13.5px; }
.tests { margin: 2px 0 8px; padding-left: 24px; font-size: 13px; } .tests .bad { color: var(--failed); } .tests .skip { color: var(--soft); }
pre { background: var(--panel); padding: 8px; border-radius: 6px; overflow-x: auto; font-size: 12.5px; white-space: pre-wrap; color: var(--text); }
.list td { border-top: 1px solid var(--line); padding: 3px 12px 3px 0; font-size: 13px; vertical-align: top; }
body:has(#only-passed:checked) .as-failed, body:has(#only-passed:checked) .as-idle,
body:has(#only-failed:checked) .as-passed, body:has(#only-failed:checked) .as-idle,
body:has(#only-idle:checked) .as-passed, body:has(#only-idle:checked) .as-failed { display: none; }
@media print { .filter { display: none; } }
`;
