/** Answers that are one JSON value of a schema. A separate wing, `@colloquy/core/outputs`. */
export { Outputs } from "./Outputs.ts"
export { KeptOutput, outputIn, outputsPartName } from "../turns/WantedOutput.ts"
