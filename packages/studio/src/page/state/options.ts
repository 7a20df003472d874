/** The user's options for the next turns: they stay until they are changed, and are sent with every message. */
import { signal } from "../view.ts"
import type { Capabilities, JsonRecord } from "../wire.ts"
import type { MessageBody } from "./answer.ts"
import { readModelName } from "./catalogue.ts"

export interface TurnOptions {
  readonly thinking: "off" | "on" | "low" | "medium" | "high" | "max"
  readonly memory: "off" | "Readonly" | "Auto"
  readonly hasWebSearch: boolean
  /** Empty: none is made. */
  readonly imageModel: string
  readonly videoModel: string
  readonly isSpoken: boolean
  readonly isAsking: boolean
  readonly typedModel: string
  readonly questions: string
}

/** The options with the model that was chosen for the thread; empty: the assistant's own. */
export interface ChosenOptions extends TurnOptions {
  readonly model: string
}

const exampleQuestions = `{
  "urgent": { "type": "noul", "instructions": "Is it urgent?", "criteria": { "true": "urgent, today", "false": "later" } },
  "topic": { "type": "choice", "instructions": "Which topic?", "criteria": { "refund": "money back", "delivery": "parcel late" } }
}`

export const options = signal<TurnOptions>({
  thinking: "off",
  memory: "off",
  hasWebSearch: false,
  imageModel: "",
  videoModel: "",
  isSpoken: false,
  isAsking: false,
  typedModel: "typedprovider/typed-latest",
  questions: exampleQuestions
})

export const setOptions = (patch: Partial<TurnOptions>): void => {
  options.value = { ...options.value, ...patch }
}

/** The number of changed options, shown while the options are folded. */
export const activeOptions = ({
  hasWebSearch,
  imageModel,
  isAsking,
  isSpoken,
  memory,
  model,
  thinking,
  videoModel
}: ChosenOptions): number =>
  [
    model !== "",
    thinking !== "off",
    memory !== "off",
    hasWebSearch,
    imageModel !== "",
    videoModel !== "",
    isSpoken,
    isAsking
  ].filter(Boolean).length

/** The body of a message. Throws an error with a sentence when the typed questions are not a JSON object. */
export const bodyFor = (content: string, chosen: ChosenOptions, can: Capabilities): MessageBody => {
  if (chosen.isAsking && can.typed_answers) {
    const { model, provider } = readModelName(chosen.typedModel)
    return {
      content,
      llm_provider: provider,
      model_name: model,
      tools: [],
      system_one: { questions: questionsIn(chosen) }
    }
  }
  const { model, provider } = readModelName(chosen.model)
  return {
    content,
    ...(provider === null ? {} : { llm_provider: provider }),
    ...(model === null ? {} : { model_name: model }),
    ...thinkingFields(chosen),
    ...(can.memory && chosen.memory !== "off" ? { memory: chosen.memory } : {}),
    ...(can.web_search && chosen.hasWebSearch ? { web_search: "Auto" } : {}),
    ...(can.image_generation ? generation("image", chosen.imageModel) : {}),
    ...(can.video_generation ? generation("video", chosen.videoModel) : {}),
    ...(can.voice && chosen.isSpoken ? { voice: { tts: {} } } : {})
  }
}

const thinkingFields = ({ thinking }: TurnOptions): JsonRecord => {
  if (thinking === "off") return {}
  return { thinking: thinking === "on" ? {} : { effort: thinking } }
}

const generation = (kind: "image" | "video", typed: string): JsonRecord => {
  const { model, provider } = readModelName(typed)
  if (model === null) return {}
  return { [`${kind}_generation`]: "auto", [`${kind}_model_provider`]: provider, [`${kind}_model_name`]: model }
}

const questionsIn = ({ questions }: TurnOptions): JsonRecord => {
  try {
    return JSON.parse(questions)
  } catch {
    throw new Error("The questions must be a JSON object.")
  }
}
