/**
 * Which models have told of late that they give no log-probabilities, so that they are not asked in vain each time. For ten minutes only: what
 * an alias means changes, and so do servers.
 */
import type { AnswerRequest } from "../models/AnswerDriver.ts"

type Asked = Pick<AnswerRequest, "provider" | "model">

const memoryMillis = 10 * 60 * 1000
const mostModels = 1000

export class Refusals {
  private readonly until = new Map<string, number>()

  readonly has = (asked: Asked, now: number): boolean => (this.until.get(keyOf(asked)) ?? 0) > now

  readonly add = (asked: Asked, now: number): void => {
    // Names of models come from clients: without a bound they could fill the memory.
    if (this.until.size >= mostModels) this.until.clear()
    this.until.set(keyOf(asked), now + memoryMillis)
  }
}

const keyOf = ({ model, provider }: Asked): string => JSON.stringify([provider, model])
