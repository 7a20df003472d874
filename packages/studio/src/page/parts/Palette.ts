/** Finds anything by a few letters: rooms and actions, assistants, threads, runs. Opened by Ctrl K. */
import { json } from "../api/http.ts"
import { shortDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { hasRoom, rooms } from "./rooms.ts"
import { go } from "../state/address.ts"
import { edited, isPaletteOpen } from "../state/dialogs.ts"
import { turnId } from "../lib/answer.ts"
import * as inspector from "../state/inspector.ts"
import {
  act,
  assistants,
  conversation,
  newThread,
  openAssistant,
  openThread,
  threads,
  threadTitle
} from "../state/studio.ts"
import { openShared } from "../state/shared.ts"
import { switchTheme } from "../state/theme.ts"
import { html, useEffect, useRef, useState, type View } from "../view.ts"
import type { RunSummary } from "../wire.ts"
import { Icon, type IconName } from "./Icon.ts"

interface Found {
  readonly icon: IconName
  readonly kind: string
  readonly text: string
  readonly detail?: string
  readonly run: () => void
}

const actions = (): ReadonlyArray<Found> => {
  const action = (icon: IconName, text: string, run: () => void): Found => ({ icon, kind: "Action", text, run })
  const { threadId } = conversation
  const last = conversation.entries.value.at(-1)
  const runId = last?.kind === "answer" ? turnId(last.answer.value) : null
  const acts = [
    action("plus", "New thread", newThread),
    action("plus", "New assistant", () => (edited.value = "new")),
    action("columns", "Compare two models", () => go("compare"))
  ]
  return [
    ...(mayAct() ? acts : []),
    ...(threadId.value === null || runId === null
      ? []
      : [action("look", "Look inside the last turn", () => act(inspector.inspect)(threadId.value ?? "", runId))]),
    action("moon", "Change light and dark", switchTheme),
    ...(hasRoom("knowledge") ? [action("gauge", "Usage and limits", () => go("knowledge", "-", "usage"))] : []),
    action("open", "Open a shared turn", act(openShared))
  ]
}

const destinations = (): ReadonlyArray<Found> => [
  ...rooms.flatMap(({ icon, isShown, name, word }): ReadonlyArray<Found> =>
    (isShown?.() ?? true) ? [{ icon, kind: "Room", text: word, run: () => go(name) }] : []
  ),
  ...(assistants.value ?? []).map(({ assistant_id, model_name, name }): Found => ({
    icon: "user",
    kind: "Assistant",
    text: name,
    detail: model_name ?? "",
    run: () => act(openAssistant)(assistant_id)
  })),
  ...threads.value.map((thread): Found => ({
    icon: "talk",
    kind: "Thread",
    text: threadTitle(thread),
    detail: shortDate(thread.updated_at),
    run: () => act(openThread)(thread.thread_id)
  }))
]

const openRun = async ({ run_id, thread_id }: RunSummary): Promise<void> => {
  if (thread_id !== conversation.threadId.value) await openThread(thread_id)
  await inspector.inspect(thread_id, run_id)
}

const runEntry = (run: RunSummary): Found => ({
  icon: "runs",
  kind: "Run",
  text: run.content_preview ?? run.fault?.message ?? run.run_id,
  detail: [run.status.toLowerCase().replaceAll("_", " "), run.model_name, shortDate(run.created_at)].join(" · "),
  run: () => act(openRun)(run)
})

const most = 40

const has = ({ detail = "", kind, text }: Found, words: ReadonlyArray<string>): boolean => {
  const all = `${kind} ${text} ${detail}`.toLowerCase()
  return words.every((word) => all.includes(word))
}

export const Palette = (): View => {
  const frame = useRef<HTMLDialogElement>(null)
  const [search, setSearch] = useState("")
  const [active, setActive] = useState(0)
  const [runs, setRuns] = useState<ReadonlyArray<RunSummary>>([])
  useEffect(() => {
    frame.current?.showModal()
    json<{ readonly runs: ReadonlyArray<RunSummary> }>("/runs?limit=100").then(
      ({ runs: found }) => setRuns(found),
      () => {}
    )
  }, [])
  const close = () => {
    isPaletteOpen.value = false
  }
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean)
  const everything = [...actions(), ...destinations(), ...runs.map(runEntry)]
  const found = everything.filter((each) => has(each, words)).slice(0, most)
  const choose = (each: Found | undefined) => {
    if (each === undefined) return
    // A dialog that is taken away open does not give the focus back.
    frame.current?.close()
    close()
    each.run()
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0 && found.length > 0) {
      event.preventDefault()
      const next = (active + step + found.length) % found.length
      setActive(next)
      document.querySelector(`#found-${next}`)?.scrollIntoView({ block: "nearest" })
    }
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault()
      choose(found[active])
    }
  }
  return html`<dialog ref=${frame} class="palette" aria-label="Find anything" onClose=${close}>
    <div class="search">
      <${Icon} name="search" />
      <input
        role="combobox"
        aria-label="Find anything"
        aria-expanded="true"
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant=${found.length > 0 ? `found-${active}` : undefined}
        autocomplete="off"
        spellcheck=${false}
        placeholder="A room, an action, an assistant, a thread, a run"
        value=${search}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLInputElement) setSearch(event.currentTarget.value)
          setActive(0)
        }}
        onKeyDown=${onKey}
      />
    </div>
    <ul id="found" role="listbox" aria-label="Found">
      ${found.map(
        (each, index) =>
          html`<li id="found-${index}" key=${index} role="option" aria-selected=${index === active} onClick=${() => choose(each)}>
            <${Icon} name=${each.icon} />
            <span class="title" dir="auto">${each.text}</span>
            <small>${[each.kind, each.detail].filter(Boolean).join(" · ")}</small>
          </li>`
      )}
    </ul>
    <p class="hint" role="status">${found.length === 0 ? "Nothing is found." : ""}</p>
  </dialog>`
}
