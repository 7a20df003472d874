/** Tests of answers: cases, experiments that answer them by variants, feedback of users, and the reliability of typed answers. */
import { mayAct } from "../lib/host.ts"
import { href, useTitle } from "../state/address.ts"
import { html, lazy, type View } from "../view.ts"
import { CasesPane } from "./CasesPane.ts"

interface PaneProps {
  /** The segments of the address behind the pane's name. */
  readonly path: ReadonlyArray<string>
}

const CalibrationPane = lazy(async () => (await import("./CalibrationPane.ts")).CalibrationPane)
const ExperimentForm = lazy(async () => (await import("./ExperimentForm.ts")).ExperimentForm)
const ExperimentsPane = lazy(async () => (await import("./ExperimentsPane.ts")).ExperimentsPane)
const ExperimentView = lazy(async () => (await import("./ExperimentView.ts")).ExperimentView)
const FeedbackPane = lazy(async () => (await import("./FeedbackPane.ts")).FeedbackPane)

const OnlinePane = lazy(async () => (await import("./OnlinePane.ts")).OnlinePane)

interface Pane {
  readonly name: string
  readonly word: string
  readonly View: (props: PaneProps) => View
}

/** The segment of the address behind the pane's name: `new`, an id, or none. */
const Experiments = ({ path: [id, ...rest] }: PaneProps): View => {
  if (id === undefined || (id === "new" && !mayAct())) return html`<${ExperimentsPane} />`
  return id === "new"
    ? html`<${ExperimentForm} tag=${rest[0] ?? ""} />`
    : html`<${ExperimentView} key=${id} id=${id} path=${rest} />`
}

const panes: ReadonlyArray<Pane> = [
  { name: "cases", word: "Cases", View: CasesPane },
  { name: "experiments", word: "Experiments", View: Experiments },
  { name: "feedback", word: "Feedback", View: FeedbackPane },
  { name: "online", word: "Online", View: OnlinePane },
  { name: "calibration", word: "Calibration", View: CalibrationPane }
]

export const Room = ({ path: [name = "cases", ...rest] }: PaneProps): View => {
  const pane = panes.find((each) => each.name === name) ?? panes[0]
  useTitle(`${pane?.word ?? ""} · Tests`)
  return html`<div class="room tests">
    <header class="room-head"><h2>Tests</h2></header>
    <nav class="panes" aria-label="Tests of answers">
      ${panes.map(
        ({ name: each, word }) =>
          html`<a key=${each} href=${href("tests", each)} aria-current=${each === pane?.name ? "page" : undefined}>${word}</a>`
      )}
    </nav>
    <${pane?.View ?? CasesPane} path=${rest} />
  </div>`
}
