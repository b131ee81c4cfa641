import {readCursor, writeCursor} from '../cursor.ts'
import type {FoundRun} from './find.ts'
import {assertStillKept} from './kept.ts'
import {frozenOf, listRead, type RowsPlace, readToldRows, type ToldEntry} from './rows.ts'

type Asked = {source?: string | undefined; cursor?: string | undefined}

/** Looked at by one call. */
const mostLooked = 50_000
/** Of one call. A CRM has some dozens of codes; what goes beyond is counted without its code and field. */
const mostGroups = 500

type Named = 'module' | 'moduleLabel' | 'phase' | 'outcome' | 'action' | 'code' | 'field' | 'fieldLabel'
type Group = Pick<ToldEntry, Named> & {rows: number; firstRow: number; message: string | null}

/**
 * How many rows of a file ended in which way, each with the first of them and its words. A call looks at so many rows and no more: whoever
 * wants all of a larger file adds up what the pages say.
 */
export const tallyRows = async (place: RowsPlace, found: FoundRun, {source: id, cursor}: Asked) => {
  const {snapshot, source} = frozenOf(found, id)
  const keys = place.config.SECRETS_KEYS
  const list = `tally ${found.run.id} ${source.id}`
  const start = Number(readCursor(keys, list, cursor) ?? 1)
  const groups = new Map<string, Group>()
  let reached = start - 1
  for await (const {rows, to} of readToldRows(place, found, {snapshot, source, from: start, withValues: false})) {
    for (const {rowNumber, entries} of rows) for (const entry of entries) add(groups, entry, rowNumber)
    reached = Math.min(to, source.rows)
    if (reached - start >= mostLooked) break
  }
  await assertStillKept(place.db, found.run.no)
  return {
    sources: listRead(snapshot),
    source: source.id,
    groups: [...groups.values()],
    reached: Math.max(reached, 0),
    nextCursor: reached < source.rows ? writeCursor(keys, list, reached + 1) : null,
  }
}

const add = (groups: Map<string, Group>, entry: ToldEntry, rowNumber: number) => {
  const named = groups.size < mostGroups ? entry : {...entry, code: null, field: null, fieldLabel: null, message: null}
  const {module, moduleLabel, phase, outcome, action, code, field, fieldLabel, message} = named
  const key = JSON.stringify([module, phase, outcome, action, code, field])
  const known = groups.get(key)
  if (known) known.rows++
  else groups.set(key, {module, moduleLabel, phase, outcome, action, code, field, fieldLabel, rows: 1, firstRow: rowNumber, message})
}
