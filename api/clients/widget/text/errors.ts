import type {Code} from '../../../../shared/errors.ts'
import {translate} from './language.ts'

/** Messages that replace the API's messages, by error code. English has none, because the API answers in English with more detail. */
export type ErrorTexts = Partial<Record<Code, string>>
/** Reasons of rows and problems of files, by error code. The argument is the label of the field. Other codes keep the text of the API or the CRM. */
export type RowTexts = Record<string, (field: string) => string>

const errors = translate<ErrorTexts>('errors', {})
const rows = translate<RowTexts>('rowReasons', {})

export const messageOf = ({code, message}: {code: string | null; message: string}): string => errors[code as Code] ?? message

/** Returns the reason of a row, or the problem of a file, in the current language. Null: show the API's own text. */
export const sayRowReason = (code: string | null, fieldLabel: string | null): string | null =>
  (code !== null && rows[code]?.(fieldLabel ?? '')) || null
