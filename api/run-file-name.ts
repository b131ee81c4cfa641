import {create} from 'content-disposition'
import type {FoundRun} from '../shared/runs/find.ts'
import type {RunFile} from '../shared/runs/results/results.ts'
import type {Db} from '../sql/database.ts'
import {listImportNames} from '../sql/imports.ts'

type NamedFile = {kind: RunFile; isPart: boolean}

const longest = 120

/** Returns the `Content-Disposition` of a run's file, named after its import: `Leads Lisbon fair - failed.csv`. */
export const nameRunFile = async (db: Db, {run: {importNo}}: FoundRun, {kind, isPart}: NamedFile): Promise<string> => {
  const [named] = importNo === null ? [] : await listImportNames(db, [importNo])
  return create(`${allowed(named?.name ?? '') || 'import'} - ${kind}${isPart ? ' (part)' : ''}.csv`)
}

/** Replaces characters that file systems refuse by spaces, and cuts the name to 120 characters. */
const allowed = (name: string) =>
  name
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
    .replaceAll(/[\u0000-\u001f<>:"/\\|?*]+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[. ]+/, '')
    .slice(0, longest)
    // The cut may leave half of an emoji, which cannot be encoded.
    .replace(/\p{Surrogate}$/u, '')
    .trim()
