import type {Json} from '../http.ts'
import {countRows, type Group, reasonsOf} from '../run-reasons.ts'
import {runPath} from './find.ts'
import type {Output} from './output.ts'
import {clean, count, plural} from './phrases.ts'
import {sumCounts} from './progress.ts'
import type {Session} from './session.ts'

const never = new AbortController().signal
const open = ['refused', 'failed', 'unanswered', 'skipped']

/**
 * Reads why rows of an ended run were not written, most frequent reason first. Leaves out rows that were unchanged, or kept because people
 * had edited values. Empty for an external run, which has no rows of a file. If the log cannot be read now, warns and returns an empty list,
 * because the result of the run is known.
 */
export const readReasons = async (out: Output, session: Session, run: Json): Promise<Group[]> => {
  const sums = sumCounts(run.counts)
  const {importId, engine, unchanged = 0, keptRows = 0} = run
  if (!importId || engine === 'outside' || open.reduce((sum, outcome) => sum + (sums[outcome] ?? 0), 0) <= unchanged + keptRows) return []
  try {
    const {groups} = await countRows(session.client, runPath(session, run), never)
    return reasonsOf(groups).filter(({code}) => code !== 'KEPT_EDIT')
  } catch (error) {
    out.warn(`Could not read why rows were not written: ${clean((error as Error).message)}`)
    return []
  }
}

const mostShown = 5

export const reasonLines = (reasons: readonly Group[], isDryRun: boolean): string[] => {
  if (reasons.length === 0) return []
  const shown = reasons.slice(0, mostShown)
  const widest = Math.max(...shown.map(({rows}) => count(rows).length))
  const hasModules = new Set(reasons.map(({module}) => module)).size > 1
  return [
    isDryRun ? 'Why rows would not be written:' : 'Why rows were not written:',
    ...shown.map(
      group => `  ${count(group.rows).padStart(widest)}  ${hasModules ? `${clean(group.moduleLabel)}: ` : ''}${describe(group)}`,
    ),
    ...(reasons.length > mostShown ? [`  and ${plural(reasons.length - mostShown, 'more reason')}`] : []),
  ]
}

const describe = ({message, code, firstRow}: Group) => {
  const words = clean(message ?? 'The CRM did not answer, so the row may or may not be written')
  return `${words}${code && !words.includes(code) ? ` (${clean(code)})` : ''}, first in row ${count(firstRow)}`
}
