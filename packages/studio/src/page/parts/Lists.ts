/** Assistants and threads: searching, opening, renaming, editing and deleting them. */
import { edited } from "../state/dialogs.ts"
import { dayName, plural, shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import {
  act,
  assistantId,
  assistants,
  conversation,
  copyAssistant,
  newThread,
  openAssistant,
  openThread,
  ownThreads,
  pressing,
  removeAssistant,
  removeThread,
  renameThread,
  room,
  threads,
  threadStates,
  threadTitle
} from "../state/studio.ts"
import { classes, type ComponentChildren, html, useEffect, useRef, useState, type View } from "../view.ts"
import type { Assistant, Thread } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { Icon, IconButton } from "./Icon.ts"

const has = (text: string, search: string): boolean => text.toLowerCase().includes(search.trim().toLowerCase())

/** The text of an empty list. It says how to fill the list, if the user may do so. */
const noneYet = (how: string): string => (mayAct() ? how : "There is none yet.")

export const Lists = (): View => html`<${AssistantList} /><${ThreadList} />`

const AssistantList = (): View => {
  const [search, setSearch] = useState("")
  const all = assistants.value ?? []
  const shown = all.filter(({ description, model_name, name }) =>
    has([name, model_name, description].join(" "), search)
  )
  return html`<section class="list" aria-labelledby="assistants-title">
    <header>
      <h2 id="assistants-title">Assistants</h2>
      ${mayAct() && html`<${IconButton} icon="plus" label="New assistant" onClick=${() => (edited.value = "new")} />`}
    </header>
    ${all.length > 1 && html`<${Search} label="Search assistants" value=${search} onInput=${setSearch} />`}
    <ul>
      ${shown.map((each) => html`<${AssistantItem} key=${each.assistant_id} each=${each} />`)}
    </ul>
    ${shown.length === 0 && html`<p class="hint">${all.length === 0 ? noneYet("Ada is made with the first message.") : "Nothing is found."}</p>`}
  </section>`
}

const AssistantItem = ({ each }: { readonly each: Assistant }): View => {
  const { assistant_id: id, name } = each
  const own = threads.value.filter(({ assistant_id }) => assistant_id === id).length
  const remove = () =>
    confirm({
      title: `Delete “${name}”?`,
      text: `Its ${plural(own, "thread")}, documents and memories go with it. This cannot be undone.`,
      action: "Delete assistant",
      run: () => removeAssistant(id)
    })
  return html`<${Item}
    title=${name}
    detail=${each.model_name ?? "the default model"}
    isCurrent=${id === assistantId.value}
    onOpen=${() => act(openAssistant)(id)}
  >
    <${IconButton} icon="pencil" label="Edit assistant ${name}" onClick=${() => (edited.value = each)} />
    <${IconButton} icon="copy" label="Copy assistant ${name}" onClick=${pressing(() => copyAssistant(id))} />
    <${IconButton} icon="trash" label="Delete assistant ${name}" onClick=${remove} />
  <//>`
}

const ThreadList = (): View => {
  const [search, setSearch] = useState("")
  const shown = ownThreads.value.filter((each) => has(`${threadTitle(each)} ${wholeDate(each.updated_at)}`, search))
  const days = Object.entries(Object.groupBy(shown, ({ updated_at }) => dayName(updated_at))).map(
    ([name, those = []]) => [name, those] as const
  )
  return html`<section class="list threads" aria-labelledby="threads-title">
    <header>
      <h2 id="threads-title">Threads</h2>
      ${mayAct() && html`<${IconButton} icon="plus" label="New thread" onClick=${newThread} />`}
    </header>
    ${ownThreads.value.length > 1 && html`<${Search} label="Search threads" value=${search} onInput=${setSearch} />`}
    ${days.map(
      ([name, those]) =>
        html`<h3 class="day" id="day-${those[0]?.thread_id}">${name}</h3>
          <ul aria-labelledby="day-${those[0]?.thread_id}">
            ${those.map((each) => html`<${ThreadItem} key=${each.thread_id} each=${each} />`)}
          </ul>`
    )}
    ${
      shown.length === 0 &&
      html`<p class="hint">${ownThreads.value.length === 0 ? noneYet("The first message makes one.") : "Nothing is found."}</p>`
    }
  </section>`
}

const stateWords = { running: "is answered", waiting: "waits for you" } as const

/** The state of the open thread is known without a request to the server. */
const openState = (): keyof typeof stateWords | null => {
  if (conversation.isRunning.value) return "running"
  return conversation.waiting.value === null ? null : "waiting"
}

const ThreadItem = ({ each }: { readonly each: Thread }): View => {
  const [isRenamed, setRenamed] = useState(false)
  const { thread_id: id } = each
  const state = id === conversation.threadId.value ? openState() : (threadStates.value.get(id) ?? null)
  const title = threadTitle(each)
  if (isRenamed) {
    return html`<${Rename}
      title=${title}
      onDone=${(next: string | null) => {
        setRenamed(false)
        if (next !== null && next !== title) act(renameThread)(id, next)
      }}
    />`
  }
  const remove = () =>
    confirm({
      title: "Delete this thread?",
      text: `“${title}” and all its messages go. This cannot be undone.`,
      action: "Delete thread",
      run: () => removeThread(id)
    })
  return html`<${Item}
    title=${title}
    detail=${html`<time datetime=${each.updated_at} title=${wholeDate(each.updated_at)}>${shortDate(each.updated_at)}</time>
      ${state !== null && html` <span class="state state-${state}"><span class="dot" aria-hidden="true"></span>${stateWords[state]}</span>`}`}
    isCurrent=${room.value === "talk" && id === conversation.threadId.value}
    onOpen=${() => act(openThread)(id)}
  >
    <${IconButton} icon="pencil" label="Rename thread ${title}" onClick=${() => setRenamed(true)} />
    <${IconButton} icon="trash" label="Delete thread ${title}" onClick=${remove} />
  <//>`
}

interface ItemProps {
  readonly title: string
  readonly detail: View
  readonly isCurrent: boolean
  readonly onOpen: () => void
  readonly children?: ComponentChildren
}

const Item = ({ children, detail, isCurrent, onOpen, title }: ItemProps): View =>
  html`<li class=${classes("item", isCurrent && "current")}>
    <button type="button" class="open" aria-current=${isCurrent ? "true" : undefined} onClick=${onOpen}>
      <span class="title">${title}</span><span class="detail">${detail}</span>
    </button>
    ${mayAct() && html`<span class="tools">${children}</span>`}
  </li>`

const Rename = ({
  onDone,
  title
}: {
  readonly title: string
  readonly onDone: (title: string | null) => void
}): View => {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  const read = () => {
    const text = field.current?.value.trim() ?? ""
    return text === "" ? null : text
  }
  const submit = (event: Event) => {
    event.preventDefault()
    onDone(read())
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return
    event.stopPropagation()
    onDone(null)
  }
  return html`<li class="item">
    <form class="rename" onSubmit=${submit}>
      <input ref=${field} aria-label="Title of the thread" defaultValue=${title} maxlength="200" onKeyDown=${onKey} onBlur=${() => onDone(read())} />
    </form>
  </li>`
}

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}

export const Search = ({ label, onInput, value }: SearchProps): View =>
  html`<div class="search">
    <${Icon} name="search" />
    <input
      type="search"
      aria-label=${label}
      placeholder=${label}
      value=${value}
      onInput=${(event: Event) => {
        if (event.currentTarget instanceof HTMLInputElement) onInput(event.currentTarget.value)
      }}
    />
  </div>`
