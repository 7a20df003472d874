/** The wire's types come from packages that are written for servers too: this is what they know of `fetch` and the browser's types do not. */
interface RequestInit {
  duplex?: "half"
}
