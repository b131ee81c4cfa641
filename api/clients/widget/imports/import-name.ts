import {t} from '../text/files.ts'

const longest = 200

/** Names an import after its files: the first file without its extension, and how many others there are. */
export const nameImport = (files: readonly {name: string}[]): string => {
  const [first, ...others] = files.map(({name}) => name.replace(/\.(csv|tsv|txt|xlsx|ods|json|ndjson|jsonl)$/i, '').trim() || name)
  const more = others.length === 0 ? '' : t.moreFiles(others.length)
  return `${first!.slice(0, longest - more.length)}${more}`
}
