/** The tool calls of an answer, with arguments and results. */
import { prettyJson } from "../lib/prettyJson.ts"
import type { Call } from "../lib/answer.ts"
import { html, type View } from "../view.ts"
import { Icon } from "./Icon.ts"

export const ToolCalls = ({ calls }: { readonly calls: ReadonlyArray<Call> }): View =>
  calls.length === 0
    ? null
    : html`<ul class="calls" aria-label="Tool calls">
        ${calls.map(
          ({ given, id, name, output }) =>
            html`<li key=${id}>
              <details>
                <summary>
                  <${Icon} name="options" /> <code>${name}</code>
                  <span class="detail">${output === null ? "no result yet" : short(output)}</span>
                </summary>
                <h4>Asked with</h4>
                <pre tabindex="0" role="group" aria-label="Arguments of ${name}">${given === "" ? "…" : prettyJson(given)}</pre>
                ${
                  output !== null &&
                  html`<h4>Result</h4>
                  <pre tabindex="0" role="group" aria-label="Result of ${name}">${prettyJson(output)}</pre>`
                }
              </details>
            </li>`
        )}
      </ul>`

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)
