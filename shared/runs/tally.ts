import {readCursor, writeCursor} from '../security/cursor.ts'
import type {FoundRun} from './find.ts'
import {assertStillKept} from './kept.ts'
import {frozenOf, listRead, type RunRowEntry, type RunRowsDeps, readLoggedRows} from './rows.ts'

type TallyQuery = {source?: string | undefined; cursor?: string | undefined}

const mostLooked = 50_000
/** Beyond this number of groups in one call, other entries are counted without code, field and message. A CRM has only a few dozen codes. */
const mostGroups = 500

type TallyName = 'module' | 'moduleLabel' | 'phase' | 'outcome' | 'action' | 'code' | 'field' | 'fieldLabel' | 'linkEmpty'
type Group = Pick<RunRowEntry, TallyName> & {rows: number; firstRow: number; message: string | null}

/**
 * Counts a file's rows by the module, phase, outcome, action, code, field and `linkEmpty` of their entries. A row with several equal entries counts
 * once. Returns each group with its first row and that row's message. One call searches about 50,000 rows; for a larger file, the caller adds up the pages.
 */
export const tallyRows = async (deps: RunRowsDeps, foundRun: FoundRun, {source: id, cursor}: TallyQuery) => {
  const {snapshot, source} = frozenOf(foundRun, id)
  const keys = deps.config.SECRETS_KEYS
  const list = `tally ${foundRun.run.id} ${source.id}`
  const start = Number(readCursor(keys, list, cursor) ?? 1)
  const groups = new Map<string, Group>()
  let reached = start - 1
  for await (const {rows, to} of readLoggedRows(deps, foundRun, {snapshot, source, from: start, withValues: false})) {
    for (const {rowNumber, entries} of rows) {
      const counted = new Set<string>()
      for (const entry of entries) add(groups, entry, rowNumber, counted)
    }
    reached = Math.min(to, source.rows)
    if (reached - start >= mostLooked) break
  }
  await assertStillKept(deps.db, foundRun.run.no)
  return {
    sources: listRead(snapshot),
    source: source.id,
    groups: [...groups.values()],
    reached: Math.max(reached, 0),
    nextCursor: reached < source.rows ? writeCursor(keys, list, reached + 1) : null,
  }
}

/** `counted`: the groups that have counted the row. */
const add = (groups: Map<string, Group>, entry: RunRowEntry, rowNumber: number, counted: Set<string>) => {
  const hasRoom = groups.size < mostGroups || groups.has(keyOf(entry))
  const named = hasRoom ? entry : {...entry, code: null, field: null, fieldLabel: null, message: null}
  const {module, moduleLabel, phase, outcome, action, code, field, fieldLabel, linkEmpty, message} = named
  const key = keyOf(named)
  if (counted.has(key)) return
  counted.add(key)
  const known = groups.get(key)
  if (known) known.rows++
  else
    groups.set(key, {
      module,
      moduleLabel,
      phase,
      outcome,
      action,
      code,
      field,
      fieldLabel,
      linkEmpty,
      rows: 1,
      firstRow: rowNumber,
      message,
    })
}

const keyOf = ({module, phase, outcome, action, code, field, linkEmpty}: RunRowEntry) =>
  JSON.stringify([module, phase, outcome, action, code, field, linkEmpty])
