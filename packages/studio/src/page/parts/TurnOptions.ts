/** The folded panel above the message field: model, reasoning, and the server's other features for a turn. */
import { modelsOfType } from "../state/catalogue.ts"
import { assistant, can } from "../state/studio.ts"
import { options, setOptions } from "../state/options.ts"
import { html, type View } from "../view.ts"
import { writeModelName } from "../state/catalogue.ts"
import { effortWords } from "../lib/modelOptions.ts"
import type { QuestionRow } from "../lib/questionRows.ts"
import { ModelPicker } from "./ModelPicker.ts"
import { QuestionRows } from "./QuestionRows.ts"

const imageModels = modelsOfType("image")
const videoModels = modelsOfType("video")
const speakers = modelsOfType("tts")
const typedModels = modelsOfType("system_one")

const efforts = { off: "Off", on: "On", ...effortWords }
const memories = { off: "Off", Readonly: "Reads", Auto: "Reads and learns" }

const ownModel = (): string => {
  const { llm_provider: provider = null, model_name: model = null } = assistant.value ?? {}
  return writeModelName({ provider, model }) || "The server’s default"
}

export const TurnOptions = (): View => {
  const chosen = options.value
  const room = can.value
  const isAsking = chosen.isAsking && room.typed_answers
  const checks = (
    [
      ["Ask typed questions", "isAsking", room.typed_answers],
      ["May search the web", "hasWebSearch", room.web_search && !isAsking],
      ["Read answers aloud", "isSpoken", room.voice && speakers.value.length > 0 && !isAsking]
    ] as const
  ).filter(([, , isThere]) => isThere)
  return html`<div class="options">
    ${checks.length > 0 && html`<div class="checks">${checks.map(([label, name]) => html`<${Check} key=${name} label=${label} name=${name} />`)}</div>`}
    ${
      isAsking
        ? html`<${ModelPicker} label="Model of typed answers" from=${typedModels} value=${chosen.typedModel} onInput=${(typedModel: string) => setOptions({ typedModel })} />
          <${QuestionRows} rows=${chosen.questions} onChange=${(questions: ReadonlyArray<QuestionRow>) => setOptions({ questions })} />`
        : html`<${ModelPicker} label="Model for this thread" empty=${ownModel()} value=${chosen.model} onInput=${(model: string) => setOptions({ model })} />
          <${Choice} label="Reasoning" name="thinking" words=${efforts} />
          ${room.memory && html`<${Choice} label="Memory" name="memory" words=${memories} />`}
          ${
            room.image_generation &&
            imageModels.value.length > 0 &&
            html`<${ModelPicker} label="May make pictures with" empty="No pictures" from=${imageModels} value=${chosen.imageModel} onInput=${(imageModel: string) => setOptions({ imageModel })} />`
          }
          ${
            room.video_generation &&
            videoModels.value.length > 0 &&
            html`<${ModelPicker} label="May make videos with" empty="No videos" from=${videoModels} value=${chosen.videoModel} onInput=${(videoModel: string) => setOptions({ videoModel })} />`
          }`
    }
  </div>`
}

const Check = ({
  label,
  name
}: {
  readonly label: string
  readonly name: "hasWebSearch" | "isAsking" | "isSpoken"
}): View =>
  html`<label class="check">
    <input type="checkbox" checked=${options.value[name]} onChange=${() => setOptions({ [name]: !options.value[name] })} /> ${label}
  </label>`

interface ChoiceProps {
  readonly label: string
  readonly name: "memory" | "thinking"
  readonly words: Readonly<Record<string, string>>
}

const Choice = ({ label, name, words }: ChoiceProps): View =>
  html`<label>
    ${label}
    <select
      value=${options.value[name]}
      onChange=${(event: Event) => {
        const chosen = event.currentTarget instanceof HTMLSelectElement ? event.currentTarget.value : ""
        const patch: Partial<Record<string, string>> = { [name]: chosen }
        setOptions(patch)
      }}
    >
      ${Object.entries(words).map(([value, word]) => html`<option value=${value}>${word}</option>`)}
    </select>
  </label>`
