export type UseCases = unknown
