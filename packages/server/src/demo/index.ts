/** Models without a network, for a first look, for examples and for tests of pages. They know nothing, and say so. */
export { clock } from "./Clock.ts"
export { demoModelName, demoProvider } from "./DemoModel.ts"
export { demoTypedModelName, demoTypedProvider } from "./DemoTypedModel.ts"
export { demoVoice, demoVoiceName } from "./DemoVoice.ts"
