/** The standalone server for programs that start it themselves; `main.ts` is what `npm start` runs. */
export { type RunningServer, startServer } from "./Server.ts"
export { type Environment, readSettings, type Settings, SettingsRefused } from "./Settings.ts"
