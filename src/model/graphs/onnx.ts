import { MessageWriter } from './protobuf.ts'

/** onnx.proto's numbers. */
const FLOAT = 1
const UINT8 = 2
const INT64 = 7
const ATTRIBUTE_FLOAT = 1
const ATTRIBUTE_INT = 2
const EXTERNAL = 1
const IR_VERSION = 9
const OPSET = 21

export type ElementType = 'float32' | 'uint8' | 'int64'

const ELEMENT_NUMBER: Readonly<Record<ElementType, number>> = { float32: FLOAT, uint8: UINT8, int64: INT64 }

export interface NodeOptions {
  readonly domain?: 'com.microsoft'
  readonly ints?: Readonly<Record<string, number>>
  readonly floats?: Readonly<Record<string, number>>
}

/** A model and the buffers its external initialisers point into; both may be dropped once the session stands. */
export interface BuiltGraph {
  readonly model: Uint8Array
  readonly externalData: { readonly path: string; readonly data: Uint8Array }[]
}

/** Builds one ONNX graph whose first dimension, `rows`, is open. Names of values are the caller's and must be unique. */
export class GraphBuilder {
  readonly #graph = new MessageWriter()
  readonly #external: { path: string; data: Uint8Array }[] = []

  /** Adds a node with one output and returns the output's name. */
  node(type: string, inputs: readonly string[], output: string, options: NodeOptions = {}): string {
    this.nodes(type, inputs, [output], options)
    return output
  }

  nodes(type: string, inputs: readonly string[], outputs: readonly string[], options: NodeOptions = {}): void {
    const node = new MessageWriter()
    for (const name of inputs) node.string(1, name)
    for (const name of outputs) node.string(2, name)
    node.string(3, outputs[0]!).string(4, type)
    for (const [name, value] of Object.entries(options.ints ?? {})) {
      node.message(5, new MessageWriter().string(1, name).varint(3, value).varint(20, ATTRIBUTE_INT))
    }
    for (const [name, value] of Object.entries(options.floats ?? {})) {
      node.message(5, new MessageWriter().string(1, name).float(2, value).varint(20, ATTRIBUTE_FLOAT))
    }
    if (options.domain !== undefined) node.string(7, options.domain)
    this.#graph.message(1, node)
  }

  /** A constant held inside the model: for what is small. */
  constant(name: string, type: ElementType, dims: readonly number[], data: Uint8Array): string {
    this.#graph.message(5, tensorHeader(name, type, dims).bytes(9, data))
    return name
  }

  /** A constant held beside the model, handed over in memory: protobuf ends at 2 GB and copies. */
  external(name: string, type: ElementType, dims: readonly number[], data: Uint8Array): string {
    const entry = (key: string, value: string): MessageWriter => new MessageWriter().string(1, key).string(2, value)
    const tensor = tensorHeader(name, type, dims)
      .message(13, entry('location', name))
      .message(13, entry('offset', '0'))
      .message(13, entry('length', String(data.length)))
      .varint(14, EXTERNAL)
    this.#graph.message(5, tensor)
    this.#external.push({ path: name, data })
    return name
  }

  /** A graph input of `rows` x width. */
  input(name: string, width: number): string {
    this.#graph.message(11, valueInfo(name, 'float32', ['rows', width]))
    return name
  }

  output(name: string, type: ElementType, dims: readonly (string | number)[]): void {
    this.#graph.message(12, valueInfo(name, type, dims))
  }

  finish(name: string): BuiltGraph {
    const opset = (domain: string, version: number): MessageWriter =>
      new MessageWriter().string(1, domain).varint(2, version)
    const model = new MessageWriter()
      .varint(1, IR_VERSION)
      .string(2, 'bulkhead')
      .message(7, this.#graph.string(2, name))
      .message(8, opset('', OPSET))
      .message(8, opset('com.microsoft', 1))
      .finish()
    return { model, externalData: this.#external }
  }
}

function tensorHeader(name: string, type: ElementType, dims: readonly number[]): MessageWriter {
  const tensor = new MessageWriter()
  for (const dim of dims) tensor.varint(1, dim)
  return tensor.varint(2, ELEMENT_NUMBER[type]).string(8, name)
}

function valueInfo(name: string, type: ElementType, dims: readonly (string | number)[]): MessageWriter {
  const shape = new MessageWriter()
  for (const dim of dims) {
    const one = new MessageWriter()
    shape.message(1, typeof dim === 'string' ? one.string(2, dim) : one.varint(1, dim))
  }
  const tensorType = new MessageWriter().varint(1, ELEMENT_NUMBER[type]).message(2, shape)
  return new MessageWriter().string(1, name).message(2, new MessageWriter().message(1, tensorType))
}
