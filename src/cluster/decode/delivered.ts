/** What has arrived of a prompt: per page and layer, rows taken in and whether they stand verified. */
export class Delivered {
  readonly #layers: number
  readonly #rows: Uint16Array
  readonly #standing: Uint8Array
  /** Frames handed out for placing whose outcome is not known yet. */
  placing = 0

  constructor(pages: number, layers: number) {
    this.#layers = layers
    this.#rows = new Uint16Array(pages * layers)
    this.#standing = new Uint8Array(pages * layers)
  }

  /** Was this page's layer taken in before, placed or still being placed? */
  seen(ordinal: number, layer: number): boolean {
    return this.#rows[ordinal * this.#layers + layer] !== 0
  }

  take(ordinal: number, layer: number, rows: number): void {
    this.#rows[ordinal * this.#layers + layer] = rows
    this.placing++
  }

  stands(ordinal: number, layer: number): void {
    this.#standing[ordinal * this.#layers + layer] = 1
  }

  isStanding(ordinal: number, layer: number): boolean {
    return this.#standing[ordinal * this.#layers + layer] === 1
  }

  /** Rows that stand, 0 for what is missing or did not verify. */
  rows(ordinal: number, layer: number): number {
    return this.isStanding(ordinal, layer) ? this.#rows[ordinal * this.#layers + layer]! : 0
  }
}
