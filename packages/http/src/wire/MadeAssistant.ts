/**
 * The mark of an assistant that was made only because a thread needs one: clients of OpenAI's protocol have none. Such an assistant is not
 * listed, neither as a model nor as a tool.
 */
import type { Assistant } from "@colloquy/core"

export const madeForOpenAi = { made_for: "openai" }

export const isMade = ({ metadata }: Pick<Assistant, "metadata">): boolean =>
  metadata?.["made_for"] === madeForOpenAi.made_for
