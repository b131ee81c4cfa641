import type {Decision} from '../../sql/decisions.ts'
import type {Ours} from './match.ts'
import type {Row, Track} from './row.ts'

export type Plan =
  | {do: 'create'}
  | {do: 'update'; target: string}
  /** The record may already exist, so nothing is sent. */
  | {do: 'wait'; code: 'KEY_UNANSWERED'; message: string}
  /** `asks`: records that a user must choose from, possibly none; null if no question is asked. */
  | {do: 'skip'; code: 'MATCH_ONE' | 'MATCH_MANY' | 'MATCH_SKIPPED'; message: string; recordId: string | null; asks: string[] | null}

/**
 * What becomes of a row, given the records it matches (those its chain wrote before those the CRM finds) and what a person decided of it
 * before the run began. No input and output of its own, so a dry run plans what a real run does.
 */
export const plan = (row: Row, track: Planned, ours: Ours = NOTHING, decision: Decision | null = null): Plan => {
  if (row.decided) return row.decided.kind === 'update' ? {do: 'update', target: row.decided.target!} : {do: 'create'}
  const matches = ours.records.length || row.matches.length ? [...new Set([...ours.records, ...row.matches])].sort(byAge) : []
  const choice = track.onMany === 'ask' ? (decision?.choice ?? null) : track.onMany
  // Whoever chose a record meant that one: with it gone nothing is known of what they want, however many others match.
  if (choice === 'record' && !matches.includes(decision!.recordId!)) return ask(matches, 'The record chosen for this row no longer matches')
  if (matches.length === 0) return waitForKey(row, track, ours) ?? {do: 'create'}
  if (matches.length === 1) return meet(track, matches[0]!)
  if (choice === 'record') return meet(track, decision!.recordId!)
  if (choice === 'first') return meet(track, matches[0]!)
  if (choice === 'create') return {do: 'create'}
  if (choice === null) return ask(matches, `${matches.length} records match`)
  const [code, said] = decision
    ? (['MATCH_SKIPPED', 'somebody chose to leave the row out'] as const)
    : (['MATCH_MANY', 'none was written'] as const)
  return {do: 'skip', code, message: `${matches.length} records match; ${said}`, recordId: null, asks: null}
}

type Planned = Pick<Track, 'onOne' | 'onMany'> & Partial<Pick<Track, 'matchFields'>>

const NOTHING: Ours = {records: [], unanswered: []}

/** Another row's create under this key was never answered, so its record may exist. A unique match field would make the CRM refuse a second one. */
const waitForKey = ({key}: Row, {matchFields = [], onOne}: Planned, {unanswered}: Ours): Plan | null => {
  const other = unanswered.find(one => one.key !== key)
  if (!other || onOne === 'create' || matchFields.some(({unique}) => unique)) return null
  const message = `Row ${other.number} has the same match value, and its create was never answered: look for its record in the CRM, then retry the run`
  return {do: 'wait', code: 'KEY_UNANSWERED', message}
}

const ask = (matches: string[], why: string): Plan => ({
  ...{do: 'skip', code: 'MATCH_MANY', message: `${why}: answer the run's questions, then retry it`, recordId: null, asks: matches},
})

const meet = ({onOne}: Pick<Track, 'onOne'>, target: string): Plan => {
  if (onOne === 'create') return {do: 'create'}
  if (onOne === 'update') return {do: 'update', target}
  const message = 'The record is there already and was left as it is'
  return {do: 'skip', code: 'MATCH_ONE', message, recordId: target, asks: null}
}

/** The CRM's ids are numbers that grow. */
const byAge = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1)
