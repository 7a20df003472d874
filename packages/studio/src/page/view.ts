/**
 * The tools with which every part of the studio is written: elements as tagged templates, hooks, and signals that redraw the parts that
 * read them.
 */
import htm from "htm"
import { h } from "preact"

export const html = htm.bind(h)
export type View = ReturnType<typeof html> | string | null

export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
export { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals"
export { render } from "preact"
export type { ComponentChildren } from "preact"

/** Class names, without those that do not apply. */
export const classes = (...names: ReadonlyArray<string | false | null>): string => names.filter(Boolean).join(" ")
