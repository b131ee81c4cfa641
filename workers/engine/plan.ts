import type {Row, Track} from './row.ts'

export type Plan =
  | {do: 'create'}
  | {do: 'update'; target: string}
  | {do: 'skip'; code: 'MATCH_ONE' | 'MATCH_MANY'; message: string; recordId: string | null}

/**
 * What becomes of a row, given the records it matches: those its chain wrote before those the CRM finds. No input and output of its
 * own, so a dry run plans what a real run does.
 */
export const plan = (row: Row, {onOne, onMany}: Pick<Track, 'onOne' | 'onMany'>, ours: string[]): Plan => {
  if (row.decided) return row.decided.kind === 'update' ? {do: 'update', target: row.decided.target!} : {do: 'create'}
  const matches = [...new Set([...ours, ...row.matches])].sort(byAge)
  if (matches.length === 0) return {do: 'create'}
  if (matches.length > 1 && onMany !== 'first') {
    const message = `${matches.length} records match; ${onMany === 'ask' ? 'choose one, then retry' : 'none was written'}`
    return {do: 'skip', code: 'MATCH_MANY', message, recordId: null}
  }
  const target = matches[0]!
  if (onOne === 'create') return {do: 'create'}
  if (onOne === 'update') return {do: 'update', target}
  return {do: 'skip', code: 'MATCH_ONE', message: 'The record is there already and was left as it is', recordId: target}
}

/** The CRM's ids are numbers that grow. */
const byAge = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1)
