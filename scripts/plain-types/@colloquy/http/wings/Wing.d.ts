/** A wing of the API as a host hands it over. `Wing` of `@colloquy/http` is for those who write one. */
export interface Wing {
  readonly part: string
}

export type Kept = never
export type MessageWords = never
export type PartFields = never
export type PartTold = never
export type WingEndpoints = never
export type OwnFields = never
export type WingServices = never
