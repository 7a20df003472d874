/**
 * One of those who answer behind a provider that routes: its name, the id that `routing` takes, and what it asks for which model. Told by
 * the provider's driver, listed by the catalogue. Specification part 4, "Models".
 */
export interface Upstream {
  /** What `providers` and `ignore` of a request's routing take. */
  readonly id: string
  readonly name: string
  readonly offers: ReadonlyArray<UpstreamOffer>
}

/** A model as this upstream serves it. */
export interface UpstreamOffer {
  readonly model: string
  /** The upstream's id with the variant that serves the model, where the provider tells it. */
  readonly variant: string | null
  readonly contextLimit: number | null
  readonly maxOutputTokens: number | null
  readonly inputCostPerMillionTokens: number | null
  readonly outputCostPerMillionTokens: number | null
}
