/** What the page shows: the state of the session, captions, the level of the meter, problems. */
export const at = (id) => document.getElementById(id)

/** What the meter says of each state; the styles know it by the same name. */
const words = {
  off: "Nobody listens",
  calling: "Calling",
  listening: "Listening",
  thinking: "Thinking",
  speaking: "Speaking"
}

export const show = (state) => {
  if (document.body.dataset.state === state) return
  document.body.dataset.state = state
  at("state").textContent = words[state]
  at("talk").textContent = state === "off" ? "Talk" : "End"
  at("text").disabled = state === "off" || state === "calling"
}

export const showLevel = (loudness) => {
  at("meter").style.setProperty("--level", Math.min(1, 4 * loudness).toFixed(3))
}

export const caption = ({ id, role, text }) => {
  let line = at(`said-${id}`)
  if (line === null) {
    line = document.createElement("li")
    line.id = `said-${id}`
    line.className = role
    line.ariaLabel = role === "user" ? "You" : "Assistant"
    at("lines").append(line)
  }
  line.textContent = text
  line.scrollIntoView({ block: "nearest" })
}

export const tell = (message) => {
  at("problem").textContent = message
}
