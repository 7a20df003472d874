/**
 * The room and the record that are shown. They stand behind the "#" of the address, so that no server has to know them: `#/runs`, `#/talk/<thread>`,
 * `#/talk/<thread>/<run>/<step>`. Links are plain; Back and Forward work.
 */
import { brandName } from "../lib/host.ts"
import { signal, useLayoutEffect } from "../view.ts"

type Segments = ReadonlyArray<string | number>

export const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const read = (): ReadonlyArray<string> => {
  const text = location.hash.replace(/^#\/?/u, "")
  return text === "" ? [] : text.split("/").map(decoded)
}

/** The segments of the address, decoded: `["runs", "<run id>"]`. */
export const path = signal<ReadonlyArray<string>>(read())

export const href = (...segments: Segments): string => `#/${segments.map((each) => encodeURIComponent(each)).join("/")}`

/** Shows another address, as a new entry of the history. */
export const go = (...segments: Segments): void => {
  const next = href(...segments)
  if (next !== location.hash) history.pushState(null, "", next)
  path.value = read()
}

/** Shows another address without a new entry of the history, for addresses that change while the user types or drags. */
export const replace = (...segments: Segments): void => {
  history.replaceState(null, "", segments.length === 0 ? location.pathname + location.search : href(...segments))
  path.value = read()
}

/** Calls `follow` after Back, Forward, and a click on a link. */
export const onTravel = (follow: () => void): void =>
  addEventListener("popstate", () => {
    path.value = read()
    follow()
  })

/** Writes the content of the open room into the title of the page when the room is drawn. */
export const useTitle = (shown: string): void =>
  useLayoutEffect(() => {
    document.title = `${shown} · ${brandName}`
  }, [shown])
