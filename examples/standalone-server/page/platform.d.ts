/** The wire's types come from packages that are written for servers too: this is what they know of `fetch` and the browser's types do not. */
interface RequestInit {
  duplex?: "half"
}

/** What a module inside of an audio worklet has, and the browser's types leave out. */
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare const sampleRate: number
declare function registerProcessor(
  name: string,
  processor: new (options: { readonly processorOptions: unknown }) => AudioWorkletProcessor
): void
