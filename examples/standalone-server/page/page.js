/**
 * The page of the standalone server: a client of the public API and of nothing else, without a build. What it keeps between reloads is
 * the key and the thread; everything else it reads from the server, a running answer included.
 */
const base = document.querySelector('meta[name="api-base"]').content
const at = (id) => document.getElementById(id)
const state = { assistant: null, thread: null, run: null, text: null, reasoning: null, following: null }

// ------ the API

const key = () => localStorage.getItem("colloquy-key") ?? ""

const call = async (path, { method = "GET", body, signal } = {}) => {
  const headers = { "x-api-key": key(), ...(body === undefined ? {} : { "content-type": "application/json" }) }
  const response = await fetch(base + path, {
    method,
    headers,
    signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  if (response.ok) return response
  const detail = (await response.json().catch(() => ({}))).detail ?? response.statusText
  const text =
    typeof detail === "string" ? detail : detail.map((each) => `${each.loc.slice(1).join(".")}: ${each.msg}`).join("\n")
  if (response.status === 401) askForKey(text)
  throw new Error(text)
}

const json = async (path, options) => (await call(path, options)).json()

/** Reads a stream event by event: lines that begin with "data: ", whatever the network does to them. */
const readEvents = async (response, onEvent) => {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split("\n")
    rest = lines.pop()
    for (const line of lines) if (line.startsWith("data: ")) onEvent(JSON.parse(line.slice(6)))
  }
}

// ------ elements

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

const say = (text) => (at("state").textContent = text)

const showError = (error) => {
  if (error.name !== "AbortError") say(error.message)
}

const atEnd = (list, change) => {
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 40
  change()
  if (follows) list.scrollTop = list.scrollHeight
}

const setRunning = (run) => {
  state.run = run
  at("cancel").disabled = run === null
  at("send").disabled = at("content").disabled = state.thread === null
}

// ------ messages

const addMessage = (role, text) => {
  const body = element("span", { textContent: text })
  const item = element("li", { className: role }, body)
  atEnd(at("messages"), () => at("messages").append(item))
  return { item, body }
}

const note = (item, text, className = "") =>
  item.append(element("span", { className: `note ${className}`, textContent: text }))

const showStored = (message) => {
  const { item } = addMessage(message.role, message.content ?? "")
  if (message.status === "FAILED") note(item, "This answer failed.", "failed")
  if (message.status === "CANCELLED") note(item, "Cancelled.")
  for (const tool of message.tool_calls ?? []) note(item, `calls ${tool.function.name}(${tool.function.arguments})`)
  for (const output of message.metadata_?.tool_outputs ?? []) note(item, `${output.tool_name} → ${output.output}`)
}

const openAnswer = () => {
  if (state.text !== null) return
  const { item, body } = addMessage("assistant", "")
  state.item = item
  state.text = body
  state.reasoning = null
}

const showReasoning = (text) => {
  openAnswer()
  if (state.reasoning === null) {
    state.reasoning = element("span")
    state.item.prepend(
      element("details", { open: true }, element("summary", { textContent: "Thinking" }), state.reasoning)
    )
  }
  state.reasoning.append(text)
}

const closeAnswer = () => {
  state.text = state.reasoning = null
  setRunning(null)
}

/** One event of a stream, live or replayed. */
const onEvent = (event) => {
  const { type, sequence, thread_id, assistant_id, run_id, ...rest } = event
  atEnd(at("events"), () =>
    at("events").append(
      element("li", {}, `${sequence} `, element("b", { textContent: type }), ` ${JSON.stringify(rest)}`)
    )
  )
  atEnd(at("messages"), () => apply(event))
}

const apply = (event) => {
  switch (event.type) {
    case "run_started":
    case "run_continuing":
      setRunning(event.run_id)
      openAnswer()
      return say(`${event.model_provider} / ${event.model_name}`)
    case "reasoning_streaming":
      return showReasoning(event.content)
    case "content_streaming":
      openAnswer()
      return state.text.append(event.content)
    case "tool_call_ready":
      openAnswer()
      return note(state.item, `calls ${event.tool_call.function.name}(${event.tool_call.function.arguments})`)
    case "tool_submit_required":
      askForOutputs(event.run_id, event.tool_calls)
      return closeAnswer()
    case "run_failed":
      openAnswer()
      note(state.item, event.error, "failed")
      break
    case "run_cancelled":
      openAnswer()
      note(state.item, "Cancelled.")
      break
    case "run_ended":
      say(`${event.input_tokens ?? 0} tokens in, ${event.output_tokens ?? 0} out`)
      break
    default:
      return
  }
  closeAnswer()
  void showContext(event.run_id).catch(showError)
}

/** Reads one stream to its end. A thread that is left is not listened to any more; the server goes on. */
const follow = async (path, options = {}) => {
  state.following?.abort()
  const controller = (state.following = new AbortController())
  try {
    const response = await call(path, { ...options, signal: controller.signal })
    if (response.status !== 204) await readEvents(response, onEvent)
  } catch (error) {
    showError(error)
    if (!controller.signal.aborted) closeAnswer()
  }
}

// ------ tool outputs by hand

const askForOutputs = (runId, calls) => {
  at("tool-calls").replaceChildren(
    ...calls.map((tool) =>
      element(
        "label",
        { textContent: `${tool.function.name}(${tool.function.arguments})` },
        element("textarea", { rows: 2, required: true, name: tool.id, placeholder: "The result" })
      )
    )
  )
  at("tool-form").dataset.run = runId
  at("tool-form").hidden = false
  at("tool-calls").querySelector("textarea")?.focus()
}

at("tool-form").addEventListener("submit", (submitted) => {
  submitted.preventDefault()
  const outputs = [...new FormData(submitted.target)].map(([id, output]) => ({ tool_call_id: id, output }))
  at("tool-form").hidden = true
  const path = `/threads/${state.thread.thread_id}/runs/${at("tool-form").dataset.run}/submit-tool-outputs?stream=true`
  void follow(path, { method: "POST", body: { tool_outputs: outputs } })
})

// ------ context

const showContext = async (runId) => {
  const { explanation } = await json(`/threads/${state.thread.thread_id}/runs/${runId}`)
  if (explanation === null || explanation === undefined)
    return at("context").replaceChildren("Nothing was sent to a model.")
  const row = (...cells) => element("tr", {}, ...cells.map((cell) => element("td", { textContent: cell })))
  const parts = explanation.parts.map((part) => row(part.part, part.tokens, part.messages))
  const left = explanation.left_out.map((part) => row(`left out: ${part.part}`, part.tokens, part.messages))
  at("context").replaceChildren(
    element("p", {
      textContent: `${explanation.used_tokens} of ${explanation.context_limit ?? "unknown"} tokens, ${explanation.model}`
    }),
    element(
      "table",
      {},
      element("tr", {}, ...["Part", "Tokens", "Messages"].map((text) => element("th", { textContent: text }))),
      ...parts,
      ...left
    )
  )
}

const tabs = [at("tab-events"), at("tab-context")]
const select = (chosen) => {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen))
    tab.tabIndex = tab === chosen ? 0 : -1
    at(tab.getAttribute("aria-controls")).hidden = tab !== chosen
  }
  chosen.focus()
}
for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab))
  tab.addEventListener("keydown", ({ key: pressed }) => {
    if (pressed === "ArrowLeft" || pressed === "ArrowRight") select(tabs[(tabs.indexOf(tab) + 1) % tabs.length])
  })
}

// ------ assistants and threads

const listOf = (list, entries, title, current, open) =>
  at(list).replaceChildren(
    ...entries.map((entry) => {
      const button = element("button", { type: "button", textContent: title(entry) })
      button.setAttribute("aria-current", String(current(entry)))
      button.addEventListener("click", () => void open(entry).catch(showError))
      return element("li", {}, button)
    })
  )

const showAssistants = async () => {
  const assistants = await json("/assistants?limit=200")
  listOf(
    "assistants",
    assistants,
    (each) => each.name,
    (each) => each.assistant_id === state.assistant?.assistant_id,
    openAssistant
  )
  return assistants
}

const showThreads = async () => {
  const threads = await json(`/assistants/${state.assistant.assistant_id}/threads?limit=200`)
  listOf("threads", threads, threadTitle, (each) => each.thread_id === state.thread?.thread_id, openThread)
  return threads
}

const threadTitle = (thread) =>
  thread.messages.find((message) => message.role === "user")?.content ??
  `Thread of ${new Date(thread.created_at).toLocaleTimeString()}`

const openAssistant = async (assistant) => {
  state.assistant = assistant
  at("new-thread").disabled = false
  await showAssistants()
  const threads = await showThreads()
  await (threads.length === 0 ? newThread() : openThread(threads.at(-1)))
}

const newThread = async () => {
  const thread = await json(`/assistants/${state.assistant.assistant_id}/threads`, { method: "POST", body: {} })
  await openThread(thread)
}

/** Shows a thread as it is stored, and goes on listening to an answer that is under way. */
const openThread = async (opened) => {
  state.following?.abort()
  const thread = await json(`/threads/${opened.thread_id}`)
  state.thread = thread
  location.hash = thread.thread_id
  at("messages").replaceChildren()
  at("events").replaceChildren()
  at("context").replaceChildren()
  at("tool-form").hidden = true
  closeAnswer()
  const running = thread.messages.find((message) => message.status === "IN_PROGRESS")
  for (const message of thread.messages) if (message !== running) showStored(message)
  const last = thread.messages.at(-1)
  if (last?.status === "REQUIRES_ACTION") askForOutputs(last.run_id, last.tool_calls)
  await showThreads()
  at("content").focus()
  if (running !== undefined) await resume(running.run_id)
  else if (last?.run_id && last.role === "assistant") await showContext(last.run_id)
}

/** From the first event of the run's current leg: the text that was streamed before the reload comes again, then the rest. */
const resume = async (runId) => {
  setRunning(runId)
  const run = await json(`/threads/${state.thread.thread_id}/runs/${runId}`)
  await follow(`/threads/${state.thread.thread_id}/runs/${runId}/events?after=${run.leg_start - 1}`)
}

at("new-assistant").addEventListener("submit", (submitted) => {
  submitted.preventDefault()
  const form = Object.fromEntries(new FormData(submitted.target))
  const make = async () => {
    const tools = form.tools.trim() === "" ? null : JSON.parse(form.tools)
    await openAssistant(
      await json("/assistants", {
        method: "POST",
        body: { name: form.name, system_prompt: form.system_prompt || null, tools }
      })
    )
  }
  void make().catch(showError)
})

at("new-thread").addEventListener("click", () => void newThread().catch(showError))

// ------ talking

const send = () => {
  const content = at("content").value.trim()
  if (content === "" || state.thread === null) return
  at("content").value = ""
  at("tool-form").hidden = true
  addMessage("user", content)
  const body = { content, stream: true, ...(at("thinking").checked ? { thinking: {} } : {}) }
  void follow(`/threads/${state.thread.thread_id}/messages`, { method: "POST", body })
}

const cancel = () => {
  if (state.run !== null)
    void call(`/threads/${state.thread.thread_id}/runs/${state.run}/cancel`, { method: "POST" }).catch(showError)
}

at("compose").addEventListener("submit", (submitted) => {
  submitted.preventDefault()
  send()
})
at("content").addEventListener("keydown", (pressed) => {
  if (pressed.key !== "Enter" || pressed.shiftKey || pressed.isComposing) return
  pressed.preventDefault()
  send()
})
at("cancel").addEventListener("click", cancel)
document.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Escape" && !at("key-dialog").open) cancel()
})

// ------ the key, and the start

const askForKey = (problem = "") => {
  at("key-problem").textContent = key() === "" ? "" : problem
  if (!at("key-dialog").open) at("key-dialog").showModal()
}

at("key-dialog").addEventListener("close", () => {
  localStorage.setItem("colloquy-key", at("key").value)
  at("key").value = ""
  void start().catch(showError)
})
at("forget-key").addEventListener("click", () => askForKey())

const start = async () => {
  const [, given] = /^#key=(.+)$/.exec(location.hash) ?? []
  if (given !== undefined) {
    localStorage.setItem("colloquy-key", decodeURIComponent(given))
    history.replaceState(null, "", location.pathname)
  }
  if (key() === "") return askForKey()
  at("docs").href = `${base}/docs`
  const wanted = location.hash.slice(1)
  const assistants = await showAssistants()
  if (wanted !== "") {
    const thread = await json(`/threads/${wanted}`)
    state.assistant = assistants.find((each) => each.assistant_id === thread.assistant_id) ?? null
    at("new-thread").disabled = false
    await showAssistants()
    await openThread(thread)
  } else if (assistants.length > 0) await openAssistant(assistants.at(-1))
  else {
    say("Make an assistant to begin.")
    at("new-assistant").querySelector("input").focus()
  }
}

void start().catch(showError)
