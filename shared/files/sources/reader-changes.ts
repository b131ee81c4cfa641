import {isDeepStrictEqual} from 'node:util'
import {Reader, type ReaderOptions, withDecimals} from '../reader.ts'
import {findEncoding} from '../text/encoding.ts'
import {isEncodingOpen} from '../text/text-problems.ts'
import type {SourceEvidence} from './evidence.ts'

type ReadResult = {reader: unknown; evidence: SourceEvidence}

type ChosenEncoding = {encoding: string; how: 'stated' | 'template'}

/**
 * If the options of a workbook change, `decimals: shortest` is added unless the options have `decimals`. If the encoding changes, `badBytes` is
 * removed unless the options set it again. `keptEncoding`, the template's encoding, is used only if the bytes do not show the encoding and no user
 * has chosen one.
 */
export const changeReader = (
  source: ReadResult,
  options: ReaderOptions,
  keptEncoding: string | undefined,
): {reader: Reader | object; encoding: ChosenEncoding | null} => {
  const current = Reader.parse(source.reader)
  if (current.format !== 'csv') {
    const reader = {...current, ...options}
    return {reader: isDeepStrictEqual(reader, current) ? current : withDecimals(reader), encoding: null}
  }
  const {encoding: label, badBytes, ...others} = {badBytes: undefined, encoding: undefined, ...options}
  const encoding = chosenEncoding(source, label, keptEncoding)
  const {badBytes: accepted, ...rest} = {...current, ...others, ...(encoding && {encoding: encoding.encoding})}
  const keeps = badBytes === undefined && accepted !== undefined && rest.encoding === current.encoding
  return {reader: {...rest, ...(keeps || badBytes ? {badBytes: 'replace'} : {})}, encoding}
}

const chosenEncoding = ({reader, evidence}: ReadResult, label: string | undefined, kept: string | undefined): ChosenEncoding | null => {
  if (label !== undefined) return {encoding: findEncoding(label) ?? label, how: 'stated'}
  if (kept === undefined || !isEncodingOpen({reader, ...evidence})) return null
  return {encoding: findEncoding(kept) ?? kept, how: 'template'}
}

export const answerEncoding = (evidence: SourceEvidence, {encoding, how}: ChosenEncoding): SourceEvidence =>
  evidence.sniffed && 'encoding' in evidence.sniffed ? {...evidence, sniffed: {...evidence.sniffed, encoding, how}} : evidence
