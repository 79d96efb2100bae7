import { readFile } from 'node:fs/promises'

/** A module of the operator's page, compiled beside the dashboard's own files. */
export function readPageModule(name: string): Promise<string> {
  return readFile(new URL(`../../dashboard/page/${name}.js`, import.meta.url), 'utf8')
}
