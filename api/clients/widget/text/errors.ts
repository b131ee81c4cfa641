import type {Code} from '../../../../shared/errors.ts'
import {translate} from './language.ts'

/** Messages that replace those of the API, by code. English has none, because the API answers in English and with more detail. */
export type ErrorTexts = Partial<Record<Code, string>>
/** Reasons of rows and problems of files, by code, with the label of the field. Codes of the CRM's own refusals keep the CRM's text. */
export type RowTexts = Record<string, (field: string) => string>

const errors = translate<ErrorTexts>('errors', {})
const rows = translate<RowTexts>('rowReasons', {})

/** Returns what to show for an error of the API: the message in the current language, or else the API's own. */
export const messageOf = ({code, message}: {code: string | null; message: string}): string => errors[code as Code] ?? message

/** Returns the reason of a row, or the problem of a file, in the current language. Null: show the API's own text. */
export const sayRowReason = (code: string | null, fieldLabel: string | null): string | null =>
  (code !== null && rows[code]?.(fieldLabel ?? '')) || null
