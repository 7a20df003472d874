/** The package has no types. It is RNNoise 0.2 with its model, compiled by Emscripten. */
declare module "@jitsi/rnnoise-wasm/dist/rnnoise-sync.js" {
  interface Rnnoise {
    /** A view of the memory. It is replaced after the memory has grown. */
    readonly HEAPF32: Float32Array
    readonly _malloc: (bytes: number) => number
    readonly _free: (address: number) => void
    /** Creates the state of a model; 0 stands for the model in the package. */
    readonly _rnnoise_create: (model: 0) => number
    readonly _rnnoise_destroy: (state: number) => void
    /** Processes 480 samples at 48 kHz, and returns the probability of speech. */
    readonly _rnnoise_process_frame: (state: number, output: number, input: number) => number
  }
  export default function create(): Rnnoise
}
