/** What happened inside a turn: the log of its run, and what the model was given to read. */
import { followWhole, json } from "./api.js"
import { at, element, keepingEnd } from "./dom.js"

/** Events by run, as they came; a run that is not here is read from the server. */
const seen = new Map()
let shown = null

const isDelta = ({ type }) => type === "content_streaming" || type === "reasoning_streaming"

const line = ({ assistant_id: _a, run_id: _r, sequence, thread_id: _t, type, ...rest }) => {
  const text = `${sequence} `
  return element("div", {}, text, element("b", { textContent: type }), ` ${JSON.stringify(rest)}`)
}

/** Deltas that follow each other share a line that opens. */
const addLine = (event) => {
  const last = at("events").lastElementChild
  if (isDelta(event) && last?.dataset.type === event.type) {
    last.firstElementChild.append(line(event))
    last.querySelector("i").textContent = ` × ${last.firstElementChild.childElementCount - 1}`
    return
  }
  const item = element("li", {}, isDelta(event) ? deltas(event) : line(event))
  item.dataset.type = event.type
  at("events").append(item)
}

const deltas = (event) =>
  element(
    "details",
    {},
    element("summary", {}, `${event.sequence} `, element("b", { textContent: event.type }), element("i")),
    line(event)
  )

export const clear = () => {
  shown = null
  at("events").replaceChildren()
  at("context").replaceChildren()
}

/** An event of a run that the page follows. */
export const record = (event) => {
  if (!seen.has(event.run_id)) seen.set(event.run_id, new Map())
  seen.get(event.run_id).set(event.sequence, event)
  if (event.run_id === shown) keepingEnd(at("events"), () => addLine(event))
}

/** From now on the panels tell of this run. */
export const show = (runId) => {
  clear()
  shown = runId
  const events = [...(seen.get(runId)?.values() ?? [])].sort((a, b) => a.sequence - b.sequence)
  for (const event of events) addLine(event)
}

/** The panels tell of this run, unless they tell of one already. */
export const showFirst = (runId) => {
  if (shown === null) show(runId)
}

/** A run that was over before the page was opened: its log is read from the first event. */
export const inspect = async (threadId, runId) => {
  show(runId)
  if (!seen.has(runId)) {
    await followWhole(threadId, runId, record, new AbortController().signal)
  }
  await explain(threadId, runId)
}

const row = (tag, ...cells) => element("tr", {}, ...cells.map((cell) => element(tag, { textContent: cell })))

const table = (prompt) =>
  element(
    "table",
    {},
    row("th", "Part", "Tokens", "Messages"),
    ...prompt.parts.map(({ messages, part, tokens }) => row("td", part, tokens, messages)),
    ...prompt.left_out.map(({ because, messages, part, tokens }) =>
      row("td", `left out: ${part} (${because})`, tokens, messages)
    )
  )

const usage = ({ context_limit, model, reserved_for_answer, used_tokens }) => {
  const limit = context_limit === null ? "no known limit" : `a window of ${context_limit}`
  return [
    element("p", { textContent: model }),
    ...(context_limit === null
      ? []
      : [element("meter", { min: 0, max: context_limit, value: used_tokens, ariaLabel: "Window used" })]),
    element("p", { textContent: `${used_tokens} tokens of ${limit}; ${reserved_for_answer} kept free for the answer` })
  ]
}

/** The prompt of a run, part by part. */
export const explain = async (threadId, runId) => {
  const { ignored_options, prompt } = await json(`/threads/${threadId}/runs/${runId}`)
  if (runId !== shown) return
  const ignored = ignored_options.map(({ because, option }) =>
    element("p", { textContent: `ignored: ${option} (${because})` })
  )
  if (prompt === null) at("context").replaceChildren("Nothing was sent to a model.", ...ignored)
  else at("context").replaceChildren(...usage(prompt), table(prompt), ...ignored)
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
  tab.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowLeft" || key === "ArrowRight") select(tabs[(tabs.indexOf(tab) + 1) % tabs.length])
  })
}
