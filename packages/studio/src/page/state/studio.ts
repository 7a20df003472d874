/** The state of the studio: the user's assistants and threads, the open one, the server's features, and notices. */
import { decoded, go, onTravel, path, replace } from "./address.ts"
import { all, call, getKey, isRefusal, isServerUp, json, post, Refused, setKey } from "../api/http.ts"
import { pause } from "../lib/pause.ts"
import { batch, computed, effect, signal } from "../view.ts"
import type { Assistant, Capabilities, Run, RunSummary, Thread } from "../wire.ts"
import { loadCatalogue } from "./catalogue.ts"
import { playDocument } from "./documents.ts"
import { Conversation } from "./conversation.ts"
import * as inspector from "./inspector.ts"
import { type Choices, forgetOthers, keepChoices, threadChoices } from "./choices.ts"
import { type Change, hearTabs, tellTabs } from "./tabs.ts"

export const assistants = signal<ReadonlyArray<Assistant> | null>(null)
export const threads = signal<ReadonlyArray<Thread>>([])
export const assistantId = signal<string | null>(null)
/** True when everything for the first view has been read. */
export const isStarted = signal(false)
/** The name of the open room. */
export const room = computed(() => path.value[0] ?? "talk")
export const isListShown = signal(false)
/** The problem of the last action, in words. */
export const notice = signal<string | null>(null)
/** Null: no key is asked for. */
export const keyProblem = signal<string | null>(null)
/** A key from the address that waits for the user's consent, because another one is kept. */
export const offeredKey = signal<string | null>(null)

const nothing: Capabilities = {
  typed_answers: false,
  documents: false,
  memory: false,
  web_search: false,
  image_generation: false,
  video_generation: false,
  voice: false,
  evals: false
}
export const can = signal<Capabilities>(nothing)

export const conversation = new Conversation({
  onSpeech: (documentId) => {
    playDocument(documentId).catch(tell)
  },
  onThread: (thread, isShown) => {
    threads.value = [thread, ...threads.value]
    tellTabs({ kind: "threads" })
    if (!isShown) return
    keepChoices(thread.thread_id, draftChoices.value)
    draftChoices.value = {}
    if (room.value === "talk") replace("talk", thread.thread_id)
  },
  assistantId: () => ensureAssistant(),
  onRun: (threadId, runId, hasEnded) => {
    tellTabs({ kind: "thread", threadId, runId, hasEnded })
    if (hasEnded) readStates().catch(() => {})
  },
  onProblem: (error) => tell(error),
  onKept: () => {
    refreshThreads().catch(tell)
  },
  onActivity: (threadId) => {
    const updated_at = new Date().toISOString()
    threads.value = threads.value.map((each) => (each.thread_id === threadId ? { ...each, updated_at } : each))
  }
})

/** The choices that were made before the first message of a new thread. */
const draftChoices = signal<Choices>({})

/** The user's choices for the open thread. */
export const choices = computed(() => {
  const threadId = conversation.threadId.value
  return threadId === null ? draftChoices.value : threadChoices(threadId)
})

export const choose = (next: Choices): void => {
  const threadId = conversation.threadId.value
  if (threadId === null) draftChoices.value = next
  else keepChoices(threadId, next)
}

export const assistant = computed(
  () => assistants.value?.find((each) => each.assistant_id === assistantId.value) ?? null
)
/** The name of a new user's first assistant. */
const firstAssistant = "Ada"
export const assistantName = computed(() => assistant.value?.name ?? firstAssistant)

/** The open assistant; where there is none yet, one is made. */
export const ensureAssistant = async (): Promise<string> => {
  if (assistantId.value !== null) return assistantId.value
  const made = await post<Assistant>("/assistants", { name: firstAssistant })
  assistants.value = [...(assistants.value ?? []), made]
  assistantId.value = made.assistant_id
  tellTabs({ kind: "assistants" })
  return made.assistant_id
}

/** The threads of the assistant, the last used one first. */
export const ownThreads = computed(() =>
  threads.value
    .filter((each) => each.assistant_id === assistantId.value)
    .toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
)

export const threadTitle = ({ metadata_ }: Pick<Thread, "metadata_">): string =>
  typeof metadata_?.["title"] === "string" && metadata_["title"] !== "" ? metadata_["title"] : "Untitled thread"

/** Runs an action of the user and shows its error. */
export const act =
  <Given extends ReadonlyArray<unknown>>(action: (...given: Given) => Promise<unknown>) =>
  (...given: Given): void => {
    notice.value = null
    action(...given).catch(tell)
  }

/** The forms and buttons whose actions are under way. */
const busy = new WeakSet<EventTarget>()

const actOnce = (element: EventTarget, action: () => Promise<unknown>): void => {
  if (busy.has(element)) return
  busy.add(element)
  act(() => action().finally(() => busy.delete(element)))()
}

/** Runs the action of a form. A form that is sent again while its action is under way does nothing: a double click makes one thing. */
export const submitting =
  (action: (form: HTMLFormElement) => Promise<unknown>) =>
  (event: Event): void => {
    event.preventDefault()
    const { currentTarget: form } = event
    if (form instanceof HTMLFormElement) actOnce(form, () => action(form))
  }

/** The same for the action of a button. */
export const pressing =
  (action: () => Promise<unknown>) =>
  ({ currentTarget: button }: Event): void => {
    if (button !== null) actOnce(button, action)
  }

export const tell = (error: unknown): void => {
  if (error instanceof Refused && error.status === 401) keyProblem.value = getKey() === "" ? "" : error.message
  else notice.value = error instanceof Error ? error.message : String(error)
}

/** A list as it was read, with what was added to the shown one meanwhile, and without what was removed from it. */
const withMeanwhile = <Item>(
  read: ReadonlyArray<Item>,
  before: ReadonlyArray<Item>,
  now: ReadonlyArray<Item>,
  id: (item: Item) => string
): ReadonlyArray<Item> => {
  const [known, had, has] = [read, before, now].map((list) => new Set(list.map(id)))
  const added = now.filter((each) => had?.has(id(each)) === false && known?.has(id(each)) === false)
  return [...read.filter((each) => had?.has(id(each)) === false || has?.has(id(each)) === true), ...added]
}

export const loadAssistants = async (): Promise<void> => {
  const before = assistants.value ?? []
  const read = await all<Assistant>("/assistants")
  assistants.value = withMeanwhile(read, before, assistants.value ?? [], ({ assistant_id }) => assistant_id)
}

/** The threads whose runs are under way, or wait for a person. */
export const threadStates = signal<ReadonlyMap<string, "running" | "waiting">>(new Map())

const readStates = async (): Promise<void> => {
  const list = (status: Run["status"]) =>
    json<{ readonly runs: ReadonlyArray<RunSummary> }>(`/runs?status=${status}&limit=100`)
  const [running, waiting] = await Promise.all([list("IN_PROGRESS"), list("REQUIRES_ACTION")])
  threadStates.value = new Map([
    ...waiting.runs.map(({ thread_id }) => [thread_id, "waiting"] as const),
    ...running.runs.map(({ thread_id }) => [thread_id, "running"] as const)
  ])
}

export const refreshThreads = async (): Promise<void> => {
  // If the states cannot be read, the list is shown without them.
  readStates().catch(() => {})
  const before = threads.value
  const read = await all<Thread>("/threads?include_messages=false")
  threads.value = withMeanwhile(read, before, threads.value, ({ thread_id }) => thread_id)
  forgetOthers(threads.value.map(({ thread_id }) => thread_id))
}

export const openThread = async (threadId: string): Promise<void> => {
  isListShown.value = false
  go("talk", threadId)
  await showThread(threadId)
}

const showThread = async (threadId: string): Promise<void> => {
  const opened = await conversation.open(threadId)
  if (opened !== null) assistantId.value = opened.assistant_id
}

/** An empty conversation: the thread is created with its first message. */
export const newThread = (): void => {
  isListShown.value = false
  showNewThread()
  go("talk", "new", ...(assistantId.value === null ? [] : [assistantId.value]))
}

const showNewThread = (): void =>
  batch(() => {
    draftChoices.value = {}
    conversation.reset(assistantId.value)
  })

export const openAssistant = async (id: string): Promise<void> => {
  assistantId.value = id
  const [newest] = ownThreads.value
  if (newest === undefined) newThread()
  else await openThread(newest.thread_id)
}

/** A thread of its own with everything up to a message. */
export const forkThread = async (threadId: string, messageId: string): Promise<void> => {
  const fork = await post<Thread>(`/threads/${threadId}/fork`, { message_id: messageId })
  threads.value = [fork, ...threads.value]
  tellTabs({ kind: "threads" })
  await openThread(fork.thread_id)
}

export const rewindThread = async (messageId: string): Promise<void> => {
  await conversation.rewind(messageId)
  await refreshThreads()
  tellTabs({ kind: "threads" })
}

export const renameThread = async (threadId: string, title: string): Promise<void> => {
  const changed = await json<Thread>(`/threads/${threadId}`, { method: "PUT", body: { metadata: { title } } })
  threads.value = threads.value.map((each) => (each.thread_id === threadId ? changed : each))
  tellTabs({ kind: "threads" })
}

export const removeThread = async (threadId: string): Promise<void> => {
  await call(`/threads/${threadId}`, { method: "DELETE" })
  threads.value = threads.value.filter((each) => each.thread_id !== threadId)
  tellTabs({ kind: "threads" })
  if (conversation.threadId.value === threadId) newThread()
}

export const removeAssistant = async (id: string): Promise<void> => {
  await call(`/assistants/${id}`, { method: "DELETE" })
  threads.value = threads.value.filter((each) => each.assistant_id !== id)
  await loadAssistants()
  tellTabs({ kind: "assistants" })
  if (assistantId.value === id) await leaveAssistant()
}

/** The open assistant is gone: the newest one takes its place. */
const leaveAssistant = async (): Promise<void> => {
  assistantId.value = assistants.value?.at(-1)?.assistant_id ?? null
  leaveThread()
  if (room.value === "talk" && assistantId.value !== null) await openAssistant(assistantId.value)
}

/** The open thread is gone. Another room that is open stays open. */
const leaveThread = (): void => (room.value === "talk" ? newThread() : showNewThread())

export const copyAssistant = async (id: string): Promise<void> => {
  const { assistant: copy } = await json<{ readonly assistant: Assistant }>(`/assistants/${id}/clone`, {
    method: "POST",
    body: {}
  })
  await loadAssistants()
  tellTabs({ kind: "assistants" })
  await openAssistant(copy.assistant_id)
}

/**
 * The address that the server printed contains the key. The key is moved from there to the browser's storage, out of sight. A key that the
 * browser has already is replaced only with the user's consent. True: there is a new key.
 */
const takeGivenKey = (): boolean => {
  const given = /^#key=((?:[^%]|%[0-9a-f]{2})+)$/iu.exec(location.hash)?.[1]
  if (given === undefined) return false
  replace()
  const key = decoded(given)
  if (key === getKey()) return false
  if (getKey() !== "") {
    offeredKey.value = key
    return false
  }
  setKey(key)
  return true
}

/** Shows a change that another tab has made. */
const catchUp = async (change: Change): Promise<void> => {
  if (!isStarted.value) return
  const open = conversation.threadId.value
  if (change.kind === "thread") {
    await refreshThreads()
    if (change.threadId === conversation.threadId.value) await conversation.catchUp(change.runId, change.hasEnded)
    return
  }
  if (change.kind === "assistants") await loadAssistants()
  await refreshThreads()
  if (assistantId.value !== null && assistant.value === null) return leaveAssistant()
  if (open !== null && open === conversation.threadId.value && !hasThread(open)) leaveThread()
}

const hasThread = (id: string): boolean => threads.value.some(({ thread_id }) => thread_id === id)

/** Opens the records that the address names. An address of another room does not change the conversation. */
const showAddress = async (): Promise<void> => {
  const [name, thread, run, step] = path.value
  if (name === undefined) return showNewest()
  if (name !== "talk") return
  if (thread === undefined || thread === "new") return showNew(run)
  if (thread === conversation.threadId.value) conversation.stay()
  else await showThread(thread)
  if (path.value[1] !== thread || path.value[2] !== run) return
  if (run === undefined) inspector.isOpen.value = false
  else await inspector.show(thread, run, step === undefined ? null : Number(step))
}

const showNew = (wanted: string | undefined): void => {
  const known = assistants.value?.some(({ assistant_id }) => assistant_id === wanted)
  assistantId.value = (known === true ? wanted : (assistantId.value ?? assistants.value?.at(-1)?.assistant_id)) ?? null
  showNewThread()
}

/** The last thread of the newest assistant. */
const showNewest = async (): Promise<void> => {
  assistantId.value = assistants.value?.at(-1)?.assistant_id ?? null
  const [newest] = ownThreads.value
  if (newest === undefined) return showNewThread()
  replace("talk", newest.thread_id)
  await showThread(newest.thread_id)
}

/** The pause between two attempts to reach the server, in milliseconds. */
const askEvery = 1500

/** Reads everything for the first view, and again for another key. A server that is not reachable is tried again until it answers. */
export const start = async (): Promise<void> => {
  while (true) {
    try {
      return await readAll()
    } catch (error) {
      if (isRefusal(error)) throw error
      tell(error)
    }
    await pause(askEvery)
    notice.value = null
  }
}

const readAll = async (): Promise<void> => {
  keyProblem.value = null
  // Without a key, one request finds out whether the host's session is enough. If it is refused, a key is asked for once.
  if (getKey() === "") await call("/capabilities")
  const [, capabilities] = await Promise.all([
    loadAssistants(),
    json<Capabilities>("/capabilities"),
    refreshThreads(),
    loadCatalogue()
  ])
  can.value = capabilities
  // Another key may be that of another owner.
  const open = conversation.threadId.value
  if (open !== null && !hasThread(open)) conversation.reset(null)
  if (assistant.value === null) assistantId.value = null
  // Before there were rooms, an address was the id of a thread.
  const [first] = path.value
  if (first !== undefined && hasThread(first)) replace("talk", first)
  try {
    await showAddress()
  } catch (error) {
    await showNewest()
    tell(error)
  }
  if (room.value !== "talk" && assistantId.value === null) showNew(undefined)
  isStarted.value = true
}

export const begin = (): void => {
  takeGivenKey()
  onTravel(() => {
    if (takeGivenKey()) act(start)()
    else if (isStarted.value) act(showAddress)()
  })
  hearTabs((change) => {
    catchUp(change).catch(tell)
  })
  act(start)()
  effect(() => {
    if (isServerUp.value) return
    const timer = setInterval(() => {
      call("/capabilities").then(
        () => (notice.value = null),
        () => {}
      )
    }, askEvery)
    return () => clearInterval(timer)
  })
}
