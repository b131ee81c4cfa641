import {isDeepStrictEqual} from 'node:util'
import {type CsvReader, Reader, type ReaderOptions, withDecimals} from '../reader.ts'
import {findEncoding} from '../text/encoding.ts'
import {isEncodingOpen} from '../text/text-problems.ts'
import type {SourceEvidence} from './evidence.ts'

type ReadResult = {reader: unknown; evidence: SourceEvidence}

type ChosenEncoding = {encoding: string; how: 'stated' | 'template'}

/**
 * If the options of a workbook change, `decimals: shortest` is added unless the options have `decimals`. If the encoding changes, `badBytes` is
 * removed unless the options set it again. `openQuotesAfter` decides on `openQuotes`. `keptEncoding`, the template's encoding, is used only if the
 * bytes do not show the encoding and no user has chosen one.
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
  const {encoding: label, badBytes, openQuotes, ...others} = {badBytes: undefined, encoding: undefined, openQuotes: undefined, ...options}
  const encoding = chosenEncoding(source, label, keptEncoding)
  const {badBytes: accepted, ...rest} = {...current, ...others, ...(encoding && {encoding: encoding.encoding})}
  const keeps = badBytes === undefined && accepted !== undefined && rest.encoding === current.encoding
  const changed = {...rest, ...(keeps || badBytes ? {badBytes: 'replace'} : {})}
  const quotes = openQuotes ?? openQuotesAfter(current, changed)
  const {openQuotes: _, ...reader} = changed
  return {reader: {...reader, ...(quotes && {openQuotes: quotes})}, encoding}
}

/**
 * The acceptance of open quotes stays unless a change can give them to other rows. After any other change of a reader, such rows fail until a person
 * accepts them. The caller removes the option if the file has no such row.
 */
const openQuotesAfter = (current: CsvReader, changed: {encoding: string}): CsvReader['openQuotes'] => {
  if (isDeepStrictEqual(changed, current)) return current.openQuotes
  const isSameText = changed.encoding === current.encoding && !isRenumbered(current, changed)
  return isSameText && current.openQuotes === 'keep' ? 'keep' : 'refuse'
}

/** Whether the readers may give another number to a row. Steps that name rows by number then do not fit the file. */
export const isRenumbered = (before: object, after: object) => {
  const [one, other] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  return ['sheet', 'range', 'headerRow', 'skipRows', 'delimiter', 'quote', 'comment'].some(name => one.get(name) !== other.get(name))
}

const chosenEncoding = ({reader, evidence}: ReadResult, label: string | undefined, kept: string | undefined): ChosenEncoding | null => {
  if (label !== undefined) return {encoding: findEncoding(label) ?? label, how: 'stated'}
  if (kept === undefined || !isEncodingOpen({reader, ...evidence})) return null
  return {encoding: findEncoding(kept) ?? kept, how: 'template'}
}

export const answerEncoding = (evidence: SourceEvidence, {encoding, how}: ChosenEncoding): SourceEvidence =>
  evidence.sniffed && 'encoding' in evidence.sniffed ? {...evidence, sniffed: {...evidence.sniffed, encoding, how}} : evidence
