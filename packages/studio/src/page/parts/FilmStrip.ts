/**
 * The strip of a turn: a lane for each kind of step, the first token, and the head that is dragged. It is for the eye and the pointer; the
 * list of steps and the slider below it are the same for keyboards and screen readers.
 */
import { type Bar, makeLanes } from "../lib/waterfall.ts"
import { html, useMemo, useRef, type View } from "../view.ts"

export interface FilmStripProps {
  readonly bars: ReadonlyArray<Bar>
  /** The position of each event of the log, 0 to 1. */
  readonly shares: ReadonlyArray<number>
  readonly chosen: number | null
  readonly head: number | null
  readonly firstToken: number | null
  /** Gets the number of the event that is nearest to the pointer. */
  readonly onSeek: (position: number) => void
  readonly onChoose: (number: number) => void
}

const nearest = (shares: ReadonlyArray<number>, share: number): number => {
  let best = 0
  shares.forEach((each, index) => {
    if (Math.abs(each - share) <= Math.abs((shares[best] ?? 0) - share)) best = index
  })
  return best
}

/** In pixels. A pressed pointer that has moved this far drags the head; any other press is a click. */
const slop = 4

/** The position at which the pointer was pressed, and the step there. */
interface Press {
  readonly x: number
  readonly step: number | null
}

/** The number of the step that was pressed; null: none. */
const stepAt = (target: EventTarget | null): number | null => {
  const number = target instanceof HTMLElement ? target.dataset["step"] : undefined
  return number === undefined ? null : Number(number)
}

const percent = (share: number): string => `${share * 100}%`

export const FilmStrip = ({ bars, chosen, firstToken, head, onChoose, onSeek, shares }: FilmStripProps): View => {
  const strip = useRef<HTMLDivElement>(null)
  /** Null: nothing is pressed, or the press has become a drag. */
  const press = useRef<Press | null>(null)
  // The lanes do not change while the head moves over them.
  const lanes = useMemo(
    () =>
      makeLanes(bars).map(
        ({ bars: own, lane }) =>
          html`<div class="lane lane-${lane}" key=${lane}>
            <span class="lane-name">${lane}</span>
            ${own.map(
              ([number, { left, width }]) =>
                html`<span
                  class="frame"
                  data-step=${number}
                  style=${{ left: percent(left), width: percent(width) }}
                ></span>`
            )}
          </div>`
      ),
    [bars]
  )
  const seek = (event: PointerEvent) => {
    const box = strip.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0 || shares.length === 0) return
    onSeek(nearest(shares, (event.clientX - box.left) / box.width))
  }
  const begin = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof HTMLElement) || event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    press.current = { x: event.clientX, step: stepAt(event.target) }
    if (press.current.step === null) seek(event)
  }
  const move = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof HTMLElement) || !event.currentTarget.hasPointerCapture(event.pointerId)) return
    if (press.current !== null && Math.abs(event.clientX - press.current.x) <= slop) return
    press.current = null
    seek(event)
  }
  /** Chooses the step that was clicked. */
  const end = () => {
    const step = press.current?.step ?? null
    press.current = null
    if (step !== null) onChoose(step)
  }
  const marked = chosen === null ? undefined : bars[chosen]
  return html`<div class="film" aria-hidden="true">
    <div
      class="film-lanes"
      ref=${strip}
      onPointerDown=${begin}
      onPointerMove=${move}
      onPointerUp=${end}
      onPointerCancel=${() => (press.current = null)}
    >
      ${lanes}
      ${marked !== undefined && html`<span class="film-chosen" style=${{ left: percent(marked.left), width: percent(marked.width) }}></span>`}
      ${firstToken !== null && html`<span class="first-token" style=${{ left: percent(firstToken) }}><small>first token</small></span>`}
      ${head !== null && html`<span class="film-head" style=${{ left: percent(head) }}></span>`}
    </div>
  </div>`
}
