/** The panel beside the conversation: its film, its prompts, its log. One tab each. */
import * as inspector from "../state/inspector.ts"
import type { Tab } from "../state/inspector.ts"
import { html, lazy, useRef, type View } from "../view.ts"
import { EventLog } from "./EventLog.ts"
import { IconButton } from "./Icon.ts"
import { PromptView } from "./PromptView.ts"
import { Waterfall } from "./Waterfall.ts"

const SpokenFilm = lazy(async () => (await import("./SpokenFilm.ts")).SpokenFilm)

const titles: Readonly<Record<Tab, string>> = {
  turn: "Turn",
  prompt: "Prompt",
  log: "Log"
}

const allTabs: ReadonlyArray<Tab> = ["turn", "prompt", "log"]

export const Inspector = (): View => {
  const bar = useRef<HTMLDivElement>(null)
  // Only runs have stored prompts and logs.
  const turn = inspector.inspected.value
  const tabs = turn !== null && "stages" in turn ? allTabs.slice(0, 1) : allTabs
  const current = tabs.includes(inspector.tab.value) ? inspector.tab.value : "turn"
  const select = (chosen: Tab) => {
    inspector.tab.value = chosen
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    if (step === 0) return
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length]
    if (next === undefined) return
    select(next)
    bar.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus()
  }
  return html`<aside class="inspector" aria-label="Inside the turn">
    <div class="tabs">
      <div role="tablist" aria-label="Inside the turn" ref=${bar} onKeyDown=${onKey}>
        ${tabs.map(
          (tab) =>
            html`<button
              key=${tab}
              id="tab-${tab}"
              role="tab"
              type="button"
              aria-selected=${tab === current}
              aria-controls="panel"
              tabindex=${tab === current ? 0 : -1}
              onClick=${() => select(tab)}
            >
              ${titles[tab]}
            </button>`
        )}
      </div>
      <${IconButton} icon="close" label="Close the panel" onClick=${inspector.close} />
    </div>
    <div id="panel" role="tabpanel" aria-labelledby="tab-${current}" tabindex="0"><${Panel} tab=${current} /></div>
  </aside>`
}

const Panel = ({ tab }: { readonly tab: Tab }): View => {
  const turn = inspector.inspected.value
  if (turn === null)
    return html`<p class="hint">Choose “Look inside” at an answer, and what happened in its turn is shown here.</p>`
  if ("stages" in turn) return html`<${SpokenFilm} key=${turn.runId} turn=${turn} />`
  switch (tab) {
    case "prompt":
      return html`<${PromptView} turn=${turn} />`
    case "log":
      return html`<${EventLog} turn=${turn} />`
    default:
      return html`<${Waterfall} turn=${turn} />`
  }
}
