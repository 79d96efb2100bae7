/** The little of protobuf's wire format that an ONNX model needs, written front to back. */
export class MessageWriter {
  readonly #parts: Uint8Array[] = []
  #length = 0

  /** Wire type 0; non-negative, below 2^53. */
  varint(field: number, value: number): this {
    return this.#push(Uint8Array.from([...encodeVarint(field * 8), ...encodeVarint(value)]))
  }

  /** Wire type 5. */
  float(field: number, value: number): this {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setFloat32(0, value, true)
    return this.#push(Uint8Array.from([...encodeVarint(field * 8 + 5), ...bytes]))
  }

  /** Wire type 2. */
  bytes(field: number, value: Uint8Array): this {
    this.#push(Uint8Array.from([...encodeVarint(field * 8 + 2), ...encodeVarint(value.length)]))
    return this.#push(value)
  }

  string(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value))
  }

  message(field: number, value: MessageWriter): this {
    return this.bytes(field, value.finish())
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }

  #push(part: Uint8Array): this {
    this.#parts.push(part)
    this.#length += part.length
    return this
  }
}

function encodeVarint(value: number): number[] {
  const bytes: number[] = []
  let left = value
  while (left >= 128) {
    bytes.push((left % 128) + 128)
    left = Math.floor(left / 128)
  }
  bytes.push(left)
  return bytes
}
