/** The studio of the standalone server: a client that uses only the public API. This file starts it. */
import { App } from "./parts/App.ts"
import { begin } from "./state/studio.ts"
import { html, render } from "./view.ts"

const root = document.getElementById("studio")
if (root !== null) {
  root.replaceChildren()
  render(html`<${App} />`, root)
}
begin()
// Keeps the page for a reload without a server. A browser has no workers where the page is not sent over TLS.
if ("serviceWorker" in navigator) navigator.serviceWorker.register("offline.js").catch(() => {})
