/** The messages of a thread: as they are stored, and the answer that is being given. */
import { chartOf } from "./answers.js"
import { at, element, keepingEnd } from "./dom.js"

const list = at("messages")

export const clear = (whenEmpty) => {
  list.replaceChildren()
  list.dataset.empty = whenEmpty
}

const callText = ({ function: called }) => `calls ${called.name}(${called.arguments})`

const addItem = (className, ...children) => {
  const item = element("li", { className }, ...children)
  keepingEnd(list, () => list.append(item))
  return item
}

/** A message of the user. Answers with what takes it away again. */
export const addQuestion = (text) => {
  const item = addItem("user", text)
  list.scrollTop = list.scrollHeight
  return () => item.remove()
}

/** An answer that grows. `inspect` shows what happened inside its run. */
export const openAnswer = (inspect) => {
  const text = document.createTextNode("")
  const notes = element("p", { className: "notes" })
  const item = addItem("answer live", element("div", { className: "text" }, text), notes)
  let thoughts = null
  let between = ""
  const grow = (change) => keepingEnd(list, change)
  const openThoughts = () => {
    const shown = document.createTextNode("")
    item.prepend(element("details", { open: true }, element("summary", { textContent: "Thinking" }), shown))
    return shown
  }
  const note = (said, className = "") => grow(() => notes.append(element("span", { className, textContent: said })))

  return {
    say: (delta) => grow(() => text.appendData(delta)),
    chart: (systemOne) => grow(() => text.replaceWith(chartOf(systemOne))),
    think: (delta) =>
      grow(() => {
        thoughts ??= openThoughts()
        thoughts.appendData(between + delta)
        between = ""
      }),
    endThought: () => (between = "\n"),
    note,
    callsTool: (tool) => note(callText(tool)),
    close: (runId) => {
      item.classList.remove("live")
      if (runId === null) return
      const button = element("button", { type: "button", className: "quiet", textContent: "Look inside" })
      button.addEventListener("click", () => inspect(runId))
      grow(() => notes.append(button))
    }
  }
}

export const tokensText = ({ input_tokens, model_name, output_tokens }) =>
  `${model_name ?? "model"} · ${input_tokens ?? 0} tokens in, ${output_tokens ?? 0} out`

/** Answers with what stands for the answer, or null for a question. */
export const showStored = (message, inspect) => {
  if (message.role === "user") {
    addQuestion(message.content ?? "")
    return null
  }
  const answer = openAnswer(inspect)
  if (message.reasoning) answer.think(message.reasoning)
  if (message.system_one) answer.chart(message.system_one)
  else answer.say(message.content ?? "")
  for (const tool of message.tool_calls ?? []) answer.callsTool(tool)
  for (const { output, tool_name } of message.metadata_?.tool_outputs ?? []) answer.note(`${tool_name} → ${output}`)
  if (message.status === "FAILED") answer.note("This answer failed.", "failed")
  if (message.status === "CANCELLED") answer.note("Cancelled.")
  if (message.status === "COMPLETED") answer.note(tokensText(message))
  answer.close(message.run_id)
  return answer
}

export const setBusy = (busy) => list.setAttribute("aria-busy", String(busy))
