/**
 * The wire's types come from packages for servers too. These declarations are the fields of `fetch` that they use and the browser's types
 * lack.
 */
interface RequestInit {
  duplex?: "half"
}

/** Declarations for modules inside of an audio worklet, which the browser's types lack. */
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare const sampleRate: number
declare function registerProcessor(
  name: string,
  processor: new (options: { readonly processorOptions: unknown }) => AudioWorkletProcessor
): void
