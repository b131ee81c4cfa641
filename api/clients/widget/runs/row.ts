import {t} from '../text/runs.ts'
import {sayReason} from './why.ts'

/** The outcome of a row, or of one of its lookups, in one module. In a dry run, what the run would do. */
export type Entry = {
  module: string
  moduleLabel: string
  flowId: string | null
  phase: 'write' | 'patch' | 'match' | 'lookup' | 'tag' | 'edit'
  field: string | null
  fieldLabel: string | null
  outcome: string
  action: string | null
  recordId: string | null
  /** The address of the record in the CRM. Null: not known. Absent in responses of earlier versions of Lading. */
  recordUrl?: string | null
  code: string | null
  message: string | null
  mayExistTwice: boolean
  changes: Change[] | null
}
export type Change = {field: string; label: string; old: string; new: string}
export type RunRow = {rowNumber: number; entries: Entry[]}
export type LogRecord = {
  seq: number
  module: string
  phase: string
  target: string
  attempt: number
  recordId: string | null
  outcome: string
  code: string | null
  message: string | null
  at: string
}

/**
 * Returns the table lines of a row: one for each entry that is not a lookup. A lookup appears in the line of its flow's write, unless both messages
 * are equal. If a row has only lookups, each lookup gets a line.
 */
export const linesOf = ({entries}: RunRow): {entry: Entry; links: Entry[]}[] => {
  const links = entries.filter(({outcome}) => outcome === 'lookup')
  const lines = entries.filter(({outcome}) => outcome !== 'lookup')
  if (lines.length === 0) return links.map(entry => ({entry, links: []}))
  return lines.map(entry => ({
    entry,
    links: entry.phase === 'write' ? links.filter(({flowId, message}) => flowId === entry.flowId && message !== entry.message) : [],
  }))
}

const steps = new Set(['create', 'update', 'delete', 'replace'])

/** Returns the reason of an outcome, with a warning if the record may exist twice. Null if there is neither. */
export const whyOfEntry = ({code, message, outcome, phase, field, fieldLabel, mayExistTwice}: Entry): string | null => {
  const said = message && steps.has(message) ? null : sayReason({code, message, field, fieldLabel})
  const words = said ?? (outcome === 'unanswered' ? t.theCrmDidNotAnswerSoThe : null)
  const place = phase !== 'write' && fieldLabel && words && !words.includes(fieldLabel) ? `${fieldLabel}: ` : ''
  const twice = mayExistTwice ? t.aCreateGotNoAnswerSoThe : null
  return [words && place + words, twice].filter(Boolean).join('. ') || null
}
