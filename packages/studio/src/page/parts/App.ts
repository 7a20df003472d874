/** The whole studio: the rail, the lists, the open room, and the panel beside it. */
import { isServerUp } from "../api/http.ts"
import { mayAct } from "../lib/host.ts"
import { type RoomEntry, type RoomProps, rooms } from "./rooms.ts"
import { path } from "../state/address.ts"
import { edited, isPaletteOpen, kept } from "../state/dialogs.ts"
import * as inspector from "../state/inspector.ts"
import { act, conversation, isListShown, isStarted, keyProblem, notice, offeredKey, room } from "../state/studio.ts"
import { classes, html, lazy, loadStyles, signal, useEffect, type View } from "../view.ts"
import { Confirm } from "./Confirm.ts"
import { Icon, IconButton } from "./Icon.ts"
import { Lists } from "./Lists.ts"
import { Rail } from "./Rail.ts"

const AssistantDialog = lazy(async () => (await import("./AssistantForm.ts")).AssistantDialog)
const Inspector = lazy(async () => {
  const [{ Inspector: Panel }] = await Promise.all([import("./Inspector.ts"), loadStyles("panels")])
  return Panel
})
const KeepAsTest = lazy(async () => (await import("./KeepAsTest.ts")).KeepAsTest)
const KeyDialogs = lazy(async () => (await import("./KeyDialog.ts")).KeyDialogs)
const Palette = lazy(async () => (await import("./Palette.ts")).Palette)

const isSomethingOpen = (): boolean => document.querySelector("dialog[open], :popover-open") !== null

export const App = (): View => {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.shiftKey) {
        event.preventDefault()
        if (!isSomethingOpen()) isPaletteOpen.value = true
        return
      }
      // Escape inside of an input method only takes back what is being composed.
      if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || isSomethingOpen()) return
      if (isListShown.value) isListShown.value = false
      // A run that waits for results is cancelled only by its button, because results may be half typed.
      // In another room nobody sees what would be cancelled.
      else if (room.value === "talk" && conversation.isRunning.value && mayAct()) act(() => conversation.cancel())()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
  const [name, ...rest] = path.value
  const entry = rooms.find((each) => each.name === name) ?? rooms[0]
  const hasLists = entry?.hasLists === true
  return html`<div
    class=${classes("studio", hasLists && "has-lists", hasLists && isListShown.value && "with-lists", inspector.isOpen.value && "with-inspector")}
  >
    <${Rail} current=${entry?.name === "compare" ? "talk" : (entry?.name ?? "")} />
    ${hasLists && html`<nav class="lists" aria-label="Assistants and threads">${isStarted.value && html`<${Lists} />`}</nav>`}
    <main>
      <${Notices} />
      ${
        isStarted.value && entry !== undefined
          ? html`<${OpenRoom} key=${entry.name} entry=${entry} path=${rest} />`
          : html`<p class="hint loading">The studio opens.</p>`
      }
    </main>
    ${inspector.isOpen.value && html`<${Inspector} />`}
    ${edited.value !== null && html`<${AssistantDialog} />`}
    ${kept.value !== null && html`<${KeepAsTest} key=${kept.value} turn=${kept.value} />`}
    ${isPaletteOpen.value && html`<${Palette} />`}
    ${(keyProblem.value !== null || offeredKey.value !== null) && html`<${KeyDialogs} />`}
    <${Confirm} />
  </div>`
}

type Loaded = (props: RoomProps) => View

const loaded = signal<Readonly<Record<string, Loaded>>>({})
const problem = signal<string | null>(null)

const open = async ({ load, name, styles }: RoomEntry): Promise<void> => {
  problem.value = null
  try {
    const [{ Room }] = await Promise.all([load(), styles === undefined ? null : loadStyles(styles)])
    loaded.value = { ...loaded.value, [name]: Room }
  } catch {
    problem.value = name
  }
}

const OpenRoom = ({ entry, path: rest }: { readonly entry: RoomEntry; readonly path: RoomProps["path"] }): View => {
  const Room = loaded.value[entry.name]
  useEffect(() => {
    if (Room === undefined) void open(entry)
  }, [entry])
  if (Room !== undefined) return html`<${Room} path=${rest} />`
  if (problem.value !== entry.name) return html`<p class="hint loading">${entry.word} opens.</p>`
  return html`<p class="loading">
    “${entry.word}” could not be loaded.${" "}
    <button type="button" onClick=${() => void open(entry)}>Try again</button>
  </p>`
}

const Notices = (): View =>
  html`<div class="notices">
    ${!isServerUp.value && html`<p class="notice" role="alert"><${Icon} name="warning" /> The server does not answer. It is tried again.</p>`}
    ${
      notice.value !== null &&
      isServerUp.value &&
      html`<p class="notice" role="alert">
      <${Icon} name="warning" /><span>${notice.value}</span>
      <${IconButton} icon="close" label="Close the message" onClick=${() => (notice.value = null)} />
    </p>`
    }
  </div>`
