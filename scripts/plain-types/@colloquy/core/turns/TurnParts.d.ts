export type TurnParts = unknown
