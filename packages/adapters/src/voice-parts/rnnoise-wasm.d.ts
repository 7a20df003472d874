/** The package has no types. It is RNNoise 0.2 with its model, compiled by Emscripten. */
declare module "@jitsi/rnnoise-wasm/dist/rnnoise-sync.js" {
  interface Rnnoise {
    /** A view of the memory; another one after the memory has grown. */
    readonly HEAPF32: Float32Array
    readonly _malloc: (bytes: number) => number
    readonly _free: (address: number) => void
    /** With 0 the model that the package has. */
    readonly _rnnoise_create: (model: 0) => number
    readonly _rnnoise_destroy: (state: number) => void
    /** 480 samples at 48 kHz; gives the probability of speech. */
    readonly _rnnoise_process_frame: (state: number, output: number, input: number) => number
  }
  export default function create(): Rnnoise
}
