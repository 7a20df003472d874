/**
 * The page of the standalone server: a client of the public API and of nothing else, without a build. What it keeps between reloads is
 * the key and the thread; everything else it reads from the server, an answer that is being given included.
 */
import { typedFields } from "./answers.js"
import { all, base, call, follow, followWhole, getKey, json, setKey } from "./api.js"
import { at, element } from "./dom.js"
import { askForOutputs, assistantOf, outputsOf } from "./forms.js"
import * as inside from "./inside.js"
import * as transcript from "./transcript.js"

/** `run`: under way; `waiting`: the run that needs tool outputs; `answer`: what grows; `following`: ends the reading of a stream. */
const state = { assistant: null, thread: null, run: null, waiting: null, answer: null, following: null }

const say = (text, isProblem = false) => {
  at("state").textContent = text
  at("state").classList.toggle("failed", isProblem)
}

const showError = (error) => {
  if (error.status === 401) askForKey(error.message)
  else say(error.message, true)
}

/** An action of the user; what goes wrong in it is shown. */
const doing =
  (action) =>
  (...given) =>
    void action(...given).catch(showError)

const setRunning = (run) => {
  state.run = run
  transcript.setBusy(run !== null)
  at("content").disabled = state.assistant === null
  at("send").disabled = state.assistant === null || run !== null
  const hadFocus = document.activeElement === at("cancel")
  at("cancel").disabled = run === null && state.waiting === null
  if (hadFocus && run === null) at("content").focus()
}

const inspect = doing(async (runId) => {
  view("inside")
  await inside.inspect(state.thread.thread_id, runId)
})

// ------ following a run

const beginAnswer = (event) => {
  setRunning(event.run_id)
  state.answer ??= transcript.openAnswer(inspect)
  say(`${event.model_provider} / ${event.model_name}`)
}

const end = (runId) => {
  state.answer?.close(runId)
  state.answer = null
  setRunning(null)
}

/** What each event does to the page. Others are only seen in the log. */
const effects = {
  run_started: beginAnswer,
  run_continuing: beginAnswer,
  reasoning_streaming: ({ content }) => state.answer.think(content),
  reasoning_ended: () => state.answer.endThought(),
  content_streaming: ({ content }) => state.answer.say(content),
  tool_call_ready: ({ tool_call }) => state.answer.callsTool(tool_call),
  tool_submit_required: ({ run_id, tool_calls }) => waitForOutputs(run_id, tool_calls),
  run_failed: ({ error }) => {
    state.answer ??= transcript.openAnswer(inspect)
    state.answer.note(error, "failed")
  },
  run_cancelled: () => state.answer?.note("Cancelled."),
  run_ended: (event) => state.answer.note(transcript.tokensText(event))
}
const begins = new Set(["run_started", "run_continuing"])
const closes = new Set(["tool_submit_required", "run_failed", "run_cancelled", "run_ended"])

const waitForOutputs = (runId, calls, answer = state.answer) => {
  state.waiting = { runId, answer }
  setRunning(state.run)
  askForOutputs(calls)
  at("messages").scrollTop = at("messages").scrollHeight
}

const apply = (event) => {
  effects[event.type]?.(event)
  if (!closes.has(event.type)) return
  end(event.run_id)
  doing(inside.explain)(event.thread_id, event.run_id)
}

const seeing = (onEvent) => (event) => {
  inside.showFirst(event.run_id)
  inside.record(event)
  onEvent(event)
}

/** Reads a run to its end. A thread that is left is not listened to any more; the server goes on. */
const listen = async (read) => {
  leave()
  const controller = (state.following = new AbortController())
  setRunning("")
  try {
    await read(controller.signal)
  } finally {
    if (!controller.signal.aborted && state.run !== null) end(state.run || null)
  }
}

const listenTo = (begin) => listen((signal) => follow(begin, seeing(apply), signal))

const leave = () => {
  state.following?.abort()
  state.answer = null
}

/**
 * After a reload: the log is read again from its first event. Answers of the run's earlier rounds are stored and shown already, so the
 * events count from where the answer under way begins.
 */
const resume = ({ message_id, run_id }) => {
  let isHere = false
  const onEvent = seeing((event) => {
    isHere ||= begins.has(event.type) && event.message_id === message_id
    if (isHere) apply(event)
  })
  return listen((signal) => followWhole(state.thread.thread_id, run_id, onEvent, signal))
}

// ------ talking

const send = async () => {
  const content = at("content").value.trim()
  if (content === "" || state.assistant === null || state.run !== null) return
  const typed = typedFields()
  at("content").value = ""
  closeTools("Cancelled.")
  inside.clear()
  const takeBack = transcript.addQuestion(content)
  const body = { content, stream: true, ...(at("thinking").checked ? { thinking: {} } : {}) }
  let isAccepted = false
  try {
    setRunning("")
    state.thread ??= await makeThread(content)
    const { thread_id } = state.thread
    if (typed !== null) {
      const reply = await json(`/threads/${thread_id}/messages`, { method: "POST", body: { content, ...typed } })
      isAccepted = true
      showTyped(reply)
      return
    }
    await listenTo(async (signal) => {
      const response = await call(`/threads/${thread_id}/messages`, { method: "POST", body, signal })
      isAccepted = true
      return response
    })
  } finally {
    if (!isAccepted) {
      takeBack()
      at("content").value ||= content
      setRunning(null)
    }
  }
}

/** Typed answers are not streamed: the reply is whole when it comes. */
const showTyped = (reply) => {
  transcript.showStored(reply, inspect)
  if (reply.status === "FAILED") say(reply.content, true)
  setRunning(null)
  inspectQuietly(reply)
}

/** The panels tell of the run, and the view stays. */
const inspectQuietly = doing(({ run_id, thread_id }) => inside.inspect(thread_id, run_id))

const closeTools = (note) => {
  at("tool-form").hidden = true
  state.waiting?.answer?.note(note)
  state.waiting = null
}

const sendOutputs = async () => {
  const { answer, runId } = state.waiting
  const tool_outputs = outputsOf(at("tool-form"))
  const path = `/threads/${state.thread.thread_id}/runs/${runId}/submit-tool-outputs?stream=true`
  state.waiting = null
  at("tool-form").hidden = true
  at("content").focus()
  await listenTo(async (signal) => {
    const response = await call(path, { method: "POST", body: { tool_outputs }, signal })
    for (const { output } of tool_outputs) answer?.note(`→ ${output}`)
    return response
  })
}

const cancel = async () => {
  const runId = state.run || state.waiting?.runId
  if (!runId) return
  await call(`/threads/${state.thread.thread_id}/runs/${runId}/cancel`, { method: "POST" })
  if (state.waiting?.runId !== runId) return
  closeTools("Cancelled.")
  setRunning(null)
  at("content").focus()
}

// ------ assistants and threads

const showList = (list, entries, titleOf, isCurrent, open) =>
  at(list).replaceChildren(
    ...entries.map((entry) => {
      const button = element("button", { type: "button", textContent: titleOf(entry) })
      if (isCurrent(entry)) button.setAttribute("aria-current", "true")
      button.addEventListener(
        "click",
        doing(async () => {
          view("talk")
          await open(entry)
        })
      )
      return element("li", {}, button)
    })
  )

const showAssistants = async () => {
  const assistants = await all("/assistants")
  const isCurrent = (each) => each.assistant_id === state.assistant?.assistant_id
  showList("assistants", assistants, (each) => each.name, isCurrent, openAssistant)
  at("making").open = assistants.length === 0
  return assistants
}

const titleOf = ({ created_at, metadata_ }) => metadata_?.title ?? new Date(created_at).toLocaleString()

const showThreads = async () => {
  const threads = (await all(`/assistants/${state.assistant.assistant_id}/threads`)).toReversed()
  showList("threads", threads, titleOf, (each) => each.thread_id === state.thread?.thread_id, openThread)
  return threads
}

const useAssistant = async (assistant) => {
  state.assistant = assistant
  at("new-thread").disabled = assistant === null
  setRunning(null)
  await showAssistants()
}

const openAssistant = async (assistant) => {
  await useAssistant(assistant)
  const [newest] = await showThreads()
  await (newest === undefined ? newThread() : openThread(newest))
}

const reset = (whenEmpty) => {
  leave()
  state.thread = null
  closeTools("")
  setRunning(null)
  transcript.clear(whenEmpty)
  inside.clear()
}

/** An empty page of paper; the thread is made with its first message. */
const newThread = async () => {
  reset("Say something, or try “What time is it?”")
  history.replaceState(null, "", location.pathname)
  say("")
  await showThreads()
  at("content").focus()
}

const makeThread = async (content) => {
  const path = `/assistants/${state.assistant.assistant_id}/threads`
  state.thread = await json(path, { method: "POST", body: { metadata: { title: content.slice(0, 80) } } })
  history.replaceState(null, "", `#${state.thread.thread_id}`)
  await showThreads()
  return state.thread
}

/** Shows a thread as it is stored, and goes on listening to an answer that is under way. */
const openThread = async ({ thread_id }) => {
  reset("Nothing was said on this thread yet.")
  state.thread = await json(`/threads/${thread_id}`)
  history.replaceState(null, "", `#${thread_id}`)
  say("")
  const { messages } = state.thread
  const running = messages.find(({ status }) => status === "IN_PROGRESS")
  let answer = null
  for (const message of messages) if (message !== running) answer = transcript.showStored(message, inspect)
  at("messages").scrollTop = at("messages").scrollHeight
  await showThreads()
  at("content").focus()
  if (running !== undefined) return resume(running)
  await showEnd(messages.at(-1), answer)
}

const showEnd = async (message, answer) => {
  if (message?.role !== "assistant") return
  if (message.status === "REQUIRES_ACTION") waitForOutputs(message.run_id, message.tool_calls, answer)
  await inside.inspect(state.thread.thread_id, message.run_id)
}

// ------ the key, and the start

const askForKey = (problem = "") => {
  at("key-problem").textContent = problem
  at("key").value = ""
  if (!at("key-dialog").open) at("key-dialog").showModal()
}

/** The address that the server printed carries the key; it goes from there into the browser's memory, out of sight. */
const takeGivenKey = () => {
  const [, given] = /^#key=(.+)$/.exec(location.hash) ?? []
  if (given === undefined) return false
  setKey(decodeURIComponent(given))
  history.replaceState(null, "", location.pathname)
  return true
}

const start = async () => {
  if (getKey() === "") return askForKey()
  reset("Make an assistant, then talk to it here.")
  const wanted = location.hash.slice(1)
  const assistants = await showAssistants()
  const thread = wanted === "" ? null : await json(`/threads/${wanted}`).catch(() => null)
  const owner = assistants.find(({ assistant_id }) => assistant_id === thread?.assistant_id)
  if (owner !== undefined) {
    await useAssistant(owner)
    await openThread(thread)
  } else if (assistants.length > 0) await openAssistant(assistants.at(-1))
  else {
    await useAssistant(null)
    say("Make an assistant to begin.")
    at("new-assistant").elements.name.focus()
  }
}

/** On a narrow screen one of three views is seen; on a wide one this changes nothing. */
const view = (name) => {
  document.body.dataset.view = name
  for (const button of document.querySelectorAll(".view")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === name))
  }
}

const onSubmit = (form, action) =>
  at(form).addEventListener("submit", (submitted) => {
    submitted.preventDefault()
    doing(action)()
  })

onSubmit("compose", send)
onSubmit("tool-form", sendOutputs)
onSubmit("new-assistant", async () => {
  const body = assistantOf(at("new-assistant"))
  const assistant = await json("/assistants", { method: "POST", body })
  view("talk")
  await openAssistant(assistant)
})
onSubmit("key-form", async () => {
  setKey(at("key").value.trim())
  at("key-dialog").close()
  await start()
})
at("content").addEventListener("keydown", (pressed) => {
  if (pressed.key !== "Enter" || pressed.shiftKey || pressed.isComposing) return
  pressed.preventDefault()
  doing(send)()
})
at("cancel").addEventListener("click", doing(cancel))
at("new-thread").addEventListener(
  "click",
  doing(async () => {
    view("talk")
    await newThread()
  })
)
at("change-key").addEventListener("click", () => askForKey())
document.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Escape" && !at("key-dialog").open) doing(cancel)()
})
for (const button of document.querySelectorAll(".view")) {
  button.addEventListener("click", () => view(button.dataset.view))
}
addEventListener("hashchange", () => {
  if (takeGivenKey()) doing(start)()
})

at("docs").href = `${base}/docs`
takeGivenKey()
doing(start)()
