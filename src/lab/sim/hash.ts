/** Mixes a 32-bit word into a running 32-bit hash; the finaliser of MurmurHash3 (Austin Appleby). Any change changes the result. */
export const mix = (hash: number, word: number): number => {
  let h = Math.imul(hash ^ word, 0x85ebca6b) + 0x9e3779b9
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Four bytes of a word, the lowest first. */
export const putWord = (bytes: Uint8Array, at: number, word: number): void => {
  bytes[at] = word
  bytes[at + 1] = word >>> 8
  bytes[at + 2] = word >>> 16
  bytes[at + 3] = word >>> 24
}

/** 64-bit digest over plain data: objects, arrays, typed arrays, strings, numbers. Order of keys counts. */
export class Digest {
  // Signed: such numbers stand in their field, larger ones on the heap.
  #a = 0x243f6a88
  #b = 0x85a308d3 | 0

  /** Goes on where the digest with this `hex` stopped. */
  static after(hex: string): Digest {
    const digest = new Digest()
    digest.#a = Number.parseInt(hex.slice(0, 8), 16) | 0
    digest.#b = Number.parseInt(hex.slice(8), 16) | 0
    return digest
  }

  add(value: unknown): void {
    switch (typeof value) {
      case 'number':
        if (Number.isInteger(value)) this.#word(value | 0)
        else this.#text(String(value))
        return
      case 'string':
        this.#text(value)
        return
      case 'boolean':
        this.#word(value ? 0x51 : 0x52)
        return
      case 'object':
        this.#object(value)
        return
      default:
        this.#word(0x53)
    }
  }

  hex(): string {
    return [this.#a, this.#b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
  }

  #object(value: object | null): void {
    if (value === null) this.#word(0x54)
    else if (Array.isArray(value)) {
      this.#word(value.length)
      for (const one of value) this.add(one)
    } else if (ArrayBuffer.isView(value)) {
      const numbers = value as Uint8Array | Uint32Array | Int32Array
      this.#word(numbers.length)
      let i = 0
      // Bytes four at a time: seals and keys are in every frame.
      if (value instanceof Uint8Array)
        for (; i + 4 <= value.length; i += 4)
          this.#word(value[i]! | (value[i + 1]! << 8) | (value[i + 2]! << 16) | (value[i + 3]! << 24))
      for (; i < numbers.length; i++) this.#word(numbers[i]!)
    } else if (value instanceof Set) {
      for (const one of value) this.add(one)
    } else {
      // Shapes are the same from run to run, so the order of keys is too.
      for (const key in value) this.add((value as Record<string, unknown>)[key])
    }
  }

  #text(text: string): void {
    let hash = text.length
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    this.#word(hash)
  }

  #word(word: number): void {
    this.#a = Math.imul(this.#a ^ word, 0x85ebca6b) ^ (this.#a >>> 15)
    this.#b = (Math.imul(this.#b, 0xc2b2ae35) + (this.#a ^ word)) | 0
  }
}
