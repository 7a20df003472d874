/**
 * One of the vendors to which a provider routes: its name, the id that `routing` accepts, and its offer for each model. The provider's
 * driver reports it, the catalogue lists it.
 */
export interface Upstream {
  /** The id that `providers` and `ignore` of a request's routing accept. */
  readonly id: string
  readonly name: string
  readonly offers: ReadonlyArray<UpstreamOffer>
}

/** One model of a vendor behind a router, with its limits and prices there; null is unknown. */
export interface UpstreamOffer {
  readonly model: string
  /** The upstream's id with the variant that serves the model, if the provider reports it. */
  readonly variant: string | null
  readonly contextLimit: number | null
  readonly maxOutputTokens: number | null
  readonly inputCostPerMillionTokens: number | null
  readonly outputCostPerMillionTokens: number | null
}
