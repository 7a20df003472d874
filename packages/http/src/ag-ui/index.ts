/** Assistants as AG-UI agents: `webHandler({ kernel, wings: [agUi] })` serves `POST /ag-ui/{assistant_id}`, which `HttpAgent` speaks to. */
export { agUi } from "./Routes.ts"
