/**
 * The tools with which every part of the studio is written: elements as tagged templates, hooks, and signals that redraw the parts that
 * read them.
 */
import { signal } from "@preact/signals"
import htm from "htm"
import { h } from "preact"

export const html = htm.bind(h)
export type View = ReturnType<typeof html> | string | null

export { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
export { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals"
export { createContext, render } from "preact"
export type { ComponentChildren } from "preact"

/** Class names, without those that do not apply. */
export const classes = (...names: ReadonlyArray<string | false | null>): string => names.filter(Boolean).join(" ")

/** A part whose file is loaded when it is drawn for the first time. `meanwhile` is drawn until the file is there. */
export const lazy = <Props extends object>(
  load: () => Promise<(props: Props) => View>,
  meanwhile: (props: Props) => View = () => null
): ((props: Props) => View) => {
  const part = signal(meanwhile)
  let isAsked = false
  return (props) => {
    if (!isAsked) {
      isAsked = true
      load().then(
        (found) => (part.value = found),
        () => (isAsked = false)
      )
    }
    return html`<${part.value} ...${props} />`
  }
}

const asked = new Map<string, Promise<void>>()

/** Loads a file of `css/` once. If loading fails, the room is shown without these styles, and the file is requested again. */
export const loadStyles = (name: string): Promise<void> => {
  const known = asked.get(name)
  if (known !== undefined) return known
  const link = document.createElement("link")
  link.rel = "stylesheet"
  link.href = `studio/css/${name}.css`
  const loading = new Promise<void>((resolve) => {
    link.addEventListener("load", () => resolve())
    link.addEventListener("error", () => {
      asked.delete(name)
      resolve()
    })
  })
  asked.set(name, loading)
  document.head.append(link)
  return loading
}
