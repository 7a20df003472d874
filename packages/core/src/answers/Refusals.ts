/**
 * Remembers which models recently reported no log-probabilities, so that they are not asked for them each time. For ten minutes only,
 * because aliases and servers change.
 */
import type { AnswerRequest } from "../models/AnswerDriver.ts"

type Asked = Pick<AnswerRequest, "provider" | "model">

const memoryMillis = 10 * 60 * 1000
const mostModels = 1000

export class Refusals {
  private readonly until = new Map<string, number>()

  readonly has = (asked: Asked, now: number): boolean => (this.until.get(modelKey(asked)) ?? 0) > now

  readonly add = (asked: Asked, now: number): void => {
    // Names of models come from clients, so without a bound they could fill the memory.
    if (this.until.size >= mostModels) this.until.clear()
    this.until.set(modelKey(asked), now + memoryMillis)
  }
}

const modelKey = ({ model, provider }: Asked): string => JSON.stringify([provider, model])
