/** The user's options for the turns of the open thread: they stay with the thread, and are sent with each of its messages. */
import { exampleRows, toQuestions } from "../lib/questionRows.ts"
import { computed } from "../view.ts"
import type { Capabilities, JsonRecord } from "../wire.ts"
import type { MessageBody } from "../lib/answer.ts"
import { readModelName } from "./catalogue.ts"
import type { Choices, TurnOptions } from "./choices.ts"
import { choices, choose } from "./studio.ts"

const usual: TurnOptions = {
  model: "",
  thinking: "off",
  memory: "off",
  hasWebSearch: false,
  imageModel: "",
  videoModel: "",
  isSpoken: false,
  isAsking: false,
  typedModel: "typedprovider/typed-latest",
  questions: exampleRows
}

export const options = computed((): TurnOptions => ({ ...usual, ...choices.value }))

/** Options with their usual values are not stored. */
export const setOptions = (patch: Choices): void => {
  const next = { ...choices.value, ...patch }
  const isUnusual = ([name, value]: readonly [string, unknown]) =>
    value !== Object.entries(usual).find(([each]) => each === name)?.[1]
  choose(Object.fromEntries(Object.entries(next).filter(isUnusual)))
}

/** An option that does not have its usual value: its words, and the name by which it is reset. */
export interface ActiveOption {
  readonly name: keyof TurnOptions
  readonly word: string
}

const efforts: Readonly<Record<string, string>> = {
  on: "Reasoning",
  low: "A little reasoning",
  medium: "Some reasoning",
  high: "Much reasoning",
  max: "All the reasoning it can"
}

export const activeOptions = (chosen: TurnOptions, can: Capabilities): ReadonlyArray<ActiveOption> => {
  const { hasWebSearch, imageModel, isAsking, isSpoken, memory, model, questions, thinking, videoModel } = chosen
  if (isAsking && can.typed_answers)
    return [
      { name: "isAsking", word: `${questions.length} typed ${questions.length === 1 ? "question" : "questions"}` }
    ]
  const found: ReadonlyArray<ActiveOption | false> = [
    model !== "" && { name: "model", word: model },
    thinking !== "off" && { name: "thinking", word: efforts[thinking] ?? thinking },
    can.memory &&
      memory !== "off" && { name: "memory", word: memory === "Auto" ? "Remembers and learns" : "Remembers" },
    can.web_search && hasWebSearch && { name: "hasWebSearch", word: "Searches the web" },
    can.image_generation && imageModel !== "" && { name: "imageModel", word: `Pictures by ${imageModel}` },
    can.video_generation && videoModel !== "" && { name: "videoModel", word: `Videos by ${videoModel}` },
    can.voice && isSpoken && { name: "isSpoken", word: "Read aloud" }
  ]
  return found.flatMap((each) => (each === false ? [] : [each]))
}

export const resetOption = (name: keyof TurnOptions): void => setOptions({ [name]: usual[name] })

/** The body of a message. Throws an error with a sentence when a typed question cannot be asked. */
export const bodyFor = (content: string, chosen: TurnOptions, can: Capabilities): MessageBody => {
  if (chosen.isAsking && can.typed_answers) {
    const { model, provider } = readModelName(chosen.typedModel)
    return {
      content,
      llm_provider: provider,
      model_name: model,
      tools: [],
      system_one: { questions: toQuestions(chosen.questions) }
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
