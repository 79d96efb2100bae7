/** The page's style. Text is at least 7:1 on its ground; state is never told by colour alone (see page/cells.ts). */
export const pageStyle = `
:root {
  --ground: #0c1117; --panel: #121922; --line: #223041; --text: #dbe4ee; --soft: #9fb1c4;
  --good: #4cc39a; --warn: #e0ab4c; --bad: #ff7a8a; --idle: #9fb1c4;
  font: 15px/1.5 ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  color: var(--text); background: var(--ground); font-variant-numeric: tabular-nums;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; min-height: 100vh; }
h1, h2, h3, p, ol, ul, dl, dd { margin: 0; padding: 0; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
.top, main { max-width: 1680px; margin: 0 auto; padding: 0 clamp(14px, 2.5vw, 36px); }
.top { display: flex; align-items: center; justify-content: space-between; gap: 16px; padding-top: 20px; padding-bottom: 14px; }
h1 { font-size: 19px; font-weight: 650; letter-spacing: .01em; }
.gate h2, .events h2, .pool-head h3 { font-size: 12px; font-weight: 600; letter-spacing: .09em; text-transform: uppercase; color: var(--soft); }
.link { display: flex; align-items: center; gap: 8px; color: var(--soft); font-size: 13px; }
.lamp { width: 9px; height: 9px; border-radius: 50%; border: 2px solid var(--soft); }
.lamp.live { background: var(--good); border-color: var(--good); }
.lamp.lost { background: var(--bad); border-color: var(--bad); border-radius: 1px; }
main { display: grid; gap: 18px; padding-bottom: 48px; }
.gate { max-width: 520px; margin: 12vh auto 0; display: grid; gap: 10px; background: var(--panel); border: 1px solid var(--line); border-radius: 12px; padding: 26px; }
.gate p { color: var(--soft); }
.gate .row { display: flex; gap: 8px; }
.gate input { flex: 1; min-width: 0; font: inherit; color: var(--text); background: var(--ground); border: 1px solid #3b4f66; border-radius: 8px; padding: 9px 12px; }
.gate button { font: inherit; font-weight: 600; color: #06120d; background: var(--good); border: 0; border-radius: 8px; padding: 9px 18px; cursor: pointer; }
.gate .gate-error { color: var(--bad); min-height: 1.5em; }
:focus-visible { outline: 2px solid #8cc8ff; outline-offset: 2px; }
.story { display: grid; gap: 14px; padding: 6px 0; }
.caption { font-size: clamp(18px, 2.1vw, 25px); line-height: 1.35; max-width: 66ch; min-height: 2.7em; text-wrap: balance; }
.steps { display: flex; flex-wrap: wrap; gap: 6px 22px; list-style: none; counter-reset: step; font-size: 13px; color: var(--soft); }
.steps li { counter-increment: step; display: flex; gap: 8px; align-items: baseline; padding-bottom: 4px; border-bottom: 2px solid transparent; }
.steps li::before { content: counter(step); font-weight: 650; }
.steps li.done::before { content: "\\2713"; color: var(--good); }
.steps li.now { color: var(--text); border-color: #8cc8ff; font-weight: 600; }
.panes { display: grid; gap: 18px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); align-items: start; }
.pane { background: var(--panel); border: 1px solid var(--line); border-radius: 12px; padding: 18px 20px 20px; display: grid; gap: 16px; min-width: 0; }
.pane.bad { border-color: #6d3040; }
.pane-head { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; }
.pane-head h2 { font-size: 17px; font-weight: 620; overflow-wrap: anywhere; }
.pane-head .subtitle { flex-basis: 100%; color: var(--soft); font-size: 13px; }
.pill { display: inline-flex; align-items: center; gap: 7px; font-size: 12px; font-weight: 600; border: 1px solid currentColor; border-radius: 99px; padding: 1px 10px; }
.good { color: var(--good); } .warn { color: var(--warn); } .idle { color: var(--idle); }
.pill.bad, .event.bad .sign, .outcome.bad .heading { color: var(--bad); }
.figures:empty { display: none; }
.figures { display: flex; flex-wrap: wrap; gap: 10px 30px; }
.figures div { display: flex; flex-direction: column-reverse; }
.figures dt { color: var(--soft); font-size: 12px; }
.figures dd { font-size: 21px; font-weight: 600; line-height: 1.2; }
.pools { display: grid; gap: 18px; min-width: 0; }
.pool { display: grid; gap: 9px; min-width: 0; }
.pool-head { display: flex; justify-content: space-between; gap: 12px; align-items: baseline; }
.pool-head span { color: var(--soft); font-size: 13px; }
.pool canvas.cells { display: block; width: 100%; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; list-style: none; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 6px; }
.legend li.none { opacity: .72; }
.legend canvas { width: 14px; height: 14px; }
.legend b { color: var(--text); font-weight: 600; min-width: 1.3ch; }
.outcome { border-left: 3px solid currentColor; padding: 4px 0 4px 14px; display: grid; gap: 4px; }
.outcome .heading { font-size: 17px; font-weight: 650; }
.outcome .said { color: var(--text); font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 14px; overflow-wrap: anywhere; }
.outcome.bad { color: var(--bad); }
.outcome mark { background: #ff4d61; color: #14060a; font-weight: 700; padding: 0 3px; border-radius: 3px; }
.events { display: grid; gap: 8px; }
.events ol { list-style: none; display: grid; gap: 1px; font-size: 14px; }
.event { display: grid; grid-template-columns: 5.6em 1.4em 1fr; gap: 4px; padding: 4px 0; border-top: 1px solid #18222d; color: var(--text); }
.event time { color: var(--soft); }
.event.idle { color: var(--soft); }
.event.good .sign { color: var(--good); } .event.warn .sign { color: var(--warn); }
.event.good, .event.warn { color: var(--text); }
.stale .panes, .stale .events { opacity: .45; }
@media (prefers-reduced-motion: no-preference) { .panes, .events { transition: opacity .3s; } }
`
