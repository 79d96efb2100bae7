import { fileURLToPath } from 'node:url'

/** Path of a model that comes with the package. */
export function builtInModel(name: string): string {
  return fileURLToPath(new URL(`../../models/${name}.gguf`, import.meta.url))
}
