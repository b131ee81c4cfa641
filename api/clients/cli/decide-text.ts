import type {Json} from '../http.ts'
import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'
import {clean} from './phrases.ts'
import type {Session} from './session.ts'

export type TextChoices = {
  /** The encoding of the CSV files. It replaces the detected one. */
  encoding?: string
  acceptBadBytes?: boolean
}

type DecideTextInput = TextChoices & {importId: string; sources: readonly Json[]; dryRun?: boolean}

/**
 * Applies --encoding to each CSV file that was read with another encoding or whose encoding is uncertain. Applies --accept-bad-bytes to files with
 * undecodable bytes. Fails if questions remain, except in a dry run.
 */
export const decideText = async (
  session: Session,
  {importId, sources, encoding, acceptBadBytes, dryRun}: DecideTextInput,
): Promise<Json[]> => {
  const decided: Json[] = []
  for (const source of sources) {
    const path = session.path(`imports/${importId}/sources/${source.id}`)
    const change = async (reader: object): Promise<Json> => (await session.client.patch(path, {reader})).source
    const isOther = encoding !== undefined && (hasProblem(source, 'encoding') || source.reader.encoding !== encoding.toLowerCase())
    let read = source.reader.format === 'csv' && isOther ? await change({encoding}) : source
    if (acceptBadBytes && hasProblem(read, 'undecodable')) read = await change({badBytes: 'replace'})
    if (!dryRun) assertDecided(read)
    decided.push(read)
  }
  return decided
}

const hasProblem = ({problems = []}: Json, kind: string) => problems.some((problem: Json) => problem.kind === kind)

const mostShown = 8

const assertDecided = ({name, problems = [], text}: Json) => {
  const open = problems.find(({kind}: Json) => kind === 'encoding' || kind === 'undecodable')
  if (!open) return
  const candidates = (text?.candidates ?? []).slice(0, mostShown)
  const samples = candidates.map((one: Json) => `  --encoding ${one.encoding.padEnd(13)} ${clean(one.samples.slice(0, 3).join(' | '))}`)
  const isQuestion = open.kind === 'encoding'
  const next = [
    isQuestion
      ? 'Run the command again with the encoding that shows this text correctly:'
      : 'Add --accept-bad-bytes to replace each place with \ufffd',
    ...(!isQuestion && samples.length > 0 ? ['or run the command again with the encoding that shows this text correctly:'] : []),
    ...samples,
  ]
  throw new Failure(`${clean(name)}: ${open.message}`, {
    exit: EXIT.refused,
    code: isQuestion ? 'ENCODING_REQUIRED' : 'BAD_BYTES',
    next: next.join('\n'),
  })
}
