/** What is typed into the page's forms, as bodies of the API; and the form in which a tool call is answered by hand. */
import { at, element } from "./dom.js"

const toolOf = (line) => {
  const [name, ...rest] = line.split(":")
  return { type: "function", function: { name: name.trim(), description: rest.join(":").trim() || name.trim() } }
}

const parseList = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error("The tools begin like a JSON list, but are none. Or write one name a line.")
  }
}

/** A JSON list of definitions, or one `name: description` a line. */
const toolsOf = (typed) => {
  const text = typed.trim()
  if (text.startsWith("[")) return parseList(text)
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  return lines.length === 0 ? null : lines.map(toolOf)
}

/** `provider/model`; a model's own name may hold slashes too. */
const modelOf = (typed) => {
  const [provider, ...rest] = typed.trim().split("/")
  return rest.length === 0 ? { model_name: provider || null } : { llm_provider: provider, model_name: rest.join("/") }
}

export const assistantOf = (form) => {
  const { instructions, model, name, tools } = Object.fromEntries(new FormData(form))
  return { name, system_prompt: instructions || null, tools: toolsOf(tools), ...modelOf(model) }
}

/** One field for each call that is open. */
export const askForOutputs = (calls) => {
  at("tool-calls").replaceChildren(
    ...calls.map(({ function: { arguments: given, name }, id }) =>
      element(
        "label",
        {},
        element("code", { textContent: `${name}(${given})` }),
        element("textarea", { rows: 2, required: true, name: id, placeholder: "The result" })
      )
    )
  )
  at("tool-form").hidden = false
  at("tool-calls").querySelector("textarea").focus()
}

export const outputsOf = (form) =>
  [...form.querySelectorAll("textarea")].map(({ name, value }) => ({ tool_call_id: name, output: value }))
