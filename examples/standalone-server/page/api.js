/**
 * The page's calls of the public API: requests with the key, and the events of a run, read to its end over as many connections as that
 * takes. Used by every other file of the page.
 */
export const base = document.querySelector('meta[name="api-base"]').content

const keyName = "colloquy-key"
export const getKey = () => localStorage.getItem(keyName) ?? ""
export const setKey = (key) => localStorage.setItem(keyName, key)

export class Refused extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

const reasonOf = (detail) =>
  typeof detail === "string" ? detail : detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("\n")

export const call = async (path, { body, method = "GET", signal } = {}) => {
  const headers = { "x-api-key": getKey(), ...(body === undefined ? {} : { "content-type": "application/json" }) }
  const response = await fetch(base + path, { method, headers, signal, body: JSON.stringify(body) })
  if (response.ok) return response
  const { detail } = await response.json().catch(() => ({}))
  throw new Refused(response.status, reasonOf(detail ?? response.statusText))
}

export const json = async (path, options) => (await call(path, options)).json()

const pageSize = 100

/** A whole list, page by page. */
export const all = async (path) => {
  const found = []
  for (;;) {
    const page = await json(`${path}?skip=${found.length}&limit=${pageSize}`)
    found.push(...page)
    if (page.length < pageSize) return found
  }
}

/** An event is one line that begins with "data: ", whatever the network does to it. Deltas get the ids of the events before them. */
async function* eventsOf(response, last) {
  let { assistant_id, run_id, thread_id } = last ?? {}
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split("\n")
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue
      const event = { assistant_id, run_id, thread_id, ...JSON.parse(line.slice(6)) }
      ;({ assistant_id, run_id, thread_id } = event)
      yield event
    }
  }
}

const ends = new Set(["run_ended", "run_failed", "run_cancelled", "message_saved"])
const patience = 8

const pause = (seconds) =>
  new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000)
  })

/**
 * Gives every event once, to the end of the run or to where it needs tool outputs. `begin` opens the first connection; when one breaks,
 * the next goes on after the last event that came.
 */
export const follow = (begin, onEvent, signal) => read({ begin, onEvent, signal, isWhole: false })

/** The log of a run from its first event, over all its rounds, and then live. */
export const followWhole = (threadId, runId, onEvent, signal) =>
  read({ begin: () => eventsAfter(threadId, runId, 0, signal), onEvent, signal, isWhole: true })

const eventsAfter = (threadId, runId, sequence, signal) =>
  call(`/threads/${threadId}/runs/${runId}/events?after=${sequence}`, { signal })

const read = async ({ begin, isWhole, onEvent, signal }) => {
  let last = null
  let failures = 0
  while (failures <= patience) {
    try {
      const response =
        last === null ? await begin(signal) : await eventsAfter(last.thread_id, last.run_id, last.sequence, signal)
      if (response.status === 204) return
      for await (const event of eventsOf(response, last)) {
        if (signal.aborted) return
        last = event
        failures = 0
        onEvent(event)
        if (ends.has(event.type)) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (last === null || error.status < 500) throw error
    }
    if (last?.type === "tool_submit_required") {
      if (!isWhole) return
      continue
    }
    failures += 1
    await pause(Math.min(failures, 5))
  }
  throw new Error("The connection is lost. Reload the page to go on.")
}
