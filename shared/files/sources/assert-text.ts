import type {Db} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import type {Source} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {textProblems} from '../text/text-problems.ts'
import {readNarrowSources, type SourceEvidence} from './evidence.ts'

/** Throws if a user must still choose the encoding or accept the bad bytes of a file that a flow reads. */
export const assertTextDecided = async (db: Db, {no, flows}: Pick<Import, 'no' | 'flows'>): Promise<void> => {
  const read = new Set(flows.map(flow => (flow as {sourceId?: string}).sourceId))
  for (const source of await readNarrowSources(db, {importNo: no, keys: ['name']})) {
    const refusal = read.has(source.id) ? findUndecided(source) : null
    if (refusal) throw refusal
  }
}

type TextOf = Pick<Source, 'id' | 'label' | 'reader'> & {evidence: Pick<SourceEvidence, 'sniffed' | 'text'>}

/** Returns null if the file's text is certain or a user decided. */
export const findUndecided = ({id, label, reader, evidence: {sniffed, text}}: TextOf): Refusal | null => {
  const [problem] = textProblems({reader, sniffed, text})
  if (!problem) return null
  const message = `${label}: ${problem.message}. ${problem.fix}`
  const encodings = text?.candidates?.map(({encoding}) => encoding) ?? []
  if (problem.kind === 'encoding') return new Refusal('ENCODING_REQUIRED', message, {source: id, encodings})
  return new Refusal('BAD_BYTES', message, {source: id, places: text!.bad!.places, firstRows: text!.bad!.firstRows})
}
