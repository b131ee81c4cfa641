import {create} from 'content-disposition'
import {describeRun} from '../shared/runs/describe.ts'
import type {FoundRun} from '../shared/runs/find.ts'
import type {RunFile} from '../shared/runs/results/results.ts'
import type {Db} from '../sql/database.ts'
import {listImportNames} from '../sql/imports.ts'

type NamedFile = {kind: RunFile; isPart: boolean; source: string | undefined}

const longest = 120

/** Returns the `Content-Disposition` of a run's file, named after its import: `Leads Lisbon fair - 5 failed.csv`. */
export const nameRunFile = async (db: Db, found: FoundRun, {kind, isPart, source}: NamedFile): Promise<string> => {
  const {importNo} = found.run
  const [named] = importNo === null ? [] : await listImportNames(db, [importNo])
  const what = kind === 'failed' && source === undefined ? `${countFailed(found)} failed` : kind
  return create(`${allowed(named?.name ?? '') || 'import'} - ${what}${isPart ? ' (part)' : ''}.csv`)
}

const countFailed = (found: FoundRun) =>
  Object.values(describeRun(found).counts as Record<string, Record<string, number>>).reduce(
    (rows, {failed = 0, refused = 0}) => rows + failed + refused,
    0,
  )

/** Replaces characters that file systems refuse by spaces, and cuts the name to 120 characters. */
const allowed = (name: string) =>
  name
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
    .replaceAll(/[\u0000-\u001f<>:"/\\|?*]+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[. ]+/, '')
    .slice(0, longest)
    .trim()
