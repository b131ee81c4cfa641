/** What became of a row in one module, or what a dry run would make of it. */
export type Entry = {
  module: string
  moduleLabel: string
  flowId: string | null
  phase: 'write' | 'patch' | 'match' | 'lookup'
  field: string | null
  fieldLabel: string | null
  outcome: string
  action: string | null
  recordId: string | null
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

/** The lines a row has in the table: its records, patches and questions. Links are told with the record they belong to, unless that says the same. */
export const linesOf = ({entries}: RunRow): {entry: Entry; links: Entry[]}[] => {
  const links = entries.filter(({outcome}) => outcome === 'lookup')
  const lines = entries.filter(({outcome}) => outcome !== 'lookup')
  if (lines.length === 0) return links.map(entry => ({entry, links: []}))
  return lines.map(entry => ({
    entry,
    links: entry.phase === 'write' ? links.filter(({flowId, message}) => flowId === entry.flowId && message !== entry.message) : [],
  }))
}

const steps = new Set(['create', 'update', 'replace'])

/** Why it ended so, in words; null where there is nothing to say beyond the outcome. */
export const whyOfEntry = ({message, outcome, phase, fieldLabel, mayExistTwice}: Entry): string | null => {
  const said = message && steps.has(message) ? null : message
  const words = said ?? (outcome === 'unanswered' ? 'The CRM did not answer, so this may or may not have been written' : null)
  const place = phase !== 'write' && fieldLabel && words && !words.includes(fieldLabel) ? `${fieldLabel}: ` : ''
  const twice = mayExistTwice ? 'A create was sent and never answered, so the record may exist twice' : null
  return [words && place + words, twice].filter(Boolean).join('. ') || null
}

/** A code that the words hold already is not told a second time. */
export const codeBeside = (code: string | null, words: string | null): string | null =>
  code !== null && words?.includes(code) ? null : code
