import {findEncoding} from '../imports/encoding.ts'
import {Reader, type ReaderOptions} from '../imports/reader.ts'
import {isEncodingOpen} from '../imports/text-problems.ts'
import type {SourceEvidence} from './evidence.ts'

type Read = {reader: unknown; evidence: SourceEvidence}

/** An encoding that was chosen for a source, and by what. */
type ChosenEncoding = {encoding: string; how: 'stated' | 'template'}

/**
 * A source's reader with these options in place. Bytes that were accepted in one encoding are not accepted in another. An encoding that a
 * template keeps is taken only where it is still to be chosen.
 */
export const changeReader = (
  source: Read,
  options: ReaderOptions,
  keptEncoding: string | undefined,
): {reader: Reader | object; encoding: ChosenEncoding | null} => {
  const current = Reader.parse(source.reader)
  if (current.format !== 'csv') return {reader: {...current, ...options}, encoding: null}
  const {encoding: label, badBytes, ...others} = {badBytes: undefined, encoding: undefined, ...options}
  const encoding = chosenEncoding(source, label, keptEncoding)
  const {badBytes: accepted, ...rest} = {...current, ...others, ...(encoding && {encoding: encoding.encoding})}
  const keeps = badBytes === undefined && accepted !== undefined && rest.encoding === current.encoding
  return {reader: {...rest, ...(keeps || badBytes ? {badBytes: 'replace'} : {})}, encoding}
}

const chosenEncoding = ({reader, evidence}: Read, label: string | undefined, kept: string | undefined): ChosenEncoding | null => {
  if (label !== undefined) return {encoding: findEncoding(label) ?? label, how: 'stated'}
  if (kept === undefined || !isEncodingOpen({reader, ...evidence})) return null
  return {encoding: findEncoding(kept) ?? kept, how: 'template'}
}

/** The evidence of a file whose encoding is no longer a question. */
export const answerEncoding = (evidence: SourceEvidence, {encoding, how}: ChosenEncoding): SourceEvidence =>
  evidence.sniffed && 'encoding' in evidence.sniffed ? {...evidence, sniffed: {...evidence.sniffed, encoding, how}} : evidence
