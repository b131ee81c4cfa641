import type {Db} from '../../sql/database.ts'
import type {Import} from '../../sql/imports.ts'
import {listSources, type Source} from '../../sql/sources.ts'
import {Refusal} from '../errors.ts'
import {textProblems} from '../imports/text-problems.ts'
import {evidenceOf} from './evidence.ts'

/** Refuses an import over a file whose encoding is a question, or whose bad bytes nobody has accepted. */
export const assertTextDecided = async (db: Db, {no, flows}: Pick<Import, 'no' | 'flows'>): Promise<void> => {
  const read = new Set(flows.map(flow => (flow as {sourceId?: string}).sourceId))
  for (const source of await listSources(db, no)) {
    const refusal = read.has(source.id) ? findUndecided(source) : null
    if (refusal) throw refusal
  }
}

/** What a run over this file is refused with; null where its text is certain, or was decided. */
export const findUndecided = ({id, label, reader, evidence}: Pick<Source, 'id' | 'label' | 'reader' | 'evidence'>): Refusal | null => {
  const {sniffed, text} = evidenceOf({evidence})
  const [problem] = textProblems({reader, sniffed, text})
  if (!problem) return null
  const message = `${label}: ${problem.message}. ${problem.fix}`
  const encodings = text?.candidates?.map(({encoding}) => encoding) ?? []
  if (problem.kind === 'encoding') return new Refusal('ENCODING_REQUIRED', message, {source: id, encodings})
  return new Refusal('BAD_BYTES', message, {source: id, places: text!.bad!.places, firstRows: text!.bad!.firstRows})
}
