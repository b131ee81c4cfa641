import type {Code} from '../../../../shared/errors.ts'
import {translate} from './language.ts'

/** Messages that replace those of the API, by code. English has none, because the API answers in English and with more detail. */
export type ErrorTexts = Partial<Record<Code, string>>

const t = translate<ErrorTexts>('errors', {})

/** Returns what to show for an error of the API: the message in the current language, or else the API's own. */
export const messageOf = ({code, message}: {code: string | null; message: string}): string => t[code as Code] ?? message
