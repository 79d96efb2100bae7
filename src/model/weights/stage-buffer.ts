const ALIGNMENT = 64

/** Typed here because the compiler's ES2023 library does not know what every supported Node.js has. */
interface ResizableArrayBuffer extends ArrayBuffer {
  resize(bytes: number): void
}

const Resizable = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ResizableArrayBuffer

/**
 * Room for the weights of one stage on their way into a session. Resizable, so that the memory is given back when the stage
 * is loaded: fresh buffers would stand as garbage beside the weights until a collection happens to come by.
 */
export class StageBuffer {
  readonly #buffer: ResizableArrayBuffer

  constructor(capacity: number) {
    this.#buffer = new Resizable(0, { maxByteLength: capacity })
  }

  /** Bytes that `take` uses up for a request of `bytes`. */
  static aligned(bytes: number): number {
    return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
  }

  take(bytes: number): Uint8Array<ArrayBuffer> {
    const at = this.#buffer.byteLength
    this.#buffer.resize(at + StageBuffer.aligned(bytes))
    return new Uint8Array(this.#buffer, at, bytes)
  }

  /** Gives the memory back; everything taken before is void and reads as empty. */
  reset(): void {
    this.#buffer.resize(0)
  }
}
